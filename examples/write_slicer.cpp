// A slicer of one's own: cuts long sequences in halves and leaves short ones whole. Checked by the laws,
// beside one with a slip, then used.
#include <slimpack/planner.hpp>
#include <slimpack/testing/slicer_laws.hpp>

#include <iostream>

struct halves {
  slimpack::tokens whole_up_to{4096};

  template <class Cost>
  slimpack::slice next(const slimpack::sequence& s, slimpack::tokens at, slimpack::pass p,
                       const slimpack::cut_budget& left, const Cost& cost) const {
    const std::int64_t cut = s.length > whole_up_to ? s.length.value / 2 / left.quantum.value * left.quantum.value : 0;
    const slimpack::tokens middle = s.begin + slimpack::tokens{cut};
    slimpack::slice half{s.id, at, {0}};
    if (p == slimpack::pass::forward) {
      half.length = (at < middle ? middle : s.end()) - at;
    } else {
      half.begin = at > middle ? middle : s.begin;
      half.length = at - half.begin;
    }
    const bool fits = half.length <= left.size && (left.empty || cost.time(half, p, left.part) <= left.time);
    return fits ? half : slimpack::slice{s.id, at, {0}};
  }
};

// The same with a slip: what does not fit is given all the same.
struct pushy : halves {
  template <class Cost>
  slimpack::slice next(const slimpack::sequence& s, slimpack::tokens at, slimpack::pass p, slimpack::cut_budget left,
                       const Cost& cost) const {
    left.size = s.length;
    return halves::next(s, at, p, left, cost);
  }
};

int main() {
  // Both reports are shown here. In a test, assert one, since it converts to bool: EXPECT_TRUE(report) << report.
  std::cout << slimpack::testing::slicer_laws(halves{}, slimpack::costs::quadratic{}) << "\n";
  std::cout << slimpack::testing::slicer_laws(pushy{}, slimpack::costs::quadratic{}) << "\n";

  slimpack::planner plan_batch{{.stages = 4}, halves{}};
  const std::vector<slimpack::tokens> lengths{{65536}, {30000}, {3000}, {2000}, {20000}, {900}};
  const slimpack::plan plan = plan_batch(lengths).value();
  std::cout << plan.replicas[0].partition.forward.slices().size() << " forward slices, efficiency "
            << static_cast<int>(100 * plan.efficiency) << " %\n";
}
