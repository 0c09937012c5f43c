#ifndef SLIMPACK_COSTS_TRANSFORMER_HPP
#define SLIMPACK_COSTS_TRANSFORMER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/lending/loan_messages.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/detail/analytic/analytic_rates.hpp>
#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/loan_rows.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/row_exchange.hpp>
#include <slimpack/costs/stage_options.hpp>
#include <slimpack/costs/vocabulary_rates.hpp>

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// What transformer::sheet is computed from; transformer::make takes costs::stage_options.
struct transformer_options {
  costs::recompute recompute{costs::recompute::none};
  bool distributed_optimizer{true};
  costs::reduction reduction{costs::reduction::overlapped};
  std::vector<int> layers{};     ///< on each part; empty: even, what is left over to the inner parts first
  seconds launch{1e-5};          ///< of a layer's kernels in a pass that the device waits for (forward; backward twice)
  std::optional<seconds> hop{};  ///< replaces the network's time of a message
  saved_tensors tensors{saved_tensors::flash_attention()};  ///< what the trainer keeps for backward
  costs::routing routing{};                                 ///< of tokens to experts that ranks divide
  bool cuts{true};                                          ///< sequences into slices, as in costs::stage_options
  seconds call{};     ///< of each piece besides, in each pass, where the trainer is called piece by piece
  bool joins_rows{};  ///< packs are called whole (executors/joined/joined_row.hpp): attention of their own
                      ///< sequences covers exchanges
};

/// A decoder-only transformer on GPUs, analytically: operations over sustained rates, embedding on the first part,
/// logits and loss on the last; or both on all stages, where the shape spreads the vocabulary.
///
/// `make` prices what trainings take: the kernels, bytes and messages that costs::profiled_of adds up, with
/// element-wise kernels, slowed traffic and the optimizer, each at one rate (products at costs::gpu::in_layers), and so
/// a straight line (detail/analytic/training_rates.hpp). `sheet` has what single large kernels sustain and nothing
/// besides; the formula is its own. How far each is off published trainings: benchmarks/fidelity/priced_trainings.cpp
/// Source    operation counts of costs::layer; sustained rates, and the backward/forward ratio of attention, measured
///           (costs::gpu); roofline floor derived: a pack takes at least the time to read its part's weights
/// Formula   slice = linear flops n / (peak gemm_efficiency) + pair flops pairs / (peak attention_efficiency)
///                   + tensor-parallel traffic of n tokens; backward: 2 x linear, backward_attention_ratio x attention,
///                   and what is recomputed: `sheet` has no element-wise kernels, so that light takes no time there.
///                   All over the tensor- and context-parallel ranks
///                   + what attention does not cover of the exchange on a ring of c context-parallel ranks:
///                   (c - 1) max(0, bytes / c / bandwidth - attention / c), the bytes those of keys and values of the
///                   slice and its prefix, or of the slice's queries and outputs, whichever are fewer; backward with
///                   the gradients: keys and values twice; queries twice and gradients of outputs
///           pack  = launches + max(sum of slices, weight bytes / memory bandwidth)
///           experts that ranks divide: their rows and bytes are those of the busiest rank (costs::routing); a layer
///           waits for 1 - overlap of its two all-to-alls (costs::traffic), and for what its products do not cover of
///           the rest. Its hidden states are gathered and scattered for attention and shared experts only
///           exchange of a row that replicas share: costs::row_exchange; attention that stages lend each other:
///           costs::loan_rows a spread vocabulary: flops of the output layer and bytes of embedded rows, derived
///           (detail/analytic/sheet_rates.hpp)
/// Source    ring attention (arXiv:2310.01889), which covers a hop by the attention to what the last one brought;
///           queries that travel instead of a long prefix, Yang et al. (arXiv:2411.01783)
/// Law       analytic: cutting a sequence conserves its times, but for the exchange: later slices need the keys and
///           values of earlier ones once more, so cutting may cost time where attention does not cover it
/// Errors    invalid_input: a degree below 1, more parts than layers, tensor ranks that do not divide the heads, a list
///           of layers that does not add up, or experts that cannot be divided so            Complexity  O(1) a slice
class transformer {
 public:
  using options = transformer_options;

  /// As trainings run it: `with` says how the trainer does.
  [[nodiscard]] static result<transformer> make(model_shape model, gpu device, const shape& on,
                                                stage_options with = {});
  /// What single large kernels sustain, and nothing besides: the bound that no training reaches.
  [[nodiscard]] static result<transformer> sheet(model_shape model, gpu device, const shape& on, options with = {});

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    const slimpack::detail::pass_rates& r = at(part).of(p);
    return r.priced(s) + r.exchanged(s);
  }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const { return at(part).useful(p).priced(s); }
  [[nodiscard]] seconds collectives(const slice& s, pass p, int part) const {
    return {at(part).useful(p).collectives * static_cast<double>(s.length.value)};
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const { return at(part).of(p).priced(s); }
  [[nodiscard]] seconds overhead(pass p, int part) const { return at(part).of(p).overhead; }
  [[nodiscard]] seconds call_overhead(pass p, int part) const { return call_ + at(part).of(p).call; }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    const slimpack::detail::pass_rates& r = at(part).of(p);
    seconds sum{};
    for (const slice& s : pack) sum += r.priced(s) + r.exchanged(s);
    return r.overhead + std::max(sum, r.floor);
  }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const {
    return exchange_(row, mine, at(part).of(p).attended(mine), p, part);
  }
  [[nodiscard]] seconds token_time(tokens size, pass p, int part) const {
    return {at(part).of(p).token * static_cast<double>(size.value)};
  }
  [[nodiscard]] seconds covers(const slice& s, pass p, int part) const {
    return joins_rows_ ? at(part).of(p).attended({&s, 1}) : seconds{};
  }
  [[nodiscard]] loan_messages lending(const loan& l, int part) const { return lending_(l, part); }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return {at(part).weight_token * static_cast<double>(s.length.value)};
  }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const {
    if (hop_) return *hop_;
    const auto boundary =
        static_cast<std::size_t>((p == pass::forward ? part : part - 1 + shape_.stages) % shape_.stages);
    return links_[boundary].over(bytes{message_token_ * static_cast<double>(size.value)});
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    return states_.memory[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] std::optional<memory_rates> evaluation_memory(int stage) const {
    return states_.evaluation[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] bytes kept(const slice& piece, int stage) const { return states_.kept(piece, stage); }
  [[nodiscard]] bytes evaluation_kept(const slice& piece, int stage, tokens first) const {
    return states_.evaluation_kept(piece, stage, first);
  }
  [[nodiscard]] seconds vocabulary_time(tokens size, instruction_kind call, int stage) const {
    return rates_on(vocabulary_, stage).of(call)(size);
  }
  [[nodiscard]] seconds vocabulary_message(tokens size, message_kind rows, int stage) const {
    if (hop_) return *hop_;
    const double of_token = slimpack::detail::vocabulary_bytes(rows, message_token_, shape_);
    if (rows == message_kind::embedded || rows == message_kind::gradients) {
      const int boundary = rows == message_kind::embedded ? stage : stage - 1;
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
  [[nodiscard]] bool has_borders() const { return has_borders_; }
  [[nodiscard]] int parts() const { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int like(int part) const { return like_[static_cast<std::size_t>(part)]; }

  [[nodiscard]] const model_shape& model() const noexcept { return model_; }
  [[nodiscard]] const gpu& device() const noexcept { return device_; }
  [[nodiscard]] std::span<const int> layers() const noexcept { return layers_; }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const transformer& t) {
    return out << "costs::transformer of " << t.model_.name << " on " << t.device_.name;
  }

 private:
  transformer(model_shape model, gpu device, const shape& on, options with);
  transformer(model_shape model, gpu device, const shape& on, stage_options with);
  /// What both have in common.
  transformer(model_shape model, gpu device, const shape& on, std::vector<int> layers, const costs::routing& routing,
              const costs::memory& rule, slowdown by, seconds call, std::optional<seconds> hop);

  /// A wire to the last stage, and how many messages of a pack go over its kind at the same time: they share an
  /// adapter.
  struct gathering {
    link wire;
    int messages{};
  };
  [[nodiscard]] std::vector<gathering> wires_to_last(const network& net) const;

  void find_like();

  [[nodiscard]] const slimpack::detail::part_rates& at(int part) const {
    return parts_[static_cast<std::size_t>(part)];
  }

  model_shape model_;
  gpu device_;
  shape shape_;
  std::vector<int> layers_;
  seconds call_;
  std::optional<seconds> hop_;
  bool joins_rows_{};
  row_exchange exchange_;
  loan_rows lending_;
  slimpack::detail::stage_states states_;
  double message_token_{};  // bytes
  std::vector<link> links_;
  std::vector<slimpack::detail::part_rates> parts_;
  std::vector<int> like_;  // by part
  bool has_borders_{};
  std::vector<vocabulary_rates> vocabulary_{};         // of calls, of all stages or of each; messages differ by stage
  std::vector<gathering> to_last_;                     // by stage, but for the last
  seconds reduce_;                                     // after the work
  std::vector<std::vector<gradient_bucket>> buckets_;  // by part; empty: none beside the work
};

}  // namespace slimpack::costs

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/costs/impl/transformer.ipp>
#endif

#endif
