#include "scoreboard.hpp"

#include "known_misses.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <utility>

namespace slimpack::plan_quality {
namespace {

bool is_known(const goal& g) {
  return std::find(std::begin(known_misses), std::end(known_misses), g.what) != std::end(known_misses);
}

}  // namespace

const char* scoreboard::judge(goal g) {
  goals_.push_back(std::move(g));
  return goals_.back().met() ? "met" : "MISSED";
}

void scoreboard::print_summary() const {
  std::size_t met = 0, known = 0;
  for (const goal& g : goals_) {
    const bool listed = is_known(g);
    if (g.met()) ++met;
    if (g.met() && !listed) continue;
    if (!g.met() && listed) ++known;
    std::printf("%-7s %-72s %10.5g, goal %s %.5g%s\n",
                g.met()  ? "met"
                : listed ? "known"
                         : "MISSED",
                g.what.c_str(), g.value, g.at_most ? "at most" : "at least", g.limit,
                g.met() ? "; known_misses.hpp lists it" : "");
  }
  std::printf("%zu goals, %zu met, %zu known to be missed, %zu missed besides\n", goals_.size(), met, known,
              goals_.size() - met - known);
}

bool scoreboard::misses_only_known() const {
  return std::all_of(goals_.begin(), goals_.end(), [](const goal& g) { return g.met() || is_known(g); });
}

}  // namespace slimpack::plan_quality
