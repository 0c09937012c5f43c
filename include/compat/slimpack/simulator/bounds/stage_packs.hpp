#include <slimpack/simulators/bounds/stage_packs.hpp>
namespace slimpack { namespace simulator = simulators; }
