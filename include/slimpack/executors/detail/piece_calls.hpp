#ifndef SLIMPACK_EXECUTORS_DETAIL_PIECE_CALLS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_PIECE_CALLS_HPP

#include <slimpack/concepts.hpp>
#include <slimpack/core/detail/flow.hpp>
#include <slimpack/executors/detail/call_messages.hpp>
#include <slimpack/executors/detail/message_owner.hpp>
#include <slimpack/executors/detail/reduction_watch.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/job/detail/watched_call.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/sharing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::detail {

struct no_state {};

template <class Compute>
struct state_of {
  using type = no_state;
};
template <class Compute>
  requires requires { typename Compute::state; }
struct state_of<Compute> {
  using type = typename Compute::state;
};

/// A call's value as a result, whether it gives one or not.
template <class Call>
auto result_of(Call&& call) {
  using given = std::invoke_result_t<Call>;
  if constexpr (std::is_void_v<given>) {
    call();
    return result<void>(success());
  } else if constexpr (requires(given r) { r.error(); }) {
    return call();
  } else {
    return result<given>(boost::outcome_v2::in_place_type<given>, call());  // a given std::any takes anything
  }
}

/// Calls a stage compute in whichever of its four forms, and keeps what it must get back.
/// Exchange: row_exchange, for pieces of rows that replicas share
template <class Compute, class Exchange>
class piece_calls {
 public:
  /// watch: of the step; may be null
  piece_calls(Compute& compute, const stage_script& script, Exchange& exchange, executors::step_watch* watch)
      : compute_(&compute), script_(&script), exchange_(&exchange), step_watch_(watch), width_(compute.format().bytes_per_token()),
        chunks_(static_cast<std::size_t>(script.on.chunks)), last_(script.last_of_chunks()) {
    for (chunk_state& c : chunks_) {
      if constexpr (any_cuts) {
        c.live.resize(script.ids());
      } else {
        c.held.resize(script.forward.pieces.size());
        if constexpr (has_state) c.states.resize(script.forward.pieces.size());
      }
    }
    if (any_cuts || !script.outline.forward_only) return;
    pieces_of_.resize(script.ids());
    for (std::uint32_t at = 0; at < script.forward.pieces.size(); ++at)
      pieces_of_[script.forward.pieces[at].slice.sequence.value].push_back(at);
  }

  /// How often the compute is called in a step.
  [[nodiscard]] std::size_t calls(pass p) const {
    const piece_list& list = script_->of(p);
    std::size_t calls = list.rows.size();
    std::size_t in_rows = 0;
    for (const piece_list::row& r : list.rows) in_rows += r.end - r.first;
    if (by_piece) return chunks_.size() * (calls + list.pieces.size() - in_rows);
    for (std::uint32_t pack = 0; pack < list.ends.size(); ++pack)
      calls += after_rows(list, pack) < list.range(pack).second;
    return chunks_.size() * calls;
  }

  /// Runs an instruction on its pack: `in` and `out` are its messages, split and joined by the pieces' tokens.
  /// number: the instruction's place in the program
  result<void> run(std::size_t number, const call_messages& with) {
    std::span<const std::byte> in = with.in;
    const std::span<std::byte> out = with.out;
    const instruction& i = script_->code[number];
    const piece_list& list = script_->of(i.pass);
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
      if (i.end != model_end::none) return run_end(i, with);
    if constexpr (splits_weight_gradients<Compute>)
      if (i.weights_only) return weights(first);
    std::size_t offset = 0;
    if constexpr (shares_rows<Compute>) {
      beside_rows beside(script_->transfers, number);
      for (auto row = row_of(list, first); row != list.rows.end() && row->first < end; ++row) {
        if (result<void> posted = stand_by(beside.before(script_->shared.all()[row->sequence].id)); !posted) return posted;
        if (result<void> done = run_row(i, *row, first, in, out, offset); !done) return done;
      }
      if (result<void> posted = stand_by(beside.left()); !posted) return posted;
    }
    const std::uint32_t rest = after_rows(list, i.pack.value);
    if constexpr (by_piece) {
      for (std::uint32_t at = rest; at < end; ++at) {
        const piece& one = pack_[at - first];
        const std::size_t size = static_cast<std::size_t>(one.slice.length.value) * width_;
        outgoing to = out.empty() ? outgoing{} : outgoing{out.subspan(offset, size)};
        const std::span<const std::byte> from = in.empty() ? in : in.subspan(offset, size);
        running_ = {&one, 1};
        result<void> done = i.pass == pass::forward ? forward(one, at, from, to) : backward(one, at, from, to);
        if (done) done = check(to, one.slice.length);
        if (done) done = reduced_in_time(one);
        if (!done) return named(of_compute(std::move(done).error()));
        tell(i.pass, one);
        offset += size;
      }
    } else if (rest < end) {
      pack_.erase(pack_.begin(), pack_.begin() + (rest - first));
      outgoing to = out.empty() ? outgoing{} : outgoing{out.subspan(offset)};
      if (!in.empty()) in = in.subspan(offset);
      running_ = pack_;
      result<void> done = i.pass == pass::forward ? forward(rest, in, to) : backward(rest, in, to);
      if (done) done = check(to, {list.size[i.pack.value].value - static_cast<std::int64_t>(offset / width_)});
      if (done) done = reduced_in_time(pack_.back());
      if (!done) return named(of_compute(std::move(done).error()));
      for (const piece& one : pack_) tell(i.pass, one);
    }
    running_ = {};
    return success();
  }

  /// Runs a call of a spread vocabulary, which takes a pack, on this stage's share of the words; on the last stage V is two.
  result<void> run_end(const instruction& i, const call_messages& with)
    requires(computes_vocabulary<Compute>)
  {
    if (pack_.empty()) return success();
    const std::span<const piece> pack = running_ = pack_;
    const tokens size = script_->of(i.pass).size[i.pack.value];
    outgoing to = with.out.empty() ? outgoing{} : outgoing{with.out};
    result<void> done = success();
    switch (flow_of(i)) {
      case flow::embedding: done = watched([&] { return compute_->embed(pack, with.in, to); }); break;
      case flow::output: done = watched([&] { return compute_->output(pack, with.in, to); }); break;
      case flow::output_weights: done = watched([&] { return compute_->output_weights(pack, with.in); }); break;
      default: done = watched([&] { return compute_->embed_gradients(pack, with.in, to); });
    }
    if (done) done = check(to, size, format_of(script_->content_out(i)));
    if (done && script_->gathers(i)) {
      outgoing rows{with.rows}, statistics{with.statistics};
      done = watched([&] { return compute_->gather_output(pack, with.partials, rows, statistics); });
      if (done) done = check(rows, size);
      if (done) done = check(statistics, size, format_of(message_content::statistics));
    }
    if (done) done = reduced_in_time(pack.back());
    if (!done) return named(of_compute(std::move(done).error()));
    running_ = {};
    return success();
  }

  /// An error that also names the piece of the call that ends, or its first; the error as it is where no call runs.
  [[nodiscard]] error named(error e) const {
    if (running_.empty()) return e;
    const slice& first = running_.front().slice;
    e.detail = "sequence " + std::to_string(first.sequence.value) + " [" + std::to_string(first.begin.value) + ", " +
               std::to_string(first.end().value) + ')' +
               (running_.size() > 1 ? " and " + std::to_string(running_.size() - 1) + " more" : std::string()) + ": " + e.detail;
    return e;
  }

  /// Gives back what was forwarded and not backwarded, the last first, chunk by chunk.
  void discard_all() {
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      if constexpr (any_cuts)
        for (const sequence& s : script_->sequences) discard(s, static_cast<std::uint32_t>(chunk));
      else
        for (std::size_t at = chunks_[chunk].held.size(); at-- > 0;) discard(at, static_cast<std::uint32_t>(chunk));
    }
  }

 private:
  using state = typename state_of<Compute>::type;
  static constexpr bool has_state = !std::is_same_v<state, no_state>;
  static constexpr bool by_piece = computes_pieces<Compute> || computes_own_pieces<Compute>;
  static constexpr bool any_cuts = cuts_of<Compute>() == backward_cuts::any;
  // A pack's states are handed over as one span, so they cannot sit in optionals.
  using slot = std::conditional_t<by_piece, std::optional<state>, state>;

  struct chunk_state {
    std::vector<tokens> live;        // any cuts: per sequence, tokens [0, live) wait for their backward
    std::vector<std::uint8_t> held;  // else: per forward piece, whether it waits
    std::vector<slot> states;        // per forward piece
  };

  /// The first row that begins at a piece or after it.
  static auto row_of(const piece_list& list, std::uint32_t first) {
    return std::lower_bound(list.rows.begin(), list.rows.end(), first,
                            [](const piece_list::row& r, std::uint32_t at) { return r.first < at; });
  }
  /// The first piece of a pack that is of no row.
  static std::uint32_t after_rows(const piece_list& list, std::uint32_t pack) {
    auto [first, end] = list.range(pack);
    for (auto row = row_of(list, first); row != list.rows.end() && row->first < end; ++row) first = row->end;
    return first;
  }

  /// Transfers with rows of which this rank has no tokens, among those of an instruction: in order of sequence.
  class beside_rows {
   public:
    beside_rows(const transfer_script& of, std::size_t number) : of_(&of) {
      const auto found = of.beside.find(static_cast<std::uint32_t>(number));
      if (found != of.beside.end()) left_ = found->second;
    }
    [[nodiscard]] std::span<const std::uint32_t> before(sequence_id id) {
      std::size_t n = 0;
      while (n < left_.size() && of_->absent[left_[n]].sequence < id) ++n;
      const std::span<const std::uint32_t> these = left_.first(n);
      left_ = left_.subspan(n);
      return these;
    }
    [[nodiscard]] std::span<const std::uint32_t> left() const { return left_; }

   private:
    const transfer_script* of_;
    std::span<const std::uint32_t> left_;
  };

  result<void> stand_by(std::span<const std::uint32_t> these) {
    for (const std::uint32_t one : these)
      if (result<void> posted = detail::stand_by(*compute_, *exchange_, *script_, one); !posted) return posted;
    return success();
  }

  /// Runs the pieces of a row, which lie at the beginning of what is left of the messages.
  result<void> run_row(const instruction& i, const piece_list::row& row, std::uint32_t first, std::span<const std::byte> in,
                       std::span<std::byte> out, std::size_t& offset)
    requires(shares_rows<Compute>)
  {
    const shared_sequence& with = script_->shared.all()[row.sequence];
    const std::span<const piece> pieces = std::span(std::as_const(pack_)).subspan(row.first - first, row.end - row.first);
    tokens length{};
    for (const piece& one : pieces) length += one.slice.length;
    const std::size_t size = static_cast<std::size_t>(length.value) * width_;
    outgoing to = out.empty() ? outgoing{} : outgoing{out.subspan(offset, size)};
    const std::span<const std::byte> from = in.empty() ? in : in.subspan(offset, size);
    running_ = pieces.first(1);
    exchange_->begin(with, i.pass, row.number, i.chunk, compute_->rows(i.chunk));
    result<void> done = exchange_->guard([&] {
      return i.pass == pass::forward ? forward_row(pieces, row.first, from, to) : backward_row(pieces, row.first, from, to);
    });
    if (result<void> ended = exchange_->end(done.has_value()); !ended) return ended;
    if (done) done = check(to, length);
    if (done) done = reduced_in_time(pieces.back());
    if (!done) return named(of_compute(std::move(done).error()));
    for (const piece& one : pieces) tell(i.pass, one);
    offset += size;
    return success();
  }

  result<void> forward_row(std::span<const piece> row, std::size_t first, std::span<const std::byte> in, outgoing& out) {
    sharing& with = *exchange_;
    if constexpr (has_state) {
      std::vector<state> states(row.size());
      result<void> done = watched([&] { return compute_->forward(row, std::span(states), in, out, with); });
      for (std::size_t k = 0; done && k < row.size(); ++k) {
        chunks_[row[k].chunk].states[first + k] = std::move(states[k]);
        keep(row[k], first + k);
      }
      return done;
    } else {
      for (std::size_t k = 0; k < row.size(); ++k) keep(row[k], first + k);  // a call that fails has its discard, too
      return watched([&] { return compute_->forward(row, in, out, with); });
    }
  }

  result<void> backward_row(std::span<const piece> row, std::size_t first, std::span<const std::byte> in, outgoing& out) {
    sharing& with = *exchange_;
    for (std::size_t k = 0; k < row.size(); ++k) give_back(row[k], first + k);
    if constexpr (has_state) {
      std::vector<state> states = taken(row, first);
      return watched([&] { return compute_->backward(row, std::span(states), in, out, with); });
    } else {
      return watched([&] { return compute_->backward(row, in, out, with); });
    }
  }

  /// The states of backward pieces.
  std::vector<state> taken(std::span<const piece> pieces, std::size_t first) {
    std::vector<state> states;
    states.reserve(pieces.size());
    for (std::size_t k = 0; k < pieces.size(); ++k)
      states.push_back(take(chunks_[pieces[k].chunk].states[script_->forward_of[first + k]]));
    return states;
  }

  static state take(slot& s) {
    if constexpr (by_piece)
      return std::move(*std::exchange(s, std::nullopt));
    else
      return std::exchange(s, state{});
  }

  void keep(const piece& one, std::size_t at) {
    chunk_state& c = chunks_[one.chunk];
    if constexpr (any_cuts)
      c.live[one.slice.sequence.value] = one.slice.end();
    else
      c.held[at] = 1;
  }
  void give_back(const piece& one, std::size_t at) {
    if (!one.weights_apart) release(one, at);
  }
  void release(const piece& one, std::size_t at) {
    chunk_state& c = chunks_[one.chunk];
    if constexpr (any_cuts)
      c.live[one.slice.sequence.value] = one.is_own_first() ? tokens{} : one.slice.begin;
    else
      c.held[script_->forward_of[at]] = 0;
  }

  /// What a sequence has on a chunk, if anything.
  void discard(const sequence& s, std::uint32_t chunk)
    requires(any_cuts)
  {
    const tokens live = std::exchange(chunks_[chunk].live[s.id.value], tokens{});
    if (live != tokens{}) compute_->discard(piece{{s.id, {0}, live}, s.length, chunk, 0});
  }
  /// What a forward piece has on a chunk, if anything.
  void discard(std::size_t at, std::uint32_t chunk)
    requires(!any_cuts)
  {
    chunk_state& c = chunks_[chunk];
    if (!std::exchange(c.held[at], std::uint8_t{0})) return;
    piece one = script_->forward.pieces[at];
    one.chunk = chunk;
    if constexpr (has_state)
      compute_->discard(one, take(c.states[at]));
    else
      compute_->discard(one);
  }
  /// All of a sequence that has ended on a chunk and runs no backward, the last first.
  void let_go(const piece& last) {
    if constexpr (any_cuts) {
      discard(sequence{last.slice.sequence, last.sequence_length}, last.chunk);
    } else {
      const std::vector<std::uint32_t>& own = pieces_of_[last.slice.sequence.value];
      for (auto at = own.rbegin(); at != own.rend(); ++at) discard(*at, last.chunk);
    }
  }

  result<void> forward(const piece& one, std::size_t at, std::span<const std::byte> in, outgoing& out)
    requires(by_piece)
  {
    if constexpr (has_state) {
      result<state> made = watched([&] { return compute_->forward(one, in, out); });
      if (!made) return std::move(made).error();
      chunks_[one.chunk].states[at].emplace(std::move(made).value());
      keep(one, at);
      return success();
    } else {
      keep(one, at);  // a call that fails half-way has its discard, too
      return watched([&] { return compute_->forward(one, in, out); });
    }
  }

  /// The weight gradients of the pack, which its backward left.
  result<void> weights(std::size_t first)
    requires(splits_weight_gradients<Compute>)
  {
    if constexpr (by_piece) {
      for (std::size_t k = 0; k < pack_.size(); ++k) {
        running_ = std::span<const piece>(pack_).subspan(k, 1);
        release(pack_[k], first + k);
        result<void> done = watched([&] { return compute_->weights(pack_[k]); });
        if (done) done = reduced_in_time(pack_[k]);
        if (!done) return named(of_compute(std::move(done).error()));
      }
    } else {
      const std::span<const piece> pack = running_ = pack_;
      for (std::size_t k = 0; k < pack.size(); ++k) release(pack[k], first + k);
      result<void> done = watched([&] { return compute_->weights(pack); });
      if (done) done = reduced_in_time(pack.back());
      if (!done) return named(of_compute(std::move(done).error()));
    }
    for (const piece& one : pack_) finished(one);
    running_ = {};
    return success();
  }

  result<void> backward(const piece& one, std::size_t at, std::span<const std::byte> in, outgoing& out)
    requires(by_piece)
  {
    give_back(one, at);
    if constexpr (has_state)
      return watched([&] {
        return compute_->backward(one, take(chunks_[one.chunk].states[script_->forward_of[at]]), in, out);
      });
    else
      return watched([&] { return compute_->backward(one, in, out); });
  }

  result<void> forward(std::size_t first, std::span<const std::byte> in, outgoing& out) {
    const std::span<const piece> pack = pack_;
    if constexpr (!has_state)
      for (std::size_t k = 0; k < pack.size(); ++k) keep(pack[k], first + k);  // as above
    result<void> done = watched([&] {
      if constexpr (has_state)
        return compute_->forward(pack, std::span(chunks_[pack[0].chunk].states).subspan(first, pack.size()), in, out);
      else
        return compute_->forward(pack, in, out);
    });
    if constexpr (has_state)
      for (std::size_t k = 0; done && k < pack.size(); ++k) keep(pack[k], first + k);
    return done;
  }

  result<void> backward(std::size_t first, std::span<const std::byte> in, outgoing& out) {
    const std::span<const piece> pack = pack_;
    for (std::size_t k = 0; k < pack.size(); ++k) give_back(pack[k], first + k);
    if constexpr (has_state) {
      std::vector<state> states = taken(pack, first);
      return watched([&] { return compute_->backward(pack, std::span(states), in, out); });
    } else {
      return watched([&] { return compute_->backward(pack, in, out); });
    }
  }

  [[nodiscard]] result<void> check(const outgoing& out, tokens size) const { return check(out, size, compute_->format()); }
  [[nodiscard]] static result<void> check(const outgoing& out, tokens size, const message_format& format) {
    if (!out.wanted()) return success();
    if (!out.written())
      return error{errc::wrong_message, "nothing was written, although a peer waits for " + expectation(size, format)};
    if (out.given() != out.size())
      return error{errc::wrong_message, std::to_string(out.given()) + " bytes were given, where a peer waits for " + expectation(size, format)};
    return success();
  }
  [[nodiscard]] static std::string expectation(tokens size, const message_format& format) {
    return std::to_string(size.value) + " tokens x " + std::to_string(format.width) + " " + to_string(format.element) + " = " +
           std::to_string(static_cast<std::size_t>(size.value) * format.bytes_per_token()) + " bytes";
  }
  [[nodiscard]] message_format format_of(message_content content) const {
    const vocabulary_format ends = vocabulary_format_of(*compute_);
    switch (content) {
      case message_content::partial: return ends.partial;
      case message_content::statistics: return ends.statistics;
      default: return compute_->format();
    }
  }

  /// last: the last piece of the call
  result<void> reduced_in_time([[maybe_unused]] const piece& last) {
    if constexpr (has_member_reductions<Compute>) return watch_.after_call(*compute_, last);
    return success();
  }

  /// The value of a call of the compute as a result. It is not made where another rank is known to have failed.
  template <class Call>
  auto watched(const Call& call) const -> decltype(result_of(call)) {
    const watched_call here(step_watch_);
    if (!here.allowed()) return here.why();
    return result_of(call);
  }

  /// What only transports and ranks may say is not believed of a compute.
  static error of_compute(error e) {
    if (e.code == errc::aborted || e.code == errc::disagreement) e.code = errc::compute_failed;
    return e;
  }

  void tell(pass p, const piece& one) {
    if (p == pass::forward && one.is_own_last()) {
      sequence_forwarded(*compute_, one.slice.sequence, one.chunk);
      if (script_->outline.forward_only) let_go(one);
    }
    if (p == pass::backward && !one.weights_apart) finished(one);
  }
  void finished(const piece& one) {
    if (one.is_own_first()) sequence_done(*compute_, one.slice.sequence, one.chunk);
  }

  Compute* compute_;
  const stage_script* script_;
  Exchange* exchange_;
  executors::step_watch* step_watch_;
  std::size_t width_;
  std::vector<chunk_state> chunks_;
  std::vector<std::size_t> last_;  // stage_script::last_of_chunks
  reduction_watch<Compute> watch_;
  std::vector<std::vector<std::uint32_t>> pieces_of_;  // where no backward comes and cuts are forward's: by sequence
  std::vector<piece> pack_;  // of the running instruction
  std::span<const piece> running_;  // those that the compute is called with; a throw leaves them here
};

}  // namespace slimpack::detail

#endif
