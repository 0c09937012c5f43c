#ifndef SLIMPACK_ADAPTERS_TORCH_STAGES_HPP
#define SLIMPACK_ADAPTERS_TORCH_STAGES_HPP

#include <slimpack/adapters/torch/graphs.hpp>
#include <slimpack/adapters/torch/keys_values.hpp>
#include <slimpack/adapters/torch/slice_call.hpp>
#include <slimpack/adapters/torch/tensor_messages.hpp>
#include <slimpack/concepts/running.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/joined/row_threads.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/sharing.hpp>
#include <slimpack/executors/step_outline.hpp>

#include <torch/torch.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::libtorch {

namespace detail {

template <class C>
concept runs_layers = requires(C& c, slice_call& call, at::Tensor x) {
  { c.forward(call, x) } -> std::convertible_to<at::Tensor>;
};
template <class C>
concept has_loss = requires(C& c, slice_call& call, at::Tensor y) {
  { c.loss(call, y) } -> std::convertible_to<at::Tensor>;
};
template <class C>
concept has_parameters = requires(const C& c) {
  { c.parameters() } -> std::convertible_to<std::vector<at::Tensor>>;
};

}  // namespace detail

/// A trainer's layers on one virtual stage, as stage and pack_stage call them:
///
///   torch::Tensor forward(slice_call& call, torch::Tensor x)   x: (tokens, hidden) from the stage before, undefined on
///                                                              the first part, where the chunk embeds tokens itself;
///                                                              gives (tokens, hidden)
///   torch::Tensor loss(slice_call& call, torch::Tensor y)      on the last part: a number, as a rule call.loss(logits,
///                                                              words)
///   std::vector<torch::Tensor> parameters() const              whose gradients replicas add up
///
/// and what it may say of hooks.hpp: `static constexpr bool shares_rows = true` where each layer calls enter,
/// `shares_prefixes = true`, for which it need do nothing, and valid_tokens(slice). Other hooks are those of a class
/// that derives from stage or pack_stage.
template <class C>
concept chunk = slimpack::detail::met < detail::runs_layers<C>,
"a chunk offers torch::Tensor forward(slimpack::libtorch::slice_call&, torch::Tensor x)" > () &&
    slimpack::detail::met<detail::has_loss<C>,
                          "a chunk offers torch::Tensor loss(slimpack::libtorch::slice_call&, torch::Tensor y)">() &&
    slimpack::detail::met<detail::has_parameters<C>,
                          "a chunk's parameters() is public, const and gives std::vector<torch::Tensor>">();

/// What stages send each other for a token.
struct sizes {
  message_format rows;          ///< of activations: width is the model's hidden size
  int layers{};                 ///< of attention in a chunk: with shared rows alone
  std::int64_t heads{};         ///< of keys: with shared rows alone
  std::int64_t head{};          ///< numbers of a head: with shared rows alone
  at::Device device{at::kCPU};  ///< where the model and, as the transport says, messages are
};

namespace detail {

/// What both kinds of stages have: the hooks of executors/hooks.hpp over a trainer's chunks.
template <chunk Chunk>
class stage_base {
  static_assert(!slimpack::detail::has_member_begin_step<Chunk> &&
                    !slimpack::detail::has_member_log_probabilities<Chunk> &&
                    !slimpack::detail::has_member_interrupt<Chunk>,
                "a chunk is not asked begin_step, log_probabilities and interrupt: a class that derives from "
                "slimpack::libtorch::stage or pack_stage offers them");

 public:
  stage_base(sizes s, std::vector<Chunk> chunks) : sizes_(s), chunks_(std::move(chunks)) {}

  [[nodiscard]] message_format format() const { return sizes_.rows; }
  [[nodiscard]] int chunks() const { return static_cast<int>(chunks_.size()); }
  [[nodiscard]] slimpack::tokens valid_tokens(const slice& s) const { return valid_tokens_of(chunks_.front(), s); }
  /// The trainer's own.
  [[nodiscard]] Chunk& chunk_of(std::size_t i) { return chunks_.at(i); }
  [[nodiscard]] const Chunk& chunk_of(std::size_t i) const { return chunks_.at(i); }

  void begin_step(const step_outline& o) {
    sum_ = at::zeros({}, at::TensorOptions(at::kDouble).device(sizes_.device)),
    targets_ = static_cast<double>(o.valid_tokens.value), evaluates_ = o.forward_only;
  }
  [[nodiscard]] double loss() const { return sum_.template item<double>(); }
  [[nodiscard]] bytes held() const { return known_.held(); }
  void abort_step() {
    known_.clear();
    for (Chunk& c : chunks_)
      for (at::Tensor& p : c.parameters()) p.mutable_grad().reset();
  }

  /// Gradients of half precision: the sum is one of float32, rounded once. Others go by reduce_part, in place.
  template <class Group>
  result<void> reduce(Group& replicas) {
    for (Chunk& c : chunks_)
      for (const at::Tensor& g : gradients_of(c)) {
        if (sum_type_of(g.scalar_type()) == g.scalar_type()) continue;
        at::Tensor all = g.to(at::kFloat).contiguous();
        if (result<void> done = replicas.sum(numbers_of<float>(all)); !done) return done;
        g.copy_(all);
      }
    return success();
  }
  template <class Sums>
  result<void> reduce_part(std::uint32_t chunk, Sums& sums) {
    for (at::Tensor& g : gradients_of(chunks_.at(chunk))) {
      result<void> begun = success();
      if (g.scalar_type() == at::kDouble) begun = sums.start(numbers_of<double>(g));
      if (g.scalar_type() == at::kFloat) begun = sums.start(numbers_of<float>(g));
      if (!begun) return begun;
    }
    return success();
  }

 protected:
  /// One of an undefined gradient is 0: the weights were used by other replicas alone. All lie side by side.
  [[nodiscard]] static std::vector<at::Tensor> gradients_of(const Chunk& c) {
    std::vector<at::Tensor> all;
    for (at::Tensor& p : c.parameters()) {
      if (!p.requires_grad()) continue;
      at::Tensor& g = p.mutable_grad();
      if (!g.defined()) g = at::zeros_like(p, at::MemoryFormat::Contiguous);
      if (!g.is_contiguous()) g = g.contiguous();
      all.push_back(g);
    }
    return all;
  }
  template <class T>
  [[nodiscard]] static std::span<T> numbers_of(at::Tensor& t) {
    return {t.data_ptr<T>(), static_cast<std::size_t>(t.numel())};
  }

  [[nodiscard]] slice_call call_of(std::span<const piece> pieces, bool again = false) {
    return {pieces, known_, targets_, sizes_.device, again};
  }

  /// On the device, which nobody waits for meanwhile.
  void add_loss(const at::Tensor& loss) { sum_.add_(loss.detach()); }

  sizes sizes_;
  std::vector<Chunk> chunks_;
  keys_values known_{};
  at::Tensor sum_ = at::zeros({}, at::kDouble);
  double targets_{1};
  bool evaluates_{};
};

/// Whether replicas may share sequences of such chunks.
template <class C>
consteval bool says_shares_rows() {
  constexpr exchange_set says = slimpack::detail::exchanges_of<C>();
  static_assert(!says.queries && !says.ring, "a chunk's shares_rows is a bool: its replicas keep keys and values");
  return says.keep;
}

}  // namespace detail

/// A stage compute whose chunks are called with one slice each, and whose graphs are kept from forward to backward.
///
///   slimpack::libtorch::stage<my_chunk> stage{{.rows = {hidden, slimpack::element_type::float32}}, {my_chunk{...}}};
///   slimpack::executors::packflow{}.execute(plan, stage, transport);   // gradients are in the parameters' grad()
///
/// A step that failed leaves no gradients. Where the chunk says shares_rows, slices of a row that replicas share run on
/// threads of their own, one at a time (executors/joined/row_threads.hpp), under the caller's thread-local state: grad
/// mode, autocast, device and stream.
/// Units     of loss(): the mean over the batch's valid tokens            Errors  those of the chunk, with the piece
template <chunk Chunk>
class stage : public detail::stage_base<Chunk> {
  using base = detail::stage_base<Chunk>;

 public:
  static constexpr bool shares_rows = detail::says_shares_rows<Chunk>();
  static constexpr bool shares_prefixes = slimpack::detail::shares_prefixes<Chunk>;
  using state = slice_graph;
  using message = std::span<const std::byte>;

  using base::base;

  /// A layer's keys and values together; their gradients in what they are added up in.
  [[nodiscard]] row_format rows(std::uint32_t) const {
    const std::int64_t width = 2 * this->sizes_.heads * this->sizes_.head;
    return {this->sizes_.layers,
            {width, this->sizes_.rows.element},
            {width, element_of_scalar(sum_type_of(scalar_of(this->sizes_.rows.element)))}};
  }

  result<state> forward(const piece& p, message in, outgoing& out) {
    slice_call call = this->call_of({&p, 1});
    state s;
    result<void> done = run(p, call, in, out, s);
    if (!done) return std::move(done).error();
    return s;
  }
  result<void> backward(const piece& p, state s, message in, outgoing& out) {
    pull(s, gradient_of(s, in));
    if (p.is_first()) this->known_.close(p);
    return sent_back(s, out);
  }
  void discard(const piece& p, const state&) { this->known_.discard(p); }

  result<void> forward(std::span<const piece> row, std::span<state> graphs, message in, outgoing& out,
                       sharing& with) requires shares_rows {
    const row_messages messages(row, in, out, this->sizes_.rows);
    return each_of(pass::forward, row, with, [&](std::size_t i, const executors::meeting& meet) {
      slice_call call = this->call_of({&row[i], 1});
      call.share([&](int layer) { meet(layer); });
      return messages.with_out(i, [&](outgoing& part) { return run(row[i], call, messages.in(i), part, graphs[i]); });
    });
  }
  result<void> backward(std::span<const piece> row, std::span<state> graphs, message in, outgoing& out,
                        sharing& with) requires shares_rows {
    const row_messages messages(row, in, out, this->sizes_.rows);
    result<void> done = each_of(pass::backward, row, with, [&](std::size_t i, const executors::meeting& meet) {
      const token_run own{row[i].slice.begin.value, row[i].slice.length.value};
      pull(graphs[i], gradient_of(graphs[i], messages.in(i)), {&own, 1}, meet);
      return messages.with_out(i, [&](outgoing& part) { return sent_back(graphs[i], part); });
    });
    for (const piece& p : row)
      if (done && p.is_own_first()) this->known_.close(p);
    return done;
  }

 private:
  /// Runs each piece of a row on a thread of its own, one at a time; those of one pass meet in each layer.
  template <class Call>
  result<void> each_of(pass way, std::span<const piece> row, sharing& with, Call&& call) {
    const row_format format = rows(row[0].chunk);
    shared_ledger ledger(this->known_.of(row[0]), format, this->sizes_.device);
    return executors::run_row(way, row, with, format, ledger, call, [&] { return thread_state(this->sizes_.device); });
  }

  result<void> run(const piece& p, slice_call& call, message in, outgoing& out, state& s) {
    const at::AutoGradMode keeps_graph(!this->evaluates_);
    Chunk& own = this->chunks_.at(p.chunk);
    if (!in.empty()) s.x = leaf_of(in, this->sizes_.rows, this->sizes_.device);
    s.y = own.forward(call, s.x);
    s.cuts = std::move(call.cuts());
    if (out.wanted()) return put(s.y.defined() ? s.y.detach() : s.y, this->sizes_.rows, out, this->sizes_.device);
    s.y = own.loss(call, s.y);
    this->add_loss(s.y);
    return success();
  }
  [[nodiscard]] at::Tensor gradient_of(const state& s, message in) const {
    return in.empty() ? at::ones_like(s.y)
                      : detail::seen_as_rows(in.data(), in.size(), this->sizes_.rows, this->sizes_.device);
  }
  result<void> sent_back(const state& s, outgoing& out) const {
    return out.wanted() ? put(s.x.grad(), this->sizes_.rows, out, this->sizes_.device) : success();
  }
};

/// A stage compute whose chunks are called with whole packs: linear layers run once over all rows of a pack, and
/// attention piece by piece. Forward keeps the pack's input and keys and values, and no graph; backward makes the graph
/// of its own pack again, of whichever forward packs its pieces come from, and so runs forward once more. It needs the
/// memory of one pack's graph, and suits slices that are small, whose calls would take longer than their work.
/// Requires  a chunk that gives the same when it is called again: no dropout
/// Replicas do not share its rows, nor samples their beginnings, whatever the chunk says.
template <chunk Chunk>
class pack_stage : public detail::stage_base<Chunk> {
  using base = detail::stage_base<Chunk>;

 public:
  /// What came in, of one piece; undefined on the first part.
  struct state {
    at::Tensor x;
  };
  using message = std::span<const std::byte>;

  using base::base;

  result<void> forward(std::span<const piece> pack, std::span<state> states, message in, outgoing& out) {
    const at::NoGradGuard keeps_no_graph;
    at::Tensor x;
    if (!in.empty()) {
      x = leaf_of(in, this->sizes_.rows, this->sizes_.device);
      std::int64_t first = 0;
      for (std::size_t i = 0; i < pack.size(); first += pack[i++].slice.length.value)
        states[i].x = x.narrow(0, first, pack[i].slice.length.value);
    }
    slice_call call = this->call_of(pack);
    Chunk& own = this->chunks_.at(pack[0].chunk);
    const at::Tensor y = own.forward(call, x);
    if (out.wanted()) return put(y, this->sizes_.rows, out, this->sizes_.device);
    this->add_loss(own.loss(call, y));
    return success();
  }

  result<void> backward(std::span<const piece> pack, std::span<state> states, message in, outgoing& out) {
    const at::AutoGradMode keeps_graph(true);
    slice_graph s;
    if (states[0].x.defined()) {
      std::vector<at::Tensor> parts;
      for (const state& one : states) parts.push_back(one.x);
      s.x = at::cat(parts).requires_grad_();
    }
    slice_call call = this->call_of(pack, true);
    Chunk& own = this->chunks_.at(pack[0].chunk);
    s.y = own.forward(call, s.x);
    if (in.empty()) s.y = own.loss(call, s.y);
    pull(s, in.empty() ? at::ones_like(s.y)
                       : detail::seen_as_rows(in.data(), in.size(), this->sizes_.rows, this->sizes_.device));
    for (const piece& p : pack)
      if (p.is_first()) this->known_.close(p);
    return out.wanted() ? put(s.x.grad(), this->sizes_.rows, out, this->sizes_.device) : success();
  }
  void discard(const piece& p, const state&) { this->known_.discard(p); }
};

}  // namespace slimpack::libtorch

#endif
