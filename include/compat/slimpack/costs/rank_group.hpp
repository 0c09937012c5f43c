#include <slimpack/costs/network/rank_group.hpp>
