#include <slimpack/profiling/driver.hpp>

#include "../executors/everywhere.hpp"
#include "../executors/prefix_model.hpp"

#include <slimpack/testing/generator.hpp>
#include <slimpack/transports/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::driver_test {
namespace {

using namespace slimpack::profiling;

/// What calls of a part take, by the formula that profiles fit. Parts take unlike times, and backwards more.
pack_rates true_rates(pass p, int part) {
  const double more = (1 + 0.5 * part) * (p == pass::forward ? 1 : 2.5);
  const double prefix = p == pass::forward ? 0 : 2e-9;
  return {{3e-5 * more}, {1e-6 * more}, {2e-6 * more}, {1e-9 * more}, {8e-10 * more}, {prefix * more}};
}
double true_time(std::span<const piece> pack, pass p, int part) {
  const pack_rates r = true_rates(p, part);
  double sum = r.pack.value;
  for (const piece& one : pack) {
    const auto q = static_cast<double>(one.slice.length.value), prefix = static_cast<double>(one.slice.begin.value);
    sum +=
        r.slice.value + r.token.value * q + r.pair.value * q * prefix + r.own.value * q * q + r.prefix.value * prefix;
  }
  return sum;
}

/// Takes no time, but says how much its calls would have taken: by pack, weight gradients apart where asked. Sums a
/// gradient.
class timed_compute {
 public:
  static constexpr backward_cuts cuts = backward_cuts::any;
  static constexpr bool splits_weight_gradients = true;
  timed_compute(int stage, int stages, int chunks) : stage_(stage), stages_(stages), chunks_(chunks) {}

  [[nodiscard]] message_format format() const { return {4, element_type::float32}; }
  [[nodiscard]] int chunks() const { return chunks_; }
  void begin_step(const step_outline& o) {
    wrong += o.sequences.size() != announced.size() ||
             !std::equal(o.sequences.begin(), o.sequences.end(), announced.begin());
    live_ = 0;
  }
  void forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    spend(pack, pass::forward, 1);
    const int part = static_cast<int>(pack[0].chunk) * stages_ + stage_;
    wrong += in.empty() != (part == 0) || out.wanted() != (part + 1 < stages_ * chunks_);
    for (const float x : as<float>(in)) wrong += x != 1 && x != -1;
    (void)out.bytes();
    for (const piece& one : pack) live_ += one.slice.length.value, weight_ += one.loss_weight;
  }
  void backward(std::span<const piece> pack, std::span<const std::byte>, outgoing& out) {
    spend(pack, pass::backward, pack[0].weights_apart ? 0.6 : 1);
    (void)out.bytes();
    for (const piece& one : pack) live_ -= one.slice.length.value;
  }
  void weights(std::span<const piece> pack) { spend(pack, pass::backward, 0.4); }
  void discard(const piece&) { ++discarded; }
  template <class Group>
  result<void> reduce(Group& group) {
    spent += 0.25;
    return group.sum(std::span(gradient_));
  }
  [[nodiscard]] std::int64_t live() const { return live_; }

  double spent{}, noise{};
  int wrong{}, discarded{}, calls{}, fails_at{-1};
  std::vector<sequence> announced;

 private:
  void spend(std::span<const piece> pack, pass p, double share) {
    if (calls++ == fails_at) throw std::runtime_error("no kernel");
    const int part = static_cast<int>(pack[0].chunk) * stages_ + stage_;
    const double off = noise * static_cast<double>(random_.between(-1000, 1000)) / 1000;
    spent += share * true_time(pack, p, part) * (1 + off);
  }

  int stage_, stages_, chunks_;
  std::int64_t live_{};
  double weight_{};
  std::vector<double> gradient_ = std::vector<double>(8, 1);
  testing::generator random_{7};
};

/// Reads the time that a compute says it has spent: a device's events.
class told_time {
 public:
  explicit told_time(const timed_compute& of) : of_(&of) {}
  void start() { begin_ = of_->spent; }
  [[nodiscard]] seconds stop() { return {of_->spent - begin_}; }

 private:
  const timed_compute* of_;
  double begin_{};
};

/// Profiles on threads, a rank's profile each.
std::vector<stage_profile> measured(const shape& on, tokens longest, double noise, seconds budget = {30}) {
  const int ranks = on.stages * on.replicas;
  std::vector<stage_profile> all(static_cast<std::size_t>(ranks));
  transports::threads world{ranks, {.time_out = {60}}};
  tests::on_every_rank(ranks, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    timed_compute compute(rank % on.stages, on.stages, on.chunks);
    compute.noise = noise;
    driver drive{compute, on, longest, endpoint, told_time(compute)};
    drive.budget = budget;
    drive.prepare = [&](std::span<const sequence> s) { compute.announced.assign(s.begin(), s.end()); };
    all[static_cast<std::size_t>(rank)] = drive.measure().value();
    EXPECT_EQ(compute.wrong, 0);
    EXPECT_EQ(compute.live(), 0);
    EXPECT_EQ(compute.discarded, 0);
  });
  return all;
}

bool near(seconds a, seconds b, double off) { return std::abs(a.value - b.value) <= off * b.value; }

bool same_bits(const stage_profile& a, const stage_profile& b) {
  const auto same = [](const costs::profiled::sample& x, const costs::profiled::sample& y) {
    return x.pass == y.pass && x.part == y.part && x.queries == y.queries && x.keys == y.keys && x.time == y.time;
  };
  return std::equal(a.samples.begin(), a.samples.end(), b.samples.begin(), b.samples.end(), same) &&
         a.forward == b.forward && a.backward == b.backward && a.weight_token == b.weight_token &&
         a.message == b.message && a.message_token == b.message_token && a.reduce == b.reduce && a.check == b.check;
}

TEST(Driver, FindsTheRatesThatThereAre) {
  for (const shape& on : {shape{.stages = 2, .replicas = 2, .quantum = {64}},
                          shape{.stages = 2, .chunks = 2, .quantum = {16}}, shape{.quantum = {128}}}) {
    const std::vector<stage_profile> all = measured(on, {3000}, 0);
    for (const stage_profile& own : all) EXPECT_TRUE(same_bits(own, all[0])) << "ranks have profiles of unlike bits";
    const stage_profile& p = all[0];
    ASSERT_EQ(p.forward.size(), static_cast<std::size_t>(on.parts()));
    for (int part = 0; part < on.parts(); ++part)
      for (const pass way : both_passes) {
        const pack_rates found = (way == pass::forward ? p.forward : p.backward)[static_cast<std::size_t>(part)],
                         expected = true_rates(way, part);
        EXPECT_TRUE(near(found.pack, expected.pack, 1e-6)) << found.pack.value << " " << expected.pack.value;
        EXPECT_TRUE(near(found.slice, expected.slice, 1e-4)) << found.slice.value;
        EXPECT_TRUE(near(found.token, expected.token, 1e-6)) << found.token.value;
        EXPECT_TRUE(near(found.pair, expected.pair, 1e-6)) << found.pair.value;
        EXPECT_TRUE(near(found.own, expected.own, 1e-6)) << found.own.value;
        EXPECT_NEAR(found.prefix.value, expected.prefix.value, 1e-12);
      }
    EXPECT_GT(p.check.kinds, 5u);
    EXPECT_LT(p.check.median, 0.02);
    ASSERT_EQ(p.weight_token.size(), static_cast<std::size_t>(on.parts()));
    EXPECT_GT(p.weight_token[0], seconds{});
    EXPECT_EQ(p.reduce, seconds{on.replicas > 1 ? 0.25 : 0.0});
    const costs::profiled cost = p.cost().value();
    EXPECT_EQ(cost.parts(), on.parts());
    // Packs that no trial had.
    testing::generator random(3);
    for (int n = 0; n < 50; ++n) {
      std::vector<piece> pack;
      std::vector<slice> slices;
      for (std::uint32_t k = 0; k < 4; ++k) {
        slices.push_back({{k}, {64 * random.between(0, 20)}, {random.between(16, 1500)}});
        pack.push_back({slices.back(), {3000}});
      }
      EXPECT_NEAR(cost.time(slices, pass::forward, 0).value / true_time(pack, pass::forward, 0), 1, 0.1);
    }
  }
}

TEST(Driver, StaysWithinATenthOfNoisyPacksLeftOut) {
  const stage_profile p = measured({.stages = 2, .quantum = {64}}, {2048}, 0.08, {0.3})[0];
  std::printf(
      "noise of 8 %%: %zu kinds of packs left out, %.2f %% off (median), %.2f %% at most; a pack %.3g s (%.3g)\n",
      p.check.kinds, 100 * p.check.median, 100 * p.check.worst, p.forward[0].pack.value,
      true_rates(pass::forward, 0).pack.value);
  EXPECT_GT(p.check.median, 0);
  EXPECT_LT(p.check.median, 0.1);
  EXPECT_TRUE(near(p.forward[0].token, true_rates(pass::forward, 0).token, 0.2));
}

TEST(Driver, TakesEveryFormOfCompute) {
  const auto profile_of = [](auto compute, const shape& on) {
    transports::threads world{1, {.time_out = {20}}};
    auto endpoint = world.endpoint(0);
    driver drive{compute, on, tokens{200}, endpoint};
    drive.budget = {0.2};
    const stage_profile p = drive.measure().value();
    EXPECT_EQ(p.forward.size(), static_cast<std::size_t>(on.chunks));
    EXPECT_TRUE(p.cost());
    EXPECT_EQ(p.weight_token.empty(), !slimpack::detail::splits_weight_gradients<decltype(compute)>);
  };
  profile_of(prefix_by_piece(0, 1, 1), {.quantum = {8}});
  profile_of(prefix_by_pack(0, 1, 2), {.chunks = 2, .quantum = {8}});
  profile_of(prefix_in_arena<backward_cuts::any>(0, 1, 1), {.quantum = {8}});
  profile_of(prefix_in_arena<backward_cuts::forward_cuts>(0, 1, 1), {.quantum = {8}});
  profile_of(prefix_splitting<backward_cuts::any, false>(0, 1, 1), {.quantum = {8}});
}

TEST(Driver, EndsOnEveryRankWhereAComputeFails) {
  std::vector<std::string> said(2);
  transports::threads world{2, {.time_out = {20}}};
  tests::on_every_rank(2, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    prefix_in_arena<backward_cuts::any> fine(rank, 2, 1);
    struct failing : prefix_in_arena<backward_cuts::any> {
      using prefix_in_arena::prefix_in_arena;
      int calls{};
      result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
        if (++calls == 40) return error{errc::compute_failed, "no kernel"};
        return prefix_in_arena::forward(p, in, out);
      }
    } bad(rank, 2, 1);
    const shape on{.stages = 2, .quantum = {8}};
    if (rank == 0) {
      driver drive{fine, on, tokens{200}, endpoint};
      drive.budget = {0};
      said[0] = drive.measure().error().detail;
    } else {
      driver drive{bad, on, tokens{200}, endpoint};
      drive.budget = {0};
      said[1] = drive.measure().error().detail;
      EXPECT_EQ(bad.held(), bytes{});
    }
  });
  for (const std::string& line : said) {
    EXPECT_NE(line.find("a trial of "), std::string::npos) << line;
    EXPECT_NE(line.find("no kernel"), std::string::npos) << line;
  }
}

TEST(Driver, TellsOthersWhereAComputeThrows) {
  transports::threads world{2, {.time_out = {20}}};
  std::string said;
  int thrown = 0;
  tests::on_every_rank(2, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    timed_compute compute(rank, 2, 1);
    compute.fails_at = rank == 0 ? 3 : -1;
    driver drive{compute, shape{.stages = 2, .quantum = {8}}, tokens{200}, endpoint, told_time(compute)};
    drive.budget = {0};
    drive.prepare = [&](std::span<const sequence> s) { compute.announced.assign(s.begin(), s.end()); };
    try {
      said = drive.measure().error().detail;
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  });
  EXPECT_EQ(thrown, 1);
  EXPECT_NE(said.find("the compute threw"), std::string::npos) << said;
}

/// Sleeps for a part of a second in each call, by its tokens and pairs, and notes how long each trial took.
class sleeping : public prefix_in_arena<backward_cuts::any> {
 public:
  explicit sleeping(double token, double pair) : prefix_in_arena(0, 1, 1), token_(token), pair_(pair) {}
  void begin_step(const step_outline&) { trials.emplace_back(); }
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    sleep(p);
    return prefix_in_arena::forward(p, in, out);
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    sleep(p);
    return prefix_in_arena::backward(p, in, out);
  }
  std::vector<double> trials;  ///< seconds

 private:
  void sleep(const piece& p) {
    const auto begin = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(
        std::chrono::duration<double>(token_ * static_cast<double>(p.slice.length.value) + pair_ * p.slice.pairs()));
    trials.back() += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  double token_, pair_;
};

// The largest trials take 10 s each, of a budget of half a second.
TEST(Driver, KeepsToItsBudget) {
  transports::threads world{1, {.time_out = {60}}};
  auto endpoint = world.endpoint(0);
  sleeping compute(2e-6, 3e-7);
  driver drive{compute, shape{.quantum = {64}}, tokens{8192}, endpoint};
  drive.budget = {0.5};
  const auto begin = std::chrono::steady_clock::now();
  const result<stage_profile> made = drive.measure();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(made) << made.error().detail;
  const double longest = *std::max_element(compute.trials.begin(), compute.trials.end());
  EXPECT_LT(took, 0.5 + longest + 0.25);  // what is fitted then, and what the machine does besides
  ASSERT_FALSE(drive.seen.dropped.empty());
  EXPECT_EQ(drive.seen.dropped.back().lengths(), std::vector<tokens>{{8192}});
  EXPECT_EQ(drive.seen.runs + 1, compute.trials.size());  // the first one runs once more, to warm up
  // It is seen to wait, and so is timed on the clock.
  EXPECT_EQ(drive.seen.by.by_processor, 0u);
  EXPECT_EQ(drive.seen.by.clock_over_processor, 1);
  EXPECT_TRUE(made.value().cost());
}

TEST(Driver, RunsTheSmallestTrialsWhateverTheBudgetIs) {
  transports::threads world{1, {.time_out = {60}}};
  auto endpoint = world.endpoint(0);
  sleeping compute(1e-6, 0);
  driver drive{compute, shape{.quantum = {64}}, tokens{2048}, endpoint};
  drive.budget = {0};
  ASSERT_TRUE(drive.measure());
  EXPECT_EQ(drive.seen.runs, 4u);
  EXPECT_EQ(drive.seen.trials, 4u);
  EXPECT_FALSE(std::isfinite(drive.seen.error));
}

/// A compute of its stage that is slower by its tensor rank, and takes the processor for a part of that.
struct tensor_rank : timed_compute {
  using timed_compute::timed_compute;
  double slower{1};
};
class told_clocks {
 public:
  explicit told_clocks(const tensor_rank& of) : of_(&of) {}
  void start() { begin_ = of_->spent; }
  [[nodiscard]] call_time stop() {
    const seconds took{(of_->spent - begin_) * of_->slower};
    return {took * 1.25, took};
  }

 private:
  const tensor_rank* of_;
  double begin_{};
};

// 2 tensor x 2 data x 2 pipeline ranks, which the world counts in an order of its own. Tensor rank 1 takes 1.5 times as
// long, and that counts. Other work has the processors for a fifth of the time, and that does not.
TEST(Driver, MakesAllRanksOfAJobFitTheSame) {
  const shape on{.stages = 2, .replicas = 2, .quantum = {64}};
  transports::threads world{8, {.time_out = {60}}}, first{4, {.time_out = {60}}}, second{4, {.time_out = {60}}};
  std::vector<stage_profile> all(8);
  std::vector<measurement> seen(8);
  tests::on_every_rank(8, [&](int rank) {
    const int tensor = rank / 4, own = rank % 4;
    auto endpoint = (tensor == 0 ? first : second).endpoint(own);
    auto of_job = world.endpoint((rank * 3 + 5) % 8);
    tensor_rank compute(own % 2, 2, 1);
    compute.slower = 1 + 0.5 * tensor;
    driver drive{compute, on, tokens{500}, endpoint, told_clocks(compute)};
    drive.budget = {30};
    drive.prepare = [&](std::span<const sequence> s) { compute.announced.assign(s.begin(), s.end()); };
    all[static_cast<std::size_t>(rank)] = drive.measure(of_job).value();
    seen[static_cast<std::size_t>(rank)] = drive.seen;
  });
  for (std::size_t rank = 0; rank < 8; ++rank) {
    EXPECT_TRUE(same_bits(all[rank], all[0])) << "rank " << rank << " has a profile of other bits";
    EXPECT_EQ(seen[rank].runs, seen[0].runs);
    EXPECT_EQ(seen[rank].by, seen[0].by);
  }
  EXPECT_NEAR(seen[0].by.clock_over_processor, 1.25, 1e-12);
  EXPECT_EQ(seen[0].by.by_clock, 0u);
  for (int part = 0; part < 2; ++part)
    EXPECT_TRUE(
        near(all[0].forward[static_cast<std::size_t>(part)].token, true_rates(pass::forward, part).token * 1.5, 1e-6));
}

// A rank of one tensor group throws, which ranks of both hear. All transports are as new then.
TEST(Driver, EndsOnAllRanksOfAJobAndCanBeginAgain) {
  transports::threads world{4, {.time_out = {60}}}, first{2, {.time_out = {60}}}, second{2, {.time_out = {60}}};
  std::vector<std::string> said(4);
  std::vector<int> measured_then(4);
  tests::on_every_rank(4, [&](int rank) {
    auto endpoint = (rank < 2 ? first : second).endpoint(rank % 2);
    auto of_job = world.endpoint(rank);
    timed_compute compute(rank % 2, 2, 1);
    compute.fails_at = rank == 2 ? 50 : -1;
    driver drive{compute, shape{.stages = 2, .quantum = {8}}, tokens{200}, endpoint, told_time(compute)};
    drive.budget = {30};
    drive.prepare = [&](std::span<const sequence> s) { compute.announced.assign(s.begin(), s.end()); };
    try {
      said[static_cast<std::size_t>(rank)] = drive.measure(of_job).error().detail;
    } catch (const std::runtime_error&) {
      said[static_cast<std::size_t>(rank)] = "thrown";
    }
    measured_then[static_cast<std::size_t>(rank)] = drive.measure(of_job).has_value();
  });
  for (std::size_t rank = 0; rank < 4; ++rank)
    if (rank == 2)
      EXPECT_EQ(said[rank], "thrown");
    else
      EXPECT_NE(said[rank].find(": the compute threw"), std::string::npos) << said[rank];
  EXPECT_EQ(measured_then, std::vector<int>(4, 1));
}

TEST(Driver, RefusesAWorldOfRanksThatAreNoMultiple) {
  transports::threads two{2}, three{3};
  auto of_job = three.endpoint(0);
  auto of_two = two.endpoint(0);
  timed_compute compute(0, 2, 1);
  driver drive{compute, shape{.stages = 2}, tokens{200}, of_two, told_time(compute)};
  const result<stage_profile> made = drive.measure(of_job);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().detail, "the shape has 2 ranks, and the world's 3 are no multiple of them");
}

TEST(Driver, RefusesATransportOfOtherRanksThanTheShapes) {
  transports::threads world{1};
  auto endpoint = world.endpoint(0);
  timed_compute compute(0, 2, 1);
  const result<stage_profile> made =
      driver{compute, shape{.stages = 2, .replicas = 3}, tokens{200}, endpoint, told_time(compute)}.measure();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::invalid_input);
  EXPECT_EQ(
      made.error().detail,
      "the shape has 6 ranks, the transport 1; give a transport of more ranks, such as tensor ranks, to measure()");
  EXPECT_EQ(compute.calls, 0);
}

}  // namespace
}  // namespace slimpack::driver_test
