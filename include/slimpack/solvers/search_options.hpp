#ifndef SLIMPACK_SOLVERS_SEARCH_OPTIONS_HPP
#define SLIMPACK_SOLVERS_SEARCH_OPTIONS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/solvers/detail/search_tuning.hpp>
#include <slimpack/solvers/search_constants.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string>

namespace slimpack::solvers {

/// How long a search may be on each replica, in counts, so that a plan does not depend on the machine's speed.
/// The search of pack sizes ends when either is used up; its first candidate is always made, however large, unless a
/// limit is set for it: who compares many shapes has no time for those that fit with thousands of tiny packs only.
/// Moves of single packs from there may take a 32nd of the tasks more. Where the order may change too
/// (orders_may_change_of), that takes half of the tasks, or up to nine tenths of many, if these are enough for several
/// sweeps over the plan. Where replicas could share sequences in several ways, the search is two thirds longer, to
/// compare them. A planner spends the efforts by name that are less, too, and that of fast within less memory where its
/// plan is far from its bound (solvers/assembly/detail/plan_assembly.hpp).
struct search_budget {
  std::uint64_t tasks{};            ///< simulated tasks and priced slices
  std::uint64_t candidates{};       ///< pack sizes tried
  std::uint64_t largest{no_limit};  ///< tasks that a first candidate may have; where it needs more, errc::over_budget
                                    ///< says so

  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  static constexpr search_budget fast() noexcept { return {220'000, 40}; }
  static constexpr search_budget normal() noexcept { return {3'300'000, 400}; }
  static constexpr search_budget high() noexcept { return {260'000'000, 20'000}; }

  /// The efforts by name, the least first.
  static constexpr std::array<search_budget, 3> named() noexcept { return {fast(), normal(), high()}; }
  /// Whether it is spent where the other is, `largest` aside.
  [[nodiscard]] constexpr bool is_within(const search_budget& other) const noexcept {
    return tasks <= other.tasks && candidates <= other.candidates;
  }

  friend constexpr bool operator==(const search_budget&, const search_budget&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const search_budget& b) {
    out << "{.tasks = " << b.tasks << ", .candidates = " << b.candidates;
    if (b.largest != no_limit) out << ", .largest = " << b.largest;
    return out << "}";
  }
};

/// What a user may choose of the search of two_phase, besides its effort and what may be shared. The defaults are for
/// any batch: nobody has to touch them. Each constant stands with its name, its default and the range that check()
/// takes; a constant without a unit is a ratio.
/// Source    measured: benchmarks/plan_quality/constants.md has what other values change
struct search_options {
  // Divisions: which replicas share what.
  /// A sequence of less than this share of a replica's mean work is never shared to level replicas. Less shares more.
  search_ratio light{"light", 0.02, 0, 1};
  /// If a division's step is within near_mean / candidates of the mean work, no further division is tried. More is
  /// quicker, and leaves better divisions untried.
  search_ratio near_mean{"near_mean", 0.4, 0, 1e6};
  /// The number of divisions that are balanced anew. More finds better ones, with less effort for each.
  search_count finalists{"finalists", 3, 1, 64};
  /// The share of the step that a division which shares more must gain, if the cost model prices no exchange.
  search_ratio sharing_gain{"sharing_gain", 0.002, 0, 1};
  /// Where step times are estimates, baselines up to so many times as slow as the best plan are compared, too.
  search_ratio estimate_times{"estimate_times", 1.5, 1, 100};

  // Packs: how many, and of which size.
  /// The share of the sequences that run before the longest, to begin with. They cover its turn, as those after it do.
  search_ratio front{"front", 0.23, 0, 1};
  /// A pack's overhead is worth waiting for so many times its time. More makes fewer packs, which wait longer.
  search_ratio overhead_packs{"overhead_packs", 20, 0, 1000};
  /// Without a memory limit, packs are sized as if so many of the longest sequence had room. More makes fewer packs.
  search_ratio room_longest{"room_longest", 2, 1, 1000};
  /// Each size of even packs that is tried is so many times the one before. Less is quicker and coarser.
  search_ratio even_step{"even_step", 0.7, 0.1, 0.95};
  /// If the first packs do not fit in memory, packs of this share of their size are next. Less fits sooner, in more
  /// packs.
  search_ratio smaller_first{"smaller_first", 0.5, 0.01, 1};
  /// Where both passes are cut alike and the cost model knows no overhead, a piece counts as so many quanta more. More
  /// makes fewer pieces, and longer steps.
  search_ratio piece_quanta{"piece_quanta", 0.03, 0, 1e6};

  // Plans of a forward alone.
  /// Each number of even packs that is tried is so many times the one before. Less is finer and slower.
  search_ratio evaluation_growth{"evaluation_growth", 1.25, 1.01, 10};
  /// Numbers of packs up to so many times the best one are tried, if they are no faster. More is slower.
  search_ratio evaluation_beyond{"evaluation_beyond", 2, 1, 100};

  /// What the library's measurements have chosen, and only they vary.
  slimpack::detail::search_tuning tuning{};

  /// Errors    invalid_input: a constant is out of its range
  [[nodiscard]] result<void> check() const {
    for (const search_constant& c : constants_of(*this))
      if (!(c.value >= c.least && c.value <= c.most))
        return error{errc::invalid_input, "search_options: " + std::string(c.name) + " is " + std::to_string(c.value) +
                                              ", it must be from " + std::to_string(c.least) + " to " +
                                              std::to_string(c.most)};
    return success();
  }

  friend constexpr bool operator==(const search_options&, const search_options&) = default;

  /// Prints those that are not the default.
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const search_options& o) {
    const auto defaults = constants_of(search_options{});
    const char* before = "{";
    for (std::size_t i = 0; const search_constant& c : constants_of(o)) {
      if (c == defaults[i++]) continue;
      out << before << "." << c.name << " = " << c.value;
      before = ", ";
    }
    return out << (*before == '{' ? "{}" : "}");
  }
};

/// The defaults, where nothing else is given.
inline constexpr search_options default_search_options{};

}  // namespace slimpack::solvers

#endif
