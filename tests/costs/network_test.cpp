#include <slimpack/costs/network/network.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace slimpack::network_test {
namespace {

using costs::collective;
using costs::collective_sample;
using costs::network;
using costs::rank_group;
using samples = std::vector<collective_sample>;

const costs::gpu device{.name = "X100", .gpus_per_node = 8, .inside = {{1}, 100}, .between = {{3}, 10}};
const rank_group four_inside{4, 1, 1};

samples gathers(int ranks, int per_node, double slower = 1, const char* from = "") {
  return {{from, "", collective::all_gather, ranks, per_node, {100}, {0.5 * slower}},
          {from, "", collective::all_gather, ranks, per_node, {200}, {0.75 * slower}}};
}

TEST(Network, TakesItsLinksFromTheGpu) {
  const network net(device);
  EXPECT_EQ(net.link_of(four_inside), device.inside);
  EXPECT_EQ(net.link_of({4, 2, 2}), device.between);
  EXPECT_EQ(net.place().gpus_per_node, 8);
  EXPECT_EQ(net.place().island, 8);
}

// Inside: 1 s, and of 100 B a gather over 4 ranks moves 3/4, an all-reduce 3/2: 1 + 75 / 100, 1 + 150 / 100.
TEST(Network, PricesLatencyAndBytesInsideANode) {
  const network net(device);
  EXPECT_EQ(net.send_receive({2, 1, 1}, {100}), seconds{2});
  EXPECT_EQ(net.all_gather(four_inside, {100}), seconds{1.75});
  EXPECT_EQ(net.reduce_scatter(four_inside, {100}), seconds{1.75});
  EXPECT_EQ(net.all_reduce(four_inside, {100}), seconds{2.5});
  EXPECT_EQ(net.all_to_all(four_inside, {100}), seconds{1.75});
}

// 4 ranks of each of 4 nodes: latency 2 x 3 s between and 1 s inside; 4 adapters of 10 B/s, of which an all-gather of
// 160 B puts 150 B on: 7 + 150 / 40. An all-to-all sends 120 of its 160 B over one adapter: 7 + 12. With adapters of
// 50 B/s the links inside are the limit: 7 + 150 / 100. Two nodes of one rank each: 3 + 80 / 10.
TEST(Network, SharesTheAdaptersOfANode) {
  const network net(device);
  const rank_group sixteen{16, 4, 4};
  EXPECT_EQ(net.all_gather(sixteen, {160}), seconds{10.75});
  EXPECT_EQ(net.all_to_all(sixteen, {160}), seconds{19});
  costs::gpu fast = device;
  fast.between.bandwidth = 50;
  EXPECT_EQ(network(fast).all_gather(sixteen, {160}), seconds{8.5});
  EXPECT_EQ(net.all_gather({2, 2, 2}, {160}), seconds{11});
  EXPECT_EQ(net.send_receive({2, 2, 2}, {100}), seconds{13});
}

// Four adapters for eight GPUs: a gather of 8 ranks of each of 2 nodes has 4 x 10 B/s, and each rank's all-to-all half
// of its adapter. Two neighbours that send at the same time share an adapter, two with an adapter each do not.
TEST(Network, SharesAdaptersBetweenNeighbours) {
  costs::gpu few = device;
  few.adapters_per_node = 4;
  const network net(few);
  EXPECT_EQ(net.all_gather({16, 2, 2}, {160}), seconds{4 + 150 / 40.0});
  EXPECT_EQ(net.all_to_all({16, 2, 2}, {160}), seconds{4 + 80 * 2 / 10.0});
  EXPECT_EQ(net.all_gather({8, 2, 2}, {160}), network(device).all_gather({8, 2, 2}, {160}));
  EXPECT_EQ(net.send_receive({2, 2, 2}, {100}), seconds{13});
  EXPECT_EQ(net.send_receive({2, 2, 2}, {100}, 2), seconds{23});
  EXPECT_EQ(net.send_receive({2, 1, 1}, {100}, 2), seconds{2});
  EXPECT_EQ(net.link_of({2, 2, 2}, 8).bandwidth, 5);
  EXPECT_EQ(network(device).send_receive({2, 2, 2}, {100}, 8), seconds{13});
}

// A table of rings across nodes says nothing of an all-to-all there: 2 nodes of 4, half of 160 B leaves at 10 B/s.
TEST(Network, TakesNoAllToAllAcrossNodesFromRings) {
  const network net = network::make(device, gathers(8, 4, 5)).value();
  EXPECT_EQ(net.source(collective::all_gather, {8, 2, 2}, {150}), costs::origin::interpolated);
  EXPECT_EQ(net.source(collective::all_to_all, {8, 2, 2}, {160}), costs::origin::modelled);
  EXPECT_EQ(net.all_to_all({8, 2, 2}, {160}), seconds{3 + 1 + 8});
}

// 16 ranks of 4 nodes: 3 of 4 parts of 160 B leave the node; where half of them cross, 60 B: 7 + 6 s. All 160 B are
// handed on inside but for the quarter that stays, 120 B: with adapters of 1000 B/s 7 + 1.2 s. Inside a node nothing
// crosses.
TEST(Network, HandsOnInsideANodeWhatCrossesOnce) {
  const network net(device);
  const rank_group sixteen{16, 4, 4};
  EXPECT_EQ(net.all_to_all(sixteen, {160}, 0.5), seconds{13});
  EXPECT_EQ(net.all_to_all(sixteen, {160}, 1), net.all_to_all(sixteen, {160}));
  EXPECT_EQ(net.all_to_all(four_inside, {100}, 0.5), seconds{1.75});
  costs::gpu fast = device;
  fast.between.bandwidth = 1000;
  EXPECT_EQ(network(fast).all_to_all(sixteen, {160}, 0.5), seconds{7 + 1.2});
}

TEST(Network, TakesNoTimeForOneRank) { EXPECT_EQ(network(device).all_reduce({1, 1, 1}, {1e9}), seconds{0}); }

TEST(Network, PrefersWhatWasMeasured) {
  const network net = network::make(device, gathers(4, 8)).value();
  EXPECT_EQ(net.all_gather(four_inside, {200}), seconds{0.75});
  EXPECT_EQ(net.source(collective::all_gather, four_inside, {200}), costs::origin::measured);
}

// 4 ranks: an all-reduce of 100 B moves as much as a gather of 200 B; a message of 150 B likewise.
TEST(Network, DerivesOtherOperationsAtEqualTraffic) {
  const network net = network::make(device, gathers(4, 8)).value();
  EXPECT_EQ(net.all_reduce(four_inside, {100}), seconds{0.75});
  EXPECT_EQ(net.reduce_scatter(four_inside, {200}), seconds{0.75});
  EXPECT_EQ(net.source(collective::all_reduce, four_inside, {100}), costs::origin::derived);
}

// Nothing was measured between nodes: 3 s and 50 B at 10 B/s, whatever is known inside.
TEST(Network, FallsBackOnLinksWhereNothingWasMeasured) {
  const network net = network::make(device, gathers(4, 8)).value();
  EXPECT_EQ(net.all_gather({2, 2, 2}, {100}), seconds{8});
  EXPECT_EQ(net.source(collective::all_gather, {2, 2, 2}, {100}), costs::origin::modelled);
}

// Between two nodes of 8 ranks a gather of 1600 B by adapters of 8 x 1000 B/s alone would take less than the 1 + 14 s
// that 8 ranks inside take.
TEST(Network, IsNoFasterAcrossNodesThanInsideOne) {
  const samples messages{{"", "", collective::send_receive, 2, 1, {100}, {0.1}},
                         {"", "", collective::send_receive, 2, 1, {200}, {0.2}}};
  costs::gpu fast = device;
  fast.between.bandwidth = 1000;
  EXPECT_EQ(network::make(fast, messages).value().all_gather({16, 2, 2}, {1600}), seconds{15});
}

// Of 200 B, 4 ranks put 150 B on the wire: in 1.5 s on the switch, as links of 100 B/s say, in 15 s where pairs are
// wired.
samples two_boxes() {
  samples both;
  for (const double slower : {10.0, 1.0})
    for (const double size : {100.0, 200.0}) {
      const char* const box = slower > 1 ? "pairs" : "switch";
      both.push_back({"X100", box, collective::all_gather, 2, 8, {size}, {size / 200}});
      both.push_back({"X100", box, collective::all_gather, 4, 8, {size}, {size / 200 * 1.5 * slower}});
    }
  return both;
}

TEST(Network, LeavesOutMeasurementsOfAnotherKindOfBoxWithANote) {
  const network net = network::make(device, two_boxes()).value();
  EXPECT_EQ(net.place().island, 8);
  EXPECT_EQ(net.all_gather(four_inside, {200}), seconds{1.5});
  ASSERT_EQ(net.notes().size(), 1u);
  EXPECT_EQ(
      net.notes()[0],
      "collectives of X100 pairs inside a node left out: 1e-08 GB/s a GPU, while the link of X100 has 1e-07 GB/s; "
      "describe that link to use them");
}

// The pairs themselves move 100 B in 1 s; the links that join all are what the description gives.
TEST(Network, KnowsWherePairsAreWired) {
  costs::gpu paired = device;
  paired.inside.bandwidth = 10;
  const network net = network::make(paired, two_boxes()).value();
  EXPECT_EQ(net.place().island, 2);
  EXPECT_EQ(net.all_gather(net.place().adjacent(4), {200}), seconds{15});
  EXPECT_EQ(net.all_gather(net.place().adjacent(2), {200}), seconds{1});
}

// 8 of 16 ranks share each node's adapters: 1500 B of 1600 B in 5 s are 37.5 B/s for each, not the link's 10 B/s.
TEST(Network, LeavesOutMeasurementsOfAnotherCluster) {
  const samples fast{{"X100", "", collective::all_gather, 16, 8, {800}, {2.5}},
                     {"X100", "", collective::all_gather, 16, 8, {1600}, {5}}};
  const network net = network::make(device, fast).value();
  ASSERT_EQ(net.notes().size(), 1u);
  EXPECT_EQ(net.notes()[0],
            "collectives of X100 across nodes left out: 3.75e-08 GB/s a GPU, while the link of X100 has 1e-08 GB/s; "
            "describe that link to use them");
  EXPECT_EQ(net.source(collective::all_gather, {16, 2, 2}, {1600}), costs::origin::modelled);
}

// 18.75 B on each link would take less than the latency of 3 s: such times say nothing of bandwidths.
TEST(Network, KeepsMeasurementsOfSmallSizes) {
  const samples small{{"X100", "", collective::all_gather, 16, 8, {80}, {9}},
                      {"X100", "", collective::all_gather, 16, 8, {160}, {9}}};
  const network net = network::make(device, small).value();
  EXPECT_TRUE(net.notes().empty());
  EXPECT_EQ(net.all_gather({16, 2, 2}, {160}), seconds{9});
}

TEST(Network, LeavesOutGroupsMeasuredAtOneSize) {
  samples all = gathers(4, 8);
  all.push_back({"", "", collective::all_reduce, 2, 8, {100}, {0.1}});
  const network net = network::make(device, all).value();
  ASSERT_EQ(net.notes().size(), 1u);
  EXPECT_EQ(net.notes()[0], "all_reduce of 2 ranks on : times of one size only say nothing of others, left out");
  EXPECT_NE(net.source(collective::all_reduce, {2, 1, 1}, {100}), costs::origin::measured);
}

TEST(Network, TellsWhichMeasurementsItTook) {
  samples all = two_boxes();
  all.push_back({"X100", "switch", collective::all_reduce, 2, 8, {100}, {0.1}});  // alone with its size
  const network net = network::make(device, all).value();
  EXPECT_TRUE(net.measured());
  for (const collective_sample& s : all) EXPECT_EQ(net.uses(s), s.node == "switch" && s.op == collective::all_gather);
  EXPECT_FALSE(network(device).measured());
}

// The second collection falls with size, so the first one's 0.75 s count, whichever comes first.
TEST(Network, BelievesTheCollectionWithLeastNoise) {
  const samples clean = gathers(4, 8, 1, "clean");
  samples noisy = gathers(4, 8, 3, "noisy");
  noisy[1].time = {0.1};
  for (const bool clean_first : {true, false}) {
    samples both = clean_first ? clean : noisy;
    const samples& second = clean_first ? noisy : clean;
    both.insert(both.end(), second.begin(), second.end());
    EXPECT_EQ(network::make(device, both).value().all_gather(four_inside, {200}), seconds{0.75});
  }
}

TEST(Network, NeverFallsWithSize) {
  testing::generator random(7);
  const costs::gpu fast{.gpus_per_node = 4, .inside = {{1e-3}, 0x1p30}, .between = {{2e-3}, 0x1p28}};
  for (int trial = 0; trial < 200; ++trial) {
    samples all;
    for (const collective op : {collective::all_reduce, collective::all_gather})
      for (const int ranks : {2, 4, 8, 16}) {
        for (int i = 0; i < 6; ++i)
          all.push_back({"", "", op, ranks, 4, {std::exp2(30 * random.ratio())}, {0.001 + random.ratio()}});
        all.push_back({"", "", op, ranks, 4, {0x1p30}, {1.1 + 0.4 * random.ratio()}});
      }
    const network net = network::make(fast, all).value();
    ASSERT_TRUE(net.notes().empty()) << net.notes()[0];
    for (const collective op : {collective::send_receive, collective::all_reduce, collective::all_gather,
                                collective::reduce_scatter, collective::all_to_all}) {
      const rank_group group = net.place().adjacent(static_cast<int>(random.between(2, 40)));
      const bytes size{std::exp2(33 * random.ratio())};
      const bytes more = size * (1 + random.ratio());
      EXPECT_GE(net.time(op, group, more).value, net.time(op, group, size).value * (1 - 1e-12)) << "seed 7";
    }
  }
}

}  // namespace
}  // namespace slimpack::network_test
