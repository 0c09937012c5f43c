#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <string_view>

// A move that does not say whether it changed anything.
struct silent {
  static constexpr std::string_view name = "silent";
  double weight(const slimpack::solvers::search_options&) const;
#ifdef SLIMPACK_REPAIRED
  bool operator()(slimpack::solvers::improve::pack_site&) const;
#else
  void operator()(slimpack::solvers::improve::pack_site&) const;
#endif
};

// own-lines: 33
// expected-diagnostic: a move offers static constexpr string_view name, double weight(const search_options&) const, and
// bool operator()(site&) const
using solver = slimpack::solvers::two_phase_with<slimpack::solvers::improve::shipped::and_also<silent>>;
