#ifndef SLIMPACK_ADAPTERS_TORCH_KEYS_VALUES_HPP
#define SLIMPACK_ADAPTERS_TORCH_KEYS_VALUES_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/piece.hpp>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::libtorch {

/// Tokens [begin, begin + length) of a path.
struct token_run {
  std::int64_t begin{};
  std::int64_t length{};
};

/// What gradients of such elements are added up in: float32 of half precision, whose sums of many slices would round.
[[nodiscard]] inline at::ScalarType sum_type_of(at::ScalarType t) noexcept {
  return t == at::kHalf || t == at::kBFloat16 ? at::kFloat : t;
}

/// Keys and values of one layer for the tokens of a path, row by token, and what later slices add to their gradients.
/// Slices that have run forward have their rows here, and attend to views of them, so that no slice has a copy of what
/// came before it. The rows are no part of an autograd graph: gradients that reach them are added up here, until the
/// slice that they belong to runs backward.
/// Shapes    (tokens of the path, heads of keys, size of a head) each
class layer_rows : public torch::CustomClassHolder {
 public:
  /// Memory for all tokens, of the type and on the device of k and v.       k, v  (any, heads, size)
  layer_rows(std::int64_t tokens, const at::Tensor& k, const at::Tensor& v)
      : keys_(memory(tokens, k)), values_(memory(tokens, v)) {}

  [[nodiscard]] const at::Tensor& keys() const noexcept { return keys_; }
  [[nodiscard]] const at::Tensor& values() const noexcept { return values_; }
  /// Gradients that have been added up: undefined while there are none.
  [[nodiscard]] const at::Tensor& key_gradients() const noexcept { return key_gradients_; }
  [[nodiscard]] const at::Tensor& value_gradients() const noexcept { return value_gradients_; }

  /// Copies rows to their tokens' places.       k, v  (tokens of the runs, heads, size)
  void write(std::span<const token_run> runs, const at::Tensor& k, const at::Tensor& v) {
    const at::NoGradGuard values_alone;
    std::int64_t at = 0;
    for (const token_run& r : runs) {
      keys_.narrow(0, r.begin, r.length).copy_(k.narrow(0, at, r.length));
      values_.narrow(0, r.begin, r.length).copy_(v.narrow(0, at, r.length));
      at += r.length;
    }
  }

  /// The first tokens, as tensors of their own over the same memory: writing later rows does not change their version.
  [[nodiscard]] std::pair<at::Tensor, at::Tensor> first(std::int64_t tokens) const {
    return {keys_.narrow(0, 0, tokens).variable_data(), values_.narrow(0, 0, tokens).variable_data()};
  }

  /// Adds gradients of the first tokens; undefined ones are 0.       k, v  (tokens, heads, size)
  void add_gradients(const at::Tensor& k, const at::Tensor& v) {
    add(key_gradients_, keys_, k);
    add(value_gradients_, values_, v);
  }

  /// The gradients of runs, in what they are added up in. They are complete once all later slices have run backward.
  [[nodiscard]] std::pair<at::Tensor, at::Tensor> gradients_of(std::span<const token_run> runs) const {
    return {picked(key_gradients_, keys_, runs), picked(value_gradients_, values_, runs)};
  }

  /// Sets gradients of some tokens.       k, v  (run.length, heads, size)
  void set_gradients(const token_run& run, const at::Tensor& k, const at::Tensor& v) {
    set(key_gradients_, keys_, run, k);
    set(value_gradients_, values_, run, v);
  }

  [[nodiscard]] std::size_t bytes_held() const {
    std::size_t sum = 0;
    for (const at::Tensor* t : {&keys_, &values_, &key_gradients_, &value_gradients_})
      if (t->defined()) sum += t->nbytes();
    return sum;
  }

 private:
  [[nodiscard]] static at::Tensor memory(std::int64_t tokens, const at::Tensor& like) {
    return at::empty({tokens, like.size(1), like.size(2)}, like.options().requires_grad(false));
  }
  [[nodiscard]] static at::Tensor zeros(std::int64_t tokens, const at::Tensor& like) {
    return at::zeros({tokens, like.size(1), like.size(2)}, like.options().dtype(sum_type_of(like.scalar_type())));
  }
  static void add(at::Tensor& sum, const at::Tensor& like, const at::Tensor& more) {
    if (!more.defined()) return;
    const at::NoGradGuard values_alone;
    if (!sum.defined()) sum = zeros(like.size(0), like);
    sum.narrow(0, 0, more.size(0)).add_(more);
  }
  static void set(at::Tensor& sum, const at::Tensor& like, const token_run& run, const at::Tensor& rows) {
    const at::NoGradGuard values_alone;
    if (!sum.defined()) sum = zeros(like.size(0), like);
    sum.narrow(0, run.begin, run.length).copy_(rows);
  }
  [[nodiscard]] static at::Tensor picked(const at::Tensor& sum, const at::Tensor& like,
                                         std::span<const token_run> runs) {
    std::vector<at::Tensor> parts;
    for (const token_run& r : runs)
      parts.push_back(sum.defined() ? sum.narrow(0, r.begin, r.length) : zeros(r.length, like));
    return at::cat(parts);
  }

  at::Tensor keys_, values_;
  at::Tensor key_gradients_, value_gradients_;
};

namespace detail {

/// What own_and_earlier needs beside tensors.
struct rows_of_call {
  c10::intrusive_ptr<layer_rows> rows;
  std::vector<token_run> own;  ///< of the path, in the order of the rows of k and v
  std::int64_t end{};          ///< tokens that are attended to
  bool written{};              ///< the rows are there, from a forward that kept no graph
};

/// Keys and values of a path up to the end of a slice, from those of the slice itself: a node of the autograd graph
/// whose forward writes the slice's rows beside the earlier ones and gives a view of all. Its backward adds what comes
/// in to the gradients of all rows, and hands on those of the slice's own, to which all later slices have added theirs
/// before. So one call of backward for a slice is exact, as slices run backward from the last one to the first.
class own_and_earlier : public torch::autograd::Function<own_and_earlier> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* ctx, const at::Tensor& k,
                                                const at::Tensor& v, const rows_of_call& call) {
    if (!call.written) call.rows->write(call.own, k, v);
    ctx->saved_data["rows"] = c10::IValue::make_capsule(call.rows);
    std::vector<std::int64_t> runs;
    for (const token_run& r : call.own) runs.push_back(r.begin), runs.push_back(r.length);
    ctx->saved_data["own"] = runs;
    auto [keys, values] = call.rows->first(call.end);
    return {std::move(keys), std::move(values)};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    const auto rows = c10::static_intrusive_pointer_cast<layer_rows>(ctx->saved_data["rows"].toCapsule());
    std::vector<token_run> own;
    const std::vector<std::int64_t> runs = ctx->saved_data["own"].toIntVector();
    for (std::size_t i = 0; i < runs.size(); i += 2) own.push_back({runs[i], runs[i + 1]});
    if (own.size() == 1 && own[0].begin == 0 && !rows->key_gradients().defined())
      return {gradients[0], gradients[1], at::Tensor()};  // all of the sequence in one slice
    rows->add_gradients(gradients[0], gradients[1]);
    const auto [k, v] = rows->gradients_of(own);
    return {k.to(gradients[0].scalar_type()), v.to(gradients[1].scalar_type()), at::Tensor()};
  }
};

}  // namespace detail

/// Keys and values of one path in all layers of a chunk.
struct path_rows {
  std::int64_t begin{};    ///< of the sequence's own tokens on its path
  std::int64_t tokens{};   ///< of the path
  sequence_id sequence{};  ///< the path's last
  sequence_id parent{};    ///< the one above it, where begin > 0
  std::uint32_t chunk{};
  std::vector<c10::intrusive_ptr<layer_rows>> layers{};
};

/// Keys and values of all sequences that a stage has not run backward, or discarded, yet.
/// Where samples share beginnings, a sequence begins with copies of its parent's rows, and when all of it has run
/// backward, adds the gradients of these copies to the parent's.
class keys_values {
 public:
  /// Where a piece's rows are, made by its sequence's first one.
  [[nodiscard]] path_rows& of(const piece& p) {
    const auto [at, made] = all_.try_emplace({p.chunk, p.slice.sequence});
    if (made)
      at->second = {p.sequence_begin.value,
                    p.sequence_end().value,
                    p.slice.sequence,
                    p.prefix.empty() ? p.slice.sequence : p.prefix.back().sequence,
                    p.chunk,
                    {}};
    return at->second;
  }

  /// The rows of one layer, made by its first call.       k, v  (any, heads, size)
  [[nodiscard]] const c10::intrusive_ptr<layer_rows>& of(path_rows& path, int layer, const at::Tensor& k,
                                                         const at::Tensor& v) {
    const auto at = static_cast<std::size_t>(layer);
    if (path.layers.size() <= at) path.layers.resize(at + 1);
    auto& rows = path.layers[at];
    if (rows) return rows;
    rows = c10::make_intrusive<layer_rows>(path.tokens, k, v);
    if (path.begin > 0) {
      const auto& above = *all_.at({path.chunk, path.parent}).layers.at(at);
      const token_run shared{0, path.begin};
      rows->write({&shared, 1}, above.keys(), above.values());
    }
    return rows;
  }

  /// All of a sequence has run backward on this replica.
  void close(const piece& p) {
    const auto found = all_.find({p.chunk, p.slice.sequence});
    if (found == all_.end()) return;
    if (const path_rows& path = found->second; path.begin > 0) {
      const path_rows& above = all_.at({path.chunk, path.parent});
      const token_run shared{0, path.begin};
      for (std::size_t layer = 0; layer < path.layers.size(); ++layer) {
        if (!path.layers[layer]) continue;
        const auto [k, v] = path.layers[layer]->gradients_of({&shared, 1});
        above.layers[layer]->add_gradients(k, v);
      }
    }
    all_.erase(found);
  }

  void discard(const piece& p) { all_.erase({p.chunk, p.slice.sequence}); }
  void clear() noexcept { all_.clear(); }

  [[nodiscard]] bytes held() const {
    std::size_t sum = 0;
    for (const auto& [key, path] : all_)
      for (const auto& rows : path.layers)
        if (rows) sum += rows->bytes_held();
    return {static_cast<double>(sum)};
  }

 private:
  std::map<std::pair<std::uint32_t, sequence_id>, path_rows> all_;
};

}  // namespace slimpack::libtorch

#endif
