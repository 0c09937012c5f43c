#include "../executors/one_at_a_time.hpp"
#include "../laws/cases.hpp"
#include "exact_step.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/context_parallel.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::joined_rows_test {
namespace {

using executors::row_calls;
using tests::exact_batch;

/// Context parallelism over the replicas: packs with several rows, and with rows beside whole sequences.
result<plan> planned(const shape& on, std::span<const tokens> lengths, solvers::sharing_groups groups, exchange how,
                     bool many) {
  tokens longest{}, all{};
  for (const tokens length : lengths) longest = std::max(longest, length), all += length;
  auto recipe = baselines::zeppelin(on, many ? all : longest, {2, 4, 2});
  recipe.solver.groups = groups;
  recipe.solver.exchange = how;
  return basic_planner{
      on, recipe.slicer, costs::quadratic{.attention = 1e-8}, recipe.solver, recipe.schedule, simulators::sweep{}}(
      lengths);
}

struct tally {
  int packs{};    // with rows
  int several{};  // with more than one
  int local{};    // with rows and sequences of their own
};

void count(const plan& p, tally& seen) {
  for (std::size_t r = 0; r < p.replicas.size(); ++r)
    for (const pass way : both_passes)
      for (std::uint32_t i = 0; i < p.replicas[r].partition.of(way).size(); ++i) {
        int rows = 0;
        std::set<std::uint32_t> own;
        for (const slice& s : p.replicas[r].partition.of(way)[i]) own.insert(s.sequence.value);
        for (const merge& m : p.merges)
          if (own.contains(m.sequence.value)) ++rows, own.erase(m.sequence.value);
        seen.packs += rows > 0, seen.several += rows > 1, seen.local += rows > 0 && !own.empty();
      }
}

/// Two replicas on a node.
executors::packflow on_nodes(int stages, row_calls how = row_calls::joined) {
  return {.rows = how, .node_of = [stages](int rank) { return rank / stages / 2; }};
}

double worst_error(const exact_batch& batch, const plan& p, const executors::packflow& run) {
  transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
  std::vector<double> errors(static_cast<std::size_t>(tests::ranks_of(p)));
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    errors[static_cast<std::size_t>(rank)] = batch.error_of<train::model_stage<double>>(p, endpoint, run).value();
  });
  return *std::max_element(errors.begin(), errors.end());
}

struct mix {
  solvers::sharing_groups groups;
  exchange how;
};
constexpr mix mixes[]{
    {solvers::sharing_groups::zones, exchange::ring},       {solvers::sharing_groups::zones, exchange::queries},
    {solvers::sharing_groups::zones, exchange::keep},       {solvers::sharing_groups::all, exchange::keep},
    {solvers::sharing_groups::all, exchange::queries},      {solvers::sharing_groups::all, exchange::ring},
    {solvers::sharing_groups::power_of_two, exchange::ring}};

// Nodes are groups of ranks: 2 x 2 and 2 x 4, with one and two stages. Joined and apart, with a map of nodes and
// without.
TEST(JoinedRows, GiveTheGradientsOfUncutSequences) {
  tally seen;
  double worst = 0;
  int steps = 0, k = 0;
  for (int seed = 1; seed <= tests::cases(2); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed));
    for (const mix& m : mixes)
      for (const auto& [stages, replicas] : {std::pair{1, 4}, {2, 4}, {1, 8}})
        for (const bool many : {false, true}) {
          if (!tests::is_tried(k++, 5)) continue;
          const shape on{.stages = stages, .replicas = replicas, .quantum = batch.quantum};
          const plan p = planned(on, batch.lengths, m.groups, m.how, many).value();
          count(p, seen);
          for (const executors::packflow& run :
               {on_nodes(stages), executors::packflow{.rows = row_calls::joined}, on_nodes(stages, row_calls::apart)}) {
            const double error = worst_error(batch, p, run);
            EXPECT_LT(error, 1e-11) << name_of(m.groups) << ", " << name_of(m.how) << ", p " << stages << ", dp "
                                    << replicas << ", seed " << seed;
            worst = std::max(worst, error);
            ++steps;
          }
        }
  }
  std::printf(
      "%d steps, packs with rows %d, with several %d, with rows and sequences of their own %d, largest relative error "
      "%.2g, "
      "seeds 1 to %d\n",
      steps, seen.packs, seen.several, seen.local, worst, tests::cases(2));
  EXPECT_GT(seen.several, seen.packs / 10);
  EXPECT_GT(seen.local, seen.packs / 8);
  EXPECT_GT(worst, 0);
}

// Rows that are open together wait for nobody that waits for them: not even where of each rank only the transfer that
// it issued first may move; and whatever comes first, the bits are the same.
TEST(JoinedRows, HaveTheSameBitsOverATransportThatMovesOneMessageAtATime) {
  for (int seed = 1; seed <= tests::cases(2); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed));
    for (const mix& m : mixes) {
      const plan p =
          planned({.stages = 1, .replicas = 4, .quantum = batch.quantum}, batch.lengths, m.groups, m.how, true).value();
      transports::threads side_by_side{tests::ranks_of(p), {.time_out = {60}}};
      const auto expected = tests::outcomes_of<train::model_stage<double>>(batch, p, side_by_side, on_nodes(1));
      tests::one_at_a_time in_turn(tests::ranks_of(p), static_cast<std::uint64_t>(seed));
      EXPECT_EQ(tests::outcomes_of<train::model_stage<double>>(batch, p, in_turn, on_nodes(1)), expected)
          << name_of(m.groups) << ", " << name_of(m.how) << ", seed " << seed;
    }
  }
}

/// What a rank does on the channel of rows, in order: transfers with peers, and waits.
class watched_port {
 public:
  struct event {
    bool waits{};
    int peer{};
  };
  struct handle {
    transports::threads::handle of;
    bool is_rows{};
    int peer{};
  };
  watched_port(transports::threads::port port, int channel) : port_(std::move(port)), channel_(channel) {}
  std::vector<event> events;

  [[nodiscard]] int rank() const { return port_.rank(); }
  [[nodiscard]] int size() const { return port_.size(); }
  result<handle> send(int peer, int channel, std::span<const std::byte> data) {
    return seen(peer, channel, port_.send(peer, channel, data));
  }
  result<handle> receive(int peer, int channel, std::span<std::byte> data) {
    return seen(peer, channel, port_.receive(peer, channel, data));
  }
  result<bool> test(handle& h) { return port_.test(h.of); }
  result<void> wait(handle& h) {
    if (h.is_rows && std::exchange(h.is_rows, false)) events.push_back({true, h.peer});
    return port_.wait(h.of);
  }
  void abort(std::string_view reason) { port_.abort(reason); }

 private:
  result<handle> seen(int peer, int channel, result<transports::threads::handle> posted) {
    if (!posted) return std::move(posted).error();
    if (channel == channel_) events.push_back({false, peer});
    return handle{std::move(posted).value(), channel == channel_, peer};
  }
  transports::threads::port port_;
  int channel_;
};

// One micro-step over two nodes of two ranks: sequence 0 is shared by the ranks of a node, sequence 1 by all. In each
// layer each rank posts what goes to the other node first, though that is of the later sequence, and waits for nothing
// before all is posted.
TEST(JoinedRows, PostWhatGoesToOtherNodesFirstAndAllBeforeTheyWait) {
  const exact_batch batch(1, tests::small_model, {2}, {{60}, {100}});
  const shape on{.stages = 1, .replicas = 4, .quantum = batch.quantum};
  const plan p = planned(on, batch.lengths, solvers::sharing_groups::zones, exchange::keep, true).value();
  std::map<std::size_t, int> sharers;
  for (const merge& m : p.merges) ++sharers[m.replicas.size()];
  ASSERT_EQ(p.replicas[0].partition.forward.size(), 1u);
  ASSERT_EQ(sharers, (std::map<std::size_t, int>{{2, 1}, {4, 1}}));
  transports::threads world{4, {.time_out = {20}}};
  std::vector<std::vector<watched_port::event>> events(4);
  tests::on_every_rank(4, [&](int rank) {
    watched_port port(world.endpoint(rank), channel_of(traffic::rows, 0));
    train::model_stage<double> stage(batch.model, p.shape, 0, batch.documents(), 7);
    (void)on_nodes(1).execute(p, stage, port).value();
    events[static_cast<std::size_t>(rank)] = std::move(port.events);
  });
  int far = 0, near = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<watched_port::event>& all = events[static_cast<std::size_t>(rank)];
    bool own_node = false, waited = true;  // of the layer's posts
    std::size_t layers = 0;
    for (const watched_port::event& e : all) {
      if (e.waits) {
        waited = true;
        continue;
      }
      if (std::exchange(waited, false)) own_node = false, ++layers;
      const bool is_near = e.peer / 2 == rank / 2;
      EXPECT_TRUE(is_near || !own_node) << "rank " << rank;
      own_node = own_node || is_near;
      (is_near ? near : far) += 1;
    }
    EXPECT_EQ(layers, 2 * static_cast<std::size_t>(batch.model.layers))
        << "posts of a layer and pass follow each other, rank " << rank;
  }
  EXPECT_GT(far, 0);
  EXPECT_GT(near, 0);
}

TEST(JoinedRows, RanksThatRunThemDifferentlyDoNotBegin) {
  const exact_batch batch(1);
  const plan p = planned({.stages = 1, .replicas = 2, .quantum = batch.quantum}, batch.lengths,
                         solvers::sharing_groups::all, exchange::keep, true)
                     .value();
  const auto line_of = [&](const executors::packflow& first, const executors::packflow& second) {
    transports::threads world{2, {.time_out = {20}}};
    std::string line;
    tests::on_every_rank(2, [&](int rank) {
      auto endpoint = world.endpoint(rank);
      train::model_stage<double> stage(batch.model, p.shape, 0, batch.documents(), 7);
      const result<step_report> step = (rank == 0 ? first : second).execute(p, stage, endpoint);
      if (rank == 0) line = step ? "no error" : step.error().detail;
    });
    return line;
  };
  EXPECT_EQ(line_of({.rows = row_calls::joined}, {}),
            "ranks 0 and 1 run packs with rows that replicas share differently: joined and apart (packflow::rows, or a "
            "compute's joins_rows)");
  EXPECT_EQ(line_of({.rows = row_calls::joined}, on_nodes(1)).substr(0, 76),
            "ranks 0 and 1 hold different maps of ranks to nodes (packflow::node_of): 000");
  EXPECT_EQ(line_of({}, on_nodes(1, row_calls::apart)), "no error") << "apart, nodes decide nothing";
}

}  // namespace
}  // namespace slimpack::joined_rows_test
