#ifndef SLIMPACK_EXECUTORS_JOINED_ROW_THREADS_HPP
#define SLIMPACK_EXECUTORS_JOINED_ROW_THREADS_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/executors/detail/call_check.hpp>
#include <slimpack/executors/detail/shared/half_sums.hpp>
#include <slimpack/executors/detail/shared/row_turns.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/sharing.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace slimpack::detail {

template <class L>
concept reads_rows = requires(L& l, const slice& s, std::span<std::byte> to) {
  { l.read(0, s, to) } -> gives<void>;
};
template <class L>
concept writes_rows = requires(L& l, const slice& s, std::span<const std::byte> from) {
  { l.write(0, s, from) } -> gives<void>;
};
template <class L>
concept reads_row_gradients = requires(L& l, const slice& s, std::span<std::byte> to) {
  { l.read_gradients(0, s, to) } -> gives<void>;
};
template <class L>
concept writes_row_gradients = requires(L& l, const slice& s, std::span<const std::byte> from) {
  { l.write_gradients(0, s, from) } -> gives<void>;
};
template <class L>
concept makes_rows = requires(L& l) {
  { l.room(std::size_t{}) } -> std::same_as<std::span<std::byte>>;
};

}  // namespace slimpack::detail

namespace slimpack::executors {

/// Where a trainer keeps, for each layer, keys and values of a sequence and the sums of their gradients, by token. Rows
/// are as in the compute's row_format, token after token; functions give void or result<void>.
///
///   read(layer, slice, to)                forward: keys and values of own tokens, which pieces have put here
///   write(layer, slice, from)             forward: those of others, to be kept until the backward of these tokens
///   read_gradients(layer, slice, to)      backward: what this rank has added up for its own tokens, or for others'
///   write_gradients(layer, slice, from)   backward: of own tokens what all sharers have added up, in place of that
///
/// Slices are those of sharing::own() and others(): they may be cut where no piece is, and backward where no slice was
/// forward. If rows lie in memory of a device, it offers span<byte> room(size_t bytes), too: memory there, valid until
/// the next call of room or the end of run_row.
template <class L>
concept row_ledger =
    (detail::reads_rows<L> || detail::unmet<"a row ledger's read is public, given (int layer, const slice&, "
                                            "span<std::byte> to), and gives void or result<void>">()) &&
    (detail::writes_rows<L> || detail::unmet<"a row ledger's write is public, given (int layer, const slice&, "
                                             "span<const std::byte> from), and gives void or result<void>">()) &&
    (detail::reads_row_gradients<L> ||
     detail::unmet<"a row ledger's read_gradients is public, given (int layer, const slice&, span<std::byte> to), and "
                   "gives void or result<void>">()) &&
    (detail::writes_row_gradients<L> ||
     detail::unmet<"a row ledger's write_gradients is public, given (int layer, const slice&, span<const std::byte> "
                   "from), and gives void or result<void>">());

/// What a piece's call gets, to call it in each layer that attends to earlier tokens: meet(layer). It returns when all
/// pieces of the row have called it for this layer, and the row's sharers have exchanged what they need of each other.
/// One made by default is of a piece whose sequence nobody shares, and does nothing: so a layer has one path.
/// Requires  calls on the thread that runs the piece, by no engine with threads of its own
/// Errors    throws what is no std::exception where the row has failed: a handler catch (...) rethrows it. With
///           exceptions off, ends the program
class meeting {
 public:
  meeting() = default;
  meeting(detail::row_turns& row, std::size_t piece) : row_(&row), piece_(piece) {}
  meeting(const meeting&) = delete;
  meeting& operator=(const meeting&) = delete;

  void operator()(int layer) const {
    if (row_ != nullptr) row_->meet(piece_, layer);
  }

 private:
  detail::row_turns* row_{};
  std::size_t piece_{};
};

}  // namespace slimpack::executors

namespace slimpack::detail {

template <class C>
concept runs_one_piece = requires(const C& call, std::size_t i, const executors::meeting& meet) {
  { call(i, meet) } -> gives<void>;
};

/// What a row exchanges in a layer: slices joined to one run of rows, and taken apart.
template <class Ledger>
class ledger_rows {
 public:
  ledger_rows(pass way, sharing& with, const row_format& format, Ledger& ledger)
      : way_(way), with_(with), format_(format.kept(way)), ledger_(ledger) {}

  result<void> operator()(int layer) { return way_ == pass::forward ? forward(layer) : backward(layer); }

 private:
  result<void> forward(int layer) {
    const auto read = [&](const slice& s, std::span<std::byte> to) { return ledger_.read(layer, s, to); };
    const auto write = [&](const slice& s, std::span<const std::byte> from) { return ledger_.write(layer, s, from); };
    const std::span<std::byte> own = room(with_.own());
    if (result<void> done = each(with_.own(), own, read); !done) return done;
    if (result<void> given = with_.give(layer, own); !given) return given;
    const result<std::span<const std::byte>> taken = with_.take(layer);
    if (!taken) return taken.error();
    return each(with_.others(), taken.value(), write);
  }

  result<void> backward(int layer) {
    const auto read = [&](const slice& s, std::span<std::byte> to) { return ledger_.read_gradients(layer, s, to); };
    const auto write = [&](const slice& s, std::span<const std::byte> from) {
      return ledger_.write_gradients(layer, s, from);
    };
    const std::span<std::byte> theirs = room(with_.others());
    if (result<void> done = each(with_.others(), theirs, read); !done) return done;
    if (result<void> owed = with_.owe(layer, theirs); !owed) return owed;
    const std::span<std::byte> own = room(with_.own());
    if (result<void> done = each(with_.own(), own, read); !done) return done;
    if (result<void> added = due_of(with_, layer, own, format_.element); !added) return added;
    return each(with_.own(), std::span<const std::byte>(own), write);
  }

  [[nodiscard]] std::size_t bytes(const slice& s) const {
    return static_cast<std::size_t>(s.length.value) * format_.bytes_per_token();
  }
  [[nodiscard]] std::span<std::byte> room(std::span<const slice> slices) {
    std::size_t size = 0;
    for (const slice& s : slices) size += bytes(s);
    if constexpr (makes_rows<Ledger>) {
      return ledger_.room(size);
    } else {
      host_.resize(size);
      return host_;
    }
  }
  /// Visits slices with their part of the rows.
  template <class Byte, class Visit>
  result<void> each(std::span<const slice> slices, std::span<Byte> rows, const Visit& visit) const {
    std::size_t at = 0;
    for (const slice& s : slices) {
      const std::span<Byte> part = rows.subspan(at, bytes(s));
      if (result<void> done = result_of([&] { return visit(s, part); }); !done) return done;
      at += part.size();
    }
    return success();
  }

  pass way_;
  sharing& with_;
  message_format format_;
  Ledger& ledger_;
  std::vector<std::byte> host_;
};

}  // namespace slimpack::detail

namespace slimpack::executors {

/// What runs one piece of a row.
template <class C>
concept row_call = detail::runs_one_piece<C> || detail::unmet<
    "run_row's call is given (size_t i, const meeting& meet), and gives "
    "void or result<void>">();

/// The default of run_row's `enter`: nothing goes with a thread.
struct nothing_held {
  [[nodiscard]] auto operator()() const {
    return [] { return nothing_held{}; };
  }
};

/// Runs a row that replicas share (exchange::keep) with a compute that has one call for one piece: call(i, meet) runs
/// row[i] through all layers of the chunk, and in each that attends to earlier tokens it calls meet(layer).
///
///   forward    for each layer, from the first: keys and values of the piece are in the ledger before meet(layer), and
///              those of all that it attends to are there after it
///   backward   for each layer, from the last: the gradients that the piece's attention gives to keys and values, its
///              own and earlier ones, are in the ledger before meet(layer); after it those of its own tokens are whole,
///              and go back through their projections
///
/// The first piece runs on the caller's thread, each other one on a thread of its own. One of them runs at a time, in
/// order of the row, from one meeting to the next: the trainer's code needs no locks, and sums have the same bits in
/// every run. Calls of the ledger and of `with` are made on the caller's thread, within meetings of the first piece.
/// What a piece's call holds is there for all pieces of the row at once. Rows travel while no piece computes: a compute
/// that makes the calls of executors/sharing.hpp itself can compute between them. Threads last as long as the row, so
/// that a trainer's pools by thread, as OpenMP's, are made for each.
///
/// format    rows() of the compute, of the row's chunk
/// call      gives void or result<void>
/// enter     () -> (() -> what is held while a piece runs): what the trainer has by thread is read on the caller's
///           thread, and set on each other one: [] { return [s = at::ThreadLocalState()] {
///           return at::ThreadLocalStateGuard(s); }; }
/// Requires  a row with pieces, as the runtime gives it
/// Errors    the first that happened; calls of other pieces end with what meet(layer) throws, and no thread is left.
///           What a call or the ledger returned, or threw, which is rethrown here. That of the exchange.
///           out_of_order: a piece has ended or meets in one layer where another meets in another, or a meeting on a
///           thread that does not run the piece. invalid_input: gradients that are no floating-point numbers. Layers
///           that no piece has met in are an error of the runtime, as for all who share rows
template <row_ledger Ledger, row_call Call, class Enter = nothing_held>
[[nodiscard]] result<void> run_row(pass way, std::span<const piece> row, sharing& with, const row_format& format,
                                   Ledger& ledger, const Call& call, const Enter& enter = {}) {
  detail::row_turns turns(row, detail::ledger_rows<Ledger>(way, with, format, ledger));
  const auto one = [&](std::size_t i) {
    const meeting meet(turns, i);
    return detail::result_of([&] { return call(i, meet); });
  };
  return turns.run(one, enter());
}

}  // namespace slimpack::executors

#endif
