#ifndef SLIMPACK_COSTS_NETWORK_TRAFFIC_HPP
#define SLIMPACK_COSTS_NETWORK_TRAFFIC_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/collective.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// By how much computing and communicating slow each other down. Both are ratios of times, at least 1.
/// Source    collectives inside a training step take about 1.3 times as long as alone (vTrain, MICRO 2024); of compute
///           no public figure is general, hence 1 until it is calibrated (Echo, arXiv:2412.12487, models it)
struct slowdown {
  double compute{1.0};  ///< of compute while communication runs beside it
  double exposed{1.3};  ///< of communication that compute waits for
};

/// How context-parallel ranks, which share a sequence, get each other's keys and values.
enum class context_exchange : unsigned char {
  all_gather,  ///< of all of them, before attention
  ring,        ///< hop by hop, each under the attention to what the last hop brought
};

/// What the ranks of a shape send each other, and how long it takes beside compute.
///
/// Volumes, bf16, for T tokens on one of c context-parallel ranks, hidden size h, e key and value elements a token:
///   tensor     forward: 2 all-reduces of 2 T h bytes; compute waits for them. Backward: 2 more, which run while the
///              weight gradients are computed
///   ... with sequence parallelism: forward 2 all-gathers and 2 reduce-scatters; compute waits for them. Backward: the
///              output gradients of the two row-parallel products are gathered, and compute waits. The inputs of the
///              two column-parallel products are gathered again while their input gradients are computed, and these are
///              scattered while the weight gradients are computed
///   context    forward: the keys and values of c T tokens, 2 c T e bytes, are gathered, or go round in c - 1 hops of
///              2 T e bytes. Backward: the same again, and as many bytes of their gradients are scattered
///   experts    forward: each token goes to the ranks of its a active experts and its outputs come back, two
///              all-to-alls of 2 a T h / t bytes on each of t tensor-parallel ranks, which hold the tokens in parts;
///              the busiest rank gets `imbalance` times as many. Backward: the same again, of gradients
///   gradients, parameters    a reduce-scatter and an all-gather over all copies of the weights
///
/// Of experts the gradients go over the ranks that hold the same ones.
///
/// Source    volumes: Korthikanti et al., arXiv:2205.05198, sections 4.1 and 4.2; which of them are waited for:
///           Megatron-LM's linear layers with asynchronous all-reduce or sequence parallelism. Ring: arXiv:2310.01889
/// Units     tokens and bytes in, seconds out            Errors    none            Complexity  that of network
class traffic {
 public:
  /// Communication by who waits for it.
  struct share {
    seconds exposed{};  ///< compute waits; slowed down as slowdown::exposed says
    seconds hidden{};   ///< other compute of the same pass can run meanwhile; as long as alone
    friend constexpr bool operator==(const share&, const share&) = default;
    friend constexpr share operator+(share a, share b) noexcept { return {a.exposed + b.exposed, a.hidden + b.hidden}; }
    friend constexpr share operator*(share a, double n) noexcept { return {a.exposed * n, a.hidden * n}; }
  };

  traffic(network net, const shape& on, slowdown by = {})
      : net_(std::move(net)),
        shape_(on),
        slower_(by),
        tensor_(net_.place().tensor(on)),
        context_(net_.place().context(on)),
        copies_(net_.place().copies(on)),
        experts_(net_.place().experts(on)),
        expert_copies_(net_.place().expert_copies(on)) {
    for (int r = 0; r < on.stages; ++r) boundaries_.push_back(net_.place().boundary(on, r));
  }

  /// The tensor-parallel and the context-parallel ranks of a stage, as they are spread farthest.
  [[nodiscard]] const rank_group& tensor_ranks() const noexcept { return tensor_; }
  [[nodiscard]] const rank_group& context_ranks() const noexcept { return context_; }

  /// Between the tensor-parallel ranks, for one layer and the `all` tokens of a pack, those of all context ranks.
  [[nodiscard]] share tensor(tokens all, std::int64_t hidden, pass p, bool sequence_parallel) const {
    const bytes states{2 * mine(all) * static_cast<double>(hidden)};
    if (!sequence_parallel) {
      const seconds reduced = net_.all_reduce(tensor_, states) * 2;
      return p == pass::forward ? share{slowed(reduced), {}} : share{{}, reduced};
    }
    const seconds gathered = net_.all_gather(tensor_, states) * 2;
    const seconds scattered = net_.reduce_scatter(tensor_, states) * 2;
    return p == pass::forward ? share{slowed(gathered + scattered), {}} : share{slowed(gathered), gathered + scattered};
  }

  /// Between the context-parallel ranks, for one layer. `kv_elements` of a token on one tensor-parallel rank, as
  /// costs::layer counts them; `attention`: what the pass takes for its attention on one rank, which hides ring hops.
  [[nodiscard]] share context(tokens all, double kv_elements, pass p, context_exchange how, seconds attention) const {
    const int ranks = shape_.context;
    if (ranks < 2) return {};
    const bytes own{2 * mine(all) * kv_elements};
    if (how == context_exchange::all_gather) {
      const seconds gathered = net_.all_gather(context_, own * ranks);
      return {slowed(p == pass::forward ? gathered : gathered + net_.reduce_scatter(context_, own * ranks)), {}};
    }
    const seconds hop = net_.send_receive(neighbours(), p == pass::forward ? own : own * 2, shape_.tensor);
    const seconds covered = std::min(hop, attention * (1.0 / ranks));
    return {slowed(hop - covered) * (ranks - 1.0), covered * (ranks - 1.0)};
  }

  /// Between the ranks that divide the experts of one layer, in one pass: both all-to-alls, as long as alone.
  [[nodiscard]] seconds experts(tokens all, const model_shape& m, const routing& how, double imbalance) const {
    return net_.all_to_all(experts_, rows(all, m, imbalance), crossing_share(m, how, experts_)) * 2;
  }
  [[nodiscard]] origin experts_source(tokens all, const model_shape& m, const routing& how, double imbalance) const {
    if (experts_.nodes > 1 && crossing_share(m, how, experts_) < 1) return origin::modelled;
    return net_.source(collective::all_to_all, experts_, rows(all, m, imbalance));
  }
  /// Of the copies of a token that leave their node, those that cross for themselves.
  [[nodiscard]] static double crossing_share(const model_shape& m, const routing& how,
                                             const rank_group& experts) noexcept {
    if (how.nodes < 1) return 1;
    return std::min({1.0, static_cast<double>(how.nodes) / m.experts_per_token,
                     static_cast<double>(experts.nodes) / m.experts_per_token});
  }

  /// The gradients of a stage's weights, a buffer of `size` on every copy, summed and scattered.
  [[nodiscard]] seconds gradients(bytes size) const { return slowed(net_.reduce_scatter(copies_, size)); }
  /// The weights, `size` when gathered.
  [[nodiscard]] seconds parameters(bytes size) const { return slowed(net_.all_gather(copies_, size)); }
  /// The same of experts.
  [[nodiscard]] seconds expert_gradients(bytes size) const { return slowed(net_.reduce_scatter(expert_copies_, size)); }
  [[nodiscard]] seconds expert_parameters(bytes size) const { return slowed(net_.all_gather(expert_copies_, size)); }

  /// What one rank sends from a stage to the next, or back: as long as alone, since the simulator tells who waits.
  [[nodiscard]] seconds message(bytes size, int stage) const {
    return net_.send_receive(boundaries_[static_cast<std::size_t>(stage)], size, shape_.tensor * shape_.context);
  }

  /// Compute with communication under it: slowed down while both run; what is left of the longer runs alone.
  [[nodiscard]] seconds beside(seconds compute, seconds hidden) const noexcept {
    const seconds both = compute * slower_.compute;
    return hidden < both ? compute + hidden * (1 - 1 / slower_.compute) : both + slowed(hidden - both);
  }

  [[nodiscard]] const network& net() const noexcept { return net_; }

 private:
  [[nodiscard]] double mine(tokens all) const noexcept { return static_cast<double>(all.value) / shape_.context; }
  /// Bytes that a rank sends for its tokens to all of their experts, its own among them.
  [[nodiscard]] bytes rows(tokens all, const model_shape& m, double imbalance) const noexcept {
    return {2 * mine(all) / shape_.tensor * static_cast<double>(m.hidden) * m.experts_per_token * imbalance};
  }
  [[nodiscard]] seconds slowed(seconds t) const noexcept { return t * slower_.exposed; }
  /// The farthest two that are next to each other on the ring.
  [[nodiscard]] rank_group neighbours() const noexcept {
    return {2, std::min(context_.nodes, 2), std::min(context_.islands, 2)};
  }

  network net_;
  shape shape_;
  slowdown slower_;
  rank_group tensor_;
  rank_group context_;
  rank_group copies_;
  rank_group experts_;
  rank_group expert_copies_;
  std::vector<rank_group> boundaries_;
};

}  // namespace slimpack::costs

#endif
