#include <slimpack/slicers/cut_budget.hpp>
