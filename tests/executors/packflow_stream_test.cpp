#include <slimpack/basic_planner.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include "../laws/cases.hpp"
#include "../support/bucketed_cost.hpp"
#include "../transports/device_world.hpp"
#include "../transports/nccl_world.hpp"
#include "diary.hpp"
#include "spread_plan.hpp"
#include "vocabulary_model.hpp"

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
  launched(int stage, int stages, int chunks, End& on)
      : prefix_in_arena(stage, stages, chunks, tests::width), on_(&on) {}

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

template <template <class> class Stage = launched, class World>
outcome run(World& world, const plan& p, int fails_at = 0, std::chrono::microseconds kernel = {}) {
  using end = std::remove_cvref_t<decltype(world.endpoint(0))>;
  const auto ranks = static_cast<std::size_t>(tests::ranks_of(p));
  outcome made{std::vector<std::optional<result<step_report>>>(ranks), std::vector<std::vector<double>>(ranks), 0};
  std::vector<int> waits(ranks);
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    auto&& endpoint = world.endpoint(rank);
    Stage<end> stage(rank % p.shape.stages, p.shape.stages, p.shape.chunks, endpoint);
    if (rank + 1 == tests::ranks_of(p)) stage.fails_at = fails_at;
    stage.kernel = kernel;
    made.reports[at].emplace(executors::packflow{}.execute(p, stage, endpoint));
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
    for (std::size_t c = 0; c < chunks; ++c)
      EXPECT_EQ(made.gradients[rank][c], expected.weight[c * stages + rank % stages]) << what;
  }
}

const shape shapes[]{
    {.stages = 2}, {.stages = 3, .replicas = 2}, {.stages = 2, .chunks = 2}, {.stages = 2, .replicas = 2, .chunks = 2}};

template <class Check>
void on_shapes(const Check& check) {
  for (int seed = 1; seed <= tests::steps(2); ++seed)
    for (shape on : shapes) {
      testing::generator random(static_cast<std::uint64_t>(seed));
      on.quantum = {random.between(1, 8)};
      const std::vector<tokens> lengths = tests::awkward_lengths(random, on.quantum, 12);
      const std::string what = "\nseed " + std::to_string(seed) + ", " + std::to_string(on.stages) + " stages, " +
                               std::to_string(on.replicas) + " replicas, " + std::to_string(on.chunks) + " chunks";
      check(tests::every_planner()[0].make(on, lengths).value(), lengths,
            devices::host::options{
                .seed = static_cast<std::uint64_t>(seed), .delay = {50e-6}, .in_issue_order = seed % 2 == 0},
            what);
    }
}

TEST(PackflowOverStreams, GivesTheSameBitsWhereWorkRunsLaterThanItsCalls) {
  on_shapes(
      [](const plan& p, const std::vector<tokens>& lengths, devices::host::options device, const std::string& what) {
        device_world world(tests::ranks_of(p), device, {30});
        expect_exact(run(world, p), p, lengths, what);
      });
}

TEST(PackflowOverStreams, GivesTheSameBitsOverCommunicators) {
  on_shapes(
      [](const plan& p, const std::vector<tokens>& lengths, devices::host::options device, const std::string& what) {
        nccl_world world(tests::ranks_of(p), device, {30}, device.seed % 3 != 0);
        expect_exact(run(world, p), p, lengths, what);  // makes communicators
        const outcome again = run(world, p);
        expect_exact(again, p, lengths, what);
        EXPECT_EQ(again.waits, 0) << "calls at which a host may wait for its device" << what;
      });
}

// What a host may not read it cannot add up.
TEST(PackflowOverStreams, RefusesChecksumsOfMessagesInDeviceMemory) {
  const plan p = tests::every_planner()[0].make({.stages = 2, .quantum = {4}}, std::vector<tokens>{{9}, {30}}).value();
  device_world world(2, devices::host::options{}, {30});
  std::vector<std::string> said(2);
  tests::on_every_rank(2, [&](int rank) {
    auto&& endpoint = world.endpoint(rank);
    launched<std::remove_cvref_t<decltype(endpoint)>> stage(rank, 2, 1, endpoint);
    said[static_cast<std::size_t>(rank)] =
        executors::packflow{.checksums = true}.execute(p, stage, endpoint).error().detail;
  });
  EXPECT_NE(said[0].find("packflow::checksums are computed by the host"), std::string::npos) << said[0];
}

/// Sums each chunk as soon as its gradients are final.
template <class End>
class launched_reducing : public launched<End> {
 public:
  using launched<End>::launched;
  template <class Group>
  result<void> reduce(Group&) {
    return success();
  }
  template <class Sums>
  result<void> reduce_part(std::uint32_t chunk, Sums& sums) {
    return sums.start(this->gradient_of(chunk));
  }
};

/// The same with a share of a spread vocabulary.
template <class End>
class launched_vocabulary : public vocabulary_stage<prefix_in_arena<backward_cuts::any>> {
  using base = vocabulary_stage<prefix_in_arena<backward_cuts::any>>;
  using bytes_in = std::span<const std::byte>;
  using pack_of = std::span<const piece>;

 public:
  launched_vocabulary(int stage, int stages, int chunks, End& on) : base(stage, stages, chunks), on_(&on) {}

  result<void> forward(const piece& p, bytes_in in, outgoing& out) {
    return launch(out, [this, p, in](outgoing& there) { return base::forward(p, in, there); });
  }
  result<void> backward(const piece& p, bytes_in in, outgoing& out) {
    return launch(out, [this, p, in](outgoing& there) { return base::backward(p, in, there); });
  }
  result<void> embed(pack_of pack, bytes_in in, outgoing& out) {
    if (waits_before_ < 0) waits_before_ = on_->device().host_waits();
    return launch(out, [this, kept = std::vector(pack.begin(), pack.end()), in](outgoing& there) {
      return base::embed(kept, in, there);
    });
  }
  result<void> output(pack_of pack, bytes_in in, outgoing& out) {
    return launch(out, [this, kept = std::vector(pack.begin(), pack.end()), in](outgoing& there) {
      return base::output(kept, in, there);
    });
  }
  result<void> gather_output(pack_of pack, std::span<const bytes_in> partials, outgoing& rows, outgoing& statistics) {
    return launch(
        rows, [this, kept = std::vector(pack.begin(), pack.end()), all = std::vector(partials.begin(), partials.end()),
               to = statistics.bytes()](outgoing& there) {
          outgoing also{to};
          return base::gather_output(kept, all, there, also);
        });
  }
  result<void> output_weights(pack_of pack, bytes_in in) {
    outgoing none;
    return launch(none, [this, kept = std::vector(pack.begin(), pack.end()), in](outgoing&) {
      return base::output_weights(kept, in);
    });
  }
  result<void> embed_gradients(pack_of pack, bytes_in in, outgoing& out) {
    return launch(out, [this, kept = std::vector(pack.begin(), pack.end()), in](outgoing& there) {
      return base::embed_gradients(kept, in, there);
    });
  }
  devices::host::memory make_tensor(tokens size) {
    return on_->device().allocate(static_cast<std::size_t>(size.value) * format().bytes_per_token()).value();
  }
  void copy_rows(bytes_in from, std::span<std::byte> to) { on_->device().copy(on_->stream(), to, from).value(); }
  bytes held() const {
    waits_ = on_->device().host_waits() - waits_before_;
    return {};
  }
  /// From the first call of the vocabulary to the end of the program.
  [[nodiscard]] int waits() const { return waits_; }

 private:
  template <class Call>
  result<void> launch(outgoing& out, Call call) {
    return on_->device().run(
        on_->stream(), [call, is_wanted = out.wanted(), to = out.wanted() ? out.bytes() : std::span<std::byte>{}] {
          if (outgoing none, there{to}; is_wanted)
            call(there).value();
          else
            call(none).value();
        });
  }

  End* on_;
  int waits_before_{-1};
  mutable int waits_{};
};

TEST(PackflowOverStreams, MakesAllMemoryOfASpreadVocabularyBeforeTheProgram) {
  for (const shape& on : {shape{.stages = 2, .quantum = {3}}, shape{.stages = 3, .replicas = 2, .quantum = {2}},
                          shape{.stages = 2, .chunks = 2, .quantum = {4}}})
    for (const bool in_issue_order : {true, false}) {
      testing::generator random(static_cast<std::uint64_t>(on.stages));
      const std::vector<tokens> lengths = tests::awkward_lengths(random, on.quantum, 9);
      const plan p = tests::spread(tests::every_planner()[0].make(on, lengths).value()).value();
      const vocabulary_model::gradients expected = vocabulary_model::whole(lengths, on.parts());
      nccl_world world(tests::ranks_of(p), {.seed = 3, .delay = {20e-6}, .in_issue_order = in_issue_order}, {30});
      for (const bool again : {false, true})
        tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
          launched_vocabulary<nccl_world::end> stage(rank % on.stages, on.stages, on.chunks, world.endpoint(rank));
          const result<step_report> done = executors::packflow{}.execute(p, stage, world.endpoint(rank));
          ASSERT_TRUE(done) << done.error().detail;
          EXPECT_NEAR(done.value().loss_sum, expected.loss, 1e-11 * expected.loss);
          for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(on.chunks); ++c)
            EXPECT_NEAR(stage.gradient()[c], expected.layers[static_cast<std::size_t>(stage.part(c))], 1e-10);
          for (std::size_t w = 0; w < stage.embedding.size(); ++w) {
            EXPECT_NEAR(stage.embedding[w], expected.embedding[static_cast<std::size_t>(stage.first_word()) + w],
                        1e-10);
            EXPECT_NEAR(stage.output_layer[w], expected.output[static_cast<std::size_t>(stage.first_word()) + w],
                        1e-10);
          }
          EXPECT_TRUE(!again || stage.waits() == 0)
              << stage.waits() << " calls at which a host may wait for its device";  // the first makes
                                                                                     // communicators
        });
    }
}

// Ranks that run one thing at a time, in the order of issue, would report sums that wait for each other.
TEST(PackflowOverStreams, GivesTheSameBitsWhereSumsRunBesideTheProgram) {
  const costs::quadratic times{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
  int beside = 0;
  for (int seed = 1; seed <= tests::steps(12); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(1, 3)),
                   .replicas = static_cast<int>(random.between(2, 3)),
                   .chunks = static_cast<int>(random.between(1, 3)),
                   .quantum = {random.between(1, 8)}};
    const std::vector<tokens> lengths =
        tests::awkward_lengths(random, on.quantum, static_cast<std::size_t>(random.between(2, 12)));
    const plan p = basic_planner{on,
                                 slicers::equal_cost{},
                                 tests::any_buckets(times, on, {1e-3}, random),
                                 solvers::two_phase{.effort = solvers::search_budget::fast(), .most_sharers = 1},
                                 schedules::list{},
                                 simulators::sweep{}}(lengths)
                       .value();
    beside += p.reduction.has_value();
    const std::string what = "\nseed " + std::to_string(seed);
    nccl_world world(tests::ranks_of(p),
                     {.seed = static_cast<std::uint64_t>(seed), .delay = {50e-6}, .in_issue_order = seed % 3 != 0},
                     {30}, seed % 2 == 0);
    expect_exact(run<launched_reducing>(world, p), p, lengths, what);
    const outcome again = run<launched_reducing>(world, p);
    expect_exact(again, p, lengths, what);
    EXPECT_EQ(again.waits, 0) << what;
  }
  EXPECT_GT(beside, 6);
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
      if (one.instruction.pass() == pass::forward) {
        EXPECT_GE(one.end - one.begin, seconds{.9e-3});
      }
      EXPECT_GE(one.begin, end);
      EXPECT_EQ(one.processor, seconds{});  // of the host, which only issues it
      end = one.end;
    }
    EXPECT_GE(report->value().elapsed, end);
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
    made.reports[at].emplace(executors::packflow{}.execute(p, stage, end));
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
  on_shapes(
      [](const plan& p, const std::vector<tokens>& lengths, devices::host::options device, const std::string& what) {
        nccl_world world(tests::ranks_of(p), device, {30});
        const outcome failed = run(world, p, 2);
        for (const auto& report : failed.reports) {
          ASSERT_FALSE(*report) << what;
          EXPECT_NE(report->error().detail.find("a kernel that cannot be launched"), std::string::npos)
              << report->error().detail << what;
        }
        expect_exact(run(world, p), p, lengths, what);
      });
}

}  // namespace
}  // namespace slimpack::packflow_stream_test
