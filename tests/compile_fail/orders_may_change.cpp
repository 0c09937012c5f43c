#include <slimpack/planner.hpp>

// A schedule that says for each of its objects whether solvers may change its order.
struct stubborn {
#ifdef SLIMPACK_REPAIRED
  bool orders_may_change() const;
#else
  bool orders_may_change = false;
#endif
  slimpack::result<std::vector<slimpack::program>> programs(const slimpack::workload&) const;
};

// expected-diagnostic: a schedule's orders_may_change is a public static constexpr bool, or a const function that gives
// a bool
constexpr bool may = slimpack::orders_may_change_of<stubborn>;
