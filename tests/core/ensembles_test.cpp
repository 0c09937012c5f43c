#include <slimpack/core/ensemble/ensembles.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <set>
#include <utility>
#include <vector>

namespace slimpack::ensembles_test {
namespace {

struct tied_replica {
  std::vector<loan> loans{};
};

/// Three replicas of so many packs in each pass, of which the last two share rows, and stages of which are tied.
struct asked {
  shape on;
  std::uint32_t packs{};
  std::vector<merge> merges;
  std::vector<tied_replica> replicas{3};
};

asked any(std::uint64_t seed) {
  testing::generator random(seed);
  const auto below = [&](std::uint32_t end) {
    return static_cast<std::uint32_t>(random.between(0, static_cast<std::int64_t>(end) - 1));
  };
  asked a{{.stages = static_cast<int>(random.between(1, 3)),
           .replicas = 3,
           .chunks = static_cast<int>(random.between(1, 2))},
          static_cast<std::uint32_t>(random.between(1, 6)),
          {}};
  for (std::int64_t n = random.between(0, 2); n > 0; --n) {
    merge& m = a.merges.emplace_back(merge{{static_cast<std::uint32_t>(n)}, {1, 2}, {}, {}});
    for (const pass p : both_passes)
      for (std::int64_t row = random.between(0, 3); row > 0; --row)
        m.of(p).push_back({random.between(0, 3) == 0 ? merge::none : pack_id{below(a.packs)}, {below(a.packs)}});
  }
  for (tied_replica& r : a.replicas)
    for (std::int64_t n = random.between(0, 3); n > 0; --n) {
      const pass p = random.between(0, 1) == 0 ? pass::forward : pass::backward;
      const auto side = [&] {
        return loan::side{below(static_cast<std::uint32_t>(a.on.stages)),
                          {pass_kind(p), {below(a.packs)}, below(static_cast<std::uint32_t>(a.on.chunks))}};
      };
      r.loans.push_back({side(), side(), {}, {}});
    }
  return a;
}

const std::vector<std::uint32_t> group{0, 1, 2};

result<ensembles> made(const asked& a) {
  ensembles found(a.on, 3, [&](std::size_t, pass) { return a.packs; });
  if (result<void> rows = found.tie_rows(group, a.merges); !rows) return rows.error();
  for (std::size_t g = 0; g < 3; ++g)
    if (result<void> stages = found.tie_stages(g, a.replicas[g]); !stages) return stages.error();
  return found;
}

/// The same by joining sets until none has a cell in common with another.
std::set<std::set<std::uint32_t>> naive(const asked& a, const ensembles& cells) {
  std::vector<std::set<std::uint32_t>> sets;
  for (const merge& m : a.merges)
    for (const pass p : both_passes)
      for (const std::vector<pack_id>& row : m.of(p))
        for (std::uint32_t part = 0; part < static_cast<std::uint32_t>(a.on.parts()); ++part) {
          std::set<std::uint32_t>& own = sets.emplace_back();
          for (const std::size_t k : {0u, 1u})
            if (row[k] != merge::none) own.insert(cells.cell(m.replicas[k], p, row[k], part));
        }
  for (std::size_t g = 0; g < 3; ++g)
    for (const loan& l : a.replicas[g].loans)
      sets.push_back({cells.cell({g, l.lender.stage, l.lender.what}), cells.cell({g, l.helper.stage, l.helper.what})});
  for (bool joined = true; joined;) {
    joined = false;
    for (std::size_t i = 0; i < sets.size() && !joined; ++i)
      for (std::size_t j = 0; j < i && !joined; ++j)
        if (std::any_of(sets[j].begin(), sets[j].end(), [&](std::uint32_t cell) { return sets[i].contains(cell); })) {
          sets[j].insert(sets[i].begin(), sets[i].end());
          sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(i));
          joined = true;
        }
  }
  return {sets.begin(), sets.end()};
}

TEST(Ensembles, AreTheLeastSetsThatHoldRowsAndTies) {
  std::size_t mixed = 0;
  for (std::uint64_t seed = 46200; seed < 46500; ++seed) {
    const asked a = any(seed);
    ensembles found = made(a).value();
    const std::set<std::set<std::uint32_t>> expected = naive(a, found);
    std::set<std::set<std::uint32_t>> listed;
    for (const std::vector<std::uint32_t>& list : found.lists())
      if (!list.empty()) listed.insert({list.begin(), list.end()});
    ASSERT_EQ(listed, expected) << "seed " << seed;
    for (std::uint32_t cell = 0; cell < found.size(); ++cell) {
      EXPECT_EQ(found.cell(found.at(cell)), cell) << "seed " << seed;
      const auto its =
          std::find_if(expected.begin(), expected.end(), [&](const auto& set) { return set.contains(cell); });
      ASSERT_EQ(found.ensemble_of(cell).has_value(), its != expected.end()) << "seed " << seed;
      if (its == expected.end()) continue;
      EXPECT_EQ(*found.ensemble_of(cell), *its->begin()) << "the smallest stands for all";
    }
    for (const std::set<std::uint32_t>& set : expected) {
      std::set<std::size_t> replicas, stages;
      for (const std::uint32_t cell : set)
        replicas.insert(found.at(cell).position), stages.insert(found.at(cell).stage);
      mixed += replicas.size() > 1 && stages.size() > 1;
    }
  }
  std::cout << mixed << " ensembles over replicas and stages, seeds 46200 to 46499\n";
  EXPECT_GT(mixed, 0u);
}

TEST(Ensembles, NameWhatIsNotThere) {
  asked a{{.stages = 2, .replicas = 3}, 2, {{{5}, {1, 2}, {{{0}, {2}}}, {}}}};
  EXPECT_EQ(made(a).error().detail, "a row of sequence 5 names pack 2 of replica 2, which has no such pack");
  a.merges.clear();
  a.replicas[1].loans.push_back({{0, {instruction_kind::forward, {1}}}, {2, {instruction_kind::forward, {0}}}, {}, {}});
  EXPECT_EQ(made(a).error().detail,
            "stages run F0.0 of stage 2 together with another instruction, and there is no such F or B");
}

}  // namespace
}  // namespace slimpack::ensembles_test
