#include "../laws/cases.hpp"
#include "tensor_ranks.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <future>
#include <memory>
#include <vector>

namespace slimpack::tensor_test {
namespace {

/// Each tensor rank runs the plan over a transport of its own; ranks of a stage meet in the trainer's all-reduce.
void run(std::size_t stages, std::size_t replicas, std::size_t chunks, std::size_t ranks) {
  SCOPED_TRACE(std::to_string(stages) + " stages, " + std::to_string(replicas) + " replicas, " +
               std::to_string(chunks) + " chunks, " + std::to_string(ranks) + " tensor ranks");
  const std::vector<tokens> lengths{{37}, {6}, {90}, {1}, {21}, {16}, {33}};
  const plan p = planner_for<tests::chunks_of_heads>({.stages = static_cast<int>(stages),
                                                      .replicas = static_cast<int>(replicas),
                                                      .tensor = static_cast<int>(ranks),
                                                      .chunks = static_cast<int>(chunks),
                                                      .quantum = {4}})(lengths)
                     .value();
  std::vector<std::unique_ptr<adopt_tensor::all_reduce>> groups;  // [replica * stages + stage]
  std::vector<std::unique_ptr<transports::threads>> worlds;       // of each tensor rank
  for (std::size_t g = 0; g < stages * replicas; ++g)
    groups.push_back(std::make_unique<adopt_tensor::all_reduce>(ranks));
  for (std::size_t t = 0; t < ranks; ++t)
    worlds.push_back(std::make_unique<transports::threads>(static_cast<int>(stages * replicas)));
  std::vector<std::vector<tests::chunks_of_heads>> all(ranks);
  for (std::size_t t = 0; t < ranks; ++t)
    for (std::size_t g = 0; g < stages * replicas; ++g)
      all[t].emplace_back(g % stages, stages, chunks, t, ranks,
                          [&groups, g, t](std::vector<adopt_tensor::row>& rows) { return (*groups[g])(t, rows); });
  std::vector<std::future<result<step_report>>> steps;
  for (std::size_t t = 0; t < ranks; ++t)
    for (std::size_t g = 0; g < stages * replicas; ++g)
      steps.push_back(std::async(std::launch::async, [&, t, g] {
        auto port = worlds[t]->endpoint(static_cast<int>(g));
        return executors::packflow{}.execute(p, all[t][g], port);
      }));
  const tests::undivided whole(stages * chunks, lengths);
  for (std::future<result<step_report>>& step : steps) {
    const result<step_report> done = step.get();
    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_NEAR(done.value().loss_sum, whole.loss, 1e-12 * whole.loss);
  }
  for (std::size_t t = 0; t < ranks; ++t)
    for (std::size_t part = 0; part < stages * chunks; ++part) {
      std::vector<const adopt_tensor::layer*> replicas_of;
      for (std::size_t r = 0; r < replicas; ++r)
        replicas_of.push_back(&all[t][r * stages + part % stages].parts[part / stages].own);
      EXPECT_LT(whole.error_of(replicas_of, part, t, ranks), 1e-11) << "part " << part << ", tensor rank " << t;
    }
}

TEST(TensorRanks, HaveTheGradientsOfUndividedLayers) {
  int k = 0;
  for (const std::size_t stages : {1u, 2u, 3u})
    for (const std::size_t replicas : {1u, 2u})
      for (const std::size_t ranks : {2u, 4u})
        if (tests::is_tried(k++)) run(stages, replicas, 1, ranks);
  run(2, 2, 2, 2);
  run(1, 1, 3, 4);
}

}  // namespace
}  // namespace slimpack::tensor_test
