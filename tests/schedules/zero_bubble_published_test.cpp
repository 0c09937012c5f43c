#include <slimpack/concepts.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/timeline.hpp>

#include "../simulators/workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Bubbles that Qi et al. (arXiv:2401.10241) computed, table 5, from the times that they profiled, table 6.
namespace slimpack::zero_bubble_published_test {
namespace {

using schedules::one_f_one_b;
using schedules::zero_bubble;
using schedules::zero_bubble_order;

/// Milliseconds of a micro-batch on a stage; bytes that a token keeps until W and until B.
struct profiled_stage {
  double forward{};
  double inputs{};
  double weights{};
  double hop{};
  int chunks{1};
  double until_weights{1};
  double until_inputs{};

  [[nodiscard]] seconds time(const slice&, pass p, int) const {
    return {(p == pass::forward ? forward : inputs + weights) / chunks};
  }
  [[nodiscard]] seconds weight_time(const slice&, int) const { return {weights / chunks}; }
  [[nodiscard]] seconds message(tokens, pass, int) const { return {hop}; }
  [[nodiscard]] bytes kept(const slice& s, int) const { return {until_inputs * static_cast<double>(s.length.value)}; }
};

/// A row of the table, and what the library makes of it.
struct published {
  std::string name;
  std::string schedule;
  int stages{};
  int microbatches{};
  profiled_stage stage;
  double bubble{};

  /// Simulates the schedule; memory is limited to so many micro-batches.
  template <class Schedule>
  void run(const Schedule& rule, double micro_batches_held) {
    shape on = tests::pipeline(stages, stage.chunks);
    const double micro_batch = 128 * (stage.until_weights + stage.until_inputs);
    on.memory = memory_limit{memory_unit::byte, micro_batches_held * micro_batch};
    const std::vector<memory_rates> rates(static_cast<std::size_t>(stages), {.live_token = stage.until_weights});
    const workload work = price(tests::sliced(static_cast<std::uint32_t>(microbatches), 1), stage, on, rates,
                                weight_gradients_of<Schedule>);
    const std::vector<program> programs = rule.programs(work).value();
    for (const double held : simulators::peak_memory(settled(work, programs), programs))
      EXPECT_LE(held, on.memory->amount) << name << ' ' << schedule;
    const simulators::timeline lanes = simulators::simulate(settled(work, programs), programs).value();
    seconds longest{};
    for (const auto& lane : lanes.stages) longest = std::max(longest, lane.back().end - lane.front().begin);
    const double busy = microbatches * (stage.forward + stage.inputs + stage.weights);
    of_makespan = 1 - busy / lanes.makespan.value;
    of_span = 1 - busy / longest.value;
  }
  double of_makespan{};
  double of_span{};
};

io::csv_table table(const std::string& name) {
  return io::csv_table::read(SLIMPACK_TEST_DATA "/published/zero_bubble_" + name + ".csv").value();
}

/// Rows of table 5 for a schedule, with the times of table 6 and what table 4 says of the model.
std::vector<published> rows_of(const std::string& schedule) {
  const io::csv_table bubbles = table("simulated_bubble");
  const io::csv_table times = table("profiled_times");
  const io::csv_table models = table("throughput");
  const auto find = [](const io::csv_table& in, const std::string& model, std::optional<double> microbatches) {
    for (std::size_t i = 0; i < in.rows(); ++i)
      if (in.text(i, "model").value() == model &&
          (!microbatches || in.number(i, "microbatches").value() == *microbatches))
        return i;
    return in.rows();
  };
  std::vector<published> rows;
  for (std::size_t i = 0; i < bubbles.rows(); ++i) {
    if (bubbles.text(i, "schedule").value() != schedule) continue;
    const std::string model = bubbles.text(i, "model").value();
    const double microbatches = bubbles.number(i, "microbatches").value();
    const std::size_t t = find(times, model, microbatches);
    const std::size_t m = find(models, model, std::nullopt);
    const double hidden = models.number(m, "hidden").value();
    const double heads = models.number(m, "heads").value();
    const double length = models.number(m, "seq").value();
    published row;
    row.name = model + " x" + std::to_string(static_cast<int>(microbatches));
    row.schedule = schedule;
    row.stages = static_cast<int>(bubbles.number(i, "pp").value());
    row.microbatches = static_cast<int>(microbatches);
    row.bubble = bubbles.number(i, "bubble_rate").value();
    row.stage = {times.number(t, "t_f_ms").value(), times.number(t, "t_b_ms").value(),
                 times.number(t, "t_w_ms").value(), times.number(t, "t_comm_ms").value()};
    if (schedule == "1F1B-I")  // one layer a chunk, the embedding and the head count as one each
      row.stage.chunks = (static_cast<int>(models.number(m, "layers").value()) + 2) / row.stages;
    if (schedule == "ZB-1p" || schedule == "ZB-2p") {  // table 1: what a token keeps without flash attention
      row.stage.until_weights = 32 * hidden;
      row.stage.until_inputs = 2 * hidden + 5 * heads * length;
    }
    rows.push_back(row);
  }
  EXPECT_FALSE(rows.empty()) << schedule;
  return rows;
}

TEST(PublishedBubbles, Of1F1BAreMetToTheLastDigit) {
  for (published& row : rows_of("1F1B")) {
    row.run(one_f_one_b{.lead = 1}, row.stages);
    EXPECT_NEAR(row.of_makespan, row.bubble, 1e-4) << row.name;
  }
}

TEST(PublishedBubbles, OfInterleaved1F1BAreMet) {
  for (published& row : rows_of("1F1B-I")) {
    row.run(one_f_one_b{.lead = 2}, row.microbatches);
    EXPECT_NEAR(row.of_makespan, row.bubble, 0.004) << row.name;
  }
}

TEST(PublishedBubbles, OfZbH1AreMetToTheLastDigit) {
  for (published& row : rows_of("ZB-H1")) {
    row.run(zero_bubble{.order = zero_bubble_order::h1}, row.stages);
    EXPECT_NEAR(row.of_span, row.bubble, 1e-4) << row.name;
  }
}

TEST(PublishedBubbles, OfZbH2AreMetToTheLastDigit) {
  for (published& row : rows_of("ZB-H2")) {
    row.run(zero_bubble{.order = zero_bubble_order::h2}, 2 * row.stages - 1);
    EXPECT_NEAR(row.of_span, row.bubble, 1e-4) << row.name;
  }
}

TEST(PublishedBubbles, OfZb1pAreMetToTheLastDigitInTheMemoryOf1F1B) {
  for (published& row : rows_of("ZB-1p")) {
    row.run(zero_bubble{}, row.stages);
    EXPECT_NEAR(row.of_span, row.bubble, 1e-4) << row.name;
  }
}

TEST(PublishedBubbles, OfZb2pAreMetInTwiceThatMemoryAndNotClaimedToBeSmaller) {
  for (published& row : rows_of("ZB-2p")) {
    row.run(zero_bubble{}, 2 * row.stages);
    EXPECT_NEAR(row.of_span, row.bubble, 0.01) << row.name;
    EXPECT_GE(row.of_span, row.bubble - 1e-4) << row.name;
  }
}

}  // namespace
}  // namespace slimpack::zero_bubble_published_test
