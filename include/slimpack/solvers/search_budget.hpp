#ifndef SLIMPACK_SOLVERS_SEARCH_BUDGET_HPP
#define SLIMPACK_SOLVERS_SEARCH_BUDGET_HPP

#include <cstdint>
#include <iosfwd>
#include <limits>

namespace slimpack::solvers {

/// How long a search may be on each replica, in counts, so that a plan does not depend on the machine's speed.
/// The search of pack sizes ends when either is used up; its first candidate is always made, however large, unless a
/// limit is set for it: who compares many shapes has no time for those that fit with thousands of tiny packs only.
/// Moves of single packs from there may take a 32nd of the tasks more. Where the order may change too
/// (orders_may_change_of), that takes half of the tasks, or up to nine tenths of many, if these are enough for several
/// sweeps over the plan. Where replicas could share sequences in several ways, the search is two thirds longer, to
/// compare them.
struct search_budget {
  std::uint64_t tasks{};            ///< simulated tasks and priced slices
  std::uint64_t candidates{};       ///< pack sizes tried
  std::uint64_t largest{no_limit};  ///< tasks that a first candidate may have; where it needs more, errc::over_budget
                                    ///< says so

  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  static constexpr search_budget fast() noexcept { return {220'000, 40}; }
  static constexpr search_budget normal() noexcept { return {3'300'000, 400}; }
  static constexpr search_budget high() noexcept { return {260'000'000, 20'000}; }

  friend constexpr bool operator==(const search_budget&, const search_budget&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const search_budget& b) {
    out << "{.tasks = " << b.tasks << ", .candidates = " << b.candidates;
    if (b.largest != no_limit) out << ", .largest = " << b.largest;
    return out << "}";
  }
};

}  // namespace slimpack::solvers

#endif
