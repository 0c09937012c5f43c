#include <slimpack/costs/network/traffic.hpp>

#include <gtest/gtest.h>

namespace slimpack::traffic_test {
namespace {

using costs::context_exchange;
using costs::traffic;
using share = traffic::share;

// 1 s and 100 B/s inside a node of 8, 3 s and 10 B/s between; what is waited for takes twice as long.
const costs::network net{costs::gpu{.gpus_per_node = 8, .inside = {{1}, 100}, .between = {{3}, 10}}};
const costs::slowdown twice{.compute = 1.25, .exposed = 2};

// 2 context ranks have 50 of 100 tokens: 100 B of hidden states. All-reduce over 4: 1 + 1.5 = 2.5 s.
TEST(Traffic, ReducesHiddenStatesTwiceAPass) {
  const traffic t(net, {.tensor = 4, .context = 2}, twice);
  EXPECT_EQ(t.tensor({100}, 1, pass::forward, false), (share{{10}, {}}));
  EXPECT_EQ(t.tensor({100}, 1, pass::backward, false), (share{{}, {5}}));
}

// A gather or a scatter: 1.75 s. Forward waits for two of each, backward for two gathers.
TEST(Traffic, GathersAndScattersUnderSequenceParallelism) {
  const traffic t(net, {.tensor = 4, .context = 2}, twice);
  EXPECT_EQ(t.tensor({100}, 1, pass::forward, true), (share{{14}, {}}));
  EXPECT_EQ(t.tensor({100}, 1, pass::backward, true), (share{{7}, {7}}));
}

TEST(Traffic, NeedsNoneAmongSingleRanks) {
  const traffic t(net, {}, twice);
  EXPECT_EQ(t.tensor({100}, 8, pass::forward, true), share{});
  EXPECT_EQ(t.context({100}, 8, pass::backward, context_exchange::ring, {1}), share{});
  EXPECT_EQ(t.gradients({100}), seconds{});
  EXPECT_EQ(t.parameters({100}), seconds{});
}

// 25 of 100 tokens a rank, 2 B x 4 elements: own 200 B of 800. Gather 1 + 6 = 7 s, scatter of the gradients as long.
TEST(Traffic, GathersKeysAndValuesBeforeAttention) {
  const traffic t(net, {.context = 4}, twice);
  EXPECT_EQ(t.context({100}, 4, pass::forward, context_exchange::all_gather, {99}), (share{{14}, {}}));
  EXPECT_EQ(t.context({100}, 4, pass::backward, context_exchange::all_gather, {99}), (share{{28}, {}}));
}

// Three hops of 200 B, 3 s each. A quarter of attention, 4 s, hides them; a quarter of 8 s hides 2 s of each. Backward
// moves the gradients too: 5 s.
TEST(Traffic, HidesARingUnderAttention) {
  const traffic t(net, {.context = 4}, twice);
  EXPECT_EQ(t.context({100}, 4, pass::forward, context_exchange::ring, {16}), (share{{}, {9}}));
  EXPECT_EQ(t.context({100}, 4, pass::forward, context_exchange::ring, {8}), (share{{6}, {6}}));
  EXPECT_EQ(t.context({100}, 4, pass::backward, context_exchange::ring, {16}), (share{{6}, {12}}));
}

// 4 replicas of 2 tensor ranks are a node; 100 tokens, 50 on a rank, of 8 elements, 2 experts each: 1600 B, of which
// the busiest of 4 ranks gets 1.5 times as many and 3/4 from others: 1 + 18 s, there and back. On 2 nodes of 4, half of
// 1600 B goes to the other one: 3 + 1 + 80; a token that goes once to each of two nodes at most sends as much, and to
// one half.
TEST(Traffic, SendsTokensToTheirExpertsAndBack) {
  costs::model_shape m{.hidden = 8, .experts = 8, .experts_per_token = 2};
  const traffic inside(net, {.replicas = 4, .tensor = 2, .expert = 4}, twice);
  EXPECT_EQ(inside.experts({100}, m, {}, 1.5), seconds{38});
  const traffic across(net, {.replicas = 16, .tensor = 1, .expert = 16}, twice);
  EXPECT_EQ(across.experts({50}, m, {}, 1), seconds{2 * (3 + 1 + 80)});
  EXPECT_EQ(across.experts({50}, m, {.nodes = 2}, 1), seconds{2 * (3 + 1 + 80)});
  EXPECT_EQ(across.experts({50}, m, {.nodes = 1}, 1), seconds{2 * (3 + 1 + 40)});
  EXPECT_EQ(traffic(net, {.replicas = 4}, twice).experts({100}, m, {}, 1), seconds{}) << "all experts are here";
}

// 16 replicas on 2 nodes, experts over 8 of them: two copies, a node apart. Half of 100 B at 10 B/s after 3 s, doubled.
TEST(Traffic, ReducesGradientsOfExpertsOverTheirCopies) {
  const traffic t(net, {.replicas = 16, .expert = 8}, twice);
  EXPECT_EQ(t.expert_gradients({100}), seconds{16});
  EXPECT_EQ(t.expert_parameters({100}), seconds{16});
}

// 4 replicas of 4 GPUs on 2 nodes: copies sit 2 a node, and their adapters carry 75 of 100 B at 20 B/s, after 3 + 1 s.
TEST(Traffic, ReducesGradientsOverAllCopies) {
  const traffic t(net, {.replicas = 4, .tensor = 4}, twice);
  EXPECT_EQ(t.gradients({100}), seconds{15.5});
  EXPECT_EQ(t.parameters({100}), seconds{15.5});
}

// Stages of 4 GPUs: 0 and 1 share a node, 1 and 2 do not.
TEST(Traffic, SendsMessagesAsFastAsAlone) {
  const traffic t(net, {.stages = 3, .tensor = 4}, twice);
  EXPECT_EQ(t.message({100}, 0), seconds{2});
  EXPECT_EQ(t.message({100}, 1), seconds{13});
}

// 5 s of communication under 10 s of compute: in them only 4 s of work are done, so 1 s more. 20 s under 10 s: after
// 12.5 s the compute is done, and the 7.5 s left are waited for.
TEST(Traffic, SlowsComputeDownWhileItRunsBesideIt) {
  const traffic t(net, {}, twice);
  EXPECT_DOUBLE_EQ(t.beside({10}, {5}).value, 11);
  EXPECT_DOUBLE_EQ(t.beside({10}, {20}).value, 12.5 + 2 * 7.5);
  EXPECT_EQ(t.beside({10}, {}), seconds{10});
}

TEST(Traffic, SlowsOnlyWhatIsWaitedForUnlessTold) {
  const traffic t(net, {.replicas = 2});
  EXPECT_DOUBLE_EQ(t.gradients({100}).value, 1.3 * 1.5);
  EXPECT_EQ(t.beside({10}, {5}), seconds{10});
}

}  // namespace
}  // namespace slimpack::traffic_test
