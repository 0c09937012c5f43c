// Ten questions one asks of a plan, each answered by a view (views.hpp) and an algorithm in place of nested loops. Two
// replicas share the longest sequence, and weight gradients run apart from their backward where that fills a gap.
#include <slimpack/planner.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/views.hpp>

#include <range/v3/algorithm/find_if_not.hpp>
#include <range/v3/algorithm/max.hpp>
#include <range/v3/numeric/accumulate.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <vector>

using namespace slimpack;  // examples of plans in a few lines; a trainer writes the names in full

int main() {
  const std::vector<tokens> lengths{{98304}, {16000}, {9000}, {7000}, {12000}, {5000}, {3000}, {800}, {600}, {400}};
  const costs::quadratic cost{.linear = 1e-6, .attention = 4e-11, .per_pack = {6.4e-5}, .hop = {2.4e-5}};
  const plan p =
      planner{
          {.stages = 4, .replicas = 2}, slicers::equal_cost{}, cost, solvers::two_phase{}, schedules::zero_bubble{}}(
          lengths)
          .value();
  const auto ms = [](seconds s) { return std::to_string(std::lround(1e3 * s.value)) + " ms"; };
  const sequence_id longest{0};

  std::cout << "1. How many packs has each pass?  " << ranges::distance(views::packs(p, pass::forward)) << " forward, "
            << ranges::distance(views::packs(p, pass::backward)) << " backward\n";

  const auto on_first_part = [](const pack_view& x) { return x.times[0]; };
  const pack_view slowest = ranges::max(views::packs(p), {}, on_first_part);
  std::cout << "2. Which pack takes longest?  " << (slowest.pass == pass::forward ? "F" : "B") << slowest.pack.value
            << " of replica " << slowest.replica << ", " << ms(slowest.times[0]) << "\n";

  const auto count = [](const pack_view& x) { return x.slices.size(); };
  std::cout << "3. How many slices has the fullest?  " << count(ranges::max(views::packs(p), {}, count)) << "\n";

  const auto length = [](const slice_view& s) { return s.slice.length; };
  std::cout << "4. In how many slices is the longest sequence cut?  "
            << ranges::distance(views::slices(p, longest, pass::forward)) << " forward, of which the longest has "
            << ranges::max(views::slices(p, longest, pass::forward), {}, length).slice.length.value << " tokens\n";

  std::set<std::uint32_t> replicas;
  for (const slice_view& s : views::slices(p, longest)) replicas.insert(s.replica);
  std::cout << "5. How many replicas run it, in how many rows?  " << replicas.size() << ", "
            << ranges::distance(views::rows(p, longest, pass::forward)) << " forward and "
            << ranges::distance(views::rows(p, longest, pass::backward)) << " backward\n";

  const auto joint = [&](const row_view& r) { return ranges::distance(views::row_slices(p, r)); };
  std::cout << "6. How many slices has its fullest row?  " << joint(ranges::max(views::rows(p, longest), {}, joint))
            << "\n";

  const auto taken = [](auto&& of) { return ranges::accumulate(of, seconds{}, {}, &instruction_view::time); };
  std::cout << "7. For which part of the step does stage 3 of replica 1 work?  "
            << static_cast<int>(100 * (taken(views::instructions(p, 1, 3)) / p.step_time)) << " %\n";

  const auto apart = [](const instruction_view& i) { return i.instruction.is_weights(); };
  std::cout << "8. How much of its work are weight gradients that run apart?  "
            << ms(taken(views::instructions(p, 1, 3) | ranges::views::filter(apart))) << " of "
            << ms(taken(views::instructions(p, 1, 3))) << "\n";

  const auto first = views::instructions(p, 0, 0);
  const auto backward =
      ranges::find_if_not(first, [](const instruction_view& i) { return i.instruction.pass() == pass::forward; });
  std::cout << "9. How many forwards does stage 0 run before its first backward?  " << backward - first.begin() << "\n";

  const auto all = ranges::accumulate(views::messages(p, 0), seconds{}, {}, &message_view::time);
  std::cout << "10. How long are messages under way between stages 0 and 1?  " << ms(all) << " in all\n";
}
