#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

// Batches that break planners: one length over and over, giants that dwarf the rest, counts and lengths at their
// limits; under every shipped solver and schedule, without a memory limit and under one that the longest sequence just
// fits.

namespace slimpack::adversarial_test {
namespace {

struct batch {
  std::string name;
  std::vector<tokens> lengths;
};

std::vector<tokens> copies(std::size_t n, std::int64_t length) { return std::vector<tokens>(n, tokens{length}); }

std::vector<tokens> with_giants(std::vector<tokens> lengths, const std::vector<std::int64_t>& giants) {
  for (const std::int64_t length : giants)
    lengths.insert(lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2), tokens{length});
  return lengths;
}

std::vector<tokens> powers_of_two(int most) {
  std::vector<tokens> lengths;
  for (int i = 0; i <= most; ++i) lengths.push_back({std::int64_t{1} << i});
  return lengths;
}

std::vector<batch> hard_batches() {
  return {{"one token", copies(1, 1)},
          {"all equal", copies(48, 4096)},
          {"all of length one", copies(300, 1)},
          {"all one token over the quantum", copies(48, 129)},
          {"all one token under the quantum", copies(48, 127)},
          {"a giant alone", copies(1, 262144)},
          {"a giant one token over the quantum", copies(1, 262145)},
          {"a giant among ones", with_giants(copies(80, 1), {262144})},
          {"a giant among middling ones", with_giants(copies(40, 3000), {262144})},
          {"two giants", with_giants(copies(40, 700), {262144, 262143})},
          {"powers of two", powers_of_two(20)},
          {"the longest supported", with_giants(copies(20, 1000), {longest_supported.value})}};
}

const costs::quadratic per_slice{.linear = 1e-6, .attention = 4.069e-11, .per_pack = {6.4e-5}, .hop = {2.4e-5}};

/// What breaks a plan breaks the first ones tried.
constexpr solvers::search_budget few_candidates{30'000, 5};

/// Counts how often it is asked for a slice.
struct counting_cost : costs::quadratic {
  explicit counting_cost(std::atomic<std::int64_t>& count) : quadratic(per_slice), asked(&count) {}
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    asked->fetch_add(1, std::memory_order_relaxed);
    return quadratic::time(s, p, part);
  }
  std::atomic<std::int64_t>* asked;
};

shape limited_to(tokens most, shape on) {
  on.memory = memory_limit{memory_unit::token, static_cast<double>(most.value)};
  return on;
}

tokens longest_of(const std::vector<tokens>& lengths) { return *std::max_element(lengths.begin(), lengths.end()); }

/// Calls visit(name, planner) for every shipped solver with the schedules that it may meet.
template <class Cost, class Visit>
void each_planner(shape on, const Cost& cost, tokens chunk, const Visit& visit) {
  const schedules::one_f_one_b classic{.lead = 1};
  const slicers::equal_cost cut;
  const slicers::whole whole;
  const solvers::two_phase search{.effort = few_candidates};
  visit("two_phase, list", planner{on, cut, cost, search});
  visit("two_phase, uniform", planner{on, slicers::uniform{{4096}}, cost, search});
  visit("two_phase, 1F1B", planner{on, cut, cost, search, schedules::one_f_one_b{}});
  visit("two_phase, zero bubble", planner{on, cut, cost, search, schedules::zero_bubble{}});
  visit("refined", planner{on, cut, cost, solvers::refined{search}});
  visit("chunked", planner{on, cut, cost, solvers::chunked{chunk}, schedules::one_f_one_b{}});
  visit("megatron", planner{on, whole, cost, solvers::megatron{}, classic});
  visit("dp_balanced", planner{on, whole, cost, solvers::dp_balanced{}, classic});
  visit("karmarkar_karp", planner{on, whole, cost, solvers::karmarkar_karp{}, classic});
  on.chunks = 2;
  visit("two_phase, virtual stages", planner{on, cut, cost, search, schedules::one_f_one_b{}});
}

std::size_t packs_of(const plan& p) {
  std::size_t packs = 0;
  for (const replica_plan& r : p.replicas) packs += r.partition.forward.size() + r.partition.backward.size();
  return packs;
}

TEST(HardBatches, ArePlannedByTheLawsOrRefusedForWantOfMemory) {
  const std::size_t most_packs = tests::cases(1) > 1 ? 50000 : 600;
  int k = 0, n = 0;
  for (const batch& b : hard_batches()) {
    if (!tests::is_tried(n++)) continue;
    const tokens longest = longest_of(b.lengths);
    const tokens chunk = std::max(tokens{8192}, tokens{longest.value / 64});  // no more slices than others make
    for (const shape& on : {shape{.stages = 3}, shape{.stages = 2, .replicas = 3}})
      for (const shape& limited : {on, limited_to(longest, on)}) {
        ++k;  // so that not each batch meets the same planners
        each_planner(limited, per_slice, chunk, [&](const std::string& name, const auto& plan_batch) {
          if (!tests::is_tried(k++, 3)) return;
          const std::string what = b.name + ", " + std::to_string(on.replicas) + " replicas, " +
                                   (limited.memory ? "tight memory, " : "") + name + '\n';
          const result<plan> made = plan_batch(b.lengths);
          if (!made) {
            EXPECT_TRUE(limited.memory) << what << made.error().detail;
            EXPECT_EQ(made.error().code, errc::out_of_memory) << what << made.error().detail;
            return;
          }
          EXPECT_LE(made.value().lower_bound, made.value().step_time) << what;
          if (packs_of(made.value()) > most_packs) return;  // the laws take seconds
          const testing::report found = testing::plan_laws(made.value(), per_slice);
          EXPECT_TRUE(found) << what << found;
        });
      }
  }
}

TEST(HardBatches, FitWhereTheirLongestSequenceDoes) {
  int k = 0;
  for (const batch& b : hard_batches())
    for (const shape& on : {shape{.stages = 8}, shape{.stages = 2, .replicas = 3}})
      if (tests::is_tried(k++)) {
        EXPECT_TRUE(planner(limited_to(longest_of(b.lengths), on), slicers::equal_cost{}, per_slice,
                            solvers::two_phase{.effort = few_candidates})(b.lengths))
            << b.name;
      }
}

// The packs of a pass have about 50,000 instructions on all stages at most, more cost planning time and gain less;
// where memory is tight short sequences share none.
TEST(HardBatches, AreNeverCutIntoUselesslyManyPacks) {
  int k = 0;
  for (const batch& b : hard_batches())
    for (const shape& on : {shape{.stages = 4}, limited_to(longest_of(b.lengths), {.stages = 4})}) {
      if (!tests::is_tried(k++)) continue;
      const planner plan_batch{on, slicers::equal_cost{}, per_slice, solvers::two_phase{.effort = few_candidates}};
      const replica_plan made = plan_batch(b.lengths).value().replicas[0];
      for (const pass p : {pass::forward, pass::backward})
        EXPECT_LE(made.partition.of(p).size() * 4, 55000 + 8 * b.lengths.size()) << b.name;
    }
}

/// Whether each of a batch's sequences, too short to be cut, is once in a forward and once in a backward pack.
bool covers(const plan& p) {
  std::vector<int> seen(p.lengths.size(), 0);
  for (const replica_plan& r : p.replicas)
    for (const pass d : {pass::forward, pass::backward})
      for (const slice& s : r.partition.of(d).slices())
        seen[s.sequence.value] += s.length != p.lengths[s.sequence.value] ? 100 : d == pass::forward ? 1 : 10;
  return std::all_of(seen.begin(), seen.end(), [](int n) { return n == 11; });
}

TEST(HardBatches, MayHaveAHundredThousandSequences) {
  const std::vector<tokens> ones = copies(100000 / tests::one_in, 1);
  int k = 0;
  each_planner({.stages = 2, .replicas = 4}, per_slice, {8192}, [&](const std::string& name, const auto& plan_batch) {
    if (!tests::is_tried(k++)) return;
    const plan made = plan_batch(ones).value();
    EXPECT_TRUE(covers(made)) << name;
    EXPECT_LE(made.lower_bound, made.step_time) << name;
    EXPECT_GT(made.lower_bound, seconds{0}) << name;
  });
}

// Four times the sequences, four times the questions to the cost model, whatever the search does with them: a search
// that comes to its budget asks less.
TEST(HardBatches, AskTheCostModelInProportionToTheirSequences) {
  int k = 0;
  for (const std::vector<std::int64_t>& giants : {std::vector<std::int64_t>{262144, 262143}, {262144}, {}}) {
    if (!tests::is_tried(k++)) continue;
    std::map<std::string, std::int64_t> few;
    for (const std::size_t n : {2000u / tests::one_in, 8000u / tests::one_in}) {
      std::atomic<std::int64_t> asked{0};
      each_planner({.stages = 2}, counting_cost(asked), {8192}, [&](const std::string& name, const auto& plan_batch) {
        asked = 0;
        EXPECT_TRUE(plan_batch(with_giants(copies(n, 1), giants)));
        EXPECT_GT(asked.load(), static_cast<std::int64_t>(n)) << name;
        if (!few.contains(name))
          few[name] = asked.load();
        else
          EXPECT_LE(asked.load(), 5 * few[name]) << name << ", " << giants.size() << " giants";
      });
    }
  }
}

}  // namespace
}  // namespace slimpack::adversarial_test
