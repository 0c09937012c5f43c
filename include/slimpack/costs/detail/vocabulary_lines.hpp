#ifndef SLIMPACK_COSTS_DETAIL_VOCABULARY_LINES_HPP
#define SLIMPACK_COSTS_DETAIL_VOCABULARY_LINES_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/costs/detail/rank_kernels.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/stage_options.hpp>
#include <slimpack/costs/vocabulary_rates.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace slimpack::detail {

/// What one rank takes for its stage's share of a spread vocabulary: straight lines through packs of 2048 and 16384
/// tokens. Stages with even shares have the rates of one; of a message all have the slowest stage's.
///
///   V   two products of a token's hidden row and a word each: logits, and the gradient of the row; a logit moves 24
///       bytes (cast to fp32, its maximum and sum of exponentials, its gradient, cast back: detail/part_times.hpp).
///       Tensor-parallel ranks gather the rows and scatter the gradients, half a layer's traffic in each pass
///   U   the third product
///   E   6 bytes of a row's element: one read, a sum read and written; and half a layer's traffic
///   G   2 bytes read, and 8 of those elements whose word is the stage's own, as many as its share
/// Kernels are launched at a twelfth of a layer's time: V has six, the others two. Messages to and from the last stage
/// share its adapter: each takes as long as all of its kind.
/// Source    derived, as layer_pricing            Requires  more than one stage            Errors  none
/// Shapes    result: one for all stages, or one per stage where shape.words has their shares
[[nodiscard]] inline std::vector<costs::vocabulary_rates> vocabulary_lines(const costs::model_shape& model,
                                                                           const shape& on, const rank_kernels& kernels,
                                                                           const costs::traffic& wires,
                                                                           const costs::stage_options& with) {
  constexpr std::int64_t few = 2048, many = 16384;
  const auto line = [](const auto& time) {
    const double a = time(tokens{few}).value, b = time(tokens{many}).value;
    const double token = std::max(0.0, (b - a) / (many - few));
    return costs::vocabulary_rate{std::max(0.0, a - token * few), token};
  };
  const auto mine = [&](tokens n) { return static_cast<double>(n.value) / on.context; };
  const auto rows = [&](tokens n) { return std::max<std::int64_t>(1, n.value / on.context); };
  const auto hidden = static_cast<double>(model.hidden);
  const auto half_traffic = [&](tokens n, pass p) {
    const costs::traffic::share layer = wires.tensor(n, model.hidden, p, with.sequence_parallel);
    return (layer.exposed + layer.hidden * with.slowdown.exposed) * 0.5;
  };
  const seconds kernel = with.launch * (1.0 / 12);
  std::vector<costs::vocabulary_rates> all(on.words.empty() ? 1 : on.words.size());
  for (int stage = 0; stage < static_cast<int>(all.size()); ++stage) {
    costs::vocabulary_rates& made = all[static_cast<std::size_t>(stage)];
    const std::int64_t words =
        std::max<std::int64_t>(1, on.words.empty() ? model.vocabulary / on.tensor / on.stages
                                                   : on.words[static_cast<std::size_t>(stage)] / on.tensor);
    made.embed = line([&](tokens n) {
      return kernel * 2 + kernels.moved(mine(n) * hidden * 6).time + half_traffic(n, pass::forward);
    });
    made.output = line([&](tokens n) {
      return kernel * 6 + kernels.moved(mine(n) * static_cast<double>(words) * 24).time +
             kernels.product(rows(n), words, model.hidden).time + kernels.product(rows(n), model.hidden, words).time +
             half_traffic(n, pass::forward) + half_traffic(n, pass::backward);
    });
    made.output_weights =
        line([&](tokens n) { return kernel * 2 + kernels.product(words, model.hidden, rows(n)).time; });
    made.embed_gradients = line([&](tokens n) {
      return kernel * 2 + kernels.moved(mine(n) * hidden * (2 + on.share_of_words(stage, 8.0))).time;
    });
  }
  const auto each_has = [&](costs::vocabulary_rate costs::vocabulary_rates::*of, const costs::vocabulary_rate& rate) {
    for (costs::vocabulary_rates& one : all) one.*of = rate;
  };
  using rates = costs::vocabulary_rates;
  if (with.hop) {
    for (const auto of : {&rates::embedded, &rates::hidden, &rates::partial, &rates::statistics, &rates::gradients})
      each_has(of, {with.hop->value, 0});
    return all;
  }
  const costs::network& net = wires.net();
  const double row = 2 * hidden / (on.context * (with.sequence_parallel ? on.tensor : 1));
  const auto to_next = [&](message_kind what) {
    return line([&](tokens n) {
      seconds most{};
      for (int r = 0; r + 1 < on.stages; ++r)
        most = std::max(most, wires.message(bytes{vocabulary_bytes(what, row, on) * static_cast<double>(n.value)}, r));
      return most;
    });
  };
  const auto to_last = [&](message_kind what) {
    int across = 0;
    for (int r = 0; r + 1 < on.stages; ++r) across += net.place().to_last(on, r).nodes > 1;
    return line([&](tokens n) {
      seconds most{};
      for (int r = 0; r + 1 < on.stages; ++r) {
        const costs::rank_group ends = net.place().to_last(on, r);
        const int beside = ends.nodes > 1 ? across : on.stages - 1 - across;
        most = std::max(
            most, net.send_receive(ends, bytes{vocabulary_bytes(what, row, on) * static_cast<double>(n.value) * beside},
                                   on.tensor * on.context));
      }
      return most;
    });
  };
  each_has(&rates::embedded, to_next(message_kind::embedded));
  each_has(&rates::gradients, to_next(message_kind::gradients));
  each_has(&rates::hidden, to_last(message_kind::hidden));
  each_has(&rates::partial, to_last(message_kind::partial));
  each_has(&rates::statistics, to_last(message_kind::statistics));
  return all;
}

}  // namespace slimpack::detail

#endif
