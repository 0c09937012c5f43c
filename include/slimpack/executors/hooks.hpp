#ifndef SLIMPACK_EXECUTORS_HOOKS_HPP
#define SLIMPACK_EXECUTORS_HOOKS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/detail/has_member.hpp>
#include <slimpack/executors/step_outline.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>

/// How the runtime asks a stage compute. forward, backward, discard and format must be there (concepts.hpp); each other
/// question has a default, and a member of the same meaning replaces it:
///
///   member a compute may offer                      when it is called, or what it says             default
///   static constexpr backward_cuts cuts             where its backward may cut                     forward_cuts
///   static constexpr bool shares_rows               it can run sequences that replicas share, by   false
///                                                   exchange::keep; an exchange_set instead of
///                                                   bool says by which exchanges
///   row_format rows(uint32_t chunk) const           what it then sends for a token of a layer      required then
///   int chunks() const                              virtual stages it computes                     1
///   tokens valid_tokens(const slice&) const         tokens that have a loss; asked before          all of them
///                                                   begin_step, about slices of both passes. The
///                                                   batch's are counted on last stages alone
///   void begin_step(const step_outline&)            before the first forward; may give result<void> nothing
///   void sequence_forwarded(sequence_id)            after the forward of its last token, per chunk; nothing
///                                                   or (sequence_id, uint32_t chunk)
///   void sequence_done(sequence_id)                 after the backward of its first (its weights   nothing
///                                                   where they run apart), per chunk; or
///                                                   (sequence_id, uint32_t chunk)
///   result<void> reduce(group&)                     after the last backward; group.sum(span<T>)    nothing
///                                                   adds over the replicas of this stage
///   result<void> reduce_part(uint32_t chunk, sums&) when all gradients of a chunk are   nothing
///                                                   final, last chunk first; sums.start(span<T>)
///                                                   adds while the program goes on. Where the plan has
///                                                   no reduction beside the work: after the last
///                                                   backward, behind reduce
///   int reductions(int chunk) const                 after each call: how often the trainer's own data-   not asked
///                                                   parallel hooks have reduced this chunk's gradients;
///                                                   a step in which they do before the call with
///                                                   piece.last_of_chunk, or twice, fails and says so
///   double loss()                                   after the reduction: this rank's weighted sum  0
///   bytes held() const                              at the end of a step: must be 0                not asked
///   void abort_step()                               on every rank after a step that failed: drop   nothing
///                                                   all gradients and states
///   Tensor make_tensor(tokens)                      memory for a message: as many as are under way 64-byte aligned
///                                                   at once, made in each step (hand out your own
///                                                   pool's); as_span(tensor&) gives its writable bytes
///
/// A member of one of these names that cannot be called so is an error of compilation, not a default.
namespace slimpack {

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(chunks);
SLIMPACK_DETAIL_HAS_MEMBER(valid_tokens);
SLIMPACK_DETAIL_HAS_MEMBER(begin_step);
SLIMPACK_DETAIL_HAS_MEMBER(sequence_forwarded);
SLIMPACK_DETAIL_HAS_MEMBER(sequence_done);
SLIMPACK_DETAIL_HAS_MEMBER(reduce);
SLIMPACK_DETAIL_HAS_MEMBER(reduce_part);
SLIMPACK_DETAIL_HAS_MEMBER(reductions);
SLIMPACK_DETAIL_HAS_MEMBER(loss);
SLIMPACK_DETAIL_HAS_MEMBER(held);
SLIMPACK_DETAIL_HAS_MEMBER(abort_step);
SLIMPACK_DETAIL_HAS_MEMBER(make_tensor);
}  // namespace detail

/// The compute's answer, or none where it says nothing of chunks.
template <class Compute>
[[nodiscard]] std::optional<int> chunks_of(const Compute& compute) {
  if constexpr (requires { { compute.chunks() } -> std::same_as<int>; }) {
    return compute.chunks();
  } else {
    static_assert(!detail::has_member_chunks<Compute>, "a stage compute's chunks() is public, const and gives int");
    return std::nullopt;
  }
}

template <class Compute>
[[nodiscard]] tokens valid_tokens_of(const Compute& compute, const slice& s) {
  if constexpr (requires { { compute.valid_tokens(s) } -> std::same_as<tokens>; }) {
    return compute.valid_tokens(s);
  } else {
    static_assert(!detail::has_member_valid_tokens<Compute>,
                  "a stage compute's valid_tokens(const slice&) is public, const and gives tokens");
    return s.length;
  }
}

template <class Compute>
result<void> begin_step(Compute& compute, const step_outline& outline) {
  if constexpr (requires { { compute.begin_step(outline) } -> std::same_as<result<void>>; }) {
    return compute.begin_step(outline);
  } else if constexpr (requires { { compute.begin_step(outline) } -> std::same_as<void>; }) {
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
  if constexpr (requires { { compute.sequence_forwarded(s, chunk) } -> std::same_as<void>; })
    compute.sequence_forwarded(s, chunk);
  else if constexpr (requires { { compute.sequence_forwarded(s) } -> std::same_as<void>; })
    compute.sequence_forwarded(s);
  else
    static_assert(!detail::has_member_sequence_forwarded<Compute>,
                  "a stage compute's sequence_forwarded(sequence_id), or sequence_forwarded(sequence_id, uint32_t chunk), is public and gives void");
}

template <class Compute>
void sequence_done(Compute& compute, sequence_id s, std::uint32_t chunk) {
  if constexpr (requires { { compute.sequence_done(s, chunk) } -> std::same_as<void>; })
    compute.sequence_done(s, chunk);
  else if constexpr (requires { { compute.sequence_done(s) } -> std::same_as<void>; })
    compute.sequence_done(s);
  else
    static_assert(!detail::has_member_sequence_done<Compute>,
                  "a stage compute's sequence_done(sequence_id), or sequence_done(sequence_id, uint32_t chunk), is public and gives void");
}

template <class Compute, class Group>
result<void> reduce(Compute& compute, Group& group) {
  if constexpr (requires { { compute.reduce(group) } -> std::same_as<result<void>>; }) {
    return compute.reduce(group);
  } else {
    static_assert(!detail::has_member_reduce<Compute>,
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
                  "a stage compute's reduce_part(uint32_t chunk, auto& sums) is public and gives result<void>, so that a failed sum stops the step");
    return success();
  }
}

template <class Compute>
[[nodiscard]] int reductions_of(const Compute& compute, int chunk) {
  if constexpr (requires { { compute.reductions(chunk) } -> std::same_as<int>; }) {
    return compute.reductions(chunk);
  } else {
    static_assert(!detail::has_member_reductions<Compute>, "a stage compute's reductions(int chunk) is public, const and gives int");
    return 0;
  }
}

template <class Compute>
[[nodiscard]] double loss_of(Compute& compute) {
  if constexpr (requires { { compute.loss() } -> std::convertible_to<double>; }) {
    return compute.loss();
  } else {
    static_assert(!detail::has_member_loss<Compute>, "a stage compute's loss() is public and gives double");
    return 0;
  }
}

template <class Compute>
[[nodiscard]] bytes held_by(const Compute& compute) {
  if constexpr (requires { { compute.held() } -> std::same_as<bytes>; }) {
    return compute.held();
  } else {
    static_assert(!detail::has_member_held<Compute>, "a stage compute's held() is public, const and gives bytes");
    return {};
  }
}

template <class Compute>
void abort_step(Compute& compute) {
  if constexpr (requires { { compute.abort_step() } -> std::same_as<void>; })
    compute.abort_step();
  else
    static_assert(!detail::has_member_abort_step<Compute>, "a stage compute's abort_step() is public and gives void");
}

namespace detail {

/// Host memory for a message, aligned as vector instructions like it.
class aligned_bytes {
 public:
  explicit aligned_bytes(std::size_t size)
      : data_(static_cast<std::byte*>(::operator new(size, std::align_val_t{64}))), size_(size) {}
  friend std::span<std::byte> as_span(aligned_bytes& b) noexcept { return {b.data_.get(), b.size_}; }

 private:
  struct release {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, std::align_val_t{64}); }
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
