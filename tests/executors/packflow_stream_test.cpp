#include <slimpack/executors/packflow.hpp>

#include "../laws/cases.hpp"
#include "../transports/device_world.hpp"
#include "diary.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace slimpack::packflow_stream_test {
namespace {

/// A compute that only launches work, as one on a GPU does: when a call returns, nothing has been computed, read or
/// written yet. Its buffers are those that the runtime gave it.
class launched : public prefix_in_arena<backward_cuts::any> {
 public:
  launched(int stage, int stages, int chunks, device_world::port& on)
      : prefix_in_arena(stage, stages, chunks, tests::width), on_(&on) {}

  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return on_->device().run(on_->stream(), [this, p, in, to = buffer(out)] {
      outgoing there{to};
      prefix_in_arena::forward(p, in, there).value();
    });
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return on_->device().run(on_->stream(), [this, p, in, to = buffer(out)] {
      outgoing there{to};
      prefix_in_arena::backward(p, in, there).value();
    });
  }

 private:
  static std::span<std::byte> buffer(outgoing& out) { return out.wanted() ? out.bytes() : std::span<std::byte>{}; }
  device_world::port* on_;
};

TEST(PackflowOverStreams, GivesTheSameBitsWhereWorkRunsLaterThanItsCalls) {
  for (int seed = 1; seed <= tests::cases(3); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tokens quantum{random.between(1, 8)};
    const std::vector<tokens> lengths = tests::awkward_lengths(random, quantum, 12);
    for (const shape& on : {shape{.stages = 2, .quantum = quantum}, shape{.stages = 3, .replicas = 2, .quantum = quantum}}) {
      const plan p = tests::every_planner()[0].make(on, lengths).value();
      const int ranks = tests::ranks_of(p);
      device_world world{ranks, {.seed = static_cast<std::uint64_t>(seed), .in_issue_order = seed % 2 == 0}, {30}};
      std::vector<std::optional<result<step_report>>> reports(static_cast<std::size_t>(ranks));
      std::vector<double> gradients(static_cast<std::size_t>(ranks));
      tests::on_every_rank(ranks, [&](int rank) {
        const auto at = static_cast<std::size_t>(rank);
        auto endpoint = world.endpoint(rank);
        launched stage(rank % on.stages, on.stages, 1, endpoint);
        reports[at].emplace(executors::packflow<>{}.execute(p, stage, endpoint));
        gradients[at] = stage.gradient()[0];
      });
      const prefix_model::gradients expected = prefix_model::whole(lengths, on.stages);
      for (std::size_t rank = 0; rank < reports.size(); ++rank) {
        ASSERT_TRUE(*reports[rank]) << reports[rank]->error().detail;
        EXPECT_EQ(reports[rank]->value().loss_sum, expected.loss) << "seed " << seed;
        EXPECT_EQ(gradients[rank], expected.weight[rank % static_cast<std::size_t>(on.stages)]) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace slimpack::packflow_stream_test
