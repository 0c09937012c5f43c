#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_PACK_ROWS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_PACK_ROWS_HPP

#include "matrix.hpp"

#include <slimpack/executors/activation_store.hpp>
#include <slimpack/executors/piece.hpp>

#include <cstddef>
#include <span>

namespace train {

/// The rows of a pack's pieces, one piece after the other, and where they are kept from forward to backward.
/// The stage has had the pack admitted by the store (append, begin_backward), so its rows are there: what the store
/// would refuse is an error of this model, and throws slimpack::plan_error.
template <class T>
class pack_rows {
 public:
  using store = slimpack::executors::activation_store<T>;
  using field = typename store::field;

  pack_rows(store& kept, std::span<const slimpack::piece> pack) : store_(kept), pack_(pack) {
    for (const slimpack::piece& p : pack) size_ += p.slice.length.value;
  }

  [[nodiscard]] Index size() const noexcept { return size_; }

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
  store& store_;
  std::span<const slimpack::piece> pack_;
  Index size_{};
};

}  // namespace train

#endif
