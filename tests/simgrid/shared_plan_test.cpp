#include <slimpack/core/merge.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/row_exchange.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>
#include <slimpack/testing/detail/random_sharers.hpp>
#include <slimpack/testing/generator.hpp>

#include "../costs/models.hpp"
#include "agreement.hpp"
#include "replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace slimpack {
namespace {

constexpr std::uint64_t seed = 20261;

/// Sequences that are too long for one replica, among short ones. A ring is for a sequence of one row, which pays where
/// little else runs.
std::vector<tokens> batch_of(std::uint64_t which, exchange how) {
  std::mt19937_64 random(seed + which);
  std::vector<tokens> batch{{60000}};
  if (how != exchange::ring) batch.push_back({34000});
  while (batch.size() < (how == exchange::ring ? 5 : 12))
    batch.push_back({std::uniform_int_distribution<std::int64_t>(300, 2000)(random)});
  return batch;
}

std::vector<shape> shapes(int most_stages) {
  std::vector<shape> all;
  for (const int replicas : {2, 3, 4})
    for (const auto& [stages, chunks] : {std::pair{1, 1}, {2, 1}, {2, 2}, {4, 1}})
      if (stages <= most_stages) all.push_back({.stages = stages, .replicas = replicas, .chunks = chunks});
  return all;
}

constexpr exchange each_exchange[]{exchange::keep, exchange::queries, exchange::ring};

/// Counts plans by exchange, and holds SimGrid's ends against the plan's.
class comparison {
 public:
  template <class How>
  void compare(const plan& p, const How& how) {
    if (p.merges.empty()) return;
    ++shared_[static_cast<std::size_t>(p.merges[0].exchange)];
    std::vector<std::uint32_t> all(p.replicas.size());
    std::iota(all.begin(), all.end(), 0u);
    const tests::replay replayed(p, all, how);
    const std::vector<seconds> ends = replayed.makespans();
    for (std::size_t r = 0; r < ends.size(); ++r)
      found_.compare(ends[r], p.replicas[r].makespan, p.replicas[r].makespan);
    found_.count(replayed.size());
  }
  /// At least so many plans of each exchange, none of them apart.
  void expect(std::size_t plans) const {
    for (const exchange e : each_exchange) EXPECT_GE(shared_[static_cast<std::size_t>(e)], plans) << name_of(e);
    EXPECT_LE(found_.largest(), tests::agreement::close);
    std::cout << "seed " << seed << ", keep " << shared_[0] << ", queries " << shared_[1] << ", ring " << shared_[2]
              << " plans: " << found_ << '\n';
  }

 private:
  std::size_t shared_[3]{};
  tests::agreement found_;
};

template <class Cost>
plan plan_of(const std::vector<tokens>& batch, const shape& on, const Cost& cost, exchange how) {
  const solvers::two_phase quick{.effort = solvers::search_budget::fast(), .exchanges = exchange_set::only(how)};
  return planner{on, slicers::equal_cost{}, cost, quick, schedules::one_f_one_b{}}(batch).value();
}

TEST(SharedPlans, TakeAsLongInSimGrid) {
  comparison found;
  std::uint64_t which = 0;
  for (const shape& on : shapes(4)) {
    const auto transformer = costs::transformer::sheet(tests::llama_3_1_8b(), costs::gpus::a100(), on).value();
    for (const exchange how : each_exchange) {
      const std::vector<tokens> batch = batch_of(which++, how);
      for (const plan& p : {plan_of(batch, on, costs::quadratic{.per_pack = {6.4e-5}, .hop = {2.4e-5}}, how),
                            plan_of(batch, on, transformer, how)})
        found.compare(p, tests::as_planned(p));
    }
  }
  found.expect(6);
}

// Random packs, of which half have rows of which some sharers have nothing.
TEST(SharedPlans, OfRandomPacksTakeAsLongInSimGrid) {
  tests::agreement found;
  std::size_t absent = 0;
  for (std::uint64_t one = seed; one < seed + 200; ++one) {
    testing::generator random(one);
    const shape on{.stages = static_cast<int>(random.between(1, 3)),
                   .replicas = static_cast<int>(random.between(2, 4)),
                   .quantum = {4}};
    std::vector<tokens> lengths{{random.between(40, 90)}};
    for (int n = 0; n < 4; ++n) lengths.push_back({random.between(1, 30)});
    const solution given = testing::random_sharers(lengths, on, random);
    const plan p = planner{on, slicers::equal_cost{}, costs::quadratic{.per_pack = {6.4e-5}, .hop = {2.4e-5}},
                           testing::detail::solution_as_given{&given}}(lengths)
                       .value();
    for (const merge& m : p.merges)
      for (const std::vector<pack_id>& row : m.forward)
        absent += std::find(row.begin(), row.end(), merge::none) != row.end();
    std::vector<std::uint32_t> all(p.replicas.size());
    std::iota(all.begin(), all.end(), 0u);
    const tests::replay replayed(p, all, tests::as_planned(p));
    const std::vector<seconds> ends = replayed.makespans();
    for (std::size_t r = 0; r < ends.size(); ++r) found.compare(ends[r], p.replicas[r].makespan, p.step_time);
    found.count(replayed.size());
  }
  std::cout << absent << " rows without some sharer: " << found << '\n';
  EXPECT_GT(absent, 200u);
  EXPECT_LE(found.largest(), tests::agreement::close);
}

/// Stages of 4 layers of Llama-3.1-8B with quadratic times, whose sharers exchange over links of 100 GB/s and 3 us.
class exchanging : public costs::quadratic {
 public:
  static constexpr int layers = 4;
  static constexpr std::int64_t queries = 4096, keys_and_values = 2048;  // elements of a token in a layer
  static constexpr costs::link wire{{3e-6}, 100e9};

  explicit exchanging(const shape& on)
      : quadratic{.per_pack = {6.4e-5}, .hop = {2.4e-5}},
        rows_({.name = "8B",
               .layers = layers * on.parts(),
               .hidden = 4096,
               .heads = 32,
               .kv_heads = 8,
               .head_dim = 128,
               .value_dim = 128,
               .intermediate = 14336,
               .vocabulary = 128256},
              on, std::vector<int>(static_cast<std::size_t>(on.parts()), layers), costs::recompute::none,
              costs::network({.name = "any",
                              .gpus_per_node = 1,
                              .backward_attention_ratio = 2.5,
                              .inside = wire,
                              .between = wire})) {}

  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const {
    double pairs = 0;
    for (const slice& s : mine) pairs += s.pairs();
    return rows_(row, mine, {attention * pairs * (p == pass::forward ? 1 : backward_attention)}, p, part);
  }

 private:
  costs::row_exchange rows_;
};

/// Rows whose exchange goes over SimGrid's network while a stage computes attention. What is sent when follows from the
/// slices of the plan and the words of `exchange` (core/merge.hpp), not from costs::row_exchange.
///
///   keep     keys and values, or their gradients, go while the stage attends to what lies before the row
///   ring     in each of m - 1 rounds keys and values of 1 / m of the tokens up to the row's end go on, while the stage
///            attends to those that it has; in backward the gradients follow in m rounds, for which it waits
///   queries  the same, with queries (and in backward gradients of outputs), and outputs or gradients of queries back
class transferred_rows : public tests::as_planned {
 public:
  transferred_rows(const slimpack::plan& p, const exchanging& cost) : as_planned(p), cost_(cost) {}

  std::pair<tests::experiment::task, tests::experiment::task> run(tests::experiment& to, std::size_t host,
                                                                  const tests::place& at) const {
    const std::span<const slice> slices = plan().replicas[at.replica].partition.of(facts_of(at.kind).pass)[at.pack];
    const double linear = cost_.linear * (facts_of(at.kind).pass == pass::forward ? 1 : cost_.backward_linear);
    double alone = cost_.per_pack.value;  // that nothing travels behind
    for (const slice& s : slices)
      alone += linear * static_cast<double>(s.length.value) + attention_of(facts_of(at.kind).pass, s.pairs());
    const std::vector<hop> hops = hops_of(at, slices);
    for (const hop& h : hops) alone -= h.computes;
    const tests::experiment::task first = to.compute(host, {alone});
    tests::experiment::task last = first;
    for (const hop& h : hops) last = meanwhile(to, host, last, h);
    return {first, last};
  }

 private:
  /// What goes to another sharer, after `rounds` latencies, while the stage computes.
  struct hop {
    double rounds{};
    double bytes{};
    double computes{};  // seconds
    bool hides_latency{};
  };

  [[nodiscard]] double attention_of(pass p, double pairs) const {
    return cost_.attention * pairs * (p == pass::forward ? 1 : cost_.backward_attention);
  }

  tests::experiment::task meanwhile(tests::experiment& to, std::size_t host, tests::experiment::task before,
                                    const hop& h) const {
    const std::size_t hosts = static_cast<std::size_t>(plan().shape.stages) * plan().replicas.size();
    const std::size_t other = (host + static_cast<std::size_t>(plan().shape.stages)) % hosts;
    const tests::experiment::task latency = to.carry({h.rounds * exchanging::wire.latency.value});
    to.connect(host, other, {{}, exchanging::wire.bandwidth});
    const tests::experiment::task sent = to.transfer(host, other, {std::round(h.bytes)});
    const tests::experiment::task computed = to.compute(host, {h.computes});
    const tests::experiment::task both = to.carry({});
    to.order(before, latency);
    to.order(h.hides_latency ? before : latency, computed);
    to.order(latency, sent);
    to.order(sent, both);
    to.order(computed, both);
    return both;
  }

  [[nodiscard]] std::vector<hop> hops_of(const tests::place& at, std::span<const slice> pack) const {
    std::vector<hop> hops;
    for (const merge& m : plan().merges) {
      const auto me =
          static_cast<std::size_t>(std::find(m.replicas.begin(), m.replicas.end(), at.replica) - m.replicas.begin());
      for (const std::vector<pack_id>& row : m.of(facts_of(at.kind).pass))
        if (me < row.size() && row[me].value == at.pack) add_hops(m, row, me, facts_of(at.kind).pass, pack, hops);
    }
    return hops;
  }

  void add_hops(const merge& m, const std::vector<pack_id>& row, std::size_t me, pass p, std::span<const slice> pack,
                std::vector<hop>& hops) const {
    constexpr double layers = exchanging::layers;
    const auto sharers = static_cast<double>(m.replicas.size());
    const double gradient = p == pass::forward ? 0 : 4;  // bytes of an element, summed in fp32
    double own = 0, pairs = 0;
    for (const slice& s : pack)
      if (s.sequence == m.sequence) own += static_cast<double>(s.length.value), pairs += s.pairs();
    std::int64_t begin = plan().lengths[m.sequence.value].value, end = 0;
    each_of(m, row, p, [&](std::size_t, const slice& s) {
      begin = std::min(begin, s.begin.value);
      end = std::max(end, s.end().value);
    });
    if (m.exchange == exchange::keep) {
      const double most = static_cast<double>(most_kept(m, row, me, p));
      const double element = p == pass::forward ? 2 : gradient;
      if (most > 0)
        hops.push_back({layers * (sharers - 1), layers * element * exchanging::keys_and_values * most,
                        attention_of(p, own * static_cast<double>(begin)), true});
      return;
    }
    const bool is_ring = m.exchange == exchange::ring;
    const double held = is_ring ? static_cast<double>(end) / sharers : own;
    const double rows = is_ring ? 2 * exchanging::keys_and_values : (p == pass::forward ? 2 : 4) * exchanging::queries;
    const double sums = is_ring ? gradient * exchanging::keys_and_values : 4 * exchanging::queries;
    for (double round = 1; round < sharers; ++round)
      hops.push_back({layers, layers * rows * held, attention_of(p, pairs) / sharers, false});
    for (double round = 0; round < sharers && sums > 0; ++round)
      hops.push_back({layers, layers * sums * held, 0, false});
  }

  template <class Visit>
  void each_of(const merge& m, const std::vector<pack_id>& row, pass p, const Visit& visit) const {
    for (std::size_t k = 0; k < row.size(); ++k)
      for (const slice& s : plan().replicas[m.replicas[k]].partition.of(p)[row[k].value])
        if (s.sequence == m.sequence) visit(k, s);
  }

  /// Tokens of a row that a sharer sends, once for each other one that has a later token, or that it gets: whichever
  /// are more.
  [[nodiscard]] std::int64_t most_kept(const merge& m, const std::vector<pack_id>& row, std::size_t me, pass p) const {
    std::vector<std::int64_t> end(m.replicas.size());  // of each one's last token
    for (std::size_t k = 0; k < end.size(); ++k)
      for (const slice& s : plan().replicas[m.replicas[k]].partition.of(p).slices())
        if (s.sequence == m.sequence) end[k] = std::max(end[k], s.end().value);
    std::int64_t sent = 0, got = 0;
    each_of(m, row, p, [&](std::size_t k, const slice& s) {
      const auto before = [&](std::size_t to) {
        return std::max<std::int64_t>(0, std::min(s.end().value, end[to]) - s.begin.value);
      };
      if (k != me) got += before(me);
      for (std::size_t to = 0; k == me && to < end.size(); ++to) sent += to == me ? 0 : before(to);
    });
    return std::max(sent, got);
  }

  exchanging cost_;
};

TEST(SharedPlans, TakeAsLongWhereSimGridCarriesTheirExchanges) {
  comparison found;
  std::uint64_t which = 100;
  for (const shape& on : shapes(2)) {
    const exchanging cost(on);
    for (const exchange how : each_exchange) {
      const plan p = plan_of(batch_of(which++, how), on, cost, how);
      found.compare(p, transferred_rows(p, cost));
    }
  }
  found.expect(4);
}

}  // namespace
}  // namespace slimpack
