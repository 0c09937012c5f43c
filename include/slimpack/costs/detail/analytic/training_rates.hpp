#ifndef SLIMPACK_COSTS_DETAIL_ANALYTIC_TRAINING_RATES_HPP
#define SLIMPACK_COSTS_DETAIL_ANALYTIC_TRAINING_RATES_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/detail/analytic/analytic_rates.hpp>
#include <slimpack/costs/detail/model_parts.hpp>
#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/provenance.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace slimpack::detail {

/// Kernels whose times follow operations alone: products at what layers of a training reach, attention at what its
/// kernel does; no launch, no tiles, no waves. Their sums over a layer are straight lines through tokens and pairs.
[[nodiscard]] inline costs::kernel_times sustained_kernels(const costs::gpu& device) {
  return costs::kernel_times(
      costs::wave_model(device,
                        {.launch = {},
                         .share = device.attention_efficiency,
                         .tile_keys = 0,
                         .waves = 0,
                         .diagonal = 1,
                         .key_passes = 0,
                         .head_passes = 0,
                         .backward_launch = {},
                         .backward_cost = device.backward_attention_ratio,
                         .backward_tile = 0},
                        {.launch = {}, .share = device.in_layers(), .tile_depth = 0, .waves = 0, .passes = 0}));
}

/// Rates of parts as trainings run them: the same kernels, bytes and messages as costs::profiled_of adds up, each at
/// one rate, and so lines. Of attention pairs count, at long sequences.
/// Source    derived: lines through packs of 16384 and 65536 tokens, where tiles of 128 are whole; pairs of 65536
///           tokens
/// Requires  all that it is made from outlives it            Errors    none            Complexity  O(layers)
class training_rates {
 public:
  training_rates(const costs::model_shape& model, const shape& on, std::span<const int> layers,
                 const costs::kernel_times& kernels, const costs::network& net, const costs::stage_options& with)
      : shape_(on),
        net_(net),
        with_(with),
        useful_with_(without_recompute(with)),
        parts_(model, on, layers, kernels, net, with),
        useful_(model, on, layers, kernels, net, useful_with_) {}

  /// `message`: what carries a pack to the next part, where stages wait for it.
  [[nodiscard]] part_rates of(std::size_t part, line message) const {
    const model_parts::part& own = parts_.parts()[part];
    const part_times all = parts_.times(own), useful = useful_.times(useful_.parts()[part]);
    const seconds added = parts_.added_gradients(own).time;
    part_rates r;
    r.forward = pass_of(own, all, pass::forward, costs::recompute::none, message, {});
    r.backward = pass_of(own, all, pass::backward, with_.recompute, message, added);
    r.useful_backward = pass_of(own, useful, pass::backward, costs::recompute::none, message, added);
    if (repeats_attention(with_.recompute)) {
      const auto again = [](span_rates& both, const span_rates& backward, const span_rates& forward) {
        both.rings = {backward.rings[0], forward.rings[0]};
      };
      again(r.backward.full, r.useful_backward.full, r.forward.full);
      for (std::size_t i = 0; i < r.backward.spans.size(); ++i)
        again(r.backward.spans[i], r.useful_backward.spans[i], r.forward.spans[i]);
    }
    r.weight_token = line::through([&](tokens n) { return useful.weight_gradients(n); }).token;
    return r;
  }
  [[nodiscard]] const model_parts& parts() const noexcept { return parts_; }

 private:
  [[nodiscard]] static costs::stage_options without_recompute(costs::stage_options with) {
    with.recompute = costs::recompute::none;
    return with;
  }
  [[nodiscard]] pass_rates pass_of(const model_parts::part& own, const part_times& times, pass p,
                                   costs::recompute again, line message, seconds added) const {
    std::vector<seconds> traffic;  // of the same packs
    const line all = line::through([&](tokens n) {
      costs::provenance spent;
      const seconds time = times.tokens_time(n, p, spent);
      traffic.push_back(spent.of(costs::work::traffic).total());
      return time;
    });
    auto next = traffic.begin();
    const line waited = line::through([&](tokens) { return *next++; });
    const tokens whole{65536};
    const costs::link& context = net_.link_of(net_.place().context(shape_));
    const auto count = static_cast<double>(own.layers.size());
    const double launches = p == pass::forward ? 1 : again == costs::recompute::full ? 3 : 2;
    const double turns = (shape_.context - 1.0) * (repeats_attention(again) ? 2 : 1) * count * context.latency.value;
    pass_rates r;
    r.token = all.token + message.token;
    for (const costs::attention_span& span : times.spans()) {
      const bool is_full = span == costs::attention_span{};
      const double pair =
          times.undivided_attention(span, whole, {}, p).value / slice{{}, {}, whole}.pairs() / shape_.context;
      const ring_rates ring =
          ring_rates::of(own.layers, span, p, pair, shape_.context, context.bandwidth / with_.slowdown.exposed);
      (is_full ? r.full : r.spans.emplace_back()) = {span, pair, {ring}};
    }
    r.call = times.slice_time(p);
    r.overhead =
        with_.launch * (count * launches) + added + seconds{turns * with_.slowdown.exposed + all.pack + message.pack};
    r.floor = {2 * own.weights / net_.device().memory_bandwidth};
    r.collectives = std::max(0.0, waited.token);
    return r;
  }

  const shape& shape_;
  const costs::network& net_;
  const costs::stage_options& with_;
  costs::stage_options useful_with_;
  model_parts parts_;
  model_parts useful_;
};

}  // namespace slimpack::detail

#endif
