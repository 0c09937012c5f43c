#include <slimpack/solvers/hooks.hpp>

// Members that planner and refined would pass over in silence, were it not for their names.
#ifdef SLIMPACK_REPAIRED
struct counting {
  std::size_t threads() const;
};
struct divided {
  void share_by(slimpack::exchange_set);
};
struct forking {
  bool plans_prefixes{true};
};
struct flat {
  void plan_flat();
};
#else
struct counting {
  std::size_t threads();
};  // not const
struct divided {
  divided share_by(slimpack::exchange_set) const;
};  // does not change itself
struct forking {
  int plans_prefixes{1};
};  // no bool
struct flat {
  flat plan_flat() const;
};  // does not change itself
#endif

// expected-diagnostic: a solver's threads is a public size_t, or a public const function that gives one
auto a = slimpack::threads_of(counting{});
// expected-diagnostic: a solver's share_by(exchange_set) is public and gives void
auto b = slimpack::without_sharing(divided{});
// expected-diagnostic: a solver's plans_prefixes is a public bool, or a public const function that gives one
auto c = slimpack::plans_prefixes_of(forking{});
// expected-diagnostic: a solver's plan_flat() is public and gives void
auto d = slimpack::planning_flat(flat{});
