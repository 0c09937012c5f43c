#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/timed.hpp>

// Members that a solver would pass over in silence, were it not for their names.
using namespace slimpack;

struct in_order {
  result<std::vector<program>> programs(const workload&) const;
};

#ifdef SLIMPACK_REPAIRED
struct patient : in_order {
  patient longer() const;
};
struct knowing : in_order {
  result<timed_programs> timed(const workload&) const;
};
#else
struct patient : in_order {
  std::vector<program> longer() const;
};  // no schedule
struct knowing : in_order {
  timed_programs timed(const workload&) const;
};  // no result
#endif

// expected-diagnostic: a schedule's longer() is public, const and gives a schedule of its own type
auto a = longer_of(patient{});
// expected-diagnostic: a schedule's timed(const workload&) is public, const and gives result<timed_programs>
auto b = schedules::timed(knowing{}, {});
