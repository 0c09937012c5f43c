#include <slimpack/costs/quadratic.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/pack/partitioner.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace slimpack::partitioner_test {
namespace {

constexpr double any_number = 1e6;
constexpr seconds ever{std::numeric_limits<double>::infinity()};
const costs::quadratic cost{.per_pack = {6e-5}, .hop = {2e-5}};
const std::vector<memory_rates> no_bytes(4);

std::vector<sequence> lengths(std::vector<tokens> of) { return batch_view(of).sequences(); }

/// Ids of the sequences in the order that a pass begins them.
std::vector<std::uint32_t> begun(const micropacks& packs) {
  std::vector<std::uint32_t> ids;
  for (const slice& s : packs.slices())
    if (ids.empty() || ids.back() != s.sequence.value) ids.push_back(s.sequence.value);
  return ids;
}

TEST(Partitioner, PutsTheShortSequencesAtBothEnds) {
  const shape on{.stages = 4};
  const std::vector<sequence> own = lengths({{5000}, {1000}, {4000}, {2000}, {3000}});
  const slicers::equal_cost cut;
  const detail::partitioner pack(std::span<const sequence>(own), on, cut, cost, no_bytes);
  const partition half = pack.packs({.front = 0.5, .quantum = on.quantum}, any_number).value();
  // Every other one is due to the front, from the first: 1000, 3000, 5000; the rest fall: 4000, 2000.
  EXPECT_EQ(begun(half.forward), (std::vector<std::uint32_t>{1, 4, 0, 2, 3}));
  const partition rising = pack.packs({.front = 1, .quantum = on.quantum}, any_number).value();
  EXPECT_EQ(begun(rising.backward), (std::vector<std::uint32_t>{1, 3, 4, 2, 0}));
}

// Packs that follow the depth of a pipeline made instructions as its square: 4,096 stages ran 50,000 packs, and took
// all memory.
TEST(Partitioner, MakesNoMorePacksThanThousandsOfStagesCanRun) {
  std::vector<tokens> of;
  for (std::int64_t i = 0; i < 512; ++i) of.push_back({50 + 37 * i * i % 9001});
  const std::vector<sequence> own = lengths(of);
  const slicers::equal_cost cut;
  const auto instructions = [&](int stages) {
    const shape on{.stages = stages};
    const detail::partitioner pack(std::span<const sequence>(own), on, cut, cost,
                                   std::vector<memory_rates>(static_cast<std::size_t>(stages)));
    const partition made = pack.packs({.sizes = {solvers::default_search_options.tuning.forward_ratios(),
                                                 solvers::default_search_options.tuning.forward_ratios()},
                                       .front = 0.5,
                                       .crowding = 1,
                                       .quantum = on.quantum},
                                      9)
                               .value();
    return static_cast<double>(made.forward.size() + made.backward.size()) * stages;
  };
  EXPECT_GT(instructions(256), 256.0 * 256);  // ramps as long as the pipeline
  for (const int stages : {2048, 4096, 65536}) EXPECT_LE(instructions(stages), 1.1 * 0x1p24 + 2.0 * stages) << stages;
}

TEST(Partitioner, KnowsSequencesByTheirPlaceInTheGroup) {
  const shape on{.stages = 4};
  const std::vector<sequence> own{{{17}, {700}}, {{3}, {900}}};
  const slicers::equal_cost cut;
  const detail::partitioner pack(std::span<const sequence>(own), on, cut, cost, no_bytes);
  EXPECT_EQ(pack.sequences()[0], (sequence{{0}, {700}}));
  EXPECT_EQ(pack.longest(), (sequence{{1}, {900}}));
}

TEST(Partitioner, HoldsWhatTheFullestStageHasRoomFor) {
  shape on{.stages = 4, .memory = memory_limit{memory_unit::token, 6000}};
  const std::vector<sequence> own = lengths({{5000}, {1000}});
  const slicers::equal_cost cut;
  const std::vector<memory_rates> rates = rates_of(cost, on).value();
  EXPECT_EQ(detail::partitioner(std::span<const sequence>(own), on, cut, cost, rates).limits(on.quantum).size,
            tokens{6000});
  on.memory->amount = 3000;  // too little for the longest sequence, whose plan will say so
  EXPECT_EQ(detail::partitioner(std::span<const sequence>(own), on, cut, cost, rates).limits(on.quantum).size,
            tokens{5000});
}

TEST(Partitioner, ForeseesEvenPacksBetweenOnePackAndAStagesWork) {
  const shape on{.stages = 4};
  const std::vector<sequence> own = lengths({{4096}, {4096}, {4096}, {4096}});
  const slicers::equal_cost cut;
  const detail::partitioner pack(std::span<const sequence>(own), on, cut, cost, no_bytes);
  std::uint64_t priced = 0;
  const auto even = pack.even(on.quantum, any_number, priced);
  ASSERT_TRUE(even);
  // One pack passes four stages in turn, there and back.
  micropacks one;
  for (const sequence& s : own) one.push({s.id, {0}, s.length});
  one.close();
  const seconds all = (pack_time(cost, one[0], pass::forward, 0) + pack_time(cost, one[0], pass::backward, 0)) * 4.0;
  EXPECT_LT(even->least, all);
  EXPECT_GT(even->least, all * 0.25);  // what a stage runs
  EXPECT_GT(priced, 0u);
}

TEST(Partitioner, LeavesSequencesWholeOnlyWhereTheSlicerDoes) {
  const shape on{.stages = 4};
  const std::vector<sequence> own = lengths({{4096}, {1024}, {3072}});
  const slicers::whole uncut;
  const std::optional<partition> packs =
      detail::partitioner(std::span<const sequence>(own), on, uncut, cost, no_bytes).whole(ever, any_number);
  ASSERT_TRUE(packs);
  EXPECT_EQ(packs->forward.size(), 2u);  // 4096, and 3072 with 1024
  EXPECT_EQ(packs->forward, packs->backward);
  const slicers::uniform cut{{512}};
  EXPECT_FALSE(detail::partitioner(std::span<const sequence>(own), on, cut, cost, no_bytes).whole(ever, any_number));
}

TEST(Partitioner, MakesNoWholePacksThatAreTooManyOrTooSlow) {
  const shape on{.stages = 4};
  const std::vector<sequence> own = lengths({{4096}, {1024}, {3072}});
  const slicers::whole uncut;
  const detail::partitioner pack(std::span<const sequence>(own), on, uncut, cost, no_bytes);
  EXPECT_TRUE(pack.whole(ever, 2));
  EXPECT_FALSE(pack.whole(ever, 1));
  const slice longest{{0}, {0}, {4096}};
  seconds chain{};  // the longest sequence passes every stage there and back
  for (const pass p : {pass::forward, pass::backward})
    for (int part = 0; part < 4; ++part) chain += pack_time(cost, std::span(&longest, 1), p, part);
  EXPECT_TRUE(pack.whole(chain, 2));
  EXPECT_FALSE(pack.whole(chain * 0.999, 2));
}

}  // namespace
}  // namespace slimpack::partitioner_test
