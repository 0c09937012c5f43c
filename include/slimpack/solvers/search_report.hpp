#ifndef SLIMPACK_SOLVERS_SEARCH_REPORT_HPP
#define SLIMPACK_SOLVERS_SEARCH_REPORT_HPP

#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace slimpack::solvers {

/// What one kind of change did for a search.
struct move_report {
  std::string_view name;  ///< lives as long as the program
  std::uint64_t tried{};
  std::uint64_t taken{};  ///< the plan was changed so
  seconds gained{};       ///< by which steps of the replicas became shorter, each as it was just before

  /// It was taken, and gained so much.
  void take(seconds gain) noexcept { ++taken, gained += gain; }
  void add(const move_report& other) noexcept {
    tried += other.tried;
    taken += other.taken;
    gained += other.gained;
  }

  friend bool operator==(const move_report&, const move_report&) = default;
};

/// What a search did, change by change: how often each was tried, how often it was taken, and what that gained. A
/// search plans many divisions and throws most of them away, so gains of all of them together are more than a plan
/// shows; they tell which changes pay. Reports say nothing about the plan and change nothing in it.
/// Errors    none            Complexity  O(kinds) each
class search_report {
 public:
  /// The line of that name, a new one at the end where there is none. It is good until the next one is made.
  move_report& of(std::string_view name) {
    const auto at = std::find_if(moves_.begin(), moves_.end(), [&](const move_report& m) { return m.name == name; });
    return at != moves_.end() ? *at : moves_.emplace_back(move_report{name});
  }

  void add(const search_report& other) {
    for (const move_report& m : other.moves_) of(m.name).add(m);
  }

  /// In the order in which they were first tried.
  [[nodiscard]] const std::vector<move_report>& moves() const noexcept { return moves_; }

  friend bool operator==(const search_report&, const search_report&) = default;

 private:
  std::vector<move_report> moves_;
};

}  // namespace slimpack::solvers

#endif
