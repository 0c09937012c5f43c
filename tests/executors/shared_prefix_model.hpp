#ifndef SLIMPACK_TESTS_EXECUTORS_SHARED_PREFIX_MODEL_HPP
#define SLIMPACK_TESTS_EXECUTORS_SHARED_PREFIX_MODEL_HPP

#include "prefix_model.hpp"

#include <slimpack/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace slimpack {

/// The prefix model with several layers on each part, whose sequences replicas may share: what a layer reads of earlier
/// tokens, its inputs, is what sharers send each other. Layer k of the model has weight prefix_model::weight(k).
template <backward_cuts Cuts>
class shared_prefix_stage {
 public:
  static constexpr backward_cuts cuts = Cuts;
  static constexpr bool shares_rows = true;

  shared_prefix_stage(int stage, int stages, int chunks, int layers = 2)
      : stage_(stage), stages_(stages), chunks_(chunks), layers_(layers),
        gradient_(static_cast<std::size_t>(chunks * layers)) {}

  [[nodiscard]] message_format format() const { return {1, element_type::float64}; }
  [[nodiscard]] row_format rows(std::uint32_t) const { return {layers_, format(), format()}; }
  [[nodiscard]] int chunks() const { return chunks_; }
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] std::span<const double> gradient() const { return gradient_; }  // per chunk and layer
  [[nodiscard]] int part(std::uint32_t chunk) const { return static_cast<int>(chunk) * stages_ + stage_; }
  [[nodiscard]] bytes held() const { return {static_cast<double>(arena_.size())}; }
  [[nodiscard]] int rows_run() const { return rows_run_; }

  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) { return fore({&p, 1}, in, out, nullptr); }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) { return back({&p, 1}, in, out, nullptr); }
  result<void> forward(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing& with) {
    ++rows_run_;
    return fore(row, in, out, &with);
  }
  result<void> backward(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing& with) {
    return back(row, in, out, &with);
  }
  void discard(const piece& p) { arena_.erase({p.chunk, p.slice.sequence}); }
  void abort_step() { arena_.clear(); }

  template <class Group>
  result<void> reduce(Group& group) {
    return group.sum(std::span<double>(gradient_));
  }

  void zero() {
    loss_ = 0;
    gradient_.assign(gradient_.size(), 0);
  }

 private:
  struct layer_rows {
    std::vector<double> x;     // inputs by token, own ones and those taken
    std::vector<double> sums;  // by own token
    std::vector<double> dx;    // by token, of inputs as earlier tokens
  };

  static std::vector<std::int64_t> places(std::span<const piece> row) {
    std::vector<std::int64_t> all;
    for (const piece& p : row)
      for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t) all.push_back(t);
    return all;
  }
  static std::vector<std::int64_t> places(std::span<const slice> slices) {
    std::vector<std::int64_t> all;
    for (const slice& s : slices)
      for (std::int64_t t = s.begin.value; t < s.end().value; ++t) all.push_back(t);
    return all;
  }
  static std::vector<double> picked(const std::vector<double>& by_token, const std::vector<std::int64_t>& at) {
    std::vector<double> rows;
    for (const std::int64_t t : at) rows.push_back(by_token[static_cast<std::size_t>(t)]);
    return rows;
  }

  result<void> fore(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing* with) {
    const piece& one = row.front();
    const std::vector<std::int64_t> at = places(row);
    const sequence_id id = one.slice.sequence;
    const bool counts = one.loss_weight > 0;
    std::vector<layer_rows>& arena = arena_[{one.chunk, id}];
    arena.resize(static_cast<std::size_t>(layers_));
    const std::span<const double> from = as<double>(in);
    std::vector<double> x(at.size());
    for (std::size_t k = 0; k < at.size(); ++k) x[k] = from.empty() ? prefix_model::token(id, at[k]) : from[k];
    for (int l = 0; l < layers_; ++l) {
      layer_rows& here = arena[static_cast<std::size_t>(l)];
      for (std::vector<double>* const each : {&here.x, &here.sums, &here.dx})
        each->resize(static_cast<std::size_t>(one.sequence_length.value));
      for (std::size_t k = 0; k < at.size(); ++k) here.x[static_cast<std::size_t>(at[k])] = x[k];
      if (with != nullptr) {
        if (result<void> given = with->give(l, slimpack::as_span(picked(here.x, places(with->own())))); !given) return given;
        result<std::span<const std::byte>> taken = with->take(l);
        if (!taken) return std::move(taken).error();
        const std::span<const double> rows = as<double>(taken.value());
        const std::vector<std::int64_t> theirs = places(with->others());
        for (std::size_t k = 0; k < theirs.size(); ++k) here.x[static_cast<std::size_t>(theirs[k])] = rows[k];
      }
      std::vector<double> prefix(here.x.size());
      double running = 0;
      for (std::size_t t = 0; t < prefix.size(); ++t) prefix[t] = running += here.x[t];
      for (std::size_t k = 0; k < at.size(); ++k) {
        const double sum = here.sums[static_cast<std::size_t>(at[k])] = prefix[static_cast<std::size_t>(at[k])];
        x[k] += weight(one.chunk, l) * sum;
      }
    }
    if (out.wanted()) return out.put(x);
    for (std::size_t k = 0; k < at.size() && counts; ++k) loss_ += prefix_model::slope(id, at[k]) * x[k];
    return success();
  }

  result<void> back(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing* with) {
    const piece& one = row.front();
    const std::vector<std::int64_t> at = places(row);
    const sequence_id id = one.slice.sequence;
    std::vector<layer_rows>& arena = arena_.at({one.chunk, id});
    const std::span<const double> from = as<double>(in);
    std::vector<double> dy(at.size());
    for (std::size_t k = 0; k < at.size(); ++k)
      dy[k] = !from.empty() ? from[k] : one.loss_weight > 0 ? prefix_model::slope(id, at[k]) : 0;
    for (int l = layers_; l-- > 0;) {
      layer_rows& here = arena[static_cast<std::size_t>(l)];
      const double w = weight(one.chunk, l);
      std::vector<double> of_row(here.dx.size());
      for (std::size_t k = 0; k < at.size(); ++k) {
        gradient_[one.chunk * static_cast<std::size_t>(layers_) + static_cast<std::size_t>(l)] +=
            dy[k] * here.sums[static_cast<std::size_t>(at[k])];
        of_row[static_cast<std::size_t>(at[k])] = w * dy[k];
      }
      double later = 0;
      for (std::size_t t = of_row.size(); t-- > 0;) here.dx[t] += later += of_row[t];
      if (with != nullptr) {
        if (result<void> owed = with->owe(l, slimpack::as_span(picked(here.dx, places(with->others())))); !owed) return owed;
        const std::vector<std::int64_t> mine = places(with->own());
        std::vector<double> sum = picked(here.dx, mine);
        if (result<void> due = with->due(l, std::span(sum)); !due) return due;
        for (std::size_t k = 0; k < mine.size(); ++k) here.dx[static_cast<std::size_t>(mine[k])] = sum[k];
      }
      for (std::size_t k = 0; k < at.size(); ++k) dy[k] += here.dx[static_cast<std::size_t>(at[k])];
    }
    for (const piece& p : row)
      if (p.is_own_first()) arena_.erase({one.chunk, id});
    return out.put(dy);
  }

  [[nodiscard]] double weight(std::uint32_t chunk, int layer) const {
    return prefix_model::weight(part(chunk) * layers_ + layer);
  }

  int stage_, stages_, chunks_, layers_;
  double loss_{};
  std::vector<double> gradient_;
  std::map<std::pair<std::uint32_t, sequence_id>, std::vector<layer_rows>> arena_;
  int rows_run_{};
};

}  // namespace slimpack

#endif
