#include <slimpack/simulators/order/changing_order.hpp>
namespace slimpack {
namespace simulator = simulators;
}
