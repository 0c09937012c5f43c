// A schedule of one's own: GPipe, every forward and then every backward, in the memory that it needs. Checked by the
// laws, beside one with a slip, then compared.
#include <slimpack/planner.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/testing/schedule_laws.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

struct gpipe {
  slimpack::result<std::vector<slimpack::program>> programs(const slimpack::workload& work) const {
    // Virtual stages are for schedules that interleave them.
    if (work.shape.chunks > 1) return slimpack::error{slimpack::errc::invalid_input, "gpipe runs one chunk per stage"};
    slimpack::program code;
    for (const slimpack::pass p : {slimpack::pass::forward, slimpack::pass::backward})
      for (std::uint32_t pack = 0; pack < work.times.packs(p); ++pack) code.push_back({slimpack::pass_kind(p), {pack}});
    std::vector<slimpack::program> stages(static_cast<std::size_t>(work.shape.stages), code);

    const std::vector<double> peak = slimpack::simulators::peak_memory(work, stages);
    const double most = *std::max_element(peak.begin(), peak.end());
    if (work.shape.memory && most > work.shape.memory->amount)
      return slimpack::error{slimpack::errc::out_of_memory, "all forwards first need " + std::to_string(most) + " of " +
                                                                std::to_string(work.shape.memory->amount)};
    return stages;
  }
};

// The same with a slip: it forgets that memory has a limit.
struct careless : gpipe {
  slimpack::result<std::vector<slimpack::program>> programs(slimpack::workload work) const {
    work.shape.memory.reset();
    return gpipe::programs(work);
  }
};

int main() {
  // Both reports are shown here. In a test, assert one, since it converts to bool: EXPECT_TRUE(report) << report.
  std::cout << slimpack::testing::schedule_laws(gpipe{}) << "\n";
  std::cout << slimpack::testing::schedule_laws(careless{}) << "\n";

  const slimpack::shape shape{.stages = 4};
  const std::vector<slimpack::tokens> lengths{{65536}, {30000}, {3000}, {2000}, {20000}, {900}, {700}, {11000}};
  const slimpack::slicers::equal_cost slicer;
  const slimpack::costs::quadratic cost;
  const slimpack::solvers::two_phase solver;
  const slimpack::plan mine = slimpack::planner{shape, slicer, cost, solver, gpipe{}}(lengths).value();
  const slimpack::plan list = slimpack::planner{shape, slicer, cost, solver}(lengths).value();
  const auto peak = [](const slimpack::plan& p) { return p.replicas[0].peak_memory[0]; };
  std::cout << "the list schedule takes " << static_cast<int>(100 * (list.step_time / mine.step_time))
            << " % of its time and " << static_cast<int>(100 * (peak(list) / peak(mine))) << " % of its memory\n";
}
