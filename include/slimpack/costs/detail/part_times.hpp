#ifndef SLIMPACK_COSTS_DETAIL_PART_TIMES_HPP
#define SLIMPACK_COSTS_DETAIL_PART_TIMES_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/detail/layer_pricing.hpp>
#include <slimpack/costs/detail/rank_kernels.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/provenance.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What one rank takes for a part of the model: layers of some kinds, the embedding on the first part, logits and loss
/// on the last. Where the vocabulary is spread over the stages, the last part has the last norm alone.
///
///   embedding   forward one read and one write, and half a layer's traffic, which sums over shards of the vocabulary;
///               backward two reads and a write
///   logits      products as a layer's; the last norm, forward as a read and a write, backward three and one; a logit
///               moves 14 bytes forward (cast to fp32: 2 read, 4 written; its maximum and sum of exponentials: 4 read
///               each) and 10 backward (4 read, 4 written, cast back to 2); half a layer's traffic backward, for the
///               input gradients
/// Source    derived, as layer_pricing            Requires  all that it is made from outlives it
class part_times {
 public:
  struct contents {
    std::vector<double> layers{};  ///< of each kind
    bool embedding{};
    bool head{};
    bool norm{};  ///< the last one, where logits are on all stages
  };

  part_times(const costs::model_shape& model, const shape& on, std::span<const layer_pricing> kinds,
             const rank_kernels& kernels, const costs::traffic& wires, const costs::stage_options& with, contents own)
      : model_(model), shape_(on), kinds_(kinds), kernels_(kernels), wires_(wires), with_(with), own_(std::move(own)) {}

  /// What runs once over all tokens of a pack. Adds what it took to `from`.
  seconds tokens_time(tokens all, pass p, costs::provenance& from) const {
    seconds sum =
        layers(from, [&](const layer_pricing& l, costs::provenance& of) { return l.tokens_time(all, p, of); });
    using costs::work;
    if (own_.embedding) {
      sum += spent(work::elementwise, kernels_.moved(mine(all) * hidden() * (p == pass::forward ? 4 : 6)), from);
      if (p == pass::forward) sum += half_traffic(all, p, from);
    }
    if (own_.norm)
      sum += spent(work::elementwise, kernels_.moved(mine(all) * hidden() * (p == pass::forward ? 4 : 8)), from);
    if (own_.head) {
      const double moved =
          hidden() * (p == pass::forward ? 4 : 8) + static_cast<double>(vocabulary()) * (p == pass::forward ? 14 : 10);
      for (int run = 0; run <= model_.further; ++run) {
        sum += spent(work::elementwise, kernels_.moved(mine(all) * moved), from);
        if (p == pass::forward)
          sum += spent(work::products, kernels_.product(rows(all), vocabulary(), model_.hidden), from);
        else
          sum += spent(work::products, kernels_.product(rows(all), model_.hidden, vocabulary()), from) +
                 head_weight_gradients(all, from) + half_traffic(all, p, from);
      }
    }
    return sum;
  }

  /// The part of it, backward, that a schedule may run apart.
  [[nodiscard]] seconds weight_gradients(tokens all) const {
    costs::provenance unused;
    const seconds sum =
        layers(unused, [&](const layer_pricing& l, costs::provenance& of) { return l.weight_gradients(all, of); });
    return own_.head ? sum + head_weight_gradients(all, unused) * (1.0 + model_.further) : sum;
  }

  /// The ways in which its layers attend, full attention first, with it or without any.
  [[nodiscard]] std::vector<costs::attention_span> spans() const {
    std::vector<costs::attention_span> all{{}};
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
      if (const costs::attention_span& own = kinds_[kind].span();
          own_.layers[kind] > 0 && costs::attends(own.how) && std::find(all.begin(), all.end(), own) == all.end())
        all.push_back(own);
    return all;
  }

  /// Attention to a span of a slice, one of `copies` alike that share the device; what indexers take counts as full
  /// attention. Adds what it took to `from`.
  seconds attention(const costs::attention_span& span, tokens queries, tokens prefix, pass p, int copies,
                    costs::provenance& from) const {
    const bool is_full = span == costs::attention_span{};
    return layers(from, [&](const layer_pricing& l, costs::provenance& of) {
      const seconds own = l.span() == span ? l.attention(queries, prefix, p, copies, of) : seconds{};
      return is_full ? own + l.index(queries, prefix, p, copies, of) : own;
    });
  }
  /// Attention of all its layers, indexers among them. Adds what it took to `from`.
  seconds attention(tokens queries, tokens prefix, pass p, int copies, costs::provenance& from) const {
    return layers(from, [&](const layer_pricing& l, costs::provenance& of) {
      return l.attention(queries, prefix, p, copies, of) + l.index(queries, prefix, p, copies, of);
    });
  }
  /// Attention of the layers of a span, were it full, where one rank has the whole slice: it tells the rate of pairs.
  [[nodiscard]] seconds undivided_attention(const costs::attention_span& span, tokens queries, tokens prefix,
                                            pass p) const {
    const bool is_full = span == costs::attention_span{};
    return layers([&](const layer_pricing& l, costs::provenance& of) {
      const seconds own = l.span() == span ? l.undivided_attention(queries, prefix, p) : seconds{};
      return is_full ? own + l.index(queries, prefix, p, 1, of) * static_cast<double>(shape_.context) : own;
    });
  }
  /// What each slice takes for states besides, whatever its tokens.
  [[nodiscard]] seconds slice_time(pass p) const {
    return layers([&](const layer_pricing& l, costs::provenance&) { return l.slice_time(p); });
  }

 private:
  [[nodiscard]] double mine(tokens all) const noexcept { return static_cast<double>(all.value) / shape_.context; }
  [[nodiscard]] double hidden() const noexcept { return static_cast<double>(model_.hidden); }
  [[nodiscard]] std::int64_t vocabulary() const noexcept {
    return std::max<std::int64_t>(1, model_.vocabulary / shape_.tensor);
  }
  [[nodiscard]] std::int64_t rows(tokens all) const noexcept {
    return std::max<std::int64_t>(1, all.value / shape_.context);
  }

  [[nodiscard]] static seconds spent(costs::work on, const known_time& t, costs::provenance& from) noexcept {
    from.add(on, t.source, t.time);
    return t.time;
  }
  [[nodiscard]] seconds half_traffic(tokens all, pass p, costs::provenance& from) const {
    const costs::traffic::share layer = wires_.tensor(all, model_.hidden, p, with_.sequence_parallel);
    return spent(costs::work::traffic,
                 {(layer.exposed + layer.hidden * with_.slowdown.exposed) * 0.5,
                  tensor_source(wires_, mine(all) * hidden(), with_.sequence_parallel)},
                 from);
  }
  [[nodiscard]] seconds head_weight_gradients(tokens all, costs::provenance& from) const {
    return spent(costs::work::products, kernels_.product(vocabulary(), model_.hidden, rows(all)), from);
  }

  template <class Time>
  [[nodiscard]] seconds layers(costs::provenance& from, const Time& time) const {
    seconds sum{};
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      if (own_.layers[kind] == 0) continue;
      costs::provenance of;
      sum += time(kinds_[kind], of) * own_.layers[kind];
      from.add(of, own_.layers[kind]);
    }
    return sum;
  }

  template <class Time>
  [[nodiscard]] seconds layers(const Time& time) const {
    costs::provenance unused;
    return layers(unused, time);
  }

  const costs::model_shape& model_;
  shape shape_;
  std::span<const layer_pricing> kinds_;
  const rank_kernels& kernels_;
  const costs::traffic& wires_;
  const costs::stage_options& with_;
  contents own_;
};

}  // namespace slimpack::detail

#endif
