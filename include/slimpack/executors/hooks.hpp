#ifndef SLIMPACK_EXECUTORS_HOOKS_HPP
#define SLIMPACK_EXECUTORS_HOOKS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/detail/has_member.hpp>
#include <slimpack/executors/edge_values.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/step_outline.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>

/// How the runtime asks a stage compute. forward, backward, discard and format must be there (concepts.hpp); each other
/// question has a default, and a member of the same meaning replaces it:
///
///   member a compute may offer                      when it is called, or what it says             default
///   static constexpr backward_cuts cuts             where its backward may cut                     forward_cuts
///   static constexpr bool shares_rows               it can run sequences that replicas share, by   false
///                                                   exchange::keep; an exchange_set instead of
///                                                   bool says by which exchanges
///   static constexpr bool joins_rows                it can be called with a whole pack, such rows among    false
///                                                   it (executors/joined/joined_row.hpp)
///   row_format rows(uint32_t chunk) const           what it then sends for a token of a layer      required then
///   static constexpr bool shares_prefixes           it can run samples that share beginnings: see    false
///                                                   below
///   static constexpr bool lends_attention           it can lend other stages attention, and help   false
///                                                   them (executors/lending/lending.hpp)
///   loan_format loans(uint32_t chunk) const         what stages then send each other in a layer    required then
///   static constexpr bool waits_in_calls            its calls wait for others, or never do         it is seen
///                                                   (executors/call_time.hpp)
///   int chunks() const                              virtual stages it computes                     1
///   tokens valid_tokens(const slice&) const         tokens that have a loss; asked before          all of them
///                                                   begin_step, about slices of both passes. The
///                                                   batch's are counted on last stages alone. Not asked
///                                                   where the batch says what is trained on
///                                                   (core/forest/forest.hpp)
///   void begin_step(const step_outline&)            before the first forward; may give result<void> nothing
///   void sequence_forwarded(sequence_id)            after the forward of its last token, per chunk; nothing
///                                                   or (sequence_id, uint32_t chunk)
///   void sample_forwarded(const sample_end&)        on the last part, after the forward of the       nothing
///                                                   sample's last token: the whole sample has run
///                                                   forward there, and none of it backward. So a loss
///                                                   of whole samples can be known before gradients are
///                                                   asked for. Before sequence_forwarded; not with a
///                                                   spread vocabulary, whose calls make gradients at once
///   void sequence_done(sequence_id)                 after the backward of its first (its weights   nothing
///                                                   where they run apart), per chunk; or
///                                                   (sequence_id, uint32_t chunk)
///   result<void> reduce(group&)                     after the last backward; group.sum(span<T>)    nothing
///                                                   adds over the replicas of this stage
///   result<void> reduce_part(uint32_t chunk, sums&) when all gradients of a chunk are   nothing
///                                                   final, last chunk first, at the end chunk number
///                                                   chunks() of a spread vocabulary; sums.start(span<T>)
///                                                   adds while the program goes on. Where the plan has
///                                                   no reduction beside the work: after the last
///                                                   backward, behind reduce
///   int reductions(int chunk) const                 after each call: how often the trainer's own data-   not asked
///                                                   parallel hooks have reduced this chunk's gradients;
///                                                   a step in which they do before the call with
///                                                   piece.last_of_chunk, or twice, fails and says so; of a
///                                                   spread vocabulary also asked of number chunks()
///   double loss()                                   after the reduction: this rank's weighted sum  0
///   void log_probabilities(edge_values&)            at the end of a step, behind loss: adds the    none: reports have
///                                                   log-probability of each edge from its own      no edges
///                                                   tokens, on last stages alone; see below. May
///                                                   give result<void>
///   bytes held() const                              at the end of a step: must be 0                not asked
///   void interrupt() noexcept                       on a watchdog's thread (job/watchdog.hpp), at    not asked: a call
///                                                   most once a step, while a call of the compute    that waits for a
///                                                   runs, where another rank has failed or any is    rank which failed
///                                                   late: end what it waits for, so that it gives    is named to sink,
///                                                   an error or throws, which is no cause; returns   and of ranks that
///                                                   at once                                          are late none can
///                                                                                                    be told apart
///   void abort_step()                               on every rank after a step that failed: it     nothing: then drop
///                                                   must drop all gradients that the step has      gradients yourself
///                                                   added so far, or the next step adds to them,   where execute gives
///                                                   and all states                                 an error
///   Tensor make_tensor(tokens)                      memory for a message: as many as are under way 64-byte aligned
///                                                   at once, made in each step (hand out your own
///                                                   pool's); as_span(tensor&) gives its writable bytes
///   vocabulary_format vocabulary_rows() const       it has its vocabulary spread over the stages:   in one place
///                                                   see below
///   void copy_rows(span<const byte> from,           copies rows: gradients that gather_output made   std::memcpy
///                  span<byte> to)                   go to the message that backward reads; over a
///                                                   transport of device memory also those that
///                                                   replicas share. May give result<void>
///   void add_rows(span<const byte> from,            over such a transport: adds what others owe of   required then,
///                 span<byte> to)                    gradients of keys and values (exchange::keep),   never called else
///                                                   as elements of row_format::gradients. May give
///                                                   result<void>
///
/// Where samples share beginnings, a sequence is a node of their forest. It runs forward after its parent and backward
/// after all its children, each token once in each pass, for all samples that have it. A compute that says
/// shares_prefixes attends to the tokens of piece::prefix, too, and adds their gradients of keys and values up until
/// they run backward themselves; activation_store finds the ones and keeps the others by token of the path. A parent
/// and its children may come in one call: forward the parent's pieces first, backward the children's. The loss is that
/// of the pieces' edges: one for each target, at a fork one for each child, with the weight of the samples that train
/// on it (target_run), over the valid tokens of the batch (step_outline), which count these samples. With a spread
/// vocabulary, partial rows have room for the weighted sum over the edges of a token; log-probabilities of each edge
/// are not to be had from them, and a stage whose batch has forks gives none at all. Where replicas compute a path
/// again (plan::copies), a sequence that is a copy alone has the tokens that the copied path has (path_copy::of), and
/// those edges alone that go to children at home here.
///
/// log_probabilities: an edge goes from a token to the one that the model predicts from it (edge_values.hpp). A compute
/// gives one for each token that valid_tokens counts, or for each target where the batch says what is trained on, once,
/// whatever pieces the plan cuts and however many samples train on it; it keeps them from forward (of a spread
/// vocabulary from gather_output) until it is asked, whatever is discarded meanwhile, and drops them in begin_step.
/// They are those of the weights that forward has, before any clipping, of the step as of an evaluation. packflow
/// refuses edges that are missing, come twice or leave other tokens, and hands them on in step_report, on the rank that
/// ran them. Of a replica without work it leaves out all. Law 8 of stage_compute (concepts/running.hpp): evaluation and
/// step have the same bits, so a clipped objective has ratios of exactly 1 until weights change. Where work is issued
/// to a device, all of it is done when this is called.
///
/// Where the plan spreads the vocabulary over the stages (core/wiring/step_kinds.hpp), each has a share of the words,
/// of the embedding and of the output layer. vocabulary_rows() says what stages send each other for a token of the
/// output layer, and five more calls are required, on every stage. Each is made once a pack, in run order, and gives
/// void or result<void>. The chunk of their pieces is number chunks().
///
///   call, given (span<const piece> pack, ...)   of this stage's words                 what it reads and writes
///   embed(pack, span<const byte> in,            E: adds their embedded rows           in: the sum of stages before,
///         outgoing& out)                                                              none on stage 0; out: the sum
///                                                                                     so far, from the last stage to
///                                                                                     forward on part 0
///   output(pack, span<const byte> in,           V: logits, partial softmax            in: hidden rows; out: partial
///          outgoing& out)                                                             rows, on the last stage, too
///   gather_output(pack,                         V on the last stage, right behind its partials: of all stages, in
///     span<const span<const byte>> partials,    `output`: puts all words together     their order, the last stage's
///     outgoing& rows, outgoing& statistics)                                           own at the end; rows: gradients
///                                                                                     of hidden rows
///   output_weights(pack,                        U: gradients of their output rows, of in: statistics, the same on all
///                  span<const byte> in)         what `output` kept of the pack
///   embed_gradients(pack, span<const byte> in,  G: gradients of their embedding rows  in: gradients of embedded rows;
///                   outgoing& out)                                                    out: the same, none on stage 0
///
/// So forward always has an `in` and an `out`, and backward, too; backward on the last part reads the gradients that
/// gather_output made. There loss and gradients of a pack are known, so loss() and valid tokens count on last stages
/// alone, as ever. Other stages weigh their gradients likewise: valid_tokens says the same on all.
/// Partial rows come in order of stages whatever messages are first, so that sums over them have the same bits in every
/// run. What `output` keeps of a pack (hidden rows, logits) is its until `output_weights` of that pack. Nothing of it
/// is discarded after a step that failed: abort_step drops it. Tensors of gradients of hidden rows are destroyed during
/// the step, once the copies that read them have been made, or issued.
/// A compute that can also have its vocabulary in one place gives partial rows of width 0 where it has.
///
/// Where the transport moves memory of a device (transports/hooks.hpp), calls only issue work, on the transport's
/// stream: copy_rows and add_rows, too, whose spans lie in memory of make_tensor, or in rows that the compute gave a
/// call of sharing.hpp.
///
/// Where packflow evaluates (step_outline::forward_only), backward, sequence_done and the reductions are not called:
/// what a sequence has on a chunk goes to discard right after sequence_forwarded, of it and of all that go on where it
/// ends.
/// A member of one of these names that cannot be called so is an error of compilation, not a default.
namespace slimpack {

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(chunks);
SLIMPACK_DETAIL_HAS_MEMBER(shares_prefixes);
SLIMPACK_DETAIL_HAS_MEMBER(valid_tokens);
SLIMPACK_DETAIL_HAS_MEMBER(begin_step);
SLIMPACK_DETAIL_HAS_MEMBER(sequence_forwarded);
SLIMPACK_DETAIL_HAS_MEMBER(sample_forwarded);
SLIMPACK_DETAIL_HAS_MEMBER(sequence_done);
SLIMPACK_DETAIL_HAS_MEMBER(reduce);
SLIMPACK_DETAIL_HAS_MEMBER(reduce_part);
SLIMPACK_DETAIL_HAS_MEMBER(reductions);
SLIMPACK_DETAIL_HAS_MEMBER(loss);
SLIMPACK_DETAIL_HAS_MEMBER(log_probabilities);
SLIMPACK_DETAIL_HAS_MEMBER(held);
SLIMPACK_DETAIL_HAS_MEMBER(abort_step);
SLIMPACK_DETAIL_HAS_MEMBER(interrupt);
SLIMPACK_DETAIL_HAS_MEMBER(make_tensor);
SLIMPACK_DETAIL_HAS_MEMBER(vocabulary_rows);
SLIMPACK_DETAIL_HAS_MEMBER(copy_rows);
SLIMPACK_DETAIL_HAS_MEMBER(add_rows);

template <class Compute>
consteval bool says_shares_prefixes() {
  if constexpr (requires {
                  { Compute::shares_prefixes } -> std::same_as<const bool&>;
                  typename std::bool_constant<Compute::shares_prefixes>;
                }) {
    return Compute::shares_prefixes;
  } else {
    static_assert(!has_member_shares_prefixes<Compute>,
                  "a stage compute's shares_prefixes is a public static constexpr bool");
    return false;
  }
}

/// Whether a compute says `static constexpr bool shares_prefixes = true`: it can run samples that share beginnings.
template <class Compute>
concept shares_prefixes = says_shares_prefixes<Compute>();
}  // namespace detail

/// The compute's answer, or none where it says nothing of chunks.
template <class Compute>
[[nodiscard]] std::optional<int> chunks_of(const Compute& compute) {
  if constexpr (requires {
                  { compute.chunks() } -> std::same_as<int>;
                }) {
    return compute.chunks();
  } else {
    static_assert(!detail::has_member_chunks<Compute>, "a stage compute's chunks() is public, const and gives int");
    return std::nullopt;
  }
}

template <class Compute>
[[nodiscard]] tokens valid_tokens_of(const Compute& compute, const slice& s) {
  if constexpr (requires {
                  { compute.valid_tokens(s) } -> std::same_as<tokens>;
                }) {
    return compute.valid_tokens(s);
  } else {
    static_assert(!detail::has_member_valid_tokens<Compute>,
                  "a stage compute's valid_tokens(const slice&) is public, const and gives tokens");
    return s.length;
  }
}

template <class Compute>
result<void> begin_step(Compute& compute, const step_outline& outline) {
  if constexpr (requires {
                  { compute.begin_step(outline) } -> std::same_as<result<void>>;
                }) {
    return compute.begin_step(outline);
  } else if constexpr (requires {
                         { compute.begin_step(outline) } -> std::same_as<void>;
                       }) {
    compute.begin_step(outline);
    return success();
  } else {
    static_assert(!detail::has_member_begin_step<Compute>,
                  "a stage compute's begin_step(const step_outline&) is public and gives void or result<void>");
    return success();
  }
}

template <class Compute>
void sequence_forwarded(Compute& compute, sequence_id s, std::uint32_t chunk) {
  if constexpr (requires {
                  { compute.sequence_forwarded(s, chunk) } -> std::same_as<void>;
                })
    compute.sequence_forwarded(s, chunk);
  else if constexpr (requires {
                       { compute.sequence_forwarded(s) } -> std::same_as<void>;
                     })
    compute.sequence_forwarded(s);
  else
    static_assert(!detail::has_member_sequence_forwarded<Compute>,
                  "a stage compute's sequence_forwarded(sequence_id), or sequence_forwarded(sequence_id, uint32_t "
                  "chunk), is public and gives void");
}

template <class Compute>
void sample_forwarded(Compute& compute, const sample_end& sample) {
  if constexpr (requires {
                  { compute.sample_forwarded(sample) } -> std::same_as<void>;
                })
    compute.sample_forwarded(sample);
  else
    static_assert(!detail::has_member_sample_forwarded<Compute>,
                  "a stage compute's sample_forwarded(const sample_end&) is public and gives void");
}

template <class Compute>
void sequence_done(Compute& compute, sequence_id s, std::uint32_t chunk) {
  if constexpr (requires {
                  { compute.sequence_done(s, chunk) } -> std::same_as<void>;
                })
    compute.sequence_done(s, chunk);
  else if constexpr (requires {
                       { compute.sequence_done(s) } -> std::same_as<void>;
                     })
    compute.sequence_done(s);
  else
    static_assert(!detail::has_member_sequence_done<Compute>,
                  "a stage compute's sequence_done(sequence_id), or sequence_done(sequence_id, uint32_t chunk), is "
                  "public and gives void");
}

template <class Compute, class Group>
result<void> reduce(Compute& compute, Group& group) {
  if constexpr (requires {
                  { compute.reduce(group) } -> std::same_as<result<void>>;
                }) {
    return compute.reduce(group);
  } else {
    static_assert(
        !detail::has_member_reduce<Compute>,
        "a stage compute's reduce(auto& group) is public and gives result<void>, so that a failed sum stops the step");
    return success();
  }
}

namespace detail {
template <class Compute, class Sums>
concept reduces_parts = requires(Compute& compute, Sums& sums) {
  { compute.reduce_part(std::uint32_t{}, sums) } -> std::same_as<result<void>>;
};
}  // namespace detail

template <class Compute, class Sums>
result<void> reduce_part(Compute& compute, std::uint32_t chunk, Sums& sums) {
  if constexpr (detail::reduces_parts<Compute, Sums>) {
    return compute.reduce_part(chunk, sums);
  } else {
    static_assert(!detail::has_member_reduce_part<Compute>,
                  "a stage compute's reduce_part(uint32_t chunk, auto& sums) is public and gives result<void>, so that "
                  "a failed sum stops the step");
    return success();
  }
}

template <class Compute>
[[nodiscard]] int reductions_of(const Compute& compute, int chunk) {
  if constexpr (requires {
                  { compute.reductions(chunk) } -> std::same_as<int>;
                }) {
    return compute.reductions(chunk);
  } else {
    static_assert(!detail::has_member_reductions<Compute>,
                  "a stage compute's reductions(int chunk) is public, const and gives int");
    return 0;
  }
}

template <class Compute>
[[nodiscard]] double loss_of(Compute& compute) {
  if constexpr (requires {
                  { compute.loss() } -> std::convertible_to<double>;
                }) {
    return compute.loss();
  } else {
    static_assert(!detail::has_member_loss<Compute>, "a stage compute's loss() is public and gives double");
    return 0;
  }
}

/// Adds what the compute has of the step's edges.
template <class Compute>
result<void> log_probabilities_of([[maybe_unused]] Compute& compute, [[maybe_unused]] edge_values& to) {
  if constexpr (requires {
                  { compute.log_probabilities(to) } -> std::same_as<result<void>>;
                }) {
    return compute.log_probabilities(to);
  } else if constexpr (requires {
                         { compute.log_probabilities(to) } -> std::same_as<void>;
                       }) {
    compute.log_probabilities(to);
    return success();
  } else {
    static_assert(!detail::has_member_log_probabilities<Compute>,
                  "a stage compute's log_probabilities(edge_values&) is public and gives void or result<void>");
    return success();
  }
}

template <class Compute>
[[nodiscard]] bytes held_by(const Compute& compute) {
  if constexpr (requires {
                  { compute.held() } -> std::same_as<bytes>;
                }) {
    return compute.held();
  } else {
    static_assert(!detail::has_member_held<Compute>, "a stage compute's held() is public, const and gives bytes");
    return {};
  }
}

template <class Compute>
void abort_step(Compute& compute) {
  if constexpr (requires {
                  { compute.abort_step() } -> std::same_as<void>;
                })
    compute.abort_step();
  else
    static_assert(!detail::has_member_abort_step<Compute>, "a stage compute's abort_step() is public and gives void");
}

/// Whether what a call of the compute waits for can be ended from another thread.
template <class Compute>
[[nodiscard]] constexpr bool offers_interrupt() {
  if constexpr (requires(Compute & compute) {
                  { compute.interrupt() }
                  noexcept->std::same_as<void>;
                }) {
    return true;
  } else {
    static_assert(!detail::has_member_interrupt<Compute>,
                  "a stage compute's interrupt() is public, noexcept and gives void: it is called on another thread");
    return false;
  }
}

/// The compute's answer; of width 0 where it says nothing: its vocabulary is in one place.
template <class Compute>
[[nodiscard]] vocabulary_format vocabulary_format_of(const Compute& compute) {
  if constexpr (requires {
                  { compute.vocabulary_rows() } -> std::same_as<vocabulary_format>;
                }) {
    return compute.vocabulary_rows();
  } else {
    static_assert(!detail::has_member_vocabulary_rows<Compute>,
                  "a stage compute's vocabulary_rows() is public, const and gives vocabulary_format");
    return {};
  }
}

/// Copies rows from one message to another.            Requires  spans of one size that do not overlap
template <class Compute>
result<void> copy_rows(Compute& compute, std::span<const std::byte> from, std::span<std::byte> to) {
  if (from.empty()) return success();
  if constexpr (requires {
                  { compute.copy_rows(from, to) } -> std::same_as<result<void>>;
                }) {
    return compute.copy_rows(from, to);
  } else if constexpr (requires {
                         { compute.copy_rows(from, to) } -> std::same_as<void>;
                       }) {
    compute.copy_rows(from, to);
  } else {
    static_assert(
        !detail::has_member_copy_rows<Compute>,
        "a stage compute's copy_rows(span<const byte> from, span<byte> to) is public and gives void or result<void>");
    std::memcpy(to.data(), from.data(), from.size());
  }
  return success();
}

/// Adds gradients of keys and values, which lie in memory of a device.            Requires  spans of one size that do
/// not overlap
/// Errors    compute_failed: the compute offers nothing for it
template <class Compute>
result<void> add_rows(Compute& compute, std::span<const std::byte> from, std::span<std::byte> to) {
  if constexpr (requires {
                  { compute.add_rows(from, to) } -> std::same_as<result<void>>;
                }) {
    return compute.add_rows(from, to);
  } else if constexpr (requires {
                         { compute.add_rows(from, to) } -> std::same_as<void>;
                       }) {
    compute.add_rows(from, to);
    return success();
  } else {
    static_assert(
        !detail::has_member_add_rows<Compute>,
        "a stage compute's add_rows(span<const byte> from, span<byte> to) is public and gives void or result<void>");
    return error{errc::compute_failed, "the compute does not offer add_rows (executors/hooks.hpp)"};
  }
}

namespace detail {

/// The bytes of a message's memory, whatever the compute's make_tensor makes.
template <class Tensor>
[[nodiscard]] std::span<std::byte> writable_bytes(Tensor& tensor) {
  if constexpr (requires { std::as_writable_bytes(std::span{tensor}); })
    return std::as_writable_bytes(std::span{tensor});
  else
    return as_span(tensor);
}

/// Host memory for a message, aligned as vector instructions like it.
class aligned_bytes {
 public:
  explicit aligned_bytes(std::size_t size)
      : data_(static_cast<std::byte*>(::operator new (size, std::align_val_t{64}))), size_(size) {}
  friend std::span<std::byte> as_span(aligned_bytes& b) noexcept { return {b.data_.get(), b.size_}; }

 private:
  struct release {
    void operator()(std::byte* p) const noexcept { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte[], release> data_;
  std::size_t size_;
};

}  // namespace detail

/// Memory for a message of `size` tokens, owned by whoever holds the result.
template <class Compute>
[[nodiscard]] auto make_tensor(Compute& compute, tokens size) {
  if constexpr (requires { compute.make_tensor(size); }) {
    return compute.make_tensor(size);
  } else {
    static_assert(!detail::has_member_make_tensor<Compute>, "a stage compute's make_tensor(tokens) is public");
    return detail::aligned_bytes(static_cast<std::size_t>(size.value) * compute.format().bytes_per_token());
  }
}

}  // namespace slimpack

#endif
