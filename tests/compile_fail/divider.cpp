#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

// Divides lengths, without a word on what they cost.
struct by_length {
#ifdef SLIMPACK_REPAIRED
  template <class Cost>
  slimpack::result<slimpack::divide::division> divide(const slimpack::divide::division_problem&, const Cost&) const;
#else
  slimpack::result<slimpack::divide::division> divide(const slimpack::divide::division_problem&) const;
#endif
};

// own-lines: 21
// expected-diagnostic: a divider offers result<division> divide(const division_problem&, const auto& cost) const
using solver = slimpack::solvers::two_phase_with<slimpack::solvers::improve::shipped, by_length>;
