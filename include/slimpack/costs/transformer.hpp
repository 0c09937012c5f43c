#ifndef SLIMPACK_COSTS_TRANSFORMER_HPP
#define SLIMPACK_COSTS_TRANSFORMER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/shared_row.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/detail/vocabulary_bytes.hpp>
#include <slimpack/costs/detail/weight_buckets.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/model/routing.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/rank_group.hpp>
#include <slimpack/costs/network/row_exchange.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/reduction.hpp>
#include <slimpack/costs/vocabulary_rates.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// What the transformer model is computed from.
struct transformer_options {
  costs::recompute recompute{costs::recompute::none};
  bool distributed_optimizer{true};
  costs::reduction reduction{costs::reduction::overlapped};
  std::vector<int> layers{};     ///< on each part; empty: even, what is left over to the inner parts first
  seconds launch{1e-5};          ///< of a layer's kernels in a pass that the device waits for (forward; backward twice)
  std::optional<seconds> hop{};  ///< replaces the network's time of a message
  saved_tensors tensors{saved_tensors::flash_attention()};  ///< what the trainer keeps for backward
  costs::routing routing{};      ///< of tokens to experts that ranks divide
};

/// A decoder-only transformer on GPUs, analytically: operations over sustained rates, embedding on the first part,
/// logits and loss on the last; or both on all stages, where the shape spreads the vocabulary.
/// Source    operation counts of costs::layer; sustained rates, and the backward/forward ratio of attention, measured
///           (costs::gpu); roofline floor derived: a pack takes at least the time to read its part's weights
/// Formula   slice = linear flops n / (peak gemm_efficiency) + pair flops pairs / (peak attention_efficiency)
///                   + tensor-parallel traffic of n tokens; backward: 2 x linear, backward_attention_ratio x attention,
///                   and what is recomputed. All over the tensor- and context-parallel ranks
///                   + what attention does not cover of the exchange on a ring of c context-parallel ranks:
///                   (c - 1) max(0, bytes / c / bandwidth - attention / c), the bytes those of keys and values of the
///                   slice and its prefix, or of the slice's queries and outputs, whichever are fewer; backward with
///                   the gradients: keys and values twice; queries twice and gradients of outputs
///           pack  = launches + max(sum of slices, weight bytes / memory bandwidth)
///           experts that ranks divide: their rows and bytes are those of the busiest rank (costs::routing); a layer
///           waits for 1 - overlap of its two all-to-alls (costs::traffic), and for what its products do not cover of the
///           rest. Its hidden states are gathered and scattered for attention and shared experts only
///           exchange of a row that replicas share: costs::row_exchange
///           a spread vocabulary: flops of the output layer and bytes of embedded rows, derived (rates_of_vocabulary)
/// Source    ring attention (arXiv:2310.01889), which covers a hop by the attention to what the last one brought; queries
///           that travel instead of a long prefix, Yang et al. (arXiv:2411.01783)
/// Law       analytic: cutting a sequence conserves its times, but for the exchange: later slices need the keys and
///           values of earlier ones once more, so cutting may cost time where attention does not cover it
/// Errors    invalid_input: a degree below 1, more parts than layers, tensor ranks that do not divide the heads, a list
///           of layers that does not add up, or experts that cannot be divided so            Complexity  O(1) a slice
class transformer {
 public:
  using options = transformer_options;

  static result<transformer> make(model_shape model, gpu device, const shape& on, options with = {}) {
    result<std::vector<int>> layers = slimpack::detail::layers_on_parts(model, on, std::move(with.layers), with.routing);
    if (!layers) return std::move(layers).error();
    with.layers = std::move(layers).value();
    return transformer(std::move(model), std::move(device), on, std::move(with));
  }

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return priced(at(part).of(p), s) + exchanged(at(part).of(p), s);
  }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const {
    return priced(p == pass::forward ? at(part).forward : at(part).useful_backward, s);
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const { return priced(at(part).of(p), s); }
  [[nodiscard]] seconds overhead(pass p, int part) const { return at(part).of(p).overhead; }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    const rates& r = at(part).of(p);
    seconds sum{};
    for (const slice& s : pack) sum += priced(r, s) + exchanged(r, s);
    return r.overhead + std::max(sum, r.floor);
  }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const {
    double pairs = 0;
    for (const slice& s : mine) pairs += s.pairs();
    return exchange_(row, mine, {at(part).of(p).pair * pairs}, p, part);
  }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return {at(part).weight_token * static_cast<double>(s.length.value)};
  }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const {
    if (hop_) return *hop_;
    const auto boundary = static_cast<std::size_t>((p == pass::forward ? part : part - 1 + shape_.stages) % shape_.stages);
    return links_[boundary].over(bytes{message_token_ * static_cast<double>(size.value)});
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const { return memory_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] bytes kept(const slice& piece, int stage) const {
    return costs::memory::kept(piece, pair_bytes_[static_cast<std::size_t>(stage)]);
  }
  [[nodiscard]] seconds vocabulary_time(tokens size, vocabulary_call call, int /*stage*/) const {
    return vocabulary_.of(call)(size);
  }
  [[nodiscard]] seconds vocabulary_message(tokens size, vocabulary_rows rows, int stage) const {
    if (hop_) return *hop_;
    const double of_token = slimpack::detail::vocabulary_bytes(rows, message_token_, shape_);
    if (rows == vocabulary_rows::embedded || rows == vocabulary_rows::gradients) {
      const int boundary = rows == vocabulary_rows::embedded ? stage : stage - 1;
      return links_[static_cast<std::size_t>(boundary)].over(bytes{of_token * static_cast<double>(size.value)});
    }
    const gathering& to = to_last_[static_cast<std::size_t>(stage)];
    return to.wire.over(bytes{of_token * to.messages * static_cast<double>(size.value)});
  }
  [[nodiscard]] seconds reduce_time() const { return reduce_; }
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const {
    if (buckets_.empty()) return {};
    return buckets_[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] int parts() const { return static_cast<int>(parts_.size()); }

  [[nodiscard]] const model_shape& model() const noexcept { return model_; }
  [[nodiscard]] const gpu& device() const noexcept { return device_; }
  [[nodiscard]] std::span<const int> layers() const noexcept { return layers_; }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const transformer& t) {
    return out << "costs::transformer of " << t.model_.name << " on " << t.device_.name;
  }

 private:
  struct ring {
    double key{};      // seconds that all hops take for a token of the slice or its prefix, where keys travel
    double query{};    // and for a token of the slice, where queries do
    double covered{};  // seconds of attention that run meanwhile, for a pair
  };
  struct rates {
    double token{};     // seconds
    double pair{};      // seconds
    std::array<ring, 2> rings{};  // of the pass, and of what it computes again
    seconds overhead;   // of a pack
    seconds floor;      // least time of a pack's slices together
  };
  struct part_rates {
    rates forward;
    rates backward;
    rates useful_backward;
    double weight_token{};
    [[nodiscard]] const rates& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }
  };

  transformer(model_shape model, gpu device, const shape& on, options with)
      : model_(std::move(model)), device_(std::move(device)), shape_(on), layers_(std::move(with.layers)), hop_(with.hop),
        exchange_(model_, on, layers_, with.recompute, network(device_)) {
    const network net(device_);
    message_token_ = 2.0 * static_cast<double>(model_.hidden) / (on.tensor * on.context);
    for (int r = 0; r < on.stages; ++r) links_.push_back(net.link_of(net.place().boundary(on, r)));
    const std::vector<layer> all = slimpack::detail::layers_of(model_, on, with.routing);
    std::size_t first = 0;
    for (int part = 0; part < on.parts(); ++part) {
      const auto count = static_cast<std::size_t>(layers_[static_cast<std::size_t>(part)]);
      const bool has_head = part == on.parts() - 1 && on.vocabulary == vocabulary::last;
      parts_.push_back(rates_of(std::span(all).subspan(first, count), has_head, net, with));
      first += count;
    }
    if (on.vocabulary == vocabulary::spread) vocabulary_ = rates_of_vocabulary(net, with), to_last_ = wires_to_last(net);
    const costs::memory rule{
        .distributed_optimizer = with.distributed_optimizer, .recompute = with.recompute, .tensors = with.tensors};
    slimpack::detail::stage_states states = slimpack::detail::stage_states::of(model_, on, layers_, rule, with.routing);
    memory_ = std::move(states.memory);
    pair_bytes_ = std::move(states.pair_bytes);
    // fp32 gradients scattered, bf16 weights gathered.
    const rank_group copies = net.place().copies(on);
    const rank_group of_experts = net.place().expert_copies(on);
    const auto scatter = [&](double parameters, double experts) {
      const seconds shared = net.reduce_scatter(copies, bytes{4 * parameters});
      return on.expert > 1 ? shared + net.reduce_scatter(of_experts, bytes{4 * experts}) : shared;
    };
    const auto gather = [&](double parameters, double experts) {
      const seconds shared = net.all_gather(copies, bytes{2 * parameters});
      return on.expert > 1 ? shared + net.all_gather(of_experts, bytes{2 * experts}) : shared;
    };
    if (with.reduction == reduction::exposed || !on.has_copies()) {
      reduce_ = scatter(states.heaviest, states.heaviest_experts) + gather(states.heaviest, states.heaviest_experts);
      return;
    }
    for (const std::vector<slimpack::detail::weight_bucket>& part : slimpack::detail::weight_buckets(model_, on, layers_, with.routing)) {
      std::vector<gradient_bucket>& own = buckets_.emplace_back();
      for (const slimpack::detail::weight_bucket& b : part)
        own.push_back({b.at, scatter(b.parameters, b.experts), gather(b.parameters, b.experts)});
    }
  }

  [[nodiscard]] part_rates rates_of(std::span<const layer> own, bool has_head, const network& net, const options& with) const {
    const double gemm = device_.peak_bf16_flops * device_.gemm_efficiency * shape_.context;
    const double attention = device_.peak_bf16_flops * device_.attention_efficiency * shape_.context;
    const auto h = static_cast<double>(model_.hidden);
    double linear = 0, pair = 0, up = 0, weights = 0, keys = 0, queries = 0, outputs = 0, gathers = 0;
    dispatch forward_dispatch, backward_dispatch;
    for (const layer& l : own) {
      linear += l.linear_flops, pair += l.pair_flops, up += l.up_flops, weights += l.weights + l.expert_weights;
      keys += l.kv_elements, queries += l.query, outputs += l.output;
      gathers += l.dispatched > 0 && model_.shared_experts == 0 ? 2 : 4;
      forward_dispatch += dispatched(l, l.linear_flops / gemm, net, with);
      backward_dispatch += dispatched(l, 2 * l.linear_flops / gemm, net, with);
    }
    const double head = has_head ? 2 * h * static_cast<double>(model_.vocabulary) / shape_.tensor : 0;
    if (has_head) weights += head / 2;
    const auto count = static_cast<double>(own.size());
    // Sequence parallelism: two gathers and two scatters of the hidden states a layer; backward gathers twice more.
    const link& tensor = net.link_of(net.place().tensor(shape_));
    const double one_token = 2 * h / shape_.context * (shape_.tensor - 1.0) / shape_.tensor / tensor.bandwidth;
    const double traffic = gathers * one_token;
    const double hops = shape_.context - 1.0;
    const link& context = net.link_of(net.place().context(shape_));
    const double element = hops / shape_.context * 2 / context.bandwidth;
    const double waits = shape_.tensor > 1 ? gathers * tensor.latency.value : 0;
    const double turns = hops * count * context.latency.value;

    part_rates r;
    r.forward.token = (linear + head) / gemm + traffic + forward_dispatch.token;
    r.forward.pair = pair / attention;
    r.forward.rings[0] = {element * keys, element * (queries + outputs), hops / shape_.context * r.forward.pair};
    r.forward.overhead = {count * with.launch.value + waits + turns + forward_dispatch.pack};
    r.forward.floor = {2 * weights / device_.memory_bandwidth};
    r.useful_backward.token = 2 * (linear + head) / gemm + 1.5 * traffic + backward_dispatch.token;
    r.useful_backward.pair = device_.backward_attention_ratio * r.forward.pair;
    r.useful_backward.rings[0] = {2 * element * keys, element * (2 * queries + outputs),
                                  hops / shape_.context * r.useful_backward.pair};
    r.useful_backward.overhead = {2 * count * with.launch.value + 1.5 * waits + turns + backward_dispatch.pack};
    r.useful_backward.floor = {2 * weights / device_.memory_bandwidth};
    r.backward = r.useful_backward;
    if (with.recompute == recompute::attention || with.recompute == recompute::full) {
      r.backward.pair += r.forward.pair;
      r.backward.rings[1] = r.forward.rings[0];
    }
    if (with.recompute == recompute::selective) r.backward.token += up / gemm;
    if (with.recompute == recompute::full) {
      r.backward.token += linear / gemm + traffic + forward_dispatch.token;
      r.backward.overhead += r.forward.overhead;
    }
    r.weight_token = (linear + head) / gemm;
    return r;
  }

  /// A wire to the last stage, and how many messages of a pack go over its kind at the same time: they share an adapter.
  struct gathering {
    link wire;
    int messages{};
  };

  /// V: logits and the gradient of their input, a product each, whose rows tensor-parallel ranks gather and whose sums they
  /// scatter; U: the third product. E reads a row and adds it to one; G adds one in fp32, where the word is the stage's own. A
  /// kernel takes a twelfth of what a layer's launches do.
  [[nodiscard]] costs::vocabulary_rates rates_of_vocabulary(const network& net, const options& with) const {
    const auto h = static_cast<double>(model_.hidden);
    const double product = 2 * h * static_cast<double>(model_.vocabulary) / (shape_.tensor * shape_.stages) /
                           (device_.peak_bf16_flops * device_.gemm_efficiency * shape_.context);
    const link& tensor = net.link_of(net.place().tensor(shape_));
    const double traffic = 2 * 2 * h / shape_.context * (shape_.tensor - 1.0) / shape_.tensor / tensor.bandwidth;
    const double waits = shape_.tensor > 1 ? 2 * tensor.latency.value : 0;
    const double kernel = with.launch.value / 12;
    const double moved = h / (shape_.tensor * shape_.context) / device_.memory_bandwidth;
    costs::vocabulary_rates ends;
    ends.embed = {2 * kernel, 6 * moved};
    ends.output = {6 * kernel + waits, 2 * product + traffic};
    ends.output_weights = {2 * kernel, product};
    ends.embed_gradients = {2 * kernel, (2 + 8.0 / shape_.stages) * moved};
    return ends;
  }
  [[nodiscard]] std::vector<gathering> wires_to_last(const network& net) const {
    std::vector<gathering> wires;
    std::array<int, 2> messages{};  // inside a node, and between nodes
    const auto kind = [&](int r) -> int& { return messages[net.place().to_last(shape_, r).nodes > 1 ? 1 : 0]; };
    for (int r = 0; r + 1 < shape_.stages; ++r) ++kind(r);
    for (int r = 0; r + 1 < shape_.stages; ++r) wires.push_back({net.link_of(net.place().to_last(shape_, r)), kind(r)});
    return wires;
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
  [[nodiscard]] dispatch dispatched(const layer& l, double products, const network& net, const options& with) const {
    if (!(l.dispatched > 0)) return {};
    const rank_group group = net.place().experts(shape_);
    const double share = traffic::crossing_share(model_, with.routing, group);
    const auto both = [&](double size) { return 2 * net.all_to_all(group, bytes{size}, share).value; };
    const double large = 1 << 30, latency = both(0);
    const double token = (both(large) - latency) / large * 2 * l.dispatched / shape_.context;
    const double hidden = with.routing.overlap * token;
    return {token - hidden + std::max(0.0, hidden - products), (1 - with.routing.overlap) * latency};
  }

  [[nodiscard]] const part_rates& at(int part) const { return parts_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] static seconds priced(const rates& r, const slice& s) noexcept {
    return {r.token * static_cast<double>(s.length.value) + r.pair * s.pairs()};
  }
  /// What is waited for of keys and values, or of queries, on their way round the context-parallel ranks.
  [[nodiscard]] static seconds exchanged(const rates& r, const slice& s) noexcept {
    seconds sum{};
    for (const ring& own : r.rings)
      sum += {std::max(0.0, std::min(own.key * static_cast<double>(s.end().value),
                                     own.query * static_cast<double>(s.length.value)) - own.covered * s.pairs())};
    return sum;
  }

  model_shape model_;
  gpu device_;
  shape shape_;
  std::vector<int> layers_;
  std::optional<seconds> hop_;
  row_exchange exchange_;
  double message_token_{};  // bytes
  std::vector<link> links_;
  std::vector<part_rates> parts_;
  vocabulary_rates vocabulary_{};   // of calls; messages differ by stage
  std::vector<gathering> to_last_;  // by stage, but for the last
  std::vector<memory_rates> memory_;
  std::vector<double> pair_bytes_;
  seconds reduce_;  // after the work
  std::vector<std::vector<gradient_bucket>> buckets_;  // by part; empty: none beside the work
};

}  // namespace slimpack::costs

#endif
