#ifndef SLIMPACK_EXAMPLES_PLAN_TEXTS_HPP
#define SLIMPACK_EXAMPLES_PLAN_TEXTS_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/shapes/layout.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// What slimpack-plan and slimpack-train read from option values, and how both print figures.
namespace cli {

/// A usage error: one line on stderr, exit status 2.
struct bad_usage {
  std::string line;
};

/// "a,b," as "a", "b" and "".
std::vector<std::string> split(const std::string& text, char at);

/// "1,2.5e-3" as numbers, finite and not negative; none at all when a cell is something else.
std::vector<double> numbers_of(const std::string& text);

/// What is wrong with the text of --seed; empty where nothing is.
std::string seed_fault(const std::string& text);

/// Numbers that an option takes: finite, from `low`, or above it, to `high`.
struct number_range {
  double low{};
  double high{1e12};
  bool above{};  ///< `low` itself is none of them

  /// "from 0 to 1e+12"
  [[nodiscard]] std::string text() const;
  /// What is wrong with the text of an option; empty where nothing is.
  std::string operator()(const std::string& typed) const;
};

/// That a factor of --expert-imbalance, as typed, is more than there can be.
std::string too_imbalanced(const std::string& factor, int ranks);

/// What is wrong with --compare: a planner that is planned with anyway, or named twice; empty where nothing is.
std::string compare_fault(const std::string& planner, const std::vector<std::string>& compare);

/// LINEAR,ATTENTION,RATIO_LINEAR,RATIO_ATTENTION,OVERHEAD of a whole stage, as the cost of each of its chunks: an even
/// share of the work, and the overhead of a pack each. Throws bad_usage: numbers out of all measure.
slimpack::costs::quadratic quadratic_of(std::span<const double, 5> of_stage, slimpack::seconds call,
                                        slimpack::seconds hop, int chunks);

/// "80GiB", "80 gib" or "8192tokens". Throws bad_usage.
slimpack::memory_limit memory_of(const std::string& text);

/// A number with so many digits behind the point.
std::string fixed(double value, int digits);

/// A ratio in hundredths.
std::string percent(double ratio, int digits);

/// What a plan leaves to gain: the share of its step that the proven least time is shorter. "0.22 %".
std::string gain_text(double efficiency);

/// Model flops utilisation in hundredths, or "-".
std::string mfu_text(const std::optional<double>& mfu);

/// "1.500 s", "12.25 ms" or "3.1 us".
std::string time_of(slimpack::seconds s);

/// "9,9,9,5": what --layers takes.
std::string layers_text(const std::vector<int>& layers);

/// "8192,17408": what --words takes.
std::string words_text(const std::vector<std::int64_t>& words);

/// "--dp 1 --pp 8 --recompute full": the options of a layout, all degrees but those of 1; or, with `from`, those that
/// differ from it.
std::string options_of(const slimpack::shapes::layout& on);
std::string options_of(const slimpack::shapes::layout& on, const slimpack::shapes::layout& from);

/// Lines of equally many cells in columns, the first column to the left, the others to the right.
void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& lines);

}  // namespace cli

#endif
