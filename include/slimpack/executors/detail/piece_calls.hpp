#ifndef SLIMPACK_EXECUTORS_DETAIL_PIECE_CALLS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_PIECE_CALLS_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/detail/thrown.hpp>
#include <slimpack/executors/detail/call_check.hpp>
#include <slimpack/executors/detail/kept_pieces.hpp>
#include <slimpack/executors/detail/messages/messages.hpp>
#include <slimpack/executors/detail/shared/joined_rows.hpp>
#include <slimpack/executors/detail/shared/running_exchange.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/job/step_watch.hpp>
#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/executors/sharing.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// In place of what runs packs that stages run together, where none is.
struct no_ties {
  static constexpr bool can_run = false;
  static constexpr void check() noexcept {}
  [[nodiscard]] static constexpr bool ties(const instruction&) noexcept { return false; }
};

/// Calls a stage compute in whichever of its four forms, and keeps what it must get back.
/// Exchange: running_exchanges, for pieces of rows that replicas share; no_transfers of a compute that shares none
/// Ties: runs packs that their stage runs together with other stages
template <class Compute, class Exchange, class Ties>
class piece_calls {
 public:
  /// joined: packs that are called whole; watch: of the step; may be null
  piece_calls(Compute& compute, const stage_script& script, Exchange& exchange, joined_rows joined, Ties& ties,
              executors::step_watch* watch)
      : compute_(&compute),
        script_(&script),
        exchange_(&exchange),
        joined_(std::move(joined)),
        ties_(&ties),
        step_watch_(watch),
        width_(compute.format().bytes_per_token()),
        last_(script.last_of_chunks()),
        kept_(compute, script) {}

  /// How often the compute is called in a step.
  [[nodiscard]] std::size_t calls(pass p) const {
    const piece_list& list = script_->of(p);
    std::size_t calls = list.rows.size();
    std::size_t in_rows = 0;
    for (const piece_list::row& r : list.rows) in_rows += r.end - r.first;
    if (by_piece) return chunks() * (calls + list.pieces.size() - in_rows);
    for (std::uint32_t pack = 0; pack < list.ends.size(); ++pack) {
      if (joined_.joins(p, pack))
        calls += 1 - rows_of_pack(list, pack).size();
      else
        calls += after_rows(list, pack) < list.range(pack).second;
    }
    return chunks() * calls;
  }

  /// Runs an instruction on its pack: `in` and `out` are its messages, split and joined by the pieces' tokens.
  /// number: the instruction's place in the program
  result<void> run(std::size_t number, const call_messages& with) {
    Ties::check();  // here, as calls of pieces never come to where packs are tied
    std::span<const std::byte> in = with.in;
    const std::span<std::byte> out = with.out;
    const instruction& i = script_->code[number];
    const piece_list& list = script_->of(i.pass());
    const auto [first, end] = list.range(i.pack.value);
    pack_.assign(list.pieces.begin() + first, list.pieces.begin() + end);
    const std::uint32_t chunk = script_->chunk_of(i);
    for (piece& one : pack_) one.chunk = chunk;
    if (!pack_.empty()) {
      pack_.back().last_of_pack = true;
      pack_.back().last_of_chunk = number == last_[chunk];
    }
    if constexpr (has_member_reductions<Compute>)
      if (number == 0) watch_.begin(*compute_, script_->reduced_chunks());
    if constexpr (computes_vocabulary<Compute>)
      if (!i.is_of_part()) return run_end(i, with);
    if constexpr (splits_weight_gradients<Compute>)
      if (i.is_weights()) return weights(first);
    std::size_t offset = 0;
    if constexpr (joins_rows<Compute>)
      if (joined_.joins(i.pass(), i.pack.value)) return run_joined(i, first, in, out);
    if constexpr (shares_rows<Compute>) {
      const auto run_one = [&, begin = first](const piece_list::row& one) {
        return run_row(i, one, begin, in, out, offset);
      };
      const auto stand_by_one = [&](std::uint32_t index) {
        return detail::stand_by(*compute_, *exchange_, *script_, index);
      };
      if (result<void> done = each_row(*script_, number, run_one, stand_by_one); !done) return done;
    }
    const std::uint32_t rest = after_rows(list, i.pack.value);
    if constexpr (by_piece) {
      for (std::uint32_t at = rest; at < end; ++at) {
        const piece& one = pack_[at - first];
        const std::size_t size = static_cast<std::size_t>(one.slice.length.value) * width_;
        outgoing to = out.empty() ? outgoing{} : outgoing{out.subspan(offset, size)};
        const std::span<const std::byte> from = in.empty() ? in : in.subspan(offset, size);
        running_ = {&one, 1};
        result<void> done = i.pass() == pass::forward ? forward(one, at, from, to) : backward(one, at, from, to);
        if (done) done = check(to, one.slice.length);
        if (done = called(i.pass(), running_, std::move(done)); !done) return done;
        offset += size;
      }
    } else if (rest < end) {
      pack_.erase(pack_.begin(), pack_.begin() + (rest - first));
      outgoing to = out.empty() ? outgoing{} : outgoing{out.subspan(offset)};
      if (!in.empty()) in = in.subspan(offset);
      running_ = pack_;
      result<void> done = success();
      if (ties_->ties(i)) {
        if constexpr (Ties::can_run)
          done = ties_->run(i, [&](auto& handle) {
            return call_with(handle, i.pass(), std::span<const piece>(pack_), rest, in, to);
          });
      } else {
        done = i.pass() == pass::forward ? forward(rest, in, to) : backward(rest, in, to);
      }
      if (done) done = check(to, {list.size[i.pack.value].value - static_cast<std::int64_t>(offset / width_)});
      return called(i.pass(), pack_, std::move(done));
    }
    running_ = {};
    return success();
  }

  /// An error that also names the pieces of the call that ends.
  [[nodiscard]] error named(error e) const { return with_pieces(running_, std::move(e)); }

  /// Gives back what was forwarded and not backwarded.
  void discard_all() { kept_.discard_all(); }

 private:
  using kept = kept_pieces<Compute>;
  using state = typename kept::state;
  static constexpr bool has_state = kept::has_state;
  static constexpr bool by_piece = kept::by_piece;

  [[nodiscard]] std::size_t chunks() const noexcept { return static_cast<std::size_t>(script_->on.chunks); }

  /// The first piece of a pack that is of no row.
  static std::uint32_t after_rows(const piece_list& list, std::uint32_t pack) {
    const std::span<const piece_list::row> rows = rows_of_pack(list, pack);
    return rows.empty() ? list.range(pack).first : rows.back().end;
  }

  /// Runs a pack with all its rows in one call.            first: its first piece among all
  result<void> run_joined(const instruction& i, std::size_t first, std::span<const std::byte> in,
                          std::span<std::byte> out) requires(joins_rows<Compute>) {
    static_assert(!by_piece && !has_state,
                  "a stage compute that joins rows is called by pack, and keeps its states itself");
    const std::span<const piece> pack = running_ = pack_;
    static_assert(
        requires(Compute & c, std::span<const std::byte> bytes, outgoing & to, std::span<const joined_row> rows) {
          { c.forward(pack, bytes, to, rows) } -> std::same_as<result<void>>;
          { c.backward(pack, bytes, to, rows) } -> std::same_as<result<void>>;
        },
        "a stage compute that joins rows has result<void> forward(span<const piece>, span<const byte>, outgoing&, "
        "span<const joined_row>), and backward");
    std::vector<joined_row> open;
    for (const piece_list::row& row : joined_.of(i.pass(), i.pack.value)) {
      auto& exchange = exchange_->at(open.size());
      exchange.post_first(joined_.far(row.sequence));
      exchange.begin(script_->shared.all()[row.sequence], i.pass(), row.number, i.chunk, compute_->rows(i.chunk));
      open.push_back({&exchange, row.first - first, row.end - row.first, joined_.crosses_nodes(row.sequence)});
    }
    const std::span<const joined_row> rows = open;
    outgoing to = out.empty() ? outgoing{} : outgoing{out};
    result<void> done = exchange_->guard([&] { return call_with(rows, i.pass(), pack, first, in, to); }, rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (result<void> ended = exchange_->at(k).end(done.has_value()); !ended) return ended;
    if (done) done = check(to, script_->of(i.pass()).size[i.pack.value]);
    return called(i.pass(), pack, std::move(done));
  }

  /// Runs a call of a spread vocabulary, which takes a pack, on this stage's share of the words; on the last stage V is
  /// two.
  result<void> run_end(const instruction& i, const call_messages& with) requires(computes_vocabulary<Compute>) {
    if (pack_.empty()) return success();
    const std::span<const piece> pack = running_ = pack_;
    const tokens size = script_->of(i.pass()).size[i.pack.value];
    outgoing to = with.out.empty() ? outgoing{} : outgoing{with.out};
    result<void> done = success();
    switch (i.kind) {
      case instruction_kind::embed:
        done = asked([&] { return compute_->embed(pack, with.in, to); });
        break;
      case instruction_kind::output:
        done = asked([&] { return compute_->output(pack, with.in, to); });
        break;
      case instruction_kind::output_weights:
        done = asked([&] { return compute_->output_weights(pack, with.in); });
        break;
      default:
        done = asked([&] { return compute_->embed_gradients(pack, with.in, to); });
    }
    if (done) done = check_written(to, size, format_of(script_->content_out(i)));
    if (done && script_->gathers(i)) {
      outgoing rows{with.rows}, statistics{with.statistics};
      done = asked([&] { return compute_->gather_output(pack, with.partials, rows, statistics); });
      if (done) done = check(rows, size);
      if (done) done = check_written(statistics, size, format_of(message_content::statistics));
    }
    if (done = ended(pack.back(), std::move(done)); done) running_ = {};
    return done;
  }

  /// Calls the compute, which keeps its states itself, with pieces and what they exchange meanwhile. A call that fails
  /// has its discard, too.
  template <class Handle>
  result<void> call_with(Handle& with, pass p, std::span<const piece> pack, std::size_t first,
                         std::span<const std::byte> in, outgoing& out) {
    for (std::size_t k = 0; k < pack.size(); ++k)
      p == pass::forward ? kept_.keep(pack[k], first + k) : kept_.give_back(pack[k], first + k);
    return asked([&] {
      return p == pass::forward ? compute_->forward(pack, in, out, with) : compute_->backward(pack, in, out, with);
    });
  }

  /// Runs the pieces of a row, which lie at the beginning of what is left of the messages.
  result<void> run_row(const instruction& i, const piece_list::row& row, std::uint32_t first,
                       std::span<const std::byte> in, std::span<std::byte> out,
                       std::size_t& offset) requires(shares_rows<Compute>) {
    const shared_sequence& with = script_->shared.all()[row.sequence];
    const std::span<const piece> pieces =
        std::span(std::as_const(pack_)).subspan(row.first - first, row.end - row.first);
    tokens length{};
    for (const piece& one : pieces) length += one.slice.length;
    const std::size_t size = static_cast<std::size_t>(length.value) * width_;
    outgoing to = out.empty() ? outgoing{} : outgoing{out.subspan(offset, size)};
    const std::span<const std::byte> from = in.empty() ? in : in.subspan(offset, size);
    running_ = pieces.first(1);
    auto& exchange = exchange_->at(0);
    exchange.post_first({});
    exchange.begin(with, i.pass(), row.number, i.chunk, compute_->rows(i.chunk));
    sharing& handle = exchange;
    result<void> done = exchange.guard([&] {
      if constexpr (has_state)
        return i.pass() == pass::forward ? forward_row(handle, pieces, row.first, from, to)
                                         : backward_row(handle, pieces, row.first, from, to);
      else
        return call_with(handle, i.pass(), pieces, row.first, from, to);
    });
    if (result<void> ended = exchange.end(done.has_value()); !ended) return ended;
    if (done) done = check(to, length);
    offset += size;
    return called(i.pass(), pieces, std::move(done));
  }

  result<void> forward_row(sharing& with, std::span<const piece> row, std::size_t first, std::span<const std::byte> in,
                           outgoing& out) {
    std::vector<state> states(row.size());
    result<void> done = asked([&] { return compute_->forward(row, std::span(states), in, out, with); });
    for (std::size_t k = 0; done && k < row.size(); ++k) kept_.keep(row[k], first + k, std::move(states[k]));
    return done;
  }
  result<void> backward_row(sharing& with, std::span<const piece> row, std::size_t first, std::span<const std::byte> in,
                            outgoing& out) {
    for (std::size_t k = 0; k < row.size(); ++k) kept_.give_back(row[k], first + k);
    std::vector<state> states = kept_.take(row, first);
    return asked([&] { return compute_->backward(row, std::span(states), in, out, with); });
  }

  result<void> forward(const piece& one, std::size_t at, std::span<const std::byte> in,
                       outgoing& out) requires(by_piece) {
    if constexpr (has_state) {
      result<state> made = asked([&] { return compute_->forward(one, in, out); });
      if (!made) return std::move(made).error();
      kept_.keep(one, at, std::move(made).value());
      return success();
    } else {
      kept_.keep(one, at);  // a call that fails half-way has its discard, too
      return asked([&] { return compute_->forward(one, in, out); });
    }
  }

  /// The weight gradients of the pack, which its backward left.
  result<void> weights(std::size_t first) requires(splits_weight_gradients<Compute>) {
    if constexpr (by_piece) {
      for (std::size_t k = 0; k < pack_.size(); ++k) {
        running_ = std::span<const piece>(pack_).subspan(k, 1);
        kept_.release(pack_[k], first + k);
        result<void> done = asked([&] { return compute_->weights(pack_[k]); });
        if (done = ended(pack_[k], std::move(done)); !done) return done;
      }
    } else {
      const std::span<const piece> pack = running_ = pack_;
      for (std::size_t k = 0; k < pack.size(); ++k) kept_.release(pack[k], first + k);
      result<void> done = asked([&] { return compute_->weights(pack); });
      if (done = ended(pack.back(), std::move(done)); !done) return done;
    }
    for (const piece& one : pack_) finished(one);
    running_ = {};
    return success();
  }

  result<void> backward(const piece& one, std::size_t at, std::span<const std::byte> in,
                        outgoing& out) requires(by_piece) {
    kept_.give_back(one, at);
    if constexpr (has_state)
      return asked([&] { return compute_->backward(one, kept_.take(one, at), in, out); });
    else
      return asked([&] { return compute_->backward(one, in, out); });
  }

  result<void> forward(std::size_t first, std::span<const std::byte> in, outgoing& out) {
    const std::span<const piece> pack = pack_;
    if constexpr (!has_state)
      for (std::size_t k = 0; k < pack.size(); ++k) kept_.keep(pack[k], first + k);  // as above
    result<void> done = asked([&] {
      if constexpr (has_state)
        return compute_->forward(pack, kept_.states(pack, first), in, out);
      else
        return compute_->forward(pack, in, out);
    });
    if constexpr (has_state)
      for (std::size_t k = 0; done && k < pack.size(); ++k) kept_.keep(pack[k], first + k);
    return done;
  }

  result<void> backward(std::size_t first, std::span<const std::byte> in, outgoing& out) {
    const std::span<const piece> pack = pack_;
    for (std::size_t k = 0; k < pack.size(); ++k) kept_.give_back(pack[k], first + k);
    if constexpr (has_state) {
      std::vector<state> states = kept_.take(pack, first);
      return asked([&] { return compute_->backward(pack, std::span(states), in, out); });
    } else {
      return asked([&] { return compute_->backward(pack, in, out); });
    }
  }

  [[nodiscard]] result<void> check(const outgoing& out, tokens size) const {
    return check_written(out, size, compute_->format());
  }
  [[nodiscard]] message_format format_of(message_content content) const {
    return formats_of(compute_->format(), vocabulary_format_of(*compute_))[static_cast<std::size_t>(content)];
  }

  /// Ends a call of the compute with these pieces.            done: what it has come to so far
  result<void> called(pass p, std::span<const piece> pieces, result<void> done) {
    if (done = ended(pieces.back(), std::move(done)); !done) return done;
    for (const piece& one : pieces) tell(p, one);
    running_ = {};
    return done;
  }
  /// last: the last piece of the call
  result<void> ended(const piece& last, result<void> done) {
    if (done) done = reduced_in_time(last);
    if (!done) return named(of_compute(std::move(done).error()));
    return done;
  }
  result<void> reduced_in_time([[maybe_unused]] const piece& last) {
    if constexpr (has_member_reductions<Compute>) return watch_.after_call(*compute_, last);
    return success();
  }

  /// The value of a call of the compute as a result. It is not made where another rank is known to have failed.
  template <class Call>
  auto asked(const Call& call) const {
    return watched(step_watch_, [&] { return result_of(call); });
  }

  /// In one line. What only transports and ranks may say is not believed of a compute.
  static error of_compute(error e) {
    e.detail = one_line(e.detail);
    if (e.code == errc::aborted || e.code == errc::disagreement) e.code = errc::compute_failed;
    return e;
  }

  void tell(pass p, const piece& one) {
    if (p == pass::forward && script_->ends_samples(one.chunk))
      for (const sample_end& e : one.ends) sample_forwarded(*compute_, e);
    if (p == pass::forward && one.is_own_last()) {
      sequence_forwarded(*compute_, one.slice.sequence, one.chunk);
      if (script_->outline.forward_only) kept_.let_go(one);
    }
    if (p == pass::backward && !one.weights_apart) finished(one);
  }
  void finished(const piece& one) {
    if (one.is_own_first()) sequence_done(*compute_, one.slice.sequence, one.chunk);
  }

  Compute* compute_;
  const stage_script* script_;
  Exchange* exchange_;
  joined_rows joined_;
  Ties* ties_;
  executors::step_watch* step_watch_;
  std::size_t width_;
  std::vector<std::size_t> last_;  // stage_script::last_of_chunks
  kept kept_;
  reduction_watch<Compute> watch_;
  std::vector<piece> pack_;         // of the running instruction
  std::span<const piece> running_;  // those that the compute is called with; a throw leaves them here
};

}  // namespace slimpack::detail

#endif
