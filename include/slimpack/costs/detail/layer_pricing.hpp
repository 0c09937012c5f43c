#ifndef SLIMPACK_COSTS_DETAIL_LAYER_PRICING_HPP
#define SLIMPACK_COSTS_DETAIL_LAYER_PRICING_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/detail/measured_layer.hpp>
#include <slimpack/costs/detail/mixer_pricing.hpp>
#include <slimpack/costs/detail/rank_kernels.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/model/detail/layer_products.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/provenance.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace slimpack::detail {

/// Where the time of tensor-parallel traffic comes from, for so many elements of hidden states on a rank.
[[nodiscard]] inline costs::origin tensor_source(const costs::traffic& wires, double elements, bool sequence_parallel) {
  const costs::collective op = sequence_parallel ? costs::collective::all_gather : costs::collective::all_reduce;
  return wires.net().source(op, wires.tensor_ranks(), bytes{2 * elements});
}

/// What one transformer layer takes on one rank of a stage: the sum of its kernels and of what they wait for.
///
///   products      forward (tokens x k)(k x n); backward the input gradients (tokens x n)(n x k) and the weight
///                 gradients (n x tokens)(tokens x k)
///   element-wise  bytes over the bandwidth, of which additions and dropout reach memory_share, all others row_share.
///                 Forward: 2 norms (norm_reads reads, a write), 2 residual additions (2 reads, a write), the
///                 activation, positions of queries and keys (position_bytes). Backward: norms read their input and the
///                 gradient of their output norm_reads times, and that of the residual, and write one; the activation
///                 reads and writes its gradient too, additions cost nothing; dropout reads and writes once more, and a
///                 mask of a byte
///   casts         cast_bytes an element of what products read: forward their input and the weights, backward the
///                 gradient of the output besides
///   measured      where this very layer was measured, its products and element-wise operations forward; backward, and
///                 kernels of other trainers than the tables' (norm_reads, position_bytes, dropout), keep the ratio to
///                 them that they have without. Where others were, both times what theirs took over what they come to
///                 here (detail/other_layers.hpp)
///   traffic       costs::traffic; what it hides runs under the products of backward
///   attention     flash: costs::kernel_times. Unfused: products at the GPU's gemm_efficiency, then bytes a (query,
///                 key) pair and head over the bandwidth, 8 forward and 14 backward, with dropout 5 more each: scores,
///                 softmax, dropout and its mask, and their gradients, each written and read once
///   context       c ranks have two slices of q / 2c queries each, the first and the last of 2c (zigzag), and exchange
///                 keys and values as costs::traffic says
///   mixers        other than full attention: mixer_pricing
///   experts       that ranks divide: the busiest rank's products; four times each row that it gets is read and written
///                 in another order, twice on each side of them. All-to-alls as costs::traffic says: 1 - overlap of
///                 them is waited for, the rest where the layer's products are shorter. Hidden states are gathered and
///                 scattered for attention and shared experts only
///   again         what backward recomputes: light, both norms and the activation or gated product; selective, these
///                 and the up projections, of which the inputs of MLP and layer are kept, so that neither residual
///                 additions nor positions are repeated, but by repeats_additions, nor experts' rows moved; attention,
///                 the attention core; full, all
///
/// Source    derived from operation and byte counts; volumes and constants where they are defined
/// Units     tokens of all context ranks in, seconds out            Errors    none            Complexity  O(1) kernels
/// Requires  all that it is made from outlives it
class layer_pricing {
 public:
  /// `imbalance`: of experts' rows, see costs::routing
  layer_pricing(const costs::model_shape& model, costs::layer_kind kind, double imbalance, const shape& on,
                const rank_kernels& kernels, std::span<const costs::layer_sample> measured, const costs::traffic& wires,
                const costs::stage_options& with)
      : layer_(costs::layer::of(model, kind, on.tensor, on.expert, imbalance)),
        mixer_(model, model.mixer(kind), layer_, on, kernels, with),
        products_(products_of(model, kind, on.tensor, on.expert, imbalance)),
        imbalance_(imbalance),
        model_(model),
        shape_(on),
        kernels_(kernels),
        wires_(wires),
        with_(with) {
    if (!is_plain(model, kind)) return;  // no such layer was measured
    measured_ = measured_layer::of(measured, model, on.tensor);
    if (measured_) return;
    others_ = other_layers::of(measured, model, [&](const costs::model_shape& m, int tensor, tokens all) {
      const costs::layer own = costs::layer::of(m, false, tensor);
      other_layers::sums sums{.hidden = moved(all, measured_hidden_bytes(own)),
                              .inner = moved(all, measured_inner_bytes(own))};
      for (const layer_product& one : products_of(m, false, tensor))
        sums.products += kernels_.product(all.value, one.n, one.k).time * with_.linear_speed;
      return sums;
    });
  }

  /// What runs once over all tokens of a pack. Adds what it took to `from`.
  [[nodiscard]] seconds tokens_time(tokens all, pass p, costs::provenance& from) const {
    const costs::traffic::share moved = tensor_traffic(all, p);
    const costs::origin source = tensor_source(wires_, mine(all) * layer_.hidden, with_.sequence_parallel);
    from.add(costs::work::traffic, source, moved.exposed);
    const seconds beside =
        elementwise(all, p, from) + casts(all, p, from) + mixer_.scan(mine(all), p, from) + moved.exposed;
    if (p == pass::forward) {
      const seconds products = forward(all, false, from);
      return beside + products + dispatched(all, products, from);
    }
    const seconds products = input_gradients(all, from) + weight_gradients(all, from);
    const seconds covered = wires_.beside(products, moved.hidden);
    from.add(costs::work::traffic, source, covered - products);
    return beside + covered + dispatched(all, products, from) + again(all, from);
  }

  /// The part of backward that a schedule may run apart.
  [[nodiscard]] seconds weight_gradients(tokens all, costs::provenance& from) const {
    seconds sum{};
    const double factor = correction(all);
    for (const layer_product& m : products_)
      sum += backward(kernels_.product(m.n, m.k, rows_of(m, all), m.grouped), factor, from);
    return sum;
  }

  /// What a slice takes for a state besides, whatever its tokens.
  [[nodiscard]] seconds slice_time(pass p) const { return mixer_.slice_time(p); }

  /// Which keys its queries attend to.
  [[nodiscard]] const costs::attention_span& span() const noexcept { return layer_.span; }
  /// A slice's attention, one of `copies` alike that share the device.
  [[nodiscard]] seconds attention(tokens queries, tokens prefix, pass p, int copies, costs::provenance& from) const {
    return with_repeated(p, [&](pass of) { return on_all_ranks(queries, prefix, of, copies, from); });
  }
  /// What attention would take if one rank had the whole slice, whatever the shape's context-parallel ranks, and every
  /// query attended to all keys: it tells the rate of pairs.
  [[nodiscard]] seconds undivided_attention(tokens queries, tokens prefix, pass p) const {
    costs::provenance unused;
    return with_repeated(p, [&](pass of) { return mixer_.attended(queries, prefix + queries, of, 1, {}, unused); });
  }
  /// What an indexer takes for the scores by which it chooses keys, over all ranks.
  [[nodiscard]] seconds index(tokens queries, tokens prefix, pass p, int copies, costs::provenance& from) const {
    return with_repeated(p, [&](pass of) {
      return mixer_.indexed(queries, prefix + queries, of, copies, from) * (1.0 / shape_.context);
    });
  }

 private:
  /// Whether a layer is made of attention of the model's heads and of its dense MLP.
  [[nodiscard]] static bool is_plain(const costs::model_shape& model, costs::layer_kind kind) noexcept {
    costs::mixer own = model.mixer(kind);
    own.span = {};
    return kind == costs::layer_kind{false, kind.mixer} && model.mixer(kind).attends() &&
           own == costs::model_shape::full_attention(model);
  }
  /// Of a pass, and of what backward computes again.
  template <class Time>
  [[nodiscard]] seconds with_repeated(pass p, const Time& time) const {
    return p == pass::backward && repeats_attention(with_.recompute) ? time(pass::backward) + time(pass::forward)
                                                                     : time(p);
  }
  [[nodiscard]] double mine(tokens all) const noexcept { return static_cast<double>(all.value) / shape_.context; }
  [[nodiscard]] tokens share_of(tokens all, int ranks) const noexcept {
    return {std::max<std::int64_t>(1, (all.value + ranks - 1) / ranks)};
  }
  [[nodiscard]] std::int64_t rows_of(const layer_product& m, tokens all) const {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(m.rows * mine(all))));
  }
  [[nodiscard]] seconds input_gradients(tokens all, costs::provenance& from) const {
    seconds sum{};
    const double factor = correction(all);
    for (const layer_product& m : products_)
      sum += backward(kernels_.product(rows_of(m, all), m.k, m.n, m.grouped), factor, from);
    return sum;
  }
  [[nodiscard]] seconds backward(const known_time& product, double factor, costs::provenance& from) const {
    from.add(costs::work::products, measured_ || others_ ? costs::origin::derived : product.source,
             product.time * factor);
    return product.time * factor;
  }
  [[nodiscard]] seconds forward(tokens all, bool up_only, costs::provenance& from) const {
    seconds sum{};
    const double factor = correction(all);
    for (const layer_product& m : products_) {
      if (up_only && !m.up) continue;
      const known_time product = kernels_.product(rows_of(m, all), m.n, m.k, m.grouped);
      const seconds t = product.time * factor;
      from.add(costs::work::products,
               measured_ ? measured_->products.source(share_of(all, shape_.context))
               : others_ ? costs::origin::derived
                         : product.source,
               t);
      sum += t;
    }
    return sum;
  }
  /// Measured over composed forward products: of this layer, or else of others.
  [[nodiscard]] double correction(tokens all) const {
    if (!measured_) return others_ ? others_->products(share_of(all, shape_.context)) : 1;
    seconds sum{};
    for (const layer_product& m : products_) sum += kernels_.product(rows_of(m, all), m.n, m.k, m.grouped).time;
    return measured_->products(share_of(all, shape_.context)) * (1 / with_.linear_speed) / sum;
  }

  /// Bytes of a token that kernels move, by how they do.
  struct moved_bytes {
    double streamed{};
    double by_row{};
  };
  /// What both norms move for a token, forward.            Units  bytes
  [[nodiscard]] static double norm_bytes(const costs::layer& l, const costs::stage_options& with) noexcept {
    return 2 * l.blocks * (static_cast<double>(with.norm_reads) + 1) * l.hidden;
  }
  /// What the activation moves for a token, forward: its inputs are read and its output is written. Units  bytes
  [[nodiscard]] static double activation_bytes(const costs::layer& l) noexcept {
    return 2 * (l.feed_forward + l.gate) + 2 * l.feed_forward;
  }
  /// Of norms and residual additions, as a trainer's kernels are.
  [[nodiscard]] static moved_bytes hidden_bytes(const costs::layer& l, pass p,
                                                const costs::stage_options& with) noexcept {
    const double reads = with.norm_reads;
    const double half = l.blocks / 2;
    if (p == pass::forward) return {half * (12 + (with.dropout ? 2 : 0)) * l.hidden, norm_bytes(l, with)};
    return {half * (with.dropout ? 10 : 0) * l.hidden, 2 * l.blocks * (2 * reads + 2) * l.hidden};
  }
  /// Of positions and the activation.
  [[nodiscard]] static moved_bytes inner_bytes(const costs::layer& l, pass p,
                                               const costs::stage_options& with) noexcept {
    const double into = l.feed_forward + l.gate;
    return {0, with.position_bytes * (l.query + l.kv_elements / 2) + 2 * (p == pass::forward ? into : 2 * into) +
                   2 * l.feed_forward};
  }
  /// The same of the kernels that tables of layers are of, forward: the defaults.
  [[nodiscard]] static moved_bytes measured_hidden_bytes(const costs::layer& l) noexcept {
    return hidden_bytes(l, pass::forward, {});
  }
  [[nodiscard]] static moved_bytes measured_inner_bytes(const costs::layer& l) noexcept {
    return inner_bytes(l, pass::forward, {});
  }
  [[nodiscard]] seconds moved(tokens all, moved_bytes of, int ranks = 1) const noexcept {
    const double count = static_cast<double>(all.value) / ranks;
    return kernels_.moved(count * of.streamed, count * of.by_row).time;
  }
  [[nodiscard]] seconds elementwise(tokens all, pass p, costs::provenance& from) const {
    seconds inner = moved(all, inner_bytes(layer_, p, with_), shape_.context);
    if (layer_.dispatched > 0) inner += moved(all, {16 * layer_.dispatched, 0}, shape_.context);
    return as_measured(all, moved(all, hidden_bytes(layer_, p, with_), hidden_ranks()), inner, p, from);
  }
  /// What norms and the activation alone take, forward.
  [[nodiscard]] seconds norms_and_activation(tokens all, costs::provenance& from) const {
    return as_measured(all, moved(all, {0, norm_bytes(layer_, with_)}, hidden_ranks()),
                       moved(all, {0, activation_bytes(layer_)}, shape_.context), pass::forward, from);
  }
  /// Ranks that share what is between products.
  [[nodiscard]] int hidden_ranks() const noexcept {
    return shape_.context * (with_.sequence_parallel ? shape_.tensor : 1);
  }
  /// Times over hidden states and over widths inside the layer, by what was measured of such kernels.
  [[nodiscard]] seconds as_measured(tokens all, seconds hidden, seconds inner, pass p, costs::provenance& from) const {
    const int ranks = hidden_ranks();
    costs::origin of_hidden = others_ ? costs::origin::derived : costs::origin::modelled;
    costs::origin of_inner = of_hidden;
    if (measured_) {
      const tokens outside = share_of(all, ranks), inside = share_of(all, shape_.context);
      hidden = measured_->hidden(outside) * (hidden / moved(all, measured_hidden_bytes(layer_), ranks));
      inner = measured_->inner(inside) * (inner / moved(all, measured_inner_bytes(layer_), shape_.context));
      of_hidden = p == pass::backward ? costs::origin::derived : measured_->hidden.source(outside);
      of_inner = p == pass::backward ? costs::origin::derived : measured_->inner.source(inside);
    } else if (others_) {
      hidden = hidden * others_->hidden();
      inner = inner * others_->inner();
    }
    from.add(costs::work::elementwise, of_hidden, hidden);
    from.add(costs::work::elementwise, of_inner, inner);
    return hidden + inner;
  }

  /// Of the products' operands to FP8.
  [[nodiscard]] seconds casts(tokens all, pass p, costs::provenance& from) const {
    double elements = 0;
    for (const layer_product& m : products_) {
      const auto rows = static_cast<double>(rows_of(m, all));
      const auto n = static_cast<double>(m.n), k = static_cast<double>(m.k);
      elements += rows * (p == pass::forward ? k : k + n) + std::max(n * k, m.grouped);
    }
    const known_time t = kernels_.moved(with_.cast_bytes * elements);
    from.add(costs::work::elementwise, t.source, t.time);
    return t.time;
  }

  [[nodiscard]] costs::traffic::share tensor_traffic(tokens all, pass p) const {
    costs::traffic::share moved = wires_.tensor(all, model_.hidden, p, with_.sequence_parallel);
    double blocks = layer_.blocks;
    if (layer_.dispatched > 0 && model_.shared_width() == 0) blocks -= 1;  // of the mixer alone
    if (blocks != 2) moved = moved * (blocks / 2);
    if (with_.hides_tensor_traffic) return moved;
    return {moved.exposed + moved.hidden * with_.slowdown.exposed, {}};
  }

  /// What is waited for of a pass's all-to-alls, where the layer's products take so long.
  [[nodiscard]] seconds dispatched(tokens all, seconds products, costs::provenance& from) const {
    if (!(layer_.dispatched > 0)) return {};
    const seconds alone = wires_.experts(all, model_, with_.routing, imbalance_);
    const seconds hidden = alone * with_.routing.overlap;
    const seconds waited = (alone - hidden) * with_.slowdown.exposed + std::max(seconds{}, hidden - products);
    from.add(costs::work::traffic, wires_.experts_source(all, model_, with_.routing, imbalance_), waited);
    return waited;
  }

  /// What backward runs again of the work over all tokens.
  [[nodiscard]] seconds again(tokens all, costs::provenance& from) const {
    if (with_.recompute == costs::recompute::full) return tokens_time(all, pass::forward, from);
    if (!repeats_norms(with_.recompute)) return {};
    const seconds light =
        with_.repeats_additions ? elementwise(all, pass::forward, from) : norms_and_activation(all, from);
    return repeats_up_projections(with_.recompute) ? light + forward(all, true, from) : light;
  }

  [[nodiscard]] seconds on_all_ranks(tokens queries, tokens prefix, pass p, int copies, costs::provenance& from) const {
    const int ranks = shape_.context;
    const tokens keys = prefix + queries;
    if (ranks == 1) return mixer_.core(queries, keys, p, copies, from);
    const tokens half = share_of(queries, 2 * ranks);
    const seconds computed =
        mixer_.core(half, prefix + half, p, copies, from) + mixer_.core(half, keys, p, copies, from);
    const tokens seen = queries + layer_.span.seen_before({{}, prefix, queries});
    const seconds exposed =
        wires_.context(seen * copies, layer_.kv_elements, p, with_.exchange, computed * copies).exposed *
        (1.0 / copies);
    from.add(costs::work::traffic,
             wires_.net().source(costs::collective::all_gather, wires_.context_ranks(),
                                 bytes{2 * layer_.kv_elements * static_cast<double>(seen.value)}),
             exposed);
    return computed + exposed;
  }

  costs::layer layer_;
  mixer_pricing mixer_;
  std::vector<layer_product> products_;
  double imbalance_;
  std::optional<measured_layer> measured_;
  std::optional<other_layers> others_;
  const costs::model_shape& model_;
  shape shape_;
  const rank_kernels& kernels_;
  const costs::traffic& wires_;
  const costs::stage_options& with_;
};

}  // namespace slimpack::detail

#endif
