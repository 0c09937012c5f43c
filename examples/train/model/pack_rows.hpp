#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_PACK_ROWS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_PACK_ROWS_HPP

#include "matrix.hpp"
#include "mixers/slice_states.hpp"

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/executors/activation_store.hpp>
#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/executors/lending/lending.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/sharing.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

namespace train {

/// The rows of a pack's pieces, one piece after the other, and where they are kept from forward to backward.
/// The stage has had the pack admitted by the store (append, begin_backward, begin_weights), so its rows are there:
/// what the store would refuse is an error of this model, and throws slimpack::plan_error.
template <class T>
class pack_rows {
 public:
  using store = slimpack::executors::activation_store<T>;
  using field = typename store::field;

  /// A row of a sequence that replicas share, among the pieces of the pack, and the rows of its pieces.
  struct shared_row {
    slimpack::sharing* with{};
    std::span<const slimpack::piece> pieces{};
    Index first{};
    Index size{};
    [[nodiscard]] bool goes_round() const { return with->exchange() != slimpack::exchange::keep; }
    /// Whether queries go round those that share it; else keys and values do, where anything does.
    [[nodiscard]] bool asks() const { return with->exchange() == slimpack::exchange::queries; }
  };

  /// joined: those of the pieces that replicas share, in the order in which they are posted; lending: where stages lend
  /// each other attention; states: of layers that have one, for forward and backward
  pack_rows(store& kept, std::span<const slimpack::piece> pack, std::span<const slimpack::joined_row> joined = {},
            slimpack::lending* lending = nullptr, slice_states<T>* states = nullptr)
      : store_(kept), pack_(pack), lending_(lending), states_(states) {
    for (const slimpack::piece& p : pack) size_ += p.slice.length.value;
    for (const slimpack::joined_row& row : joined) {
      shared_row& one = shared_.emplace_back(shared_row{row.with, pack.subspan(row.first, row.count)});
      for (const slimpack::piece& p : pack.first(row.first)) one.first += p.slice.length.value;
      for (const slimpack::piece& p : one.pieces) one.size += p.slice.length.value;
    }
  }

  [[nodiscard]] Index size() const noexcept { return size_; }
  [[nodiscard]] std::span<const slimpack::piece> pieces() const noexcept { return pack_; }
  /// Whether backward leaves the pack's weight gradients to a call of their own.
  [[nodiscard]] bool apart() const noexcept { return pack_.front().weights_apart; }

  /// Calls f(piece, its first row, its rows).
  template <class F>
  void each_piece(F&& f) const {
    each_of(pack_, 0, f);
  }
  /// The same of a row's pieces.
  template <class F>
  void each_piece(const shared_row& of, F&& f) const {
    each_of(of.pieces, of.first, f);
  }
  /// The same of pieces that are in no row.
  template <class F>
  void each_local_piece(F&& f) const {
    each_piece([&](const slimpack::piece& p, Index row, Index size) {
      if (row_with(p) == nullptr) f(p, row, size);
    });
  }

  /// Rows that replicas share, in the order in which they are posted and taken.
  [[nodiscard]] std::span<const shared_row> shared() const { return shared_; }

  /// What pieces hand on of layers that have a state.
  [[nodiscard]] slice_states<T>& states() const { return *states_; }

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

  /// Sends rows of a shared row round those that share it: (tokens, width), piece after piece.
  void launch(const shared_row& of, int layer, const matrix<T>& rows) {
    const matrix<T> sent = in_order(of, rows);
    of.with->launch(layer, slimpack::as_span(span_of(sent))).value();
  }
  /// Sends sums after them, and calls visit(tokens, rows, sums) with those of each of the others, to be added to. Gives
  /// the sums that came home.
  template <class Visit>
  [[nodiscard]] matrix<T> rotate(const shared_row& of, int layer, Index width, const matrix<T>& sums,
                                 const Visit& visit) {
    matrix<T> held = in_order(of, sums);
    for (;;) {
      const slimpack::parcel next = of.with->rotate(layer, slimpack::as_span(span_of(held))).value();
      Index size = 0;
      for (const slimpack::slice& s : next.tokens) size += s.length.value;
      held = const_matrix_view<T>(slimpack::as<T>(next.sums).data(), size, sums.cols());
      if (next.is_home) return out_of_order(of, held);
      visit(next.tokens, const_matrix_view<T>(slimpack::as<T>(next.rows).data(), size, width), held);
    }
  }

  /// Sends a row's part of two fields, as they were written, to those that share it; and keeps theirs.
  void give(const shared_row& of, int layer, field first, field second) {
    of.with->give(layer, slimpack::as_span(gathered(of, of.with->own(), activations_of(first, second)))).value();
  }
  void take(const shared_row& of, int layer, field first, field second) {
    scattered(of, of.with->others(), slimpack::as<T>(of.with->take(layer).value()), activations_of(first, second));
  }

  /// Sends the others what two accumulators hold for their tokens; and adds what they hold for one's own.
  void owe(const shared_row& of, int layer, field first, field second) {
    of.with->owe(layer, slimpack::as_span(gathered(of, of.with->others(), gradients_of(first, second)))).value();
  }
  void due(const shared_row& of, int layer, field first, field second) {
    const auto both = gradients_of(first, second);
    std::vector<T> sums = gathered(of, of.with->own(), both);
    of.with->due(layer, std::span<T>(sums)).value();
    scattered(of, of.with->own(), std::span<const T>(sums), both);
  }

  /// What this stage lends others of the pack's attention, and what they lend it.
  [[nodiscard]] std::span<const slimpack::loan> lent() const {
    return lending_ == nullptr ? std::span<const slimpack::loan>{} : lending_->lent();
  }
  [[nodiscard]] std::span<const slimpack::loan> helped() const {
    return lending_ == nullptr ? std::span<const slimpack::loan>{} : lending_->helped();
  }
  /// Up to which token a piece's oldest keys are lent.
  [[nodiscard]] Index lent_of(const slimpack::piece& p) const {
    Index end = 0;
    for (const slimpack::loan& l : lent())
      if (l.queries.sequence == p.slice.sequence) end = std::max(end, Index{l.context.end().value});
    return end;
  }
  /// The first row of a loan's queries in the pack.
  [[nodiscard]] Index row_of(const slimpack::loan& l) const {
    Index at = 0;
    each_piece([&](const slimpack::piece& p, Index row, Index) {
      if (p.slice == l.queries) at = row;
    });
    return at;
  }
  /// Messages of a loan: matrices to others, and theirs.
  void offer(int layer, std::size_t i, std::initializer_list<matrix<T>> rows) {
    lending_->offer(layer, i, bytes_of(rows)).value();
  }
  void ask(int layer, std::size_t i, std::initializer_list<matrix<T>> rows) {
    lending_->ask(layer, i, bytes_of(rows)).value();
  }
  void answer(int layer, std::size_t i, std::initializer_list<matrix<T>> rows) {
    lending_->answer(layer, i, bytes_of(rows)).value();
  }
  [[nodiscard]] std::vector<std::span<const T>> collect(int layer, std::size_t i) {
    return elements_of(lending_->collect(layer, i).value());
  }
  [[nodiscard]] std::vector<std::span<const T>> take(int layer, std::size_t i) {
    return elements_of(lending_->take(layer, i).value());
  }

  /// Calls f(tokens [begin, end) of a page, from its first row on, their row among the tokens) for each page of tokens
  /// of the pack's sequences, which a cut may leave a part of.
  template <class F>
  void each_page_in(const slimpack::slice& tokens, F&& f) {
    slimpack::piece p = pack_.front();
    p.slice = {tokens.sequence, {0}, tokens.end()};
    for (const slimpack::piece& one : pack_)
      if (one.slice.sequence == tokens.sequence) p.sequence_length = one.sequence_length;
    store_
        .visit(p,
               [&](const page& here) {
                 const slimpack::tokens begin = std::max(here.begin(), tokens.begin),
                                        end = std::min(here.end(), tokens.end());
                 if (begin < end)
                   f(here, Index{(begin - here.begin()).value}, Index{(end - begin).value},
                     Index{(begin - tokens.begin).value});
               })
        .value();
  }

  /// Calls f(page) for what is kept of the pieces' sequence, or the only piece's, up to a token.
  template <class F>
  void each_page_up_to(slimpack::piece p, slimpack::tokens end, F&& f) {
    p.slice = {p.slice.sequence, {0}, end};
    const shared_row* const row = row_with(p);
    row != nullptr && row->goes_round() ? store_.visit_held(p, f).value() : store_.visit(p, f).value();
  }
  /// Calls f(page) for what is kept of a piece.
  template <class F>
  void each_page_of(const slimpack::piece& p, F&& f) {
    store_.visit(p, f).value();
  }

 private:
  using page = typename store::page;

  [[nodiscard]] static std::vector<std::span<const std::byte>> bytes_of(std::initializer_list<matrix<T>> rows) {
    std::vector<std::span<const std::byte>> all;
    for (const matrix<T>& one : rows) all.push_back(std::as_bytes(span_of(one)));
    return all;
  }
  [[nodiscard]] static std::vector<std::span<const T>> elements_of(slimpack::lending::rows rows) {
    std::vector<std::span<const T>> all;
    for (const std::span<const std::byte> one : rows) all.push_back(slimpack::as<T>(one));
    return all;
  }

  [[nodiscard]] static std::span<const T> span_of(const matrix<T>& rows) {
    return {rows.data(), static_cast<std::size_t>(rows.size())};
  }

  template <class F>
  static void each_of(std::span<const slimpack::piece> pieces, Index row, F&& f) {
    for (const slimpack::piece& p : pieces) {
      f(p, row, Index{p.slice.length.value});
      row += p.slice.length.value;
    }
  }

  /// The row that a piece is of; null where it is of none. A pack has one row of a sequence at most.
  [[nodiscard]] const shared_row* row_with(const slimpack::piece& p) const {
    for (const shared_row& row : shared_)
      if (row.pieces.front().slice.sequence == p.slice.sequence) return &row;
    return nullptr;
  }

  /// Calls f(row among the shared row's, row in order of tokens, rows) for each of its pieces.
  template <class F>
  static void each_in_order(const shared_row& of, F&& f) {
    each_of(of.pieces, 0, [&](const slimpack::piece& p, Index row, Index size) {
      Index before = 0;
      for (const slimpack::piece& other : of.pieces)
        if (other.slice.begin < p.slice.begin) before += other.slice.length.value;
      f(row, before, size);
    });
  }
  /// Its rows in order of tokens, and back: backward's pieces lie the other way round.
  [[nodiscard]] static matrix<T> in_order(const shared_row& of, const matrix<T>& rows) {
    matrix<T> made(rows.rows(), rows.cols());
    each_in_order(of, [&](Index row, Index at, Index size) { made.middleRows(at, size) = rows.middleRows(row, size); });
    return made;
  }
  [[nodiscard]] static matrix<T> out_of_order(const shared_row& of, const matrix<T>& rows) {
    matrix<T> made(rows.rows(), rows.cols());
    each_in_order(of, [&](Index row, Index at, Index size) { made.middleRows(row, size) = rows.middleRows(at, size); });
    return made;
  }

  template <class F>
  void each_left(field which, F&& f) {
    for (const slimpack::piece& p : pack_) store_.visit(p, [&](const page& here) { f(here.weights(which)); }).value();
  }

  /// Of a page: two fields, one after the other.
  [[nodiscard]] static auto activations_of(field first, field second) {
    return [first, second](const page& here, auto&& f) { f(here.activations(first)), f(here.activations(second)); };
  }
  [[nodiscard]] static auto gradients_of(field first, field second) {
    return [first, second](const page& here, auto&& f) { f(here.gradients(first)), f(here.gradients(second)); };
  }

  template <class F>
  void each_page_of(const shared_row& of, std::span<const slimpack::slice> slices, F&& f) {
    for (const slimpack::slice& s : slices) {
      slimpack::piece p = of.pieces.front();
      p.slice = s;
      store_.visit(p, f).value();
    }
  }

  /// Of each page's fields one row after the other, page after page: both sides cut pages at the same tokens.
  template <class Fields>
  [[nodiscard]] std::vector<T> gathered(const shared_row& of, std::span<const slimpack::slice> slices,
                                        const Fields& fields) {
    std::vector<T> rows;
    each_page_of(of, slices, [&](const page& here) {
      fields(here, [&](std::span<T> some) { rows.insert(rows.end(), some.begin(), some.end()); });
    });
    return rows;
  }
  template <class Fields>
  void scattered(const shared_row& of, std::span<const slimpack::slice> slices, std::span<const T> rows,
                 const Fields& fields) {
    each_page_of(of, slices, [&](const page& here) {
      fields(here, [&](std::span<T> some) {
        std::ranges::copy(rows.first(some.size()), some.begin());
        rows = rows.subspan(some.size());
      });
    });
  }

  store& store_;
  std::span<const slimpack::piece> pack_;
  std::vector<shared_row> shared_;
  slimpack::lending* lending_;
  slice_states<T>* states_;
  Index size_{};
};

}  // namespace train

#endif
