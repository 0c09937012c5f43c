#include <slimpack/simulators/order/window_change.hpp>
namespace slimpack {
namespace simulator = simulators;
}
namespace slimpack::simulators {
using pack_change = window_change;
}
