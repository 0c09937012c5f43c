#ifndef SLIMPACK_EXAMPLES_PLAN_PRICES_HPP
#define SLIMPACK_EXAMPLES_PLAN_PRICES_HPP

#include "planners.hpp"
#include "setting.hpp"

#include <slimpack/core/units.hpp>

#include <iosfwd>
#include <optional>
#include <string>

namespace cli {

/// Which prices a setting has: what of the time was measured, and how far they were off on published trainings, which
/// the fidelity benchmark scores (examples/data/price_errors.csv). These are trainings with experts where the model has
/// some, and of this GPU, each where there are any. With tables of one's own, or --verbose, what each is used for,
/// and what is wrong with it.
void print_prices(std::ostream& out, const setting& s, const any_cost& cost);

/// The same errors in one sentence, for the page: over all trainings together that print_prices names. Where there is
/// none, as with one's own prices, that nothing is known of them.
std::string price_error_text(const setting& s);

/// By what factor the speed-up of one plan over another may be off (1.03: by 3 %). Both plans have the same prices, so
/// an error that they share cancels, and what is left is how unequal it is on two plans.
/// Source    derived: nine of ten pairs of published trainings of one batch on the same GPUs have a speed-up within
///           this factor of the predicted one (examples/data/speed_up_errors.csv, benchmarks/fidelity/speed_ups.cpp).
///           Where pairs of the model's kind, with experts or without, are too few, those of the other kind count
/// Errors    none; nothing is known of prices that no training was predicted with: --cost profiled and quadratic
std::optional<double> ratio_spread(const setting& s);

/// Where that factor comes from, in a sentence for below a table of speed-ups; empty where there is none.
std::string ratio_spread_text(const setting& s);

/// How many times as fast as its rival a plan is, and from what to what that may be.
struct speed_up {
  double value{};
  double low{};
  double high{};

  /// Whether the errors of prices alone can be the whole difference.
  [[nodiscard]] bool as_fast() const noexcept { return low <= 1 && 1 <= high; }
};

/// Of a plan that takes `own` over one that takes `rival`. Without a spread the range is the value alone.
speed_up speed_up_of(slimpack::seconds rival, slimpack::seconds own, std::optional<double> spread);

/// What is wrong where MFU is above 100 %, and what to do about it, in a line.
std::string beyond_peak_text(const setting& s);

}  // namespace cli

#endif
