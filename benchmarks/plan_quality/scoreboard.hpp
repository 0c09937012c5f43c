#ifndef SLIMPACK_BENCHMARKS_PLAN_QUALITY_SCOREBOARD_HPP
#define SLIMPACK_BENCHMARKS_PLAN_QUALITY_SCOREBOARD_HPP

#include "../goal.hpp"

#include <vector>

namespace slimpack::plan_quality {

using benchmarks::goal;

/// Remembers every figure that has a goal, in the order they were found.
class scoreboard {
 public:
  /// "met" or "MISSED", for the line that prints the figure; a figure that is no number misses its goal.
  const char* judge(goal g);

  /// Prints the missed ones and those of known_misses.hpp, and last how many were met.
  void print_summary() const;
  [[nodiscard]] bool misses_only_known() const;

 private:
  std::vector<goal> goals_;
};

}  // namespace slimpack::plan_quality

#endif
