#ifndef SLIMPACK_COSTS_DETAIL_ANALYTIC_SHEET_RATES_HPP
#define SLIMPACK_COSTS_DETAIL_ANALYTIC_SHEET_RATES_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/detail/analytic/analytic_rates.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/placement.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/vocabulary_rates.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Rates of parts from what a GPU sustains in single large kernels (gemm_efficiency, attention_efficiency), and nothing
/// besides: no element-wise kernel, no optimizer, and traffic as fast as alone. The formulas are at costs::transformer.
/// Requires  all that it is made from outlives it            Errors    none
/// Complexity O(ranks of the shape) once, and O(layers) for each part
class sheet_rates {
 public:
  /// `launch`: of a layer's kernels in a pass
  sheet_rates(const costs::model_shape& model, const costs::gpu& device, const shape& on, const costs::network& net,
              const costs::routing& routing, costs::recompute again, seconds launch)
      : model_(model),
        device_(device),
        shape_(on),
        routing_(routing),
        again_(again),
        launch_(launch),
        tensor_(net.link_of(net.place().tensor(on))),
        context_(net.link_of(net.place().context(on))),
        experts_(model.experts > 0 ? all_to_alls::of(model, on, net, routing) : all_to_alls{}) {}

  /// Of a part with these layers, and the logits of the whole vocabulary where it has the head.
  [[nodiscard]] part_rates of(std::span<const costs::layer> own, bool has_head) const {
    const double gemm = device_.peak_bf16_flops * device_.gemm_efficiency * shape_.context;
    const double attention = device_.peak_bf16_flops * device_.attention_efficiency * shape_.context;
    const auto h = static_cast<double>(model_.hidden);
    double linear = 0, up = 0, weights = 0, gathers = 0, scan = 0, state_bytes = 0;
    std::vector<span_rates> forward(1);  // operations of a pair, and then seconds; full attention first
    dispatch forward_dispatch, backward_dispatch;
    for (const costs::layer& l : own) {
      linear += l.linear_flops, up += l.up_flops, weights += l.weights + l.expert_weights;
      gathers += 2 * l.blocks - (l.dispatched > 0 && model_.shared_width() == 0 ? 2 : 0);
      scan += l.scan_flops + l.chunk_flops, state_bytes += l.state_bytes;
      forward_dispatch += dispatched(l, l.linear_flops / gemm);
      backward_dispatch += dispatched(l, 2 * l.linear_flops / gemm);
      forward.front().pair += l.index_flops;
      if (!(l.pair_flops > 0)) continue;
      auto known = std::find_if(forward.begin(), forward.end(), [&](const auto& one) { return one.span == l.span; });
      if (known == forward.end()) known = forward.insert(known, span_rates{.span = l.span});
      known->pair += l.pair_flops;
    }
    const double once = has_head ? 2 * h * static_cast<double>(model_.vocabulary) / shape_.tensor : 0;
    const double head = once * (1 + model_.further);
    weights += once / 2;
    const auto count = static_cast<double>(own.size());
    // Sequence parallelism: two gathers and two scatters of the hidden states a layer; backward gathers twice more.
    const double one_token = 2 * h / shape_.context * (shape_.tensor - 1.0) / shape_.tensor / tensor_.bandwidth;
    const double traffic = gathers * one_token;
    const double waits = shape_.tensor > 1 ? gathers * tensor_.latency.value : 0;
    const double turns = (shape_.context - 1.0) * count * context_.latency.value;
    std::vector<span_rates> backward = forward, repeated = forward;
    for (std::size_t i = 0; i < forward.size(); ++i) {
      span_rates &first = forward[i], &second = backward[i];
      const auto ring = [&](pass p, double of_pair) {
        return ring_rates::of(own, first.span, p, of_pair, shape_.context, context_.bandwidth);
      };
      first.pair = first.pair / attention;
      first.rings[0] = ring(pass::forward, first.pair);
      second.pair = device_.backward_attention_ratio * first.pair;
      second.rings[0] = ring(pass::backward, second.pair);
      repeated[i] = second;
      if (repeats_attention(again_)) {
        repeated[i].pair += first.pair;
        repeated[i].rings[1] = first.rings[0];
      }
    }
    const double open = scan / attention * typical_chunk / 2, states = 2 * state_bytes / device_.memory_bandwidth;

    part_rates r;
    put(r.forward, std::move(forward));
    r.forward.token = (linear + head) / gemm + traffic + forward_dispatch.token + scan / attention;
    r.forward.collectives = traffic + forward_dispatch.token;
    r.forward.overhead = {count * launch_.value + waits + turns + forward_dispatch.pack};
    r.forward.call = {open + states};
    r.forward.floor = {2 * weights / device_.memory_bandwidth};
    put(r.useful_backward, std::move(backward));
    r.useful_backward.token =
        2 * (linear + head) / gemm + 1.5 * traffic + backward_dispatch.token + 2.5 * scan / attention;
    r.useful_backward.collectives = 1.5 * traffic + backward_dispatch.token;
    r.useful_backward.overhead = {2 * count * launch_.value + 1.5 * waits + turns + backward_dispatch.pack};
    r.useful_backward.call = {2.5 * open + 2 * states};
    r.useful_backward.floor = {2 * weights / device_.memory_bandwidth};
    r.backward = r.useful_backward;
    put(r.backward, std::move(repeated));
    if (repeats_attention(again_)) r.backward.token += scan / attention;
    if (again_ == costs::recompute::selective) r.backward.token += up / gemm;
    if (again_ == costs::recompute::full) {
      r.backward.token += linear / gemm + traffic + forward_dispatch.token;
      r.backward.overhead += r.forward.overhead;
    }
    r.weight_token = (linear + head) / gemm;
    return r;
  }

  /// Of calls for a spread vocabulary. V: logits and the gradient of their input, a product each, whose rows
  /// tensor-parallel ranks gather and whose sums they scatter; U: the third product. E reads a row and adds it to one;
  /// G adds one in fp32, where the word is the stage's own. A kernel takes a twelfth of what a layer's launches do.
  /// Shapes    result: one for all stages, or one per stage where shape.words has their shares
  [[nodiscard]] std::vector<costs::vocabulary_rates> of_vocabulary() const {
    const auto h = static_cast<double>(model_.hidden);
    const double products = 2 * h * static_cast<double>(model_.vocabulary) / shape_.tensor;
    const double speed = device_.peak_bf16_flops * device_.gemm_efficiency * shape_.context;
    const double traffic = 2 * 2 * h / shape_.context * (shape_.tensor - 1.0) / shape_.tensor / tensor_.bandwidth;
    const double waits = shape_.tensor > 1 ? 2 * tensor_.latency.value : 0;
    const double kernel = launch_.value / 12;
    const double moved = h / (shape_.tensor * shape_.context) / device_.memory_bandwidth;
    std::vector<costs::vocabulary_rates> all(shape_.words.empty() ? 1 : shape_.words.size());
    for (int stage = 0; stage < static_cast<int>(all.size()); ++stage) {
      const double product = shape_.share_of_words(stage, products) / speed;
      costs::vocabulary_rates& ends = all[static_cast<std::size_t>(stage)];
      ends.embed = {2 * kernel, 6 * moved};
      ends.output = {6 * kernel + waits, 2 * product + traffic};
      ends.output_weights = {2 * kernel, product};
      ends.embed_gradients = {2 * kernel, (2 + shape_.share_of_words(stage, 8.0)) * moved};
    }
    return all;
  }

 private:
  static constexpr double typical_chunk = 128;  // tokens of a chunk of a scan, of which a slice leaves half open

  static void put(pass_rates& to, std::vector<span_rates> spans) {
    to.full = spans.front();
    spans.erase(spans.begin());
    to.spans = std::move(spans);
  }

  /// What is waited for of both all-to-alls of a layer, in seconds a token and a pack, where its products take so long.
  struct dispatch {
    double token{};
    double pack{};
    dispatch& operator+=(const dispatch& other) noexcept {
      token += other.token, pack += other.pack;
      return *this;
    }
  };
  /// Both all-to-alls among the ranks that divide the experts of a layer, in seconds a byte that a rank sends, and at
  /// least.
  struct all_to_alls {
    double byte{};
    double latency{};
    static all_to_alls of(const costs::model_shape& model, const shape& on, const costs::network& net,
                          const costs::routing& routing) {
      const costs::rank_group group = net.place().experts(on);
      const double share = costs::traffic::crossing_share(model, routing, group);
      const auto both = [&](double size) { return 2 * net.all_to_all(group, bytes{size}, share).value; };
      const double large = 1 << 30, latency = both(0);
      return {(both(large) - latency) / large, latency};
    }
  };
  [[nodiscard]] dispatch dispatched(const costs::layer& l, double products) const {
    if (!(l.dispatched > 0)) return {};
    const double token = experts_.byte * 2 * l.dispatched / shape_.context;
    const double hidden = routing_.overlap * token;
    return {token - hidden + std::max(0.0, hidden - products), (1 - routing_.overlap) * experts_.latency};
  }

  const costs::model_shape& model_;
  const costs::gpu& device_;
  const shape& shape_;
  const costs::routing& routing_;
  costs::recompute again_;
  seconds launch_;
  costs::link tensor_;  // among the ranks that divide tensors
  costs::link context_;
  all_to_alls experts_;
};

}  // namespace slimpack::detail

#endif
