#include <slimpack/planner.hpp>

// A slicer that only knows how to cut forward.
struct forward_only {
#ifdef SLIMPACK_REPAIRED
  template <class Cost>
  slimpack::slice next(const slimpack::sequence& s, slimpack::tokens at, slimpack::pass, const slimpack::cut_budget&,
                       const Cost&) const;
#else
  template <class Cost>
  slimpack::slice next(const slimpack::sequence& s, slimpack::tokens at, const slimpack::cut_budget&,
                       const Cost&) const;
#endif
};

// own-lines: 17
// expected-diagnostic: a slicer offers slice next(const sequence&, tokens at, pass, const cut_budget&
using planner = slimpack::planner<forward_only>;
