#include <slimpack/executors/packflow.hpp>

#include "../laws/cases.hpp"
#include "../transports/device_world.hpp"
#include "../transports/nccl_world.hpp"
#include "diary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::packflow_stream_test {
namespace {

/// A compute that only launches work, as one on a GPU does: when a call returns, nothing has been computed, read or
/// written yet. Its buffers are those that the runtime gave it, in memory of its device.
template <class End>
class launched : public prefix_in_arena<backward_cuts::any> {
 public:
  launched(int stage, int stages, int chunks, End& on) : prefix_in_arena(stage, stages, chunks, tests::width), on_(&on) {}

  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (waits_before_ < 0) waits_before_ = on_->device().host_waits();
    ++calls_;
    if (calls_ == fails_at) return error{errc::compute_failed, "a kernel that cannot be launched"};
    return on_->device().run(on_->stream(), [this, p, in, to = buffer(out)] {
      if (kernel.count() > 0) std::this_thread::sleep_for(kernel);
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
  devices::host::memory make_tensor(tokens size) {
    return on_->device().allocate(static_cast<std::size_t>(size.value) * format().bytes_per_token()).value();
  }
  bytes held() const {
    waits_ = on_->device().host_waits() - waits_before_;
    return {};
  }
  /// From its first call to the end of its program.
  [[nodiscard]] int waits() const { return waits_; }

  int fails_at{};
  std::chrono::microseconds kernel{};  // how long a forward takes at least

 private:
  static std::span<std::byte> buffer(outgoing& out) { return out.wanted() ? out.bytes() : std::span<std::byte>{}; }
  End* on_;
  int calls_{};
  int waits_before_{-1};
  mutable int waits_{};
};

/// What all ranks of a step made.
struct outcome {
  std::vector<std::optional<result<step_report>>> reports;
  std::vector<std::vector<double>> gradients;
  int waits{};
};

template <class World>
outcome run(World& world, const plan& p, int fails_at = 0, std::chrono::microseconds kernel = {}) {
  using end = std::remove_cvref_t<decltype(world.endpoint(0))>;
  const auto ranks = static_cast<std::size_t>(tests::ranks_of(p));
  outcome made{std::vector<std::optional<result<step_report>>>(ranks), std::vector<std::vector<double>>(ranks), 0};
  std::vector<int> waits(ranks);
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    auto&& endpoint = world.endpoint(rank);
    launched<end> stage(rank % p.shape.stages, p.shape.stages, p.shape.chunks, endpoint);
    if (rank + 1 == tests::ranks_of(p)) stage.fails_at = fails_at;
    stage.kernel = kernel;
    made.reports[at].emplace(executors::packflow<>{}.execute(p, stage, endpoint));
    made.gradients[at].assign(stage.gradient().begin(), stage.gradient().end());
    waits[at] = stage.waits();
  });
  for (const int w : waits) made.waits += w;
  return made;
}

void expect_exact(const outcome& made, const plan& p, const std::vector<tokens>& lengths, const std::string& what) {
  const auto stages = static_cast<std::size_t>(p.shape.stages), chunks = static_cast<std::size_t>(p.shape.chunks);
  const prefix_model::gradients expected = prefix_model::whole(lengths, p.shape.parts());
  for (std::size_t rank = 0; rank < made.reports.size(); ++rank) {
    ASSERT_TRUE(*made.reports[rank]) << made.reports[rank]->error().detail << what;
    EXPECT_EQ(made.reports[rank]->value().loss_sum, expected.loss) << what;
    for (std::size_t c = 0; c < chunks; ++c) EXPECT_EQ(made.gradients[rank][c], expected.weight[c * stages + rank % stages]) << what;
  }
}

const shape shapes[]{{.stages = 2}, {.stages = 3, .replicas = 2}, {.stages = 2, .chunks = 2}, {.stages = 2, .replicas = 2, .chunks = 2}};

template <class Check>
void on_shapes(const Check& check) {
  for (int seed = 1; seed <= tests::cases(2); ++seed)
    for (shape on : shapes) {
      testing::generator random(static_cast<std::uint64_t>(seed));
      on.quantum = {random.between(1, 8)};
      const std::vector<tokens> lengths = tests::awkward_lengths(random, on.quantum, 12);
      const std::string what = "\nseed " + std::to_string(seed) + ", " + std::to_string(on.stages) + " stages, " + std::to_string(on.replicas) +
                               " replicas, " + std::to_string(on.chunks) + " chunks";
      check(tests::every_planner()[0].make(on, lengths).value(), lengths,
            devices::host::options{.seed = static_cast<std::uint64_t>(seed), .delay = {50e-6}, .in_issue_order = seed % 2 == 0}, what);
    }
}

TEST(PackflowOverStreams, GivesTheSameBitsWhereWorkRunsLaterThanItsCalls) {
  on_shapes([](const plan& p, const std::vector<tokens>& lengths, devices::host::options device, const std::string& what) {
    device_world world(tests::ranks_of(p), device, {30});
    expect_exact(run(world, p), p, lengths, what);
  });
}

TEST(PackflowOverStreams, GivesTheSameBitsOverCommunicators) {
  on_shapes([](const plan& p, const std::vector<tokens>& lengths, devices::host::options device, const std::string& what) {
    nccl_world world(tests::ranks_of(p), device, {30}, device.seed % 3 != 0);
    expect_exact(run(world, p), p, lengths, what);  // makes communicators
    const outcome again = run(world, p);
    expect_exact(again, p, lengths, what);
    EXPECT_EQ(again.waits, 0) << "calls at which a host may wait for its device" << what;
  });
}

/// Calls return at once, and each forward takes the device a millisecond.
TEST(PackflowOverStreams, TellsWhenTheDeviceRanAnInstruction) {
  const plan p = tests::small_plan({.stages = 2, .quantum = {4}});
  nccl_world world(tests::ranks_of(p), {.delay = {0}}, {30});
  const outcome made = run(world, p, 0, std::chrono::milliseconds(1));
  for (const auto& report : made.reports) {
    ASSERT_TRUE(*report) << report->error().detail;
    seconds end{};
    for (const timed_instruction& one : report->value().timeline) {
      if (one.instruction.pass == pass::forward) {
        EXPECT_GE(one.end - one.begin, seconds{.9e-3});
      }
      EXPECT_GE(one.begin, end);
      end = one.end;
    }
    EXPECT_GE(report->value().elapsed, end);
  }
}

TEST(PackflowOverStreams, RefusesSharedSequencesWhoseRowsTheHostCopies) {
  plan p = tests::small_plan({.stages = 2, .quantum = {4}});
  p.merges.emplace_back();
  nccl_world world(tests::ranks_of(p), {}, {30});
  for (const auto& report : run(world, p).reports) {
    ASSERT_FALSE(*report);
    EXPECT_NE(report->error().detail.find("most_sharers = 1"), std::string::npos) << report->error().detail;
  }
}

/// Counts receives that are posted and not yet waited for.
template <bool Order>
class counting : public transports::threads::port {
 public:
  static constexpr bool plan_order = Order;
  explicit counting(transports::threads::port p) : port(std::move(p)) {}
  result<handle> receive(int peer, int channel, std::span<std::byte> bytes) {
    most = std::max(most, ++posted);
    return port::receive(peer, channel, bytes);
  }
  result<void> wait(const handle& h) {
    posted = 0;  // whoever waits for one reads it
    return port::wait(h);
  }
  int posted{}, most{};
};

/// The most receives that one of two stages has posted before it needs them.
template <bool Order>
int posted_ahead(const plan& p, const std::vector<tokens>& lengths) {
  transports::threads world{2, {.time_out = {30}}};
  std::vector<int> most(2);
  outcome made{std::vector<std::optional<result<step_report>>>(2), std::vector<std::vector<double>>(2), 0};
  tests::on_every_rank(2, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    counting<Order> end(world.endpoint(rank));
    prefix_in_arena<backward_cuts::any> stage(rank, 2, 1, tests::width);
    made.reports[at].emplace(executors::packflow<>{}.execute(p, stage, end));
    made.gradients[at].assign(stage.gradient().begin(), stage.gradient().end());
    most[at] = end.most;
  });
  expect_exact(made, p, lengths, "");
  return std::max(most[0], most[1]);
}

TEST(PackflowInPlanOrder, PostsReceivesAtTheirPlace) {
  testing::generator random(11);
  const std::vector<tokens> lengths = tests::awkward_lengths(random, {4}, 12);
  const plan p = tests::every_planner()[0].make({.stages = 2, .quantum = {4}}, lengths).value();
  EXPECT_EQ(posted_ahead<true>(p, lengths), 1);
  EXPECT_GT(posted_ahead<false>(p, lengths), 1);
}

TEST(PackflowOverStreams, RunsTheNextStepExactlyAfterOneThatWasAborted) {
  on_shapes([](const plan& p, const std::vector<tokens>& lengths, devices::host::options device, const std::string& what) {
    nccl_world world(tests::ranks_of(p), device, {30});
    const outcome failed = run(world, p, 2);
    for (const auto& report : failed.reports) {
      ASSERT_FALSE(*report) << what;
      EXPECT_NE(report->error().detail.find("a kernel that cannot be launched"), std::string::npos) << report->error().detail << what;
    }
    expect_exact(run(world, p), p, lengths, what);
  });
}

}  // namespace
}  // namespace slimpack::packflow_stream_test
