#include <slimpack/executors/backward_cuts.hpp>
#include <slimpack/executors/sharing.hpp>
#include <slimpack/schedules/hooks.hpp>

// Constants that would be taken for not given: one that is no constant, and one of another type.
struct cuts_anywhere {
#ifdef SLIMPACK_REPAIRED
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
#else
  slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
#endif
};

struct splits {
#ifdef SLIMPACK_REPAIRED
  static constexpr bool splits_weight_gradients = true;
#else
  static constexpr int splits_weight_gradients = 1;
#endif
};

struct shares {
#ifdef SLIMPACK_REPAIRED
  static constexpr bool shares_rows = true;
#else
  bool shares_rows = true;
#endif
};

// expected-diagnostic: a stage compute's cuts is a public static constexpr backward_cuts
constexpr auto cuts = slimpack::cuts_of<cuts_anywhere>();
// expected-diagnostic: splits_weight_gradients is a public static constexpr bool, of a schedule as of a stage compute
constexpr bool splitting = slimpack::detail::splits_weight_gradients<splits>;
// expected-diagnostic: a stage compute's shares_rows is a public static constexpr bool
constexpr bool sharing = slimpack::detail::shares_rows<shares>;
