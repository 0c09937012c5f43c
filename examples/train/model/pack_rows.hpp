#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_PACK_ROWS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_PACK_ROWS_HPP

#include "matrix.hpp"

#include <slimpack/executors/activation_store.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/sharing.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace train {

/// The rows of a pack's pieces, one piece after the other, and where they are kept from forward to backward.
/// The stage has had the pack admitted by the store (append, begin_backward, begin_weights), so its rows are there: what
/// the store would refuse is an error of this model, and throws slimpack::plan_error.
template <class T>
class pack_rows {
 public:
  using store = slimpack::executors::activation_store<T>;
  using field = typename store::field;

  /// with: where the pieces are a row of a sequence that replicas share
  pack_rows(store& kept, std::span<const slimpack::piece> pack, slimpack::sharing* with = nullptr)
      : store_(kept), pack_(pack), with_(with) {
    for (const slimpack::piece& p : pack) size_ += p.slice.length.value;
  }

  [[nodiscard]] Index size() const noexcept { return size_; }
  /// Whether backward leaves the pack's weight gradients to a call of their own.
  [[nodiscard]] bool apart() const noexcept { return pack_.front().weights_apart; }

  /// Calls f(piece, its first row, its rows).
  template <class F>
  void each_piece(F&& f) const {
    Index row = 0;
    for (const slimpack::piece& p : pack_) {
      f(p, row, Index{p.slice.length.value});
      row += p.slice.length.value;
    }
  }

  void write(field which, const matrix<T>& rows) {
    each_piece([&](const slimpack::piece& p, Index row, Index size) {
      store_.write(p, which, {rows.row(row).data(), static_cast<std::size_t>(size * rows.cols())}).value();
    });
  }

  [[nodiscard]] matrix<T> read(field which, Index width) {
    matrix<T> rows(size_, width);
    each_piece([&](const slimpack::piece& p, Index row, Index size) {
      store_.read(p, which, {rows.row(row).data(), static_cast<std::size_t>(size * width)}).value();
    });
    return rows;
  }

  /// Keeps rows that weight gradients need, and gives them back, where they run apart.
  void leave(field which, const matrix<T>& rows) {
    const T* from = rows.data();
    each_left(which, [&](std::span<T> some) {
      std::copy_n(from, some.size(), some.begin());
      from += some.size();
    });
  }
  [[nodiscard]] matrix<T> left(field which, Index width) {
    matrix<T> rows(size_, width);
    T* to = rows.data();
    each_left(which, [&](std::span<T> some) { to = std::copy(some.begin(), some.end(), to); });
    return rows;
  }

  /// Sends the rows of two fields, as they were written, to those that share them, and keeps theirs.
  void share(int layer, field first, field second) {
    if (with_ == nullptr) return;
    const auto both = [&](const page& here, auto&& f) { f(here.activations(first)), f(here.activations(second)); };
    with_->give(layer, slimpack::as_span(gathered(with_->own(), both))).value();
    scattered(with_->others(), slimpack::as<T>(with_->take(layer).value()), both);
  }

  /// Sends the others what two accumulators hold for their tokens, and adds what they hold for one's own.
  void share_gradients(int layer, field first, field second) {
    if (with_ == nullptr) return;
    const auto both = [&](const page& here, auto&& f) { f(here.gradients(first)), f(here.gradients(second)); };
    with_->owe(layer, slimpack::as_span(gathered(with_->others(), both))).value();
    std::vector<T> sums = gathered(with_->own(), both);
    with_->due(layer, std::span<T>(sums)).value();
    scattered(with_->own(), std::span<const T>(sums), both);
  }

  /// Calls f(page) for what is kept of a piece's sequence up to the piece's end.
  template <class F>
  void each_page_up_to(slimpack::piece p, F&& f) {
    p.slice = {p.slice.sequence, {0}, p.slice.end()};
    store_.visit(p, f).value();
  }

  /// Calls f(page) for what is kept of a piece.
  template <class F>
  void each_page_of(const slimpack::piece& p, F&& f) {
    store_.visit(p, f).value();
  }

 private:
  using page = typename store::page;

  template <class F>
  void each_left(field which, F&& f) {
    for (const slimpack::piece& p : pack_) store_.visit(p, [&](const page& here) { f(here.weights(which)); }).value();
  }

  template <class F>
  void each_page_of(std::span<const slimpack::slice> slices, F&& f) {
    for (const slimpack::slice& s : slices) {
      slimpack::piece p = pack_.front();
      p.slice = s;
      store_.visit(p, f).value();
    }
  }

  /// Of each page's fields one row after the other, page after page: both sides cut pages at the same tokens.
  template <class Fields>
  [[nodiscard]] std::vector<T> gathered(std::span<const slimpack::slice> slices, const Fields& fields) {
    std::vector<T> rows;
    each_page_of(slices, [&](const page& here) {
      fields(here, [&](std::span<T> some) { rows.insert(rows.end(), some.begin(), some.end()); });
    });
    return rows;
  }
  template <class Fields>
  void scattered(std::span<const slimpack::slice> slices, std::span<const T> rows, const Fields& fields) {
    each_page_of(slices, [&](const page& here) {
      fields(here, [&](std::span<T> some) {
        std::ranges::copy(rows.first(some.size()), some.begin());
        rows = rows.subspan(some.size());
      });
    });
  }

  store& store_;
  std::span<const slimpack::piece> pack_;
  slimpack::sharing* with_;
  Index size_{};
};

}  // namespace train

#endif
