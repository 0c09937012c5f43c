#include <slimpack/core/ensemble/ensembles.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/simulators/boost_graph.hpp>
#include <slimpack/simulators/graph/critical_path.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/simulators/timeline.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/plan_laws.hpp>
#include <slimpack/testing/simulator_laws.hpp>

#include "../laws/cases.hpp"
#include "../support/least_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::joint_test {
namespace {

const costs::quadratic per_token{.linear = 1, .attention = 0, .per_pack = {0}, .hop = {10}};
constexpr shape pair_of_replicas{.replicas = 2, .quantum = {1}};

/// Replica 0 runs a sequence of 5 tokens, then its half of one of 8; replica 1 its half, then one of 3.
solution shared_in_one_row() {
  solution s{std::vector<replica_solution>(2)};
  const auto add = [](micropacks& packs, const slice& one) { packs.push(one), packs.close(); };
  for (micropacks* packs : {&s.replicas[0].partition.forward, &s.replicas[0].partition.backward}) {
    add(*packs, {{0}, {0}, {5}});
    add(*packs, {{1}, {0}, {4}});
  }
  for (micropacks* packs : {&s.replicas[1].partition.forward, &s.replicas[1].partition.backward}) {
    add(*packs, {{1}, {4}, {4}});
    add(*packs, {{2}, {0}, {3}});
  }
  s.replicas[0].sequences = {{0}, {1}};
  s.replicas[1].sequences = {{1}, {2}};
  for (replica_solution& r : s.replicas)
    r.programs = {{{instruction_kind::forward, {0}},
                   {instruction_kind::forward, {1}},
                   {instruction_kind::backward, {0}},
                   {instruction_kind::backward, {1}}}};
  s.merges = {{{1}, {0, 1}, {{{1}, {0}}}, {{{1}, {0}}}}};
  return s;
}

struct as_given {
  solution answer;
  template <class Slicer, class Cost, class Schedule>
  result<solution> solve(const problem&, const Slicer&, const Cost&, const Schedule&) const {
    return answer;
  }
};

result<plan> planned(const solution& s) {
  return planner{pair_of_replicas, slicers::equal_cost{}, per_token, as_given{s}}(std::vector<tokens>{{5}, {8}, {3}});
}

//  replica 0   F0 5 | F1 14 (4 tokens and a hop) | B0 10 | B1 18 (8 and a hop)
//  replica 1   -    | F0 14                      | F1 3, waits 7 | B0 18 | B1 6
//  The row starts at 5 forward, and at 5 + 14 + 10 = 29 backward: ends at 47, and replica 1 at 53.
TEST(JointGraph, StartsThePacksOfARowTogether) {
  solution s = shared_in_one_row();
  s.replicas[1].programs = {{{instruction_kind::forward, {0}},
                             {instruction_kind::forward, {1}},
                             {instruction_kind::backward, {0}},
                             {instruction_kind::backward, {1}}}};
  const plan made = planned(s).value();
  EXPECT_EQ(made.replicas[0].makespan, seconds{47});
  EXPECT_EQ(made.replicas[1].makespan, seconds{53});
  EXPECT_EQ(made.step_time, seconds{53});
  const testing::report found = testing::plan_laws(made, per_token);
  EXPECT_TRUE(found) << found;
  simulators::plan_graphs graphs(made);
  graphs.select(0).value();
  EXPECT_EQ(simulators::boost_graph{}.starts(graphs.graph()).value(),
            simulators::sweep{}.starts(graphs.graph()).value());
}

// 6 tokens on replica 0, 2 on replica 1: both end after 6 and a hop, 5 + 16 = 21; B0 until 31, the row until 31 + 22.
TEST(JointGraph, EndsThePacksOfARowTogether) {
  solution s = shared_in_one_row();
  for (replica_solution* r : {&s.replicas[0], &s.replicas[1]}) {
    const bool first = r == &s.replicas[0];
    for (micropacks* packs : {&r->partition.forward, &r->partition.backward}) {
      micropacks changed;
      for (slice one : packs->slices()) {
        if (one.sequence == sequence_id{1}) one = first ? slice{{1}, {0}, {6}} : slice{{1}, {6}, {2}};
        changed.push(one);
        changed.close();
      }
      *packs = changed;
    }
  }
  const plan made = planned(s).value();
  EXPECT_EQ(made.replicas[0].makespan, seconds{53});
  EXPECT_EQ(made.replicas[1].makespan, seconds{59});
  const testing::report found = testing::plan_laws(made, per_token);
  EXPECT_TRUE(found) << found;
}

// 1,024 sharers of one row, each with one token, on two stages: 4 instructions and 2 messages a replica, and a gate for
// each of 2 passes on 2 stages. A replica has 2 edges of program order and 2 for each message, and 4 from gates.
TEST(JointGraph, GrowsWithTheSharersOfARowAndNotWithTheirSquare) {
  constexpr std::uint32_t sharers = 1024;
  solution s{std::vector<replica_solution>(sharers), {{{0}, {}, {{}}, {{}}}}};
  for (std::uint32_t r = 0; r < sharers; ++r) {
    s.replicas[r].sequences = {{0}};
    for (micropacks* packs : {&s.replicas[r].partition.forward, &s.replicas[r].partition.backward})
      packs->push({{0}, {r}, {1}}), packs->close();
    s.replicas[r].programs.assign(2, {{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}});
    s.merges[0].replicas.push_back(r);
    s.merges[0].forward[0].push_back({0});
    s.merges[0].backward[0].push_back({0});
  }
  const shape on{.stages = 2, .replicas = sharers, .quantum = {1}};
  const std::vector<std::uint32_t> group = s.merges[0].replicas;
  std::vector<workload> works;
  for (const replica_solution& r : s.replicas)
    works.push_back(price(r.partition, per_token, on, std::vector<memory_rates>(2)));
  const simulators::task_graph graph =
      simulators::joint_graph(
          group, [&](std::uint32_t r) -> const workload& { return works[r]; },
          [&](std::uint32_t r) -> std::span<const program> { return s.replicas[r].programs; }, s.merges)
          .value();
  EXPECT_EQ(graph.size(), 6 * sharers + 4);
  EXPECT_EQ(graph.edges(), (2 + 4 + 4) * sharers);
  std::vector<seconds> start;
  EXPECT_EQ(graph.sweep(start), seconds{1 + 10 + 1 + 2 + 10 + 2});
}

// Sets and edges at random: where they form a cycle, both say so.
TEST(JointGraph, TellsItsMakespanBeforeItIsMade) {
  using node = simulators::task_graph::node;
  testing::generator random(36101);
  std::size_t cyclic = 0, tied = 0;
  const int cases = tests::cases(300);
  for (int k = 0; k < cases; ++k) {
    std::vector<simulators::task_graph> alone;
    std::vector<node> nodes;  // of all
    for (std::int64_t n = random.between(1, 4); n > 0; --n) {
      alone.push_back(testing::detail::random_alone({.longest = {4096}, .chunks = 2}, random));
      for (std::size_t i = 0; i < alone.back().size(); ++i) nodes.push_back(static_cast<node>(nodes.size()));
    }
    std::vector<std::pair<node, node>> between;
    const auto any = [&] {
      return nodes[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(nodes.size()) - 1))];
    };
    for (std::int64_t n = random.between(0, 3); n > 0; --n) {
      const node one = any(), other = any();
      if (one != other) between.push_back(std::minmax(one, other));
    }
    std::vector<std::vector<node>> together;
    for (std::int64_t n = random.between(0, 3); n > 0 && nodes.size() > 8; --n) {
      std::vector<node>& set = together.emplace_back();
      for (std::int64_t m = random.between(1, 3); m > 0; --m) {
        const node one = any();
        std::erase(nodes, one);  // sets have no common node
        set.push_back(one);
      }
    }
    simulators::task_graph joined;
    const result<void> made = joined.join(alone, together, between);
    const result<seconds> found = simulators::task_graph::joint_makespan(alone, together, between);
    ASSERT_EQ(made.has_value(), found.has_value()) << "case " << k;
    if (!made) {
      EXPECT_EQ(found.error().code, made.error().code);
      ++cyclic;
      continue;
    }
    std::vector<seconds> start;
    ASSERT_EQ(found.value(), joined.sweep(start)) << "case " << k;
    tied += !together.empty();
  }
  EXPECT_GT(cyclic, 0u);
  EXPECT_GT(tied, static_cast<std::size_t>(cases) / 8);
}

// F0 5, the row 14, B0 10, the row 18 and replica 1's B1 6: 53 seconds, and no gate among them.
TEST(JointGraph, HasCriticalPathsOfWorkAndMessagesOnly) {
  const plan made = planned(shared_in_one_row()).value();
  simulators::plan_graphs graphs(made);
  graphs.select(0).value();
  const std::vector<simulators::critical_task> path = simulators::critical_path(graphs.graph(), graphs.start());
  seconds at{};
  for (const simulators::critical_task& c : path) {
    EXPECT_TRUE(c.what.is_instruction());
    EXPECT_EQ(c.start, at);
    at = c.start + c.what.duration;
  }
  EXPECT_EQ(path.size(), 5u);
  EXPECT_EQ(at, seconds{53});
  for (const std::size_t replica : {0u, 1u}) {
    const simulators::timeline lanes = simulators::lanes_of(graphs.graph(), graphs.start(), 1, replica);
    EXPECT_EQ(lanes.stages[0].size(), 4u);
    EXPECT_EQ(lanes.makespan, made.replicas[replica].makespan);
  }
}

TEST(JointGraph, IsRefusedWhereRowsCross) {
  solution s = shared_in_one_row();
  // A second shared sequence, which replica 0 runs after the first and replica 1 before it.
  for (replica_solution& r : s.replicas)
    for (micropacks* packs : {&r.partition.forward, &r.partition.backward}) packs->clear();
  const auto add = [](replica_solution& r, const slice& one) {
    for (micropacks* packs : {&r.partition.forward, &r.partition.backward}) packs->push(one), packs->close();
  };
  add(s.replicas[0], {{1}, {0}, {4}});
  add(s.replicas[0], {{0}, {0}, {2}});
  add(s.replicas[1], {{0}, {2}, {3}});
  add(s.replicas[1], {{1}, {4}, {4}});
  add(s.replicas[1], {{2}, {0}, {3}});
  s.replicas[1].sequences = {{0}, {1}, {2}};
  s.replicas[1].programs = {{{instruction_kind::forward, {0}},
                             {instruction_kind::forward, {1}},
                             {instruction_kind::forward, {2}},
                             {instruction_kind::backward, {0}},
                             {instruction_kind::backward, {1}},
                             {instruction_kind::backward, {2}}}};
  s.merges = {{{1}, {0, 1}, {{{0}, {1}}}, {{{0}, {1}}}}, {{0}, {0, 1}, {{{1}, {0}}}, {{{1}, {0}}}}};
  const result<plan> made = planned(s);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::cyclic_schedule);
}

// A group asks of each merge whether it is its own before it walks the rows: otherwise many groups would take the
// square of their time. A hundred walks of foreign rows, or none, against one of own rows.
TEST(JointGraph, DoesNotWalkTheRowsOfOtherGroups) {
  constexpr std::uint32_t rows = 1 << 16;
  merge own{{0}, {0, 1}, {}, {}};
  for (std::uint32_t r = 0; r < rows; ++r) own.forward.push_back({{r}, {r}});
  merge foreign = own;
  foreign.replicas = {2, 3};
  const std::vector<std::uint32_t> group{0, 1};
  const ensembles packs({.replicas = 2}, 2, [](std::size_t, pass) { return std::size_t{rows}; });
  const auto time_of = [&](const merge& m, int times) {
    return tests::least_time([&] {
      for (int i = 0; i < times; ++i) EXPECT_TRUE(rows_apart(packs, group, std::span(&m, 1)).empty());
    });
  };
  EXPECT_LT(time_of(foreign, 100), time_of(own, 1));
}

/// What a planner says of the answer above once it was changed so.
template <class Change>
std::string refused(const Change& change) {
  solution s = shared_in_one_row();
  change(s);
  const result<plan> made = planned(s);
  if (made) return "planned";
  EXPECT_EQ(made.error().code, errc::invalid_input);
  const std::string prefix = "the solver's answer is wrong: ";
  return made.error().detail.starts_with(prefix) ? made.error().detail.substr(prefix.size()) : made.error().detail;
}

micropacks packs_of(const std::vector<std::vector<slice>>& list) {
  micropacks packs;
  for (const std::vector<slice>& pack : list) {
    for (const slice& one : pack) packs.append(one);
    packs.close();
  }
  return packs;
}

TEST(SolutionCheck, NamesWhatIsOnNoReplicaOrOnTooMany) {
  EXPECT_EQ(refused([](solution& s) { s.replicas.pop_back(); }), "there are 1 replicas, the shape has 2");
  EXPECT_EQ(refused([](solution& s) { s.replicas.emplace_back(); }), "there are 3 replicas, the shape has 2");
  EXPECT_EQ(refused([](solution& s) {
              s.replicas[1].sequences.pop_back();
              for (micropacks* p : {&s.replicas[1].partition.forward, &s.replicas[1].partition.backward})
                *p = packs_of({{{{1}, {4}, {4}}}});
            }),
            "sequence 2 is on 0 replicas, it must be on 1, or on those that share it");
  EXPECT_EQ(refused([](solution& s) { s.replicas[0].sequences.push_back({2}); }),
            "sequence 2 is on 2 replicas, it must be on 1, or on those that share it");
  EXPECT_EQ(refused([](solution& s) { s.merges.clear(); }),
            "sequence 1 is on 2 replicas, it must be on 1, or on those that share it");
  EXPECT_EQ(refused([](solution& s) { s.replicas[0].sequences.push_back({7}); }),
            "sequence 7 is planned, the batch has 3");
}

TEST(SolutionCheck, NamesTokensThatDoNotRunOnceAndInOrder) {
  const auto forward = [](std::vector<std::vector<slice>> first) {
    return refused([&](solution& s) {
      first.push_back({{{1}, {0}, {4}}});
      s.replicas[0].partition.forward = packs_of(first);
    });
  };
  EXPECT_EQ(forward({{{{0}, {0}, {5}}}}), "planned");
  EXPECT_EQ(forward({{{{0}, {0}, {4}}}}), "sequence 0 of 5 tokens ends at token 4 forward: each token must run once");
  EXPECT_EQ(forward({{{{0}, {0}, {5}}, {{0}, {0}, {5}}}}),
            "sequence 0 runs tokens 0 to 5 in forward pack 0 of replica 0, where what begins at token 5 comes next");
  EXPECT_EQ(forward({{{{0}, {2}, {3}}, {{0}, {0}, {2}}}}),
            "sequence 0 runs tokens 2 to 5 in forward pack 0 of replica 0, where what begins at token 0 comes next");
  EXPECT_EQ(forward({{{{0}, {0}, {6}}}}),
            "sequence 0 has 5 tokens, of which forward pack 0 of replica 0 runs 6 from token 0 on");
  EXPECT_EQ(forward({{{{0}, {-1}, {5}}}}),
            "sequence 0 has 5 tokens, of which forward pack 0 of replica 0 runs 5 from token -1 on");
  EXPECT_EQ(forward({{{{9}, {0}, {5}}}}), "sequence 9 has a slice on replica 0, which does not list it");
  EXPECT_EQ(forward({{{{2}, {0}, {3}}}}), "sequence 2 has a slice on replica 0, which does not list it");
}

TEST(SolutionCheck, NamesMergesThatDoNotFit) {
  const auto merged = [](const auto& change) { return refused([&](solution& s) { change(s.merges[0]); }); };
  const std::string sharers = "must be shared by two replicas or more that there are, in ascending order";
  EXPECT_EQ(merged([](merge& m) { m.sequence = {3}; }), "sequence 3 is merged, the batch has 3");
  EXPECT_EQ(merged([](merge& m) { m.replicas = {0, 2}; }), "sequence 1 " + sharers);
  EXPECT_EQ(merged([](merge& m) { m.replicas = {1, 0}; }), "sequence 1 " + sharers);
  EXPECT_EQ(merged([](merge& m) { m.replicas = {}; }), "sequence 1 " + sharers);
  EXPECT_EQ(refused([](solution& s) { s.merges.push_back(s.merges[0]); }), "sequence 1 is merged twice");
  EXPECT_EQ(merged([](merge& m) { m.backward[0].push_back({0}); }),
            "sequence 1 has a backward row, 0, of 3 packs for 2 replicas: it names a pack of each, or none");
  EXPECT_EQ(merged([](merge& m) { m.forward.push_back({}); }),
            "sequence 1 has a forward row, 1, of 0 packs for 2 replicas: it names a pack of each, or none");
  EXPECT_EQ(merged([](merge& m) { m.forward[0][1] = {7}; }),
            "sequence 1 has a forward row, 0, that names pack 7 of replica 1, which has 2");
  EXPECT_EQ(merged([](merge& m) { m.forward.push_back(m.forward[0]); }),
            "sequence 1 has a forward row, 1, that names pack 1 of replica 0, which holds nothing of it, or only what "
            "another "
            "row has");
  EXPECT_EQ(merged([](merge& m) { m.backward.clear(); }),
            "sequence 1 has a slice in backward pack 1 of replica 0, which its next row does not name");
  EXPECT_EQ(refused([](solution& s) { s.replicas[0].sequences.push_back({1}); }),
            "sequence 1 is on replica 0, which is not the next of those that share it");
}

TEST(JointGroups, HoldReplicasThatMergesTieTogether) {
  const std::vector<merge> merges{{{0}, {1, 3}, {}, {}}, {{1}, {3, 4}, {}, {}}};
  EXPECT_EQ(simulators::joint_groups(merges, 6), (std::vector<std::vector<std::uint32_t>>{{0}, {1, 3, 4}, {2}, {5}}));
}

/// Whether the laws find something once the plan was changed so.
template <class Change>
bool is_found(const Change& change, int law) {
  plan made = planned(shared_in_one_row()).value();
  change(made);
  made.hash = hash_of(made);
  return testing::plan_laws(made).broken(law) > 0;
}

TEST(PlanLawsOfMerges, FindEachFault) {
  EXPECT_FALSE(is_found([](plan&) {}, 1));
  EXPECT_TRUE(is_found([](plan& p) { p.merges.clear(); }, 1));                      // not merged, on two
                                                                                    // replicas
  EXPECT_TRUE(is_found([](plan& p) { p.merges.push_back(p.merges[0]); }, 1));       // merged twice
  EXPECT_TRUE(is_found([](plan& p) { p.merges[0].replicas = {1, 0}; }, 1));         // not ascending
  EXPECT_TRUE(is_found([](plan& p) { p.merges[0].replicas = {0, 2}; }, 1));         // no such replica
  EXPECT_TRUE(is_found([](plan& p) { p.replicas[1].sequences = {{2}}; }, 1));       // not listed
  EXPECT_TRUE(is_found([](plan& p) { p.merges[0].forward[0].pop_back(); }, 3));     // a row without a pack
  EXPECT_TRUE(is_found([](plan& p) { p.merges[0].forward[0][1] = {7}; }, 3));       // no such pack
  EXPECT_TRUE(is_found([](plan& p) { p.merges[0].forward[0][1] = {1}; }, 3));       // a pack that holds none of
                                                                                    // it
  EXPECT_TRUE(is_found([](plan& p) { p.merges[0].backward.clear(); }, 3));          // no rows
  EXPECT_TRUE(is_found([](plan& p) { p.replicas[0].makespan = seconds{46}; }, 5));  // a row's wait forgotten
}

// Tokens that run backward on another replica than forward.
TEST(PlanLawsOfMerges, FindTokensThatChangeTheirReplica) {
  EXPECT_TRUE(is_found(
      [](plan& p) {
        for (std::size_t r : {0u, 1u}) {
          micropacks changed;
          for (slice one : p.replicas[r].partition.backward.slices()) {
            if (one.sequence == sequence_id{1}) one.begin = {r == 0 ? 4 : 0};
            changed.push(one);
            changed.close();
          }
          p.replicas[r].partition.backward = changed;
        }
      },
      1));
}

}  // namespace
}  // namespace slimpack::joint_test
