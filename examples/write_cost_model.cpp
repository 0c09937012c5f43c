// A cost model of one's own and its unit test: attention within a sliding window, as some layers of recent models use.
#include <slimpack/planner.hpp>
#include <slimpack/testing/cost_model_laws.hpp>

#include <algorithm>
#include <iostream>

struct sliding_window {
  double linear{1e-6};
  double attention{4e-11};
  double window{4096};

  /// Attended pairs of tokens [0, n) when each attends to at most `window` keys.
  double pairs(double n) const {
    const double full = std::min(n, window);
    return full * (full + 1) / 2 + (n - full) * window;
  }
  slimpack::seconds time(const slimpack::slice& s, slimpack::pass p, int /*part*/) const {
    const double attended = pairs(static_cast<double>(s.end().value)) - pairs(static_cast<double>(s.begin.value));
    const double forward = linear * static_cast<double>(s.length.value) + attention * attended;
    return {p == slimpack::pass::forward ? forward : 2.5 * forward};
  }
};

// The same with a slip: the prefix is forgotten, so that cutting a sequence makes it cheaper.
struct forgetful : sliding_window {
  slimpack::seconds time(const slimpack::slice& s, slimpack::pass p, int part) const {
    return sliding_window::time({s.sequence, {0}, s.length}, p, part);
  }
};

int main() {
  // Both reports are shown here. In a test, assert one, since it converts to bool: EXPECT_TRUE(report) << report.
  std::cout << slimpack::testing::cost_model_laws(sliding_window{});
  std::cout << "\n" << slimpack::testing::cost_model_laws(forgetful{}) << "\n";

  slimpack::planner plan_batch{{.stages = 4}, slimpack::slicers::equal_cost{}, sliding_window{}};
  const std::vector<slimpack::tokens> lengths{{65536}, {30000}, {3000}, {2000}, {20000}, {900}};
  std::cout << "efficiency " << static_cast<int>(100 * plan_batch(lengths).value().efficiency) << " %\n";
}
