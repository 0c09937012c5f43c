#include <slimpack/simulators/bounds/stage_loss.hpp>
namespace slimpack {
namespace simulator = simulators;
}
namespace slimpack::simulators {
template <class Cost>
using stage_packs = stage_loss<Cost>;
}
