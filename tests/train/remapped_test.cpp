#include "../laws/cases.hpp"
#include "exact_step.hpp"
#include "remapped_model.hpp"

#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/moved_rows.hpp>
#include <slimpack/pricing/remap/remapping.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::remapped_test {
namespace {

using model = tests::remapped_model<transports::threads::port>;

// Sequences of very unequal lengths on 2 to 6 ranks, two on a node. Linear layers run on equal tokens, attention where
// sequences are, and loss and gradients are those of the uncut model; what travels is what costs::moved_rows counts.
TEST(Remapped, GivesTheGradientsOfUncutSequences) {
  double worst = 0;
  std::int64_t moved = 0;
  int steps = 0;
  for (int seed = 1; seed <= tests::cases(4); ++seed)
    for (int ranks = 2; ranks <= 6; ++ranks) {
      testing::generator random(static_cast<std::uint64_t>(100 * seed + ranks));
      const tests::exact_batch batch(static_cast<std::uint64_t>(seed));
      double valid = 0;
      for (const tokens length : batch.lengths) valid += static_cast<double>(length.value - 1);
      std::vector<std::vector<piece>> own(static_cast<std::size_t>(ranks));
      std::vector<tokens> held(own.size());
      for (std::uint32_t s = 0; s < batch.lengths.size(); ++s) {
        const auto rank = static_cast<std::size_t>(random.between(0, ranks - 1));
        own[rank].push_back({{{s}, {0}, batch.lengths[s]},
                             batch.lengths[s],
                             0,
                             static_cast<double>(batch.lengths[s].value - 1) / valid});
        held[rank] += batch.lengths[s];
      }
      const remapping moves = remapping::of(held, 2);
      transports::threads world{ranks, {.time_out = {20}}};
      std::vector<std::unique_ptr<model>> all(own.size());
      std::vector<double> losses(own.size());
      std::vector<transports::threads::port> ports;
      for (int rank = 0; rank < ranks; ++rank) ports.push_back(world.endpoint(rank));
      tests::on_every_rank(ranks, [&](int rank) {
        const auto at = static_cast<std::size_t>(rank);
        all[at] = std::make_unique<model>(batch.model, batch.documents(), own, moves, ports[at]);
        losses[at] = all[at]->run();
      });
      double loss = 0;
      std::int64_t sent = 0;
      for (std::size_t r = 0; r < all.size(); ++r) {
        EXPECT_EQ(all[r]->tokens_in_linear_layers(), moves.target[r].value);
        loss += losses[r], sent += all[r]->elements_sent();
      }
      worst = std::max(worst, 100 * std::abs(loss - batch.loss) / batch.loss);
      train::parameters<double>& first = all[0]->weights();
      for (std::size_t t = 0; t < first.tensors().size(); ++t) {
        const std::vector<double>& expected = batch.gradients.at(first.tensors()[t].name);
        double difference = 0, norm = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          double sum = 0;
          for (const auto& one : all) sum += one->weights().gradients(t)[i];
          difference += (sum - expected[i]) * (sum - expected[i]), norm += expected[i] * expected[i];
        }
        worst = std::max(worst, std::sqrt(difference / norm));
      }
      const costs::model_shape shape{.layers = batch.model.layers,
                                     .hidden = batch.model.hidden,
                                     .heads = batch.model.heads,
                                     .kv_heads = batch.model.kv_heads,
                                     .head_dim = batch.model.head_width(),
                                     .value_dim = batch.model.head_width(),
                                     .intermediate = batch.model.ffn};
      const std::vector<int> layers{batch.model.layers};
      const costs::moved_rows rows(shape, costs::gpu{}, {.replicas = ranks}, layers);
      // Two bytes an element there, and two passes.
      EXPECT_EQ(static_cast<double>(sent), rows.token(0).value / 2 * 2 * static_cast<double>(moves.moved().value));
      moved += moves.moved().value, ++steps;
    }
  std::printf("%d steps, %lld tokens moved, largest relative error %.2g\n", steps, static_cast<long long>(moved),
              worst);
  EXPECT_LT(worst, 1e-11);
  EXPECT_GT(moved, 100 * steps / 10);
}

}  // namespace
}  // namespace slimpack::remapped_test
