#ifndef SLIMPACK_ADAPTERS_TORCH_SLICE_CALL_HPP
#define SLIMPACK_ADAPTERS_TORCH_SLICE_CALL_HPP

#include <slimpack/adapters/torch/keys_values.hpp>
#include <slimpack/adapters/torch/tensor_messages.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/piece.hpp>

#include <torch/torch.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::libtorch {

/// Where the graph of a slice ends in a layer, if replicas share its sequence: what lies above goes on from leaves,
/// whose gradients are known once all above has run backward.
struct layer_cut {
  at::Tensor x, entered;             ///< the layer's input, and the leaf that the layer computes with
  at::Tensor q, k, v;                ///< what the layer made of it
  at::Tensor queries, keys, values;  ///< the leaves that attention computes with: its own queries, all keys and values
  c10::intrusive_ptr<layer_rows> rows{};
};

/// What a call of a chunk's layers is about: pieces whose rows lie one after the other in every tensor. The trainer's
/// layers ask it where their tokens are, and leave to it which keys and values they attend to.
///
///   torch::Tensor forward(slimpack::libtorch::slice_call& call, torch::Tensor x) {   // in a layer of attention
///     x = call.enter(layer, x);                                                      // needed where rows are shared
///     torch::Tensor h = norm(x), q = ..., k = ..., v = ...;                          // (tokens, heads, size) each
///     return x + out(call.attend(layer, q, k, v, causal));                           // causal(q, keys, values)
///   }
class slice_call {
 public:
  /// One call over pieces.
  /// again     the rows of keys and values are there: the call makes the graph of a forward that kept none
  /// targets   by how many the loss is divided: step_outline::valid_tokens
  slice_call(std::span<const piece> pieces, keys_values& known, double targets, const at::Device& device,
             bool again = false)
      : pieces_(pieces), known_(&known), targets_(targets), device_(device), again_(again) {}

  [[nodiscard]] std::span<const piece> pieces() const noexcept { return pieces_; }
  /// How many tokens all pieces have.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    std::int64_t sum = 0;
    for (const piece& p : pieces_) sum += p.slice.length.value;
    return sum;
  }

  /// Where each token stands on its path, from 0.            Shapes  (tokens) of int64
  [[nodiscard]] at::Tensor positions() const {
    return of_pieces([&](const slice& s) {
      return at::arange(s.begin.value, s.end().value, at::TensorOptions(at::kLong).device(device_));
    });
  }

  /// What the trainer has for the tokens, such as their words.
  /// of        given a slice, gives a tensor whose first size is the slice's length
  template <std::invocable<const slice&> Of>
  [[nodiscard]] at::Tensor of_pieces(Of&& of) const {
    std::vector<at::Tensor> parts;
    for (const piece& p : pieces_) parts.push_back(of(p.slice));
    return parts.size() == 1 ? parts[0] : at::cat(parts);
  }

  /// A layer's input: to be computed with in place of x, in all of the layer. Where replicas share the sequence, the
  /// graph ends here; elsewhere it is x itself.            Shapes  (tokens, any)
  [[nodiscard]] at::Tensor enter(int layer, const at::Tensor& x) {
    if (!meets_) return x;
    layer_cut cut;
    cut.x = x, cut.entered = leaf(x);
    cuts_.push_back(std::move(cut));
    entered_ = layer;
    return cuts_.back().entered;
  }

  /// Attention of the pieces' tokens to themselves and to what comes before them on their paths.
  /// layer     of the chunk, from 0; in rising order
  /// q, k, v   (tokens, heads, size): own rows, turned by their positions() where the model does that; k and v may have
  ///           fewer heads than q
  /// kernel    given (q, keys, values) of one piece, of (n, heads, size) and (m, heads of keys, size) with m >= n,
  ///           gives rows of n tokens. Query i attends to keys 0 to m - n + i: to none behind its own token
  /// Returns   (tokens, ...): the kernel's rows of all pieces
  /// Errors    throws plan_error (compute_failed): the sequence is shared, and the layer did not call enter;
  ///           (wrong_message) rows of another number of tokens
  template <class Kernel>
  requires std::invocable<Kernel&, const at::Tensor&, const at::Tensor&, const at::Tensor&>
  [[nodiscard]] at::Tensor attend(int layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  Kernel&& kernel) {
    for (const at::Tensor* t : {&q, &k, &v})
      if (!t->defined() || t->dim() != 3 || t->size(0) != tokens())
        slimpack::detail::throw_error({errc::wrong_message, detail::words_of(*t) +
                                                                " was given to attend, which takes (" +
                                                                std::to_string(tokens()) + ", heads, size)"});
    if (meets_) return attend_cut(layer, q, k, v, kernel);
    std::vector<at::Tensor> mixed(pieces_.size());
    std::vector<std::int64_t> first(pieces_.size());
    for (std::size_t i = 1; i < pieces_.size(); ++i) first[i] = first[i - 1] + pieces_[i - 1].slice.length.value;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (mixed[i].defined()) continue;
      std::vector<std::size_t> same;  // pieces of one sequence, whose graph is one
      for (std::size_t j = i; j < pieces_.size(); ++j)
        if (pieces_[j].slice.sequence == pieces_[i].slice.sequence) same.push_back(j);
      const auto rows_of = [&](const at::Tensor& all) {
        std::vector<at::Tensor> parts;
        for (const std::size_t j : same) parts.push_back(all.narrow(0, first[j], pieces_[j].slice.length.value));
        return parts.size() == 1 ? parts[0] : at::cat(parts);
      };
      const at::Tensor own_k = rows_of(k), own_v = rows_of(v);
      detail::rows_of_call call{known_->of(known_->of(pieces_[i]), layer, own_k, own_v), {}, 0, again_};
      for (const std::size_t j : same) {
        const slice& s = pieces_[j].slice;
        call.own.push_back({s.begin.value, s.length.value});
        call.end = std::max(call.end, s.end().value);
      }
      const auto seen = detail::own_and_earlier::apply(own_k, own_v, call);
      for (const std::size_t j : same) {
        const std::int64_t end = pieces_[j].slice.end().value;
        const auto up_to_end = [&](const at::Tensor& all) { return end == call.end ? all : all.narrow(0, 0, end); };
        mixed[j] = kernel(q.narrow(0, first[j], pieces_[j].slice.length.value), up_to_end(seen[0]), up_to_end(seen[1]));
      }
    }
    return mixed.size() == 1 ? mixed[0] : at::cat(mixed);
  }

  /// The weighted loss of all pieces, whose sum over a step is the mean over the batch's targets: negative
  /// log-likelihoods of what each token predicts. That is the next word of its sequence or, if the batch says what is
  /// trained on, what the pieces' edges say, each with its weight.
  /// logits    (tokens, words)
  /// words     given a slice, gives the int64 words of its tokens; asked for a sequence's words after its first slice,
  ///           and for the one behind its last. A word below 0 is not trained on: then the chunk answers valid_tokens
  /// Returns   a number
  template <std::invocable<const slice&> Words>
  [[nodiscard]] at::Tensor loss(const at::Tensor& logits, Words&& words) const {
    const at::Tensor all = at::log_softmax(logits, -1);
    at::Tensor sum = logits.sum() * 0;  // so that a piece without targets has a graph, too
    std::int64_t first = 0;
    const auto add = [&](std::int64_t row, const slice& targets, double weight) {
      const at::Tensor right = words(targets);
      const at::Tensor is_trained = right.ge(0);
      const at::Tensor chosen =
          all.narrow(0, row, targets.length.value).gather(1, right.clamp_min(0).unsqueeze(1)).squeeze(1);
      sum = sum - at::where(is_trained, chosen, at::zeros_like(chosen)).sum() * weight;
    };
    for (const piece& p : pieces_) {
      const slice& s = p.slice;
      if (p.edges.empty() && p.loss_weight != 0)
        add(first, {s.sequence, s.begin + slimpack::tokens{1}, s.length}, 1 / targets_);
      for (const target_run& run : p.edges)
        add(first + run.begin.value - 1 - s.begin.value, {run.sequence, run.begin, run.length}, run.weight / targets_);
      first += s.length.value;
    }
    return sum;
  }

  /// Says that replicas share the sequence of the call's one piece: enter and attend end the graph, and `meets` is
  /// called in each layer, once the rows of k and v are in `known`.
  void share(std::function<void(int layer)> meets) { meets_ = std::move(meets); }
  /// Where the graph ended, from the first layer on; empty where the sequence is not shared.
  [[nodiscard]] std::vector<layer_cut>& cuts() noexcept { return cuts_; }

 private:
  [[nodiscard]] static at::Tensor leaf(const at::Tensor& of) {
    return of.detach().requires_grad_(at::GradMode::is_enabled());
  }

  template <class Kernel>
  [[nodiscard]] at::Tensor attend_cut(int layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      Kernel& kernel) {
    if (entered_ != layer)
      slimpack::detail::throw_error(
          {errc::compute_failed, "layer " + std::to_string(layer) +
                                     " attends to a sequence that replicas share, and has not begun with x = "
                                     "call.enter(" +
                                     std::to_string(layer) + ", x)"});
    layer_cut& cut = cuts_.back();
    cut.rows = known_->of(known_->of(pieces_[0]), layer, k, v);
    cut.q = q, cut.k = k, cut.v = v, cut.queries = leaf(q);
    const slice& own = pieces_[0].slice;
    const token_run run{own.begin.value, own.length.value};
    cut.rows->write({&run, 1}, k, v);
    meets_(layer);
    const auto [keys, values] = cut.rows->first(own.end().value);
    cut.keys = keys.requires_grad_(at::GradMode::is_enabled());
    cut.values = values.requires_grad_(at::GradMode::is_enabled());
    return kernel(cut.queries, cut.keys, cut.values);
  }

  std::span<const piece> pieces_;
  keys_values* known_;
  double targets_;
  at::Device device_;
  bool again_;
  std::function<void(int)> meets_{};
  std::vector<layer_cut> cuts_{};
  int entered_{-1};
};

}  // namespace slimpack::libtorch

#endif
