#include <slimpack/executors/call_time.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/executors/lending/lending.hpp>
#include <slimpack/executors/piece.hpp>
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

struct shares_beginnings {
#ifdef SLIMPACK_REPAIRED
  static constexpr bool shares_prefixes = true;
#else
  bool shares_prefixes = true;
#endif
};

struct waits {
#ifdef SLIMPACK_REPAIRED
  static constexpr bool waits_in_calls = true;
#else
  static constexpr int waits_in_calls = 1;
#endif
};

struct joins {
#ifdef SLIMPACK_REPAIRED
  static constexpr bool shares_rows = true;
  static constexpr bool joins_rows = true;
#else
  static constexpr int joins_rows = 1;
#endif
};

struct lends {
#ifdef SLIMPACK_REPAIRED
  static constexpr bool lends_attention = true;
#else
  bool lends_attention = true;
#endif
  slimpack::loan_format loans(std::uint32_t chunk) const;
};

// Constants that say what needs more to be said: joined rows are shared ones, and loans have a format.
struct joins_alone {
  static constexpr bool joins_rows = true;
#ifdef SLIMPACK_REPAIRED
  static constexpr bool shares_rows = true;
#endif
};

struct lends_in_words {
  static constexpr bool lends_attention = true;
#ifdef SLIMPACK_REPAIRED
  slimpack::loan_format loans(std::uint32_t chunk) const;
#else
  slimpack::loan_format loans(std::uint32_t chunk);  // not const
#endif
};

// expected-diagnostic: a stage compute's cuts is a public static constexpr backward_cuts
constexpr auto cuts = slimpack::cuts_of<cuts_anywhere>();
// expected-diagnostic: splits_weight_gradients is a public static constexpr bool, of a schedule as of a stage compute
constexpr bool splitting = slimpack::detail::splits_weight_gradients<splits>;
// expected-diagnostic: a stage compute's shares_rows is a public static constexpr bool
constexpr bool sharing = slimpack::detail::shares_rows<shares>;
// expected-diagnostic: a stage compute's shares_prefixes is a public static constexpr bool
constexpr bool sharing_beginnings = slimpack::detail::shares_prefixes<shares_beginnings>;
// expected-diagnostic: a stage compute's waits_in_calls is a public static constexpr bool
constexpr auto waiting = slimpack::waits_in_calls<waits>();
// expected-diagnostic: a stage compute's joins_rows is a public static constexpr bool
constexpr bool joining = slimpack::detail::joins_rows<joins>;
// expected-diagnostic: a stage compute's lends_attention is a public static constexpr bool
constexpr bool lending = slimpack::detail::lends_attention<lends>;
// expected-diagnostic: a stage compute that joins rows shares rows: it says shares_rows, too
constexpr bool joining_alone = slimpack::detail::joins_rows<joins_alone>;
// expected-diagnostic: a stage compute that lends attention has a public loan_format loans(uint32_t chunk) const
constexpr bool lending_in_words = slimpack::detail::lends_attention<lends_in_words>;
