#include "scoreboard.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace slimpack::plan_quality {

const char* scoreboard::judge(goal g) {
  goals_.push_back(std::move(g));
  return goals_.back().met() ? "met" : "MISSED";
}

void scoreboard::print_summary() const {
  const auto met = std::count_if(goals_.begin(), goals_.end(), [](const goal& g) { return g.met(); });
  for (const goal& g : goals_)
    if (!g.met())
      std::printf("missed  %-72s %10.5g, goal %s %.5g\n", g.what.c_str(), g.value, g.at_most ? "at most" : "at least",
                  g.limit);
  std::printf("%zu goals, %zu met, %zu missed\n", goals_.size(), static_cast<std::size_t>(met),
              goals_.size() - static_cast<std::size_t>(met));
}

bool scoreboard::all_met() const {
  return std::all_of(goals_.begin(), goals_.end(), [](const goal& g) { return g.met(); });
}

}  // namespace slimpack::plan_quality
