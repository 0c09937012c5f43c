#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>

#include "../simulators/workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::published_bubbles_test {
namespace {

/// A row of the tables of SlimPipe's planner (arXiv:2504.14519): m sequences of n equal slices on p stages of v chunks.
struct setting {
  std::string model;
  std::uint32_t sequences;
  std::int64_t slices;
  int stages;
  int chunks;
  double percent;  ///< bubble, as printed

  [[nodiscard]] workload work() const { return tests::sliced_work(stages, sequences, slices, {}, chunks); }
  [[nodiscard]] std::vector<program> programs() const { return schedules::one_f_one_b{}.programs(work()).value(); }
};

const std::vector<setting> published{{"13B", 8, 16, 8, 5, 1.08},        {"13B", 8, 8, 4, 10, 0.47},
                                     {"70B", 16, 16, 8, 10, 0.27},      {"150B", 32, 16, 16, 6, 0.49},
                                     {"13B, whole", 8, 1, 8, 5, 14.89}, {"70B, whole", 16, 1, 8, 10, 4.19}};

// A forward takes 1 s and a backward 2 s on each of v chunks: a stage is busy 3 m n v seconds. To the last digit
// printed.
TEST(SlimPipeTables, GiveBubbles) {
  for (const setting& s : published) {
    simulators::task_graph graph;
    graph.assign(s.work(), s.programs()).value();
    std::vector<seconds> start;
    const double busy = 3.0 * s.sequences * static_cast<double>(s.slices) * s.chunks;
    EXPECT_NEAR(100 * (1 - busy / graph.sweep(start).value), s.percent, 0.005) << s.model;
  }
}

// On stage r: the n v parts of a sequence (slices x chunks) and 2 (p - 1 - r) of what follows; of whole sequences
// (v - 1) p + 1 for the n v, as Megatron-LM's warm-up has it. Never more than there are.
TEST(SlimPipeTables, GiveWhatIsInFlight) {
  for (const setting& s : published) {
    const workload work = s.work();
    const std::vector<double> peak = simulators::peak_memory(work, s.programs());
    const double unit = static_cast<double>(tests::slice_tokens.value) / s.chunks;
    for (int r = 0; r < s.stages; ++r) {
      const std::int64_t first = s.slices == 1 ? (s.chunks - 1) * s.stages + 1 : s.slices * s.chunks;
      const std::int64_t units = std::min(first + 2 * (s.stages - 1 - r), s.sequences * s.slices * s.chunks);
      EXPECT_NEAR(peak[static_cast<std::size_t>(r)] / unit, static_cast<double>(units), 1e-9) << s.model << ' ' << r;
    }
  }
}

}  // namespace
}  // namespace slimpack::published_bubbles_test
