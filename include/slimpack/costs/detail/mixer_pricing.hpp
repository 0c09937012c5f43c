#ifndef SLIMPACK_COSTS_DETAIL_MIXER_PRICING_HPP
#define SLIMPACK_COSTS_DETAIL_MIXER_PRICING_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/detail/rank_kernels.hpp>
#include <slimpack/costs/kernels/origin.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/provenance.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <algorithm>
#include <cstdint>

namespace slimpack::detail {

/// What a layer's mixer takes on one rank of a stage, beside its matrices.
///
///   windows     and chosen keys: kernels of attention to no more keys (costs::attention_table)
///   chunks      each a sequence of its own
///   sampled     its share of the time of full attention; choosing the pairs is not counted
///   an indexer  scores of all pairs, half of attention's products
///   states      operations of the recurrence and of its chunks, over what such products reach (rank_kernels::scanned),
///               and for a slice half a chunk that it leaves open, and the states at its ends, read and written
///
/// Source    derived from operation and byte counts (costs::mixer)            Errors    none
/// Requires  all that it is made from outlives it
class mixer_pricing {
 public:
  mixer_pricing(const costs::model_shape& model, const costs::mixer& by, const costs::layer& of, const shape& on,
                const rank_kernels& kernels, const costs::stage_options& with)
      : by_(by),
        state_bytes_(of.state_bytes),
        scan_flops_(of.scan_flops + of.chunk_flops),
        latents_(by.attends() ? model.kv_rank : 0),
        positions_(model.rope_dim),
        tensor_(on.tensor),
        kernels_(kernels),
        scans_again_(with.recompute == costs::recompute::attention) {}

  /// Attention of a slice, one of `copies` alike that share the device, where one rank has it, without an indexer.
  [[nodiscard]] seconds core(tokens queries, tokens keys, pass p, int copies, costs::provenance& from) const {
    const costs::attention_span& span = by_.span;
    if (!costs::attends(span.how)) return {};
    if (span.how == costs::mixing::full) return attended(queries, keys, p, copies, {}, from);
    costs::provenance unused;
    seconds all{};
    if (span.how == costs::mixing::chunks)
      all = in_chunks(queries, keys, p, copies, unused);
    else
      all = attended(queries, keys, p, copies, tokens{span.reach}, unused) * span.density;
    from.add(costs::work::attention, costs::origin::derived, all);
    return all;
  }
  /// What kernels take where a query attends to `most` keys; 0: to all. Multi-head latent attention to chosen keys
  /// runs with its projections absorbed: all heads share a key of latents and positions, and latents are the values.
  [[nodiscard]] seconds attended(tokens queries, tokens keys, pass p, int copies, tokens most,
                                 costs::provenance& from) const {
    const int heads = by_.heads / tensor_ * copies;
    const bool absorbed = latents_ > 0 && by_.span.how == costs::mixing::top_k;
    const int kv_heads = absorbed ? copies : latents_ > 0 ? heads : (by_.kv_heads + tensor_ - 1) / tensor_ * copies;
    const auto width = static_cast<int>((absorbed ? 2 * latents_ + positions_ : by_.head_dim + by_.value_dim) / 2);
    const known_time all = kernels_.attention(p, queries, keys, heads, kv_heads, width, most);
    from.add(costs::work::attention, all.source, all.time * (1.0 / copies));
    return all.time * (1.0 / copies);
  }
  /// An indexer has scores alone, half of attention's products.
  [[nodiscard]] seconds indexed(tokens queries, tokens keys, pass p, int copies, costs::provenance& from) const {
    if (by_.index_heads == 0) return {};
    const int heads = std::max(1, by_.index_heads / tensor_) * copies;
    const auto width = static_cast<int>(std::max<std::int64_t>(1, by_.index_width / 2));
    const known_time all = kernels_.attention(p, queries, keys, heads, copies, width);
    from.add(costs::work::attention, costs::origin::derived, all.time * (1.0 / copies));
    return all.time * (1.0 / copies);
  }
  /// What a state takes of so many tokens.
  /// Source    backward, derived: scores, weighted values, the update of the state and its output are four products,
  ///           whose gradients are eight; scores and states are computed again
  [[nodiscard]] seconds scan(double count, pass p, costs::provenance& from) const {
    if (!by_.has_state()) return {};
    const double flops = scan_flops_ * count;
    const known_time once = kernels_.scanned(flops, by_.span.how == costs::mixing::selective);
    const bool again = p == pass::backward && scans_again_;
    const seconds all = once.time * ((p == pass::forward ? 1.0 : 2.5) + (again ? 1.0 : 0.0));
    from.add(costs::work::attention, once.source, all);
    return all;
  }

  /// What a slice takes for its state besides, whatever its tokens: half a chunk that it leaves open, and reading and
  /// writing the states at its ends.
  [[nodiscard]] seconds slice_time(pass p) const {
    if (!by_.has_state()) return {};
    costs::provenance unused;
    const double open = by_.span.how == costs::mixing::selective ? 0 : static_cast<double>(by_.scan) / 2;
    const double states = p == pass::forward ? 2 : 4;  // backward their gradients, too
    return scan(open, p, unused) + kernels_.moved(states * state_bytes_).time;
  }

 private:
  /// Chunks run as sequences of their own, whole ones side by side.
  [[nodiscard]] seconds in_chunks(tokens queries, tokens keys, pass p, int copies, costs::provenance& from) const {
    seconds sum{};
    by_.span.each_chunk(queries, keys - queries, [&](double count, tokens own, tokens prefix) {
      const auto beside = static_cast<int>(std::min(count, 1024.0));
      sum += attended(own, prefix + own, p, copies * beside, {}, from) * count;
    });
    return sum;
  }

  costs::mixer by_;
  double state_bytes_;
  double scan_flops_;       // of a token
  std::int64_t latents_;    // width of those of multi-head latent attention; 0: none
  std::int64_t positions_;  // and of the positions beside them
  int tensor_;
  const rank_kernels& kernels_;
  bool scans_again_;
};

}  // namespace slimpack::detail

#endif
