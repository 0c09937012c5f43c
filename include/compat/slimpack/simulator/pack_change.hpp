#include <slimpack/simulators/order/pack_change.hpp>
namespace slimpack { namespace simulator = simulators; }
