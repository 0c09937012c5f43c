#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_MODEL_STAGE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_MODEL_STAGE_HPP

#include "config.hpp"
#include "documents.hpp"
#include "layer_range.hpp"
#include "matrix.hpp"
#include "mixers/attention_formats.hpp"
#include "mixers/gated_recurrence.hpp"
#include "mixers/linear_mixer.hpp"
#include "mixers/slice_states.hpp"
#include "model_part.hpp"
#include "pack_rows.hpp"
#include "parameters.hpp"
#include "vocabulary_share.hpp"

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/executors/activation_store.hpp>
#include <slimpack/executors/edge_values.hpp>
#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/executors/lending/lending.hpp>
#include <slimpack/executors/lending/loan_format.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/sharing.hpp>
#include <slimpack/executors/step_outline.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace train {

/// A stage of the model as a slimpack stage compute: called by pack, keeping what it needs by token, so that backward
/// may cut anywhere. It holds one part of the model for each of the stage's chunks and, where the shape spreads the
/// vocabulary over the stages, its share of the words.
/// Shapes    messages are (tokens of the pack, hidden)
/// Law       a stage keeps per token exactly what rates() says, beside them of each piece of both passes' cuts what
///           kept_of_piece() says, and nothing when all its sequences are done; a plan's peak_memory with these is the
///           measured peak (with several chunks, where each has as many layers, and as many with a state)
/// Errors    out_of_order: what the store refuses
///           invalid_input: a document of another length than the plan's, or a byte outside the vocabulary
template <class T>
class model_stage {
 public:
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
  static constexpr slimpack::exchange_set shares_rows = slimpack::exchange_set::all();
  static constexpr bool splits_weight_gradients = true;
  static constexpr bool lends_attention = true;
  static constexpr bool joins_rows = true;
  static constexpr bool shares_prefixes = true;
  static constexpr bool waits_in_calls = false;  // rows that replicas share and loans have prices of their own

  /// Requires  c.check(), on.parts() counts in c.on_parts or none there and on.parts() <= c.layers, 0 <= stage <
  ///           on.stages; plans cut at multiples of on.quantum
  model_stage(const config& c, const slimpack::shape& on, int stage, documents texts, std::uint64_t seed)
      : config_(c),
        texts_(std::move(texts)),
        ranges_(ranges_of(c, on, stage)),
        weights_(tensors_of_all(c, on, stage), seed),
        store_(layouts_of(c, ranges_), on.quantum),
        states_(states_of_all(c, ranges_), gated_recurrence<T>::size(c)),
        is_last_(stage + 1 == on.stages) {
    std::size_t first = 0;
    for (const layer_range& range : ranges_) {
      parts_.emplace_back(c, range, weights_, first, texts_);
      first += tensors_of(c, range).size();
    }
    if (on.vocabulary == slimpack::vocabulary::spread) share_.emplace(c, on, stage, weights_, first, texts_);
  }
  model_stage(const model_stage&) = delete;  // its parts refer to its weights
  model_stage& operator=(const model_stage&) = delete;

  /// What a stage holds per token, for the planner: activations and accumulators, no weights.
  [[nodiscard]] static slimpack::memory_rates rates(const config& c, const slimpack::shape& on, int stage) {
    slimpack::memory_rates rates =
        slimpack::executors::activation_store<T>(layouts_of(c, ranges_of(c, on, stage)), on.quantum).rates();
    if (on.vocabulary == slimpack::vocabulary::last) return rates;
    rates.logit_token = static_cast<double>(vocabulary_share<T>::kept_of_token(c, on, stage));
    if (stage + 1 == on.stages) rates.turned_token = static_cast<double>(c.hidden) * sizeof(T);
    return rates;
  }

  /// What a stage keeps of a piece beside its tokens, for the planner: a state for each layer that has one.
  [[nodiscard]] static slimpack::bytes kept_of_piece(const config& c, const slimpack::shape& on, int stage) {
    std::size_t states = 0;
    for (const layer_range& range : ranges_of(c, on, stage)) states += states_of(c, range);
    return {static_cast<double>(states * gated_recurrence<T>::size(c) * sizeof(T))};
  }

  [[nodiscard]] slimpack::message_format format() const { return {config_.hidden, slimpack::element_of<T>}; }

  /// What replicas that share a sequence send each other.
  [[nodiscard]] slimpack::row_format rows(std::uint32_t chunk) const {
    return rows_of<T>(config_, ranges_[chunk].size());
  }

  /// What stages that lend each other attention send.
  [[nodiscard]] slimpack::loan_format loans(std::uint32_t chunk) const {
    return loans_of<T>(config_, ranges_[chunk].size());
  }

  /// The same of every chunk of a stage, to know from a plan what will be sent.
  [[nodiscard]] static std::vector<slimpack::loan_format> loans(const config& c, const slimpack::shape& on, int stage) {
    std::vector<slimpack::loan_format> all;
    for (const layer_range& range : ranges_of(c, on, stage)) all.push_back(loans_of<T>(c, range.size()));
    return all;
  }

  /// Rows of every chunk of a stage, to know from a plan what will be sent.
  [[nodiscard]] static std::vector<slimpack::row_format> rows(const config& c, const slimpack::shape& on, int stage) {
    std::vector<slimpack::row_format> all;
    for (const layer_range& range : ranges_of(c, on, stage)) all.push_back(rows_of<T>(c, range.size()));
    return all;
  }

  /// What stages send each other of a spread vocabulary.
  [[nodiscard]] slimpack::vocabulary_format vocabulary_rows() const {
    return share_ ? vocabulary_share<T>::format(config_) : slimpack::vocabulary_format{};
  }

  [[nodiscard]] int chunks() const noexcept { return static_cast<int>(parts_.size()); }

  /// A sequence's last token has no next one to predict.
  [[nodiscard]] slimpack::tokens valid_tokens(const slimpack::slice& s) const {
    const bool last = s.end().value == static_cast<std::int64_t>(texts_(s.sequence).size());
    return s.length - slimpack::tokens{last};
  }

  void begin_step(const slimpack::step_outline& o) {
    loss_ = 0;
    shares_prefixes_ = std::any_of(o.sequences.begin(), o.sequences.end(), [](const auto& s) { return !s.is_root(); });
    edges_ = {};
    turned_ = taken_ = 0;
    store_.restart_peak();
    states_.begin_step(o.backward);
    states_.restart_peak();
    peak_ = store_.peak().value;
  }

  slimpack::result<void> forward(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                 slimpack::outgoing& out) {
    return run_forward(pack, in, out, {});
  }
  slimpack::result<void> forward(std::span<const slimpack::piece> row, std::span<const std::byte> in,
                                 slimpack::outgoing& out, slimpack::sharing& with) {
    const slimpack::joined_row all{&with, 0, row.size(), false};
    return run_forward(row, in, out, {&all, 1});
  }
  slimpack::result<void> forward(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                 slimpack::outgoing& out, std::span<const slimpack::joined_row> rows) {
    return run_forward(pack, in, out, rows);
  }
  slimpack::result<void> forward(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                 slimpack::outgoing& out, slimpack::lending& with) {
    return run_forward(pack, in, out, {}, &with);
  }

  slimpack::result<void> backward(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                  slimpack::outgoing& out) {
    return run_backward(pack, in, out, {});
  }
  slimpack::result<void> backward(std::span<const slimpack::piece> row, std::span<const std::byte> in,
                                  slimpack::outgoing& out, slimpack::sharing& with) {
    const slimpack::joined_row all{&with, 0, row.size(), false};
    return run_backward(row, in, out, {&all, 1});
  }
  slimpack::result<void> backward(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                  slimpack::outgoing& out, std::span<const slimpack::joined_row> rows) {
    return run_backward(pack, in, out, rows);
  }
  slimpack::result<void> backward(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                  slimpack::outgoing& out, slimpack::lending& with) {
    return run_backward(pack, in, out, {}, &with);
  }

  /// The weight gradients that the pack's backward left, all of them: of matrices, gains and embedding.
  slimpack::result<void> weights(std::span<const slimpack::piece> pack) {
    for (const slimpack::piece& p : pack)
      if (slimpack::result<void> admitted = store_.begin_weights(p); !admitted) return admitted;
    pack_rows<T> rows(store_, pack);
    part(pack).backward_weights(rows);
    for (const slimpack::piece& p : pack)
      if (slimpack::result<void> freed = store_.end_weights(p); !freed) return freed;
    count();
    return slimpack::success();
  }

  // A spread vocabulary.
  slimpack::result<void> embed(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                               slimpack::outgoing& out) {
    for (const slimpack::piece& p : pack)
      if (slimpack::result<void> fine = check(p); !fine) return fine;
    return out.put(span_of(share_->embed(pack, view(in, size_of(pack)))));
  }
  slimpack::result<void> output(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                slimpack::outgoing& out) {
    const matrix<T> made = share_->output(pack, view(in, size_of(pack)));
    count();
    return out.put(span_of(made));
  }
  slimpack::result<void> gather_output(std::span<const slimpack::piece> pack,
                                       std::span<const std::span<const std::byte>> partials, slimpack::outgoing& rows,
                                       slimpack::outgoing& statistics) {
    std::vector<const_matrix_view<T>> all;
    for (const std::span<const std::byte> one : partials)
      all.push_back({slimpack::as<T>(one).data(), size_of(pack), vocabulary_rows().partial.width});
    const auto made = share_->gather(pack, all, loss_, edges_);
    turned_ += made.gradients.size() * static_cast<Index>(sizeof(T));
    count();
    if (slimpack::result<void> put = statistics.put(made.log_sums); !put) return put;
    return rows.put(span_of(made.gradients));
  }
  slimpack::result<void> output_weights(std::span<const slimpack::piece> pack, std::span<const std::byte> in) {
    return share_->output_weights(pack, slimpack::as<T>(in));
  }
  slimpack::result<void> embed_gradients(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                         slimpack::outgoing& out) {
    const const_matrix_view<T> rows = view(in, size_of(pack));
    share_->embed_gradients(pack, rows);
    return out.put(slimpack::as<T>(in));
  }

  /// Drops the piece's whole sequence: without one of its tokens the others have no use.
  void discard(const slimpack::piece& p) {
    store_.discard(p.slice.sequence, p.chunk);
    states_.discard(p.slice.sequence, p.chunk);
  }

  /// The gradients of a chunk lie together.
  template <class Sums>
  slimpack::result<void> reduce_part(std::uint32_t chunk, Sums& sums) {
    std::size_t first = 0;
    for (std::uint32_t before = 0; before < chunk; ++before) first += tensors_of(config_, ranges_[before]).size();
    const std::size_t count =
        chunk < ranges_.size() ? tensors_of(config_, ranges_[chunk]).size() : tensors_of(config_, word_range{}).size();
    return sums.start(weights_.gradients(first, count));
  }

  /// Nats per valid token of the batch; on the last stage, elsewhere 0.
  [[nodiscard]] double loss() const noexcept { return loss_; }
  /// Of each byte that is trained on, given those before it. Where samples share beginnings, a spread vocabulary has
  /// only sums of them, and gives none.
  void log_probabilities(slimpack::edge_values& to) const {
    if (!share_ || !shares_prefixes_) to.add(edges_);
  }
  [[nodiscard]] slimpack::bytes held() const noexcept {
    return store_.held() + slimpack::bytes{static_cast<double>(states_.held() + (share_ ? share_->held() : 0))};
  }
  /// The most that activations and accumulators took since the step began; of a spread vocabulary also what waits for
  /// its weight gradients and, though it is the runtime that keeps them, the gradients of hidden rows between V and B.
  [[nodiscard]] slimpack::bytes peak() const noexcept { return {peak_}; }

  void abort_step() {
    store_.clear();
    states_.clear();
    if (share_) share_->clear();
    weights_.zero_gradients();
    loss_ = 0;
  }

  /// Weights and the gradients that steps add to; the trainer sets those back to zero after its optimizer.
  [[nodiscard]] parameters<T>& weights() noexcept { return weights_; }

 private:
  [[nodiscard]] static std::vector<layer_range> ranges_of(const config& c, const slimpack::shape& on, int stage) {
    SLIMPACK_ASSERT(c.check() && (!c.on_parts.empty() || on.parts() <= c.layers),
                    "a layer for each part of the model that needs one");
    std::vector<layer_range> ranges;
    for (int chunk = 0; chunk < on.chunks; ++chunk) ranges.push_back(part_of(c, on, chunk * on.stages + stage));
    return ranges;
  }
  using layouts = std::vector<typename model_part<T>::layout>;
  [[nodiscard]] static layouts layouts_of(const config& c, std::span<const layer_range> ranges) {
    layouts all;
    for (const layer_range& range : ranges) all.push_back(model_part<T>::layout_of(c, range));
    return all;
  }
  [[nodiscard]] static std::vector<std::size_t> states_of_all(const config& c, std::span<const layer_range> ranges) {
    std::vector<std::size_t> all;
    for (const layer_range& range : ranges) all.push_back(states_of(c, range));
    return all;
  }
  [[nodiscard]] static std::vector<tensor> tensors_of_all(const config& c, const slimpack::shape& on, int stage) {
    std::vector<tensor> all;
    for (const layer_range& range : ranges_of(c, on, stage))
      for (tensor& t : tensors_of(c, range)) all.push_back(std::move(t));
    if (on.vocabulary == slimpack::vocabulary::spread)
      for (tensor& t : tensors_of(c, words_of(c, on, stage))) all.push_back(std::move(t));
    return all;
  }

  slimpack::result<void> run_forward(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                     slimpack::outgoing& out, std::span<const slimpack::joined_row> shared,
                                     slimpack::lending* lending = nullptr) {
    if (states_.are_on(pack.front().chunk) && (!shared.empty() || lending != nullptr))
      return no_part_of_a_sequence(lending != nullptr);
    for (const slimpack::piece& p : pack) {
      if (slimpack::result<void> fine = check(p); !fine) return fine;
      if (slimpack::result<void> admitted = store_.append(p); !admitted) return admitted;
      states_.append(p);
    }
    for (const slimpack::joined_row& row : shared)
      if (slimpack::result<void> admitted = store_.append(pack[row.first], row.with->others()); !admitted)
        return admitted;
    pack_rows<T> rows(store_, pack, shared, lending, &states_);
    const matrix<T> y = part(pack).forward(rows, view(in, rows.size()), loss_, edges_);
    count();
    return out.put(span_of(y));
  }

  slimpack::result<void> run_backward(std::span<const slimpack::piece> pack, std::span<const std::byte> in,
                                      slimpack::outgoing& out, std::span<const slimpack::joined_row> shared,
                                      slimpack::lending* lending = nullptr) {
    for (const slimpack::piece& p : pack)
      if (slimpack::result<void> admitted = store_.begin_backward(p); !admitted) return admitted;
    pack_rows<T> rows(store_, pack, shared, lending, &states_);
    const matrix<T> dx = part(pack).backward(rows, view(in, rows.size()));
    for (const slimpack::joined_row& row : shared)
      if (slimpack::result<void> freed = store_.end_backward(pack[row.first], row.with->others()); !freed) return freed;
    for (const slimpack::piece& p : pack) {
      if (slimpack::result<void> freed = store_.end_backward(p); !freed) return freed;
      states_.release(p);
    }
    count();
    if (share_ && is_last_ && pack.front().chunk + 1 == ranges_.size()) {
      taken_ += static_cast<std::int64_t>(in.size());
      if (pack.back().last_of_pack) turned_ -= std::exchange(taken_, 0);
    }
    return out.put(span_of(dx));
  }

  /// Looks what is held, after a call.
  void count() {
    const std::int64_t vocabulary = turned_ + (share_ ? share_->held() : 0);
    peak_ = std::max(peak_, store_.peak().value + static_cast<double>(states_.peak() + vocabulary));
    store_.restart_peak();
    states_.restart_peak();
  }

  [[nodiscard]] slimpack::result<void> check(const slimpack::piece& p) const {
    const auto text = texts_(p.slice.sequence);
    const auto size = static_cast<std::int64_t>(text.size());
    const auto wrong = [&](const std::string& why) {
      return slimpack::error{slimpack::errc::invalid_input,
                             "document of sequence " + std::to_string(p.slice.sequence.value) + why};
    };
    // A replica without sequences runs the beginning of one, with weight 0.
    const std::int64_t planned = p.sequence_end().value;
    if (size < planned || (size > planned && p.loss_weight > 0))
      return wrong(" has " + std::to_string(size) + " bytes, the plan has " + std::to_string(planned));
    const auto begin = static_cast<std::size_t>(p.slice.begin.value);
    for (const std::uint8_t token : text.subspan(begin, static_cast<std::size_t>(p.slice.length.value)))
      if (token >= config_.vocab)
        return wrong(" has byte " + std::to_string(token) + ", the vocabulary " + std::to_string(config_.vocab));
    return slimpack::success();
  }

  [[nodiscard]] static Index size_of(std::span<const slimpack::piece> pack) {
    Index size = 0;
    for (const slimpack::piece& p : pack) size += p.slice.length.value;
    return size;
  }
  [[nodiscard]] model_part<T>& part(std::span<const slimpack::piece> pack) { return parts_[pack.front().chunk]; }
  [[nodiscard]] const_matrix_view<T> view(std::span<const std::byte> message, Index rows) const {
    return {slimpack::as<T>(message).data(), message.empty() ? 0 : rows, config_.hidden};
  }
  [[nodiscard]] static std::span<const T> span_of(const matrix<T>& rows) {
    return {rows.data(), static_cast<std::size_t>(rows.size())};
  }

  config config_;
  documents texts_;
  std::vector<layer_range> ranges_;  // by chunk
  parameters<T> weights_;
  slimpack::executors::activation_store<T> store_;
  slice_states<T> states_;
  std::vector<model_part<T>> parts_;  // by chunk
  bool is_last_;                      // stage
  std::optional<vocabulary_share<T>> share_;
  std::int64_t turned_{};  // bytes of gradients of hidden rows that the runtime keeps
  std::int64_t taken_{};   // of these, those that calls of the running backward pack have taken
  double peak_{};          // bytes
  double loss_{};
  bool shares_prefixes_{};  // samples of the step
  slimpack::edge_values edges_;
};

}  // namespace train

#endif
