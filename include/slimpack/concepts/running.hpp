#ifndef SLIMPACK_CONCEPTS_RUNNING_HPP
#define SLIMPACK_CONCEPTS_RUNNING_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/detail/has_member.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/executors/sharing.hpp>
#include <slimpack/executors/step_report.hpp>
#include <slimpack/schedules/hooks.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

/// What runs a plan: the trainer's compute, a transport, an executor.
namespace slimpack {

namespace detail {

template <class T>
concept moves_bytes = requires(T& t, int peer, int channel, std::span<const std::byte> out, std::span<std::byte> in,
                               typename T::handle& handle, std::string_view reason) {
  { t.rank() } -> std::same_as<int>;
  { t.size() } -> std::same_as<int>;
  { t.send(peer, channel, out) } -> std::same_as<result<typename T::handle>>;
  { t.receive(peer, channel, in) } -> std::same_as<result<typename T::handle>>;
  { t.test(handle) } -> std::same_as<result<bool>>;
  { t.wait(handle) } -> std::same_as<result<void>>;
  t.abort(reason);
};

using message_in = std::span<const std::byte>;

/// What a callback may return: a value, or a result that holds one.
template <class R, class T>
concept gives = std::same_as<R, T> || std::same_as<R, result<T>>;

/// State per piece, kept by the runtime; called for one piece, or for all of a pack.
template <class C>
concept computes_pieces = requires(C& c, const piece& p, typename C::state state, message_in in, outgoing& out) {
  { c.forward(p, in, out) } -> gives<typename C::state>;
  { c.backward(p, std::move(state), in, out) } -> gives<void>;
  c.discard(p, std::move(state));
};

template <class C>
concept computes_packs = requires(C& c, const piece& p, std::span<const piece> pack,
                                  std::span<typename C::state> states, typename C::state state, message_in in,
                                  outgoing& out) {
  requires std::default_initializable<typename C::state>;
  { c.forward(pack, states, in, out) } -> gives<void>;
  { c.backward(pack, states, in, out) } -> gives<void>;
  c.discard(p, std::move(state));
};

/// State kept by the compute itself; called for one piece, or for all of a pack.
template <class C>
concept computes_own_pieces = requires(C& c, const piece& p, message_in in, outgoing& out) {
  { c.forward(p, in, out) } -> gives<void>;
  { c.backward(p, in, out) } -> gives<void>;
  c.discard(p);
};

template <class C>
concept computes_own_packs = requires(C& c, const piece& p, std::span<const piece> pack, message_in in, outgoing& out) {
  { c.forward(pack, in, out) } -> gives<void>;
  { c.backward(pack, in, out) } -> gives<void>;
  c.discard(p);
};

template <class C>
concept says_format = requires(const C& c) {
  { c.format() } -> std::same_as<message_format>;
};

template <class C>
concept computes_one_way = (computes_pieces<C> || computes_packs<C> || computes_own_pieces<C> ||
                            computes_own_packs<C>)&&says_format<C>;

SLIMPACK_DETAIL_HAS_MEMBER(format);
SLIMPACK_DETAIL_HAS_MEMBER(forward);
SLIMPACK_DETAIL_HAS_MEMBER(backward);
SLIMPACK_DETAIL_HAS_MEMBER(discard);

// Each member by itself, so that a sentence can name the one that is wrong.
template <class C>
concept keeps_state_outside = requires {
  typename C::state;
};
template <class C>
concept forwards_with_state = requires(C& c, const piece& p, message_in in, outgoing& out) {
  { c.forward(p, in, out) } -> gives<typename C::state>;
}
|| requires(C& c, std::span<const piece> pack, std::span<typename C::state> states, message_in in, outgoing& out) {
  { c.forward(pack, states, in, out) } -> gives<void>;
};
template <class C>
concept backwards_with_state = requires(C& c, const piece& p, typename C::state state, message_in in, outgoing& out) {
  { c.backward(p, std::move(state), in, out) } -> gives<void>;
}
|| requires(C& c, std::span<const piece> pack, std::span<typename C::state> states, message_in in, outgoing& out) {
  { c.backward(pack, states, in, out) } -> gives<void>;
};
template <class C>
concept discards_state = requires(C& c, const piece& p, typename C::state state) {
  c.discard(p, std::move(state));
};
template <class C>
concept forwards = requires(C& c, const piece& p, message_in in, outgoing& out) {
  { c.forward(p, in, out) } -> gives<void>;
}
|| requires(C& c, std::span<const piece> pack, message_in in, outgoing& out) {
  { c.forward(pack, in, out) } -> gives<void>;
};
template <class C>
concept backwards = requires(C& c, const piece& p, message_in in, outgoing& out) {
  { c.backward(p, in, out) } -> gives<void>;
}
|| requires(C& c, std::span<const piece> pack, message_in in, outgoing& out) {
  { c.backward(pack, in, out) } -> gives<void>;
};
template <class C>
concept discards = requires(C& c, const piece& p) {
  c.discard(p);
};

/// What the runtime keeps per forward piece can only come back for that piece.
template <class C>
concept cuts_what_it_keeps = cuts_of<C>()
== backward_cuts::forward_cuts || !requires { typename C::state; };

/// What a compute offers that can run weight gradients apart.
template <class C>
concept computes_weights = (computes_own_pieces<C> &&
                            requires(C & c, const piece& p) {
                              { c.weights(p) } -> gives<void>;
                            }) ||
                           (computes_own_packs<C> && requires(C & c, std::span<const piece> pack) {
                             { c.weights(pack) } -> gives<void>;
                           });

/// What a compute offers that can run rows that replicas share; with states, one for each piece of the row.
template <class C>
concept computes_own_shared_rows = (computes_own_pieces<C> ||
                                    computes_own_packs<C>)&&requires(C& c, std::span<const piece> row, message_in in,
                                                                     outgoing& out, sharing& with) {
  { c.forward(row, in, out, with) } -> gives<void>;
  { c.backward(row, in, out, with) } -> gives<void>;
};

template <class C>
concept computes_kept_shared_rows = (computes_pieces<C> ||
                                     computes_packs<C>)&&requires(C& c, std::span<const piece> row,
                                                                  std::span<typename C::state> states, message_in in,
                                                                  outgoing& out, sharing& with) {
  requires std::default_initializable<typename C::state>;
  { c.forward(row, states, in, out, with) } -> gives<void>;
  { c.backward(row, states, in, out, with) } -> gives<void>;
};

template <class C>
concept computes_shared_rows = (computes_own_shared_rows<C> || computes_kept_shared_rows<C>)&&requires(const C& c) {
  { c.rows(std::uint32_t{}) } -> std::same_as<row_format>;
};

/// What a compute offers that can have its vocabulary spread over the stages.
template <class C>
concept says_vocabulary = requires(const C& c) {
  { c.vocabulary_rows() } -> std::same_as<vocabulary_format>;
};
template <class C>
concept embeds = requires(C& c, std::span<const piece> pack, message_in in, outgoing& out) {
  { c.embed(pack, in, out) } -> gives<void>;
};
template <class C>
concept outputs = requires(C& c, std::span<const piece> pack, message_in in, outgoing& out) {
  { c.output(pack, in, out) } -> gives<void>;
};
template <class C>
concept gathers_output = requires(C& c, std::span<const piece> pack, std::span<const message_in> partials,
                                  outgoing& rows, outgoing& statistics) {
  { c.gather_output(pack, partials, rows, statistics) } -> gives<void>;
};
template <class C>
concept weighs_output = requires(C& c, std::span<const piece> pack, message_in in) {
  { c.output_weights(pack, in) } -> gives<void>;
};
template <class C>
concept weighs_embedding = requires(C& c, std::span<const piece> pack, message_in in, outgoing& out) {
  { c.embed_gradients(pack, in, out) } -> gives<void>;
};
template <class C>
concept computes_vocabulary =
    says_vocabulary<C> && embeds<C> && outputs<C> && gathers_output<C> && weighs_output<C> && weighs_embedding<C>;

template <class E, class Compute, class Transport>
concept runs_plans = requires(E& e, const plan& p, Compute& c, Transport& t) {
  { e.execute(p, c, t) } -> std::same_as<result<step_report>>;
};

}  // namespace detail

/// A transport carries bytes between the ranks of a step; rank = replica * stages + stage, whatever the trainer calls
/// them. Sends and receives return at once with a handle, and a receive may be posted before its message is sent.
///  1. messages arrive once, whole and in order per (peer, channel); the receiver names their size; a peer may be the
///     rank itself (virtual stages of a pipeline of one)
///  2. a send never waits for anything that its receiver does later than posting the receive
///  3. wait returns when the work that the caller issues from then on comes after the message, and test says whether
///     the message is through: for host memory both mean completion, on a stream the first is an order. A buffer may be
///     used again after wait, or once test said true; a send reads and a receive writes its buffer after the work that
///     the caller had issued before it. So a CUDA stream and a communicator per channel may stand behind it.
///  4. abort wakes every call that waits, on all ranks, now or when it comes, with errc::aborted and the reason; when
///     it returns, no buffer of this rank is in use. The next step may begin once every rank has aborted.
///     abort is called once per rank and step; until then, data given to a call that failed stays in use.
///  5. a wait that outlasts the transport's time-out ends with errc::timed_out
///  6. all_gather and all_reduce (transports/hooks.hpp) give every member the same bits, and the right ones
/// Calls come from one thread per rank. testing/transport_laws.hpp checks them; transports/hooks.hpp lists the
/// collectives that a transport may offer, all made of messages otherwise. Initialising ranks is the trainer's. Errors
/// name ranks by error_of_ranks (core/rank_names.hpp), so that packflow can put the trainer's numbers there.
/// One that says plan_order = true, since it may run one transfer at a time, is given sends and receives in one order
/// of all that its ranks make (simulators/transfer_order.hpp), each at its place, and law 2 holds for such programs.
/// Shipped   transports::threads in one process; transports::mpi over a communicator; transports::blocking over any
///           send and receive that wait; transports::over any that do not; for memory of devices transports::nccl, and
///           transports::cuda in one process
template <class T>
concept transport = detail::moves_bytes<T> || detail::unmet<
    "a transport offers a type handle, rank(), size(), send(peer, channel, bytes), receive(peer, channel, bytes), "
    "test(handle), wait(handle), abort(reason)">();

/// A stage compute is the trainer's own model on one stage. Messages are spans of bytes, valid during the call: what
/// came from the previous part (`in`, empty at the ends of the pipeline) and what goes to the next
/// (executors/outgoing.hpp). It takes one of four forms: by piece or, with spans of pieces, by pack; with a `state`
/// that the runtime keeps per forward piece, or without one, where it keeps what it needs itself. Callbacks return
/// their value, or a result that holds it.
///  1. a state that forward gave comes back exactly once, to backward or to discard; without states, each forwarded
///     token gets one backward or one discard, those of a forward that failed half-way too. An evaluation discards all
///  2. gradients equal those of the uncut sequences, and add up over sequences in any order
///  3. calls are made on the thread that called the executor, in program order
///  4. with splits_weight_gradients = true (only without states) backward leaves the weight gradients of a piece that
///     is weights_apart to a later call of weights(piece), or of weights(span of pieces); the piece's memory is its own
///     until then, and discard may come between the two
///  5. with cuts = backward_cuts::any (only without states) backward pieces are cut as the plan says; otherwise each is
///     one forward piece, since the runtime cuts both passes at the cuts of either (pricing/refine.hpp)
///  6. with shares_rows = true, or an exchange_set, replicas may share a sequence: its pieces of a row come in one
///     call, forward or backward(span of pieces, in, out, sharing&), which exchanges what others need
///     (executors/sharing.hpp); with states, which then have a default, (span of pieces, span of states, in, out,
///     sharing&). rows(chunk) says how large its rows are
///     With joins_rows = true (by pack, without states) it can also be called with a whole pack and its rows together
///     (executors/joined/joined_row.hpp)
///  7. with vocabulary_rows() its vocabulary may be spread over the stages: embed, output, output_weights and
///     embed_gradients run its share of the words, gather_output on the last stage puts all words together, forward and
///     backward run layers alone (executors/hooks.hpp)
///  8. an evaluation by the plan of a step gives the bits of that step's loss and, with log_probabilities, of the
///     log-probability of each edge, while weights are the same: forward computes these alike in both, by the same
///     kernels (executors/packflow.hpp)
///  9. with shares_prefixes = true samples may share beginnings: a piece's prefix may be of other sequences, whose
///     gradients of keys and values add up over all that go on where they end (executors/hooks.hpp)
/// testing/stage_compute_laws.hpp checks 2 and 8; executors/hooks.hpp lists what else a compute may answer.
template <class C>
concept stage_compute = detail::met < detail::has_member_format<C>,
"a stage compute offers message_format format() const: this one has no member format" > () &&
    detail::met<detail::says_format<C>,
                "a stage compute's format() is public, const and gives message_format: this one is not called so">() &&
    detail::met<detail::has_member_forward<C>,
                "a stage compute offers forward(piece, in, out): this one has no member forward">() &&
    detail::met<detail::has_member_backward<C>,
                "a stage compute offers backward(piece, in, out), with a type state (piece, state, in, out): this one "
                "has no member backward">() &&
    detail::met<detail::has_member_discard<C>,
                "a stage compute offers discard(piece), with a type state discard(piece, state): this one has no "
                "member discard">() &&
    detail::met<
        !detail::keeps_state_outside<C> || detail::forwards_with_state<C>,
        "with a type state, forward is public, given (const piece&, span<const std::byte> in, outgoing& out) and gives "
        "state; or given (span<const piece>, span<state>, in, out) and gives void; or a result of these">() &&
    detail::met<
        !detail::keeps_state_outside<C> || detail::backwards_with_state<C>,
        "with a type state, backward is public, given (const piece&, state, span<const std::byte> in, outgoing& out), "
        "or (span<const piece>, span<state>, in, out), and gives void or result<void>; a state by value">() &&
    detail::met<!detail::keeps_state_outside<C> || detail::discards_state<C>,
                "with a type state, discard is public and given (const piece&, state), a state by value">() &&
    detail::met<detail::keeps_state_outside<C> || detail::forwards<C>,
                "without a type state, forward is public, given (const piece&, span<const std::byte> in, outgoing& "
                "out), or (span<const piece>, in, out), and gives void or result<void>">() &&
    detail::met<detail::keeps_state_outside<C> || detail::backwards<C>,
                "without a type state, backward is public, given (const piece&, span<const std::byte> in, outgoing& "
                "out), or (span<const piece>, in, out), and gives void or result<void>">() &&
    detail::met<detail::keeps_state_outside<C> || detail::discards<C>,
                "without a type state, discard is public and given (const piece&)">() &&
    detail::met<detail::computes_one_way<C>,
                "a stage compute's forward and backward are both given a piece, or both a span of pieces and then, "
                "with a type state, one that has a default">() &&
    (detail::cuts_what_it_keeps<C> || detail::unmet<"a stage compute that cuts backward anywhere keeps its own state: "
                                                    "leave out the type state, or cuts = backward_cuts::any">()) &&
    (!detail::splits_weight_gradients<C> || detail::computes_weights<C> ||
     detail::unmet<"a stage compute that splits weight gradients keeps its own state (no type state) and offers "
                   "weights(piece), or weights(span of pieces) where backward takes packs">()) &&
    (!detail::shares_rows<C> || detail::computes_shared_rows<C> ||
     detail::unmet<"a stage compute that shares rows offers row_format rows(std::uint32_t chunk) const, forward(span "
                   "of pieces, in, out, sharing&) and backward(span of pieces, in, out, sharing&); with a type state, "
                   "which has a default, (span of pieces, span of states, in, out, sharing&)">()) &&
    detail::met<!detail::says_vocabulary<C> || detail::embeds<C>,
                "with vocabulary_rows(), embed is public, given (span<const piece>, span<const std::byte> in, "
                "outgoing& out), and gives void or result<void>">() &&
    detail::met<!detail::says_vocabulary<C> || detail::outputs<C>,
                "with vocabulary_rows(), output is public, given (span<const piece>, span<const std::byte> in, "
                "outgoing& out), and gives void or result<void>">() &&
    detail::met<!detail::says_vocabulary<C> || detail::gathers_output<C>,
                "with vocabulary_rows(), gather_output is public, given (span<const piece>, span<const span<const "
                "std::byte>> partials, outgoing& rows, outgoing& statistics), and gives void or result<void>">() &&
    detail::met<!detail::says_vocabulary<C> || detail::weighs_output<C>,
                "with vocabulary_rows(), output_weights is public, given (span<const piece>, span<const std::byte> "
                "in), and gives void or result<void>">() &&
    detail::met<!detail::says_vocabulary<C> || detail::weighs_embedding<C>,
                "with vocabulary_rows(), embed_gradients is public, given (span<const piece>, span<const std::byte> "
                "in, outgoing& out), and gives void or result<void>">();

/// A compute that can run a schedule's programs: one that splits weight gradients from input gradients needs a compute
/// that does, and both say so by `static constexpr bool splits_weight_gradients = true`.
template <class C, class Schedule>
concept computes_for = stage_compute<C> &&
    (!detail::splits_weight_gradients<Schedule> || detail::splits_weight_gradients<C> ||
     detail::unmet<"this schedule runs weight gradients apart from input gradients: the stage compute must be able to, "
                   "and say splits_weight_gradients = true">());

/// An executor runs one stage's program of a plan with a trainer's compute and transport.
///  1. every instruction of the stage runs once, in program order
///  2. it stops before the optimizer step and returns what the step needs to know; no rank returns a report unless all
///     have completed their gradients
/// Shipped   executors::packflow
template <class E, class Compute, class Transport>
concept executor_for = stage_compute<Compute> && transport<Transport> &&
    (detail::runs_plans<E, Compute, Transport> ||
     detail::unmet<"an executor offers result<step_report> execute(const plan&, Compute&, Transport&)">());

}  // namespace slimpack

#endif
