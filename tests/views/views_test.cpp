#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/random_replica.hpp>
#include <slimpack/views.hpp>

#include <gtest/gtest.h>

#include <range/v3/algorithm/max.hpp>
#include <range/v3/range/concepts.hpp>
#include <range/v3/view/reverse.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::views_test {
namespace {

constexpr pass both[] = {pass::forward, pass::backward};

/// Packs in any order with any times: views look a plan's tables up, whatever stands in them. Sequences 0, 1, ... are
/// dealt to the replicas at random, the first of them to several; weight gradients of some packs run apart.
plan random_plan(testing::generator& random) {
  plan p;
  p.shape.stages = static_cast<int>(random.between(1, 4));
  p.shape.chunks = static_cast<int>(random.between(1, 3));
  p.shape.replicas = static_cast<int>(random.between(1, 4));
  const auto replicas = static_cast<std::uint32_t>(p.shape.replicas);
  std::vector<std::vector<tokens>> lengths(replicas);
  for (std::uint32_t r = 0; r < replicas; ++r) {
    testing::random_replica made;
    for (std::int64_t n = random.between(0, 6); n > 0; --n) made.lengths.push_back(random.length({4096}));
    const costs::quadratic cost{.per_pack = {random.ratio()}, .hop = {random.ratio()}};
    made.packs = testing::random_partition(made.lengths, p.shape.quantum, cost, random);
    made.work = price(made.packs, cost, p.shape, std::vector<memory_rates>(static_cast<std::size_t>(p.shape.stages)));
    for (const pass of : both)
      for (std::vector<seconds>* times : {&made.work.times.calls[of], &made.work.times.messages[of]})
        for (seconds& s : *times) s = {random.ratio()};
    if (random.once_in(2)) testing::split_weights(made, random);
    replica_plan& one = p.replicas.emplace_back();
    one.partition = std::move(made.packs);
    one.times = std::move(made.work.times);
    one.programs.resize(static_cast<std::size_t>(p.shape.stages));
    for (program& code : one.programs)
      for (const pass of : both)
        for (std::uint32_t i = 0; i < one.partition.of(of).size(); ++i)
          for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(p.shape.chunks); ++chunk) {
            code.push_back({pass_kind(of), {i}, chunk});
            if (of == pass::backward && one.times.apart.splits(i))
              code.push_back({instruction_kind::weights, {i}, chunk});
          }
  }
  // Rows of sequence 0, and of another, over all replicas that have packs.
  for (const std::uint32_t shared : {0u, 2u}) {
    merge m{{shared}, {}, {}, {}};
    for (std::uint32_t r = 0; r < replicas; ++r)
      if (!p.replicas[r].partition.forward.empty()) m.replicas.push_back(r);
    if (m.replicas.size() < 2) break;
    for (std::vector<std::vector<pack_id>>* rows : {&m.forward, &m.backward})
      for (std::int64_t n = random.between(0, 5); n > 0; --n)
        for (auto& row = rows->emplace_back(); row.size() < m.replicas.size();) {
          const partition& own = p.replicas[m.replicas[row.size()]].partition;
          const auto packs = static_cast<std::int64_t>((rows == &m.forward ? own.forward : own.backward).size());
          row.push_back({static_cast<std::uint32_t>(random.between(0, packs - 1))});
        }
    p.merges.push_back(std::move(m));
  }
  return p;
}

/// Calls check(plan) for random plans; the seed of the first that fails is printed.
void on_random_plans(const auto& check) {
  for (std::uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    check(random_plan(random));
  }
}

/// Spans are compared as places: a view shows the plan's own tables.
auto key(std::span<const seconds> s) { return std::pair(s.empty() ? nullptr : s.data(), s.size()); }
auto key(const pack_view& p) {
  return std::tuple(p.replica, p.pass, p.pack, p.slices.data(), p.slices.size(), key(p.times), key(p.weight_times),
                    key(p.messages));
}
auto key(const slice_view& s) { return std::tuple(s.replica, s.pass, s.pack, s.slice.begin, s.slice.length); }
auto key(const instruction_view& i) {
  return std::tuple(i.replica, i.stage, name_of(i.instruction, 2), i.time, i.slices.data(), i.slices.size());
}
auto key(const message_view& m) { return std::tuple(m.replica, m.pass, m.pack, m.from, m.to, m.time); }
auto key(const row_view& r) {
  return std::tuple(r.sequence, r.pass, r.row, r.sharers.data(), r.sharers.size(), r.packs.data(), r.packs.size());
}

/// The items of a view, forward and then, last first, in reverse.
template <class View>
auto keys(View view) {
  std::vector<decltype(key(*ranges::begin(view)))> there, back;
  for (const auto& item : view) there.push_back(key(item));
  for (const auto& item : view | ranges::views::reverse) back.push_back(key(item));
  std::reverse(back.begin(), back.end());
  EXPECT_TRUE(there == back);
  return there;
}

/// What plain loops find, in the order in which the views go.
template <class Item>
using found = std::vector<decltype(key(std::declval<Item>()))>;

pack_view plain_pack(const plan& p, std::uint32_t replica, pass of, std::uint32_t i) {
  const replica_plan& r = p.replicas[replica];
  const auto parts = static_cast<std::size_t>(p.shape.stages * p.shape.chunks);
  pack_view made{replica, of, {i}, r.partition.of(of)[i], {&r.times.calls[of][i * parts], parts}, {}, {}};
  if (of == pass::backward && !r.times.apart.flags.empty() && r.times.apart.flags[i] != 0)
    made.weight_times = {&r.times.calls[instruction_kind::weights][i * parts], parts};
  if (parts > 1) made.messages = {&r.times.messages[of][i * parts + (of == pass::forward ? 0 : 1)], parts - 1};
  return made;
}

void each_plain_pack(const plan& p, const auto& visit) {
  for (std::uint32_t r = 0; r < p.replicas.size(); ++r)
    for (const pass of : both)
      for (std::uint32_t i = 0; i < p.replicas[r].partition.of(of).size(); ++i) visit(plain_pack(p, r, of, i));
}

TEST(PlanViews, ShowThePacksOfAPass) {
  on_random_plans([](const plan& p) {
    found<pack_view> all, of_pass[2];
    std::vector<found<pack_view>> of_replica(2 * p.replicas.size());
    each_plain_pack(p, [&](const pack_view& x) {
      const auto of = static_cast<std::size_t>(x.pass);
      all.push_back(key(x)), of_pass[of].push_back(key(x)), of_replica[2 * x.replica + of].push_back(key(x));
    });
    EXPECT_TRUE(keys(views::packs(p)) == all);
    for (const pass of : both) {
      EXPECT_TRUE(keys(views::packs(p, of)) == of_pass[static_cast<std::size_t>(of)]);
      for (std::size_t r = 0; r < p.replicas.size(); ++r)
        EXPECT_TRUE(keys(views::packs(p, r, of)) == of_replica[2 * r + static_cast<std::size_t>(of)]);
    }
  });
}

TEST(PlanViews, ShowTheSlicesOfASequence) {
  on_random_plans([](const plan& p) {
    for (std::uint32_t s = 0; s < 8; ++s) {
      found<slice_view> all, of_pass[2];
      each_plain_pack(p, [&](const pack_view& x) {
        for (const slice& one : x.slices) {
          if (one.sequence != sequence_id{s}) continue;
          const slice_view made{x.replica, x.pass, x.pack, one};
          all.push_back(key(made)), of_pass[static_cast<std::size_t>(x.pass)].push_back(key(made));
        }
      });
      EXPECT_TRUE(keys(views::slices(p, {s})) == all);
      for (const pass of : both) EXPECT_TRUE(keys(views::slices(p, {s}, of)) == of_pass[static_cast<std::size_t>(of)]);
    }
  });
}

TEST(PlanViews, ShowTheInstructionsOfAStage) {
  on_random_plans([](const plan& p) {
    const auto stages = static_cast<std::size_t>(p.shape.stages);
    const auto parts = stages * static_cast<std::size_t>(p.shape.chunks);
    found<instruction_view> all;
    std::vector<found<instruction_view>> of_stage(stages);
    for (std::uint32_t r = 0; r < p.replicas.size(); ++r) {
      const replica_plan& own = p.replicas[r];
      for (std::uint32_t stage = 0; stage < stages; ++stage) {
        found<instruction_view> mine;
        for (const instruction& i : own.programs[stage]) {
          const std::size_t cell = i.pack.value * parts + i.chunk * stages + stage;
          const seconds time =
              i.is_weights() ? own.times.calls[instruction_kind::weights][cell] : own.times.calls[i.pass()][cell];
          mine.push_back(key(instruction_view{r, stage, i, time, own.partition.of(i.pass())[i.pack.value]}));
        }
        EXPECT_TRUE(keys(views::instructions(p, r, stage)) == mine);
        all.insert(all.end(), mine.begin(), mine.end());
        of_stage[stage].insert(of_stage[stage].end(), mine.begin(), mine.end());
      }
    }
    EXPECT_TRUE(keys(views::instructions(p)) == all);
    for (std::size_t stage = 0; stage < stages; ++stage)
      EXPECT_TRUE(keys(views::instructions(p, stage)) == of_stage[stage]);
  });
}

TEST(PlanViews, ShowTheMessagesOfABoundary) {
  on_random_plans([](const plan& p) {
    const auto parts = static_cast<std::uint32_t>(p.shape.stages * p.shape.chunks);
    for (std::uint32_t b = 0; b + 1 < parts; ++b) {
      found<message_view> all, of_pass[2];
      each_plain_pack(p, [&](const pack_view& x) {
        const std::uint32_t from = x.pass == pass::forward ? b : b + 1;
        const seconds time = p.replicas[x.replica].times.messages[x.pass][x.pack.value * parts + from];
        const message_view made{x.replica, x.pass, x.pack, from, 2 * b + 1 - from, time};
        all.push_back(key(made)), of_pass[static_cast<std::size_t>(x.pass)].push_back(key(made));
      });
      EXPECT_TRUE(keys(views::messages(p, b)) == all);
      for (const pass of : both) EXPECT_TRUE(keys(views::messages(p, b, of)) == of_pass[static_cast<std::size_t>(of)]);
    }
  });
}

TEST(PlanViews, ShowTheRowsOfASharedSequenceAndTheirSlices) {
  on_random_plans([](const plan& p) {
    found<row_view> all;
    for (const merge& m : p.merges) {
      found<row_view> of_merge;
      for (const pass of : both) {
        found<row_view> of_pass;
        for (std::uint32_t k = 0; k < m.of(of).size(); ++k) {
          const row_view row{m.sequence, of, k, m.replicas, m.of(of)[k]};
          of_pass.push_back(key(row));
          found<slice_view> joint;
          for (std::size_t j = 0; j < m.replicas.size(); ++j)
            for (const slice& s : p.replicas[m.replicas[j]].partition.of(of)[row.packs[j].value])
              if (s.sequence == m.sequence) joint.push_back(key(slice_view{m.replicas[j], of, row.packs[j], s}));
          EXPECT_TRUE(keys(views::row_slices(p, row)) == joint);
        }
        EXPECT_TRUE(keys(views::rows(m, of)) == of_pass);
        EXPECT_TRUE(keys(views::rows(p, m.sequence, of)) == of_pass);
        of_merge.insert(of_merge.end(), of_pass.begin(), of_pass.end());
      }
      EXPECT_TRUE(keys(views::rows(p, m.sequence)) == of_merge);
      all.insert(all.end(), of_merge.begin(), of_merge.end());
    }
    EXPECT_TRUE(keys(views::rows(p)) == all);
    EXPECT_TRUE(keys(views::rows(p, {7})).empty());
  });
}

// One long sequence on two replicas that may share it: rows of a plan as it is made cover it once in each pass.
TEST(PlanViews, FindASharedSequenceWholeInItsRows) {
  const plan p = planner{{.stages = 2, .replicas = 2}}(std::vector<tokens>{{65536}, {300}, {500}}).value();
  ASSERT_EQ(p.merges.size(), 1u);
  for (const pass of : both) {
    tokens in_rows{}, in_packs{};
    for (const row_view& row : views::rows(p, {0}, of))
      for (const slice_view& each : views::row_slices(p, row)) in_rows += each.slice.length;
    for (const slice_view& each : views::slices(p, {0}, of)) in_packs += each.slice.length;
    EXPECT_EQ(in_rows.value, 65536);
    EXPECT_EQ(in_packs.value, 65536);
  }
}

TEST(PlanViews, TakeAlgorithmsThatReadMoreThanOnce) {
  const plan p = planner{{.stages = 3}}(std::vector<tokens>{{4096}, {300}, {500}, {2000}}).value();
  const auto work = [](const pack_view& x) { return x.times[0]; };
  seconds most{};
  each_plain_pack(p, [&](const pack_view& x) { most = std::max(most, x.times[0]); });
  EXPECT_EQ(work(ranges::max(views::packs(p), {}, work)), most);
  EXPECT_EQ(views::packs(p, 0, pass::backward)[1].pack, pack_id{1});
  EXPECT_EQ(views::packs(p, 0, pass::backward).size(), p.replicas[0].partition.backward.size());
}

using pack_range = decltype(views::packs(std::declval<const plan&>()));
using numbered_packs = decltype(views::packs(std::declval<const plan&>(), 0, pass::forward));
static_assert(ranges::view_<pack_range> && ranges::bidirectional_range<const pack_range>);
static_assert(ranges::view_<numbered_packs> && ranges::random_access_range<const numbered_packs>);

template <class Plan>
concept shows_packs = requires(Plan&& p) {
  views::packs(std::forward<Plan>(p)).begin();
};
static_assert(shows_packs<const plan&> && shows_packs<plan&>);
static_assert(!shows_packs<plan>, "a view of a temporary plan would outlive it");

}  // namespace
}  // namespace slimpack::views_test
