#include <slimpack/planner.hpp>

// A cost model whose times have no unit.
struct unitless {
#ifdef SLIMPACK_REPAIRED
  slimpack::seconds time(const slimpack::slice&, slimpack::pass, int part) const;
#else
  double time(const slimpack::slice&, slimpack::pass, int part) const;
#endif
};

// own-lines: 21
// expected-diagnostic: a cost model offers seconds time(const slice&, pass, int part) const
using planner = slimpack::planner<slimpack::slicers::equal_cost, unitless>;
