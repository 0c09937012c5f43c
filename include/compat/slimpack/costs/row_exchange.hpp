#include <slimpack/costs/network/row_exchange.hpp>
