#include "../executors/prefix_model.hpp"
#include "lending_plan.hpp"

#include <slimpack/executors/detail/messages/checked_transport.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/transports/hooks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::checksums_test {
namespace {

using tests::exact_batch;
using stage_type = train::model_stage<double>;
using port = transports::threads::port;

enum class damage { a_bit, cut_short, of_another };

/// What a rank sent on a channel.
struct sent {
  std::int64_t messages{}, bytes{};
};

/// A rank of a transport whose messages go through a bad cable: one of them, by its channel and number, comes damaged.
class bad_cable {
 public:
  using handle = port::handle;
  struct fault {
    int channel{-1};
    std::int64_t number{};
    damage how{};
    std::uint64_t seed{};
  };
  bad_cable(port over, fault with) : port_(std::move(over)), fault_(with) {}

  [[nodiscard]] int rank() const { return port_.rank(); }
  [[nodiscard]] int size() const { return port_.size(); }
  [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> bytes) {
    sent& of = counts[channel];
    of.bytes += static_cast<std::int64_t>(bytes.size());
    if (of.messages++ != fault_.number || channel != fault_.channel || bytes.empty())
      return port_.send(peer, channel, bytes);
    spoilt_.emplace(bytes.begin(), bytes.end());
    testing::generator random(fault_.seed);
    const auto at = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(bytes.size()) - 1));
    switch (fault_.how) {
      case damage::a_bit:
        (*spoilt_)[at] ^= std::byte{1} << random.between(0, 7);
        break;
      // What lay in the receiver's memory before, where the end of a message does not come.
      case damage::cut_short:
        std::transform(spoilt_->begin() + static_cast<std::ptrdiff_t>(at), spoilt_->end(),
                       spoilt_->begin() + static_cast<std::ptrdiff_t>(at),
                       [](std::byte b) { return b ^ std::byte{0x55}; });
        break;
      case damage::of_another:
        std::fill(spoilt_->begin(), spoilt_->end(), std::byte{});
        break;
    }
    return port_.send(peer, channel, *spoilt_);
  }
  [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> bytes) {
    return port_.receive(peer, channel, bytes);
  }
  [[nodiscard]] result<bool> test(const handle& h) { return port_.test(h); }
  [[nodiscard]] result<void> wait(const handle& h) { return port_.wait(h); }
  void abort(std::string_view reason) { port_.abort(reason); }

  std::map<int, sent> counts;

 private:
  port port_;
  fault fault_;
  std::optional<std::vector<std::byte>> spoilt_;
};

struct outcome {
  std::vector<result<std::vector<double>>> of_rank;
  std::vector<std::map<int, sent>> counts;
};

/// Runs a step. faulty: the rank that has the bad cable
outcome run(const exact_batch& batch, const plan& p, bool checksums, int faulty = -1, bad_cable::fault with = {}) {
  const auto ranks = static_cast<std::size_t>(tests::ranks_of(p));
  outcome found{std::vector<result<std::vector<double>>>(ranks, error{}), std::vector<std::map<int, sent>>(ranks)};
  transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    bad_cable cable(world.endpoint(rank), rank == faulty ? with : bad_cable::fault{});
    found.of_rank[at] = tests::outcome_of<stage_type>(
        batch, p, cable,
        {.trainer_rank = [](int of) { return 70 + of; }, .rows = executors::row_calls::joined, .checksums = checksums});
    found.counts[at] = cable.counts;
  });
  return found;
}

/// How much larger than all gradients the difference of two steps is.
double difference(const outcome& a, const outcome& b) {
  double off = 0, all = 0;
  for (std::size_t rank = 0; rank < a.of_rank.size(); ++rank)
    for (std::size_t i = 0; i < a.of_rank[rank].value().size(); ++i) {
      off += std::abs(a.of_rank[rank].value()[i] - b.of_rank[rank].value()[i]);
      all += std::abs(a.of_rank[rank].value()[i]);
    }
  return std::isfinite(off) ? off / all : 1;
}

/// A plan, and a channel on which it sends.
struct kind {
  const char* name;
  plan made;
  int channel{};
};

std::vector<kind> kinds(const exact_batch& batch) {
  const tests::named_planner keeping = tests::sharing_planners()[0], asking = tests::sharing_planners()[2],
                             ringing = tests::sharing_planners()[3];
  const plan alone =
      tests::every_planner()[0].make({.stages = 2, .replicas = 2, .quantum = {4}}, batch.lengths).value();
  const shape spread_on{.stages = 3, .quantum = {4}, .vocabulary = vocabulary::spread};
  const plan spread = tests::spreading_planners()[0].make(spread_on, batch.lengths).value();
  const plan lending = tests::lending_plan(batch.lengths, {.stages = 4, .quantum = {4}}, 8, attention_lending::level);
  const shape shared_on{.stages = 2, .replicas = 2, .quantum = {4}};
  return {{"hidden rows", alone, channel_of(traffic::forward, 0)},
          {"gradients of hidden rows", alone, channel_of(traffic::backward, 0)},
          {"sums of gradients", alone, channel_of(traffic::collectives, 1)},
          {"sums of gradients", tests::sums_beside(alone), channel_of(traffic::collectives, 2)},
          {"rows that replicas share", keeping.make(shared_on, batch.lengths).value(), channel_of(traffic::rows, 0)},
          {"rows that replicas share", asking.make(shared_on, batch.lengths).value(), channel_of(traffic::rows, 0)},
          {"rows that replicas share", ringing.make(shared_on, batch.lengths).value(), channel_of(traffic::rows, 0)},
          {"rows of a spread vocabulary", spread, channel_of(traffic::rows, 1)},
          {"rows of a spread vocabulary", spread, channel_of(traffic::rows, 2)},
          {"rows of a spread vocabulary", spread, channel_of(traffic::rows, 3)},
          {"rows of a spread vocabulary", spread, channel_of(traffic::rows, 4)},
          {"attention of other stages", lending, channel_of(traffic::rows, 7)}};
}

exact_batch batch_of_texts() { return exact_batch(3, tests::small_model, {4}, {{160}, {30}, {17}, {9}}); }

TEST(Checksums, FindADamagedMessageOfEachKind) {
  const exact_batch batch = batch_of_texts();
  int damaged = 0, silent = 0;
  std::uint64_t seed = 1;
  for (const kind& one : kinds(batch)) {
    const outcome clean = run(batch, one.made, true);
    const outcome off = run(batch, one.made, false);
    EXPECT_EQ(difference(clean, off), 0) << one.name;
    for (const damage how : {damage::a_bit, damage::cut_short, damage::of_another}) {
      testing::generator random(seed);
      std::vector<int> senders;
      for (std::size_t rank = 0; rank < clean.counts.size(); ++rank)
        if (const auto of = clean.counts[rank].find(one.channel);
            of != clean.counts[rank].end() && of->second.messages > 0)
          senders.push_back(static_cast<int>(rank));
      ASSERT_FALSE(senders.empty()) << one.name << " on channel " << one.channel;
      const int faulty =
          senders[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(senders.size()) - 1))];
      const std::int64_t all = clean.counts[static_cast<std::size_t>(faulty)].at(one.channel).messages;
      const std::int64_t number = random.between(0, all - 1) / 2 * 2;  // of a message, behind which is its checksum
      const outcome found = run(batch, one.made, true, faulty, {one.channel, number, how, seed});
      const std::string what = std::string(one.name) + ", seed " + std::to_string(seed);
      bool named = false;
      for (const result<std::vector<double>>& rank : found.of_rank) {
        ASSERT_FALSE(rank) << what;
        named = named || (rank.error().detail.find(std::string(" of ") + one.name + " from rank " +
                                                   std::to_string(70 + faulty) + " to rank ") != std::string::npos &&
                          rank.error().detail.find("came damaged: its checksum is ") != std::string::npos);
      }
      EXPECT_TRUE(named) << what << ": " << found.of_rank[0].error().detail;
      const outcome sum_damaged = run(batch, one.made, true, faulty, {one.channel, number + 1, how, seed});
      for (const result<std::vector<double>>& rank : sum_damaged.of_rank)
        EXPECT_FALSE(rank) << what << ", the checksum itself";
      // Without checksums every rank says that all is well.
      const outcome unseen = run(batch, one.made, false, faulty, {one.channel, number / 2, how, seed});
      for (const result<std::vector<double>>& rank : unseen.of_rank)
        ASSERT_TRUE(rank) << what << ": " << rank.error().detail;
      silent += difference(unseen, off) > 0, ++damaged, ++seed;
    }
  }
  std::printf(
      "%d damaged messages, all found; without checksums %d of them made other gradients, of which no rank knew, seeds "
      "1 to %llu\n",
      damaged, silent, static_cast<unsigned long long>(seed - 1));
  EXPECT_GT(silent, damaged / 2);
}

// A compute that sums in reduce(group), over a transport that leaves sums to messages: on the channel of greetings.
TEST(Checksums, FindADamagedMessageOfASumAfterTheWork) {
  const std::vector<tokens> lengths{{9}, {30}, {17}};
  const plan p =
      tests::every_planner()[0].make({.stages = 1, .replicas = 2, .chunks = 4, .quantum = {4}}, lengths).value();
  for (std::int64_t number = 1; number <= 4; ++number) {  // behind one greeting
    transports::threads world{2, {.time_out = {60}}};
    std::vector<std::string> said(2);
    tests::on_every_rank(2, [&](int rank) {
      bad_cable cable(world.endpoint(rank),
                      rank == 1 ? bad_cable::fault{0, number, damage::a_bit, 7} : bad_cable::fault{});
      prefix_by_piece stage(0, 1, 4);
      said[static_cast<std::size_t>(rank)] =
          executors::packflow{.checksums = true}.execute(p, stage, cable).error().detail;
    });
    EXPECT_NE(said[0].find(" of sums of gradients from rank 1 to rank 0, "), std::string::npos) << said[0];
    EXPECT_NE(said[0].find("the gradient reduction: "), std::string::npos) << said[0];
  }
}

// Predictions of traffic (executors/row_traffic.hpp) are of messages without them.
TEST(Checksums, CostAMessageOfEightBytesForEachMessage) {
  const exact_batch batch = batch_of_texts();
  for (const kind& one : kinds(batch)) {
    const outcome on = run(batch, one.made, true), off = run(batch, one.made, false);
    for (std::size_t rank = 0; rank < on.counts.size(); ++rank)
      for (const auto& [channel, without] : off.counts[rank]) {
        if (channel == 0) continue;  // greetings and farewells have none
        const sent& with = on.counts[rank].at(channel);
        EXPECT_EQ(with.messages, 2 * without.messages) << one.name;
        EXPECT_EQ(with.bytes, without.bytes + 8 * without.messages) << one.name;
      }
  }
}

TEST(Checksums, RanksThatDoNotAllHaveThemDoNotBegin) {
  const exact_batch batch = batch_of_texts();
  const plan p = kinds(batch).front().made;
  transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
  std::vector<std::string> said(static_cast<std::size_t>(tests::ranks_of(p)));
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    said[static_cast<std::size_t>(rank)] =
        tests::outcome_of<stage_type>(batch, p, endpoint, {.checksums = rank != 1}).error().detail;
  });
  EXPECT_EQ(said[0], "ranks 0 and 1 hold different settings of packflow::checksums: on and off");
}

TEST(Checksums, TellWhatTheyTake) {
  const exact_batch batch = batch_of_texts();
  const plan p = kinds(batch).front().made;
  for (const bool checksums : {false, true}) {
    transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
    tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
      auto endpoint = world.endpoint(rank);
      stage_type stage(batch.model, p.shape, rank % p.shape.stages, batch.documents(), 7);
      const step_report step = executors::packflow{.checksums = checksums}.execute(p, stage, endpoint).value();
      EXPECT_EQ(step.checksums > seconds{}, checksums);
      EXPECT_LT(step.checksums, step.step);
    });
  }
  std::vector<std::byte> data(std::size_t{1} << 24);
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t sum = 0;
  for (int k = 0; k < 4; ++k) sum = detail::checksum(data, sum);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("checksums of %.1f GB/s, %016llx\n", 4e-9 * static_cast<double>(data.size()) / took,
              static_cast<unsigned long long>(sum));
}

// XXH64's published values, of words in little-endian order.
TEST(Checksums, AreThoseOfXxh64) {
  if constexpr (std::endian::native == std::endian::little) {
    const auto of = [](std::string_view text, std::uint64_t seed) {
      return detail::checksum(std::as_bytes(std::span(text.data(), text.size())), seed);
    };
    EXPECT_EQ(of("", 0), 0xEF46DB3751D8E999u);
    EXPECT_EQ(of("a", 0), 0xD24EC4F1A98C6E5Bu);
    EXPECT_EQ(of("abc", 0), 0x44BC2CF5AD770999u);
  }
}

TEST(Checksums, DifferForEachBitAndEachLength) {
  testing::generator random(1);
  for (const std::size_t size : {1u, 7u, 8u, 31u, 32u, 33u, 100u, 257u}) {
    std::vector<std::byte> data(size);
    for (std::byte& b : data) b = static_cast<std::byte>(random.between(0, 255));
    const std::uint64_t whole = detail::checksum(data, 0);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      data[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(detail::checksum(data, 0), whole) << size << ", bit " << bit;
      data[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_NE(detail::checksum(std::span(data).first(size - 1), 0), whole);
    EXPECT_NE(detail::checksum(data, 1), whole);
  }
}

}  // namespace
}  // namespace slimpack::checksums_test
