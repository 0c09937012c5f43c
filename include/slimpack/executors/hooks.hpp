#ifndef SLIMPACK_EXECUTORS_HOOKS_HPP
#define SLIMPACK_EXECUTORS_HOOKS_HPP

#include <slimpack/core/backward_cuts.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/step_outline.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

/// How the runtime asks a stage compute. forward, backward, discard and format must be there (concepts.hpp); each other
/// question has a default, and a member of the same meaning replaces it:
///
///   member a compute may offer                      when it is called, or what it says             default
///   static constexpr backward_cuts cuts             where its backward may cut                     forward_cuts
///   tokens valid_tokens(const slice&) const         tokens that have a loss                        all of them
///   void begin_step(const step_outline&)            before the first forward                       nothing
///   void sequence_forwarded(sequence_id)            after the forward of its last token, per chunk nothing
///   void sequence_done(sequence_id)                 after the backward of its first, per chunk     nothing
///   result<void> reduce(group&)                     after the last backward; group.sum(span<T>)    nothing
///                                                   adds over the replicas of this stage
///   double loss()                                   after the reduction: this rank's weighted sum  0
///   bytes held() const                              at the end of a step: must be 0                not asked
///   void abort_step()                               on every rank after a step that failed: drop   nothing
///                                                   all gradients and states
///   Tensor make_tensor(tokens)                      memory for a message; as_span(tensor) gives    64-byte aligned
///                                                   its writable bytes
namespace slimpack {

/// A compute that offers abort_step() has the trainer's gradients undone by it; see executors::packflow.
template <class Compute>
[[nodiscard]] consteval backward_cuts cuts_of() {
  if constexpr (requires { { Compute::cuts } -> std::convertible_to<backward_cuts>; })
    return Compute::cuts;
  else
    return backward_cuts::forward_cuts;
}

template <class Compute>
[[nodiscard]] tokens valid_tokens_of(const Compute& compute, const slice& s) {
  if constexpr (requires { { compute.valid_tokens(s) } -> std::same_as<tokens>; })
    return compute.valid_tokens(s);
  else
    return s.length;
}

template <class Compute>
void begin_step(Compute& compute, const step_outline& outline) {
  if constexpr (requires { compute.begin_step(outline); }) compute.begin_step(outline);
}

template <class Compute>
void sequence_forwarded(Compute& compute, sequence_id s) {
  if constexpr (requires { compute.sequence_forwarded(s); }) compute.sequence_forwarded(s);
}

template <class Compute>
void sequence_done(Compute& compute, sequence_id s) {
  if constexpr (requires { compute.sequence_done(s); }) compute.sequence_done(s);
}

template <class Compute, class Group>
result<void> reduce(Compute& compute, Group& group) {
  if constexpr (requires { { compute.reduce(group) } -> std::same_as<result<void>>; }) {
    return compute.reduce(group);
  } else {
    static_assert(!requires { compute.reduce(group); }, "reduce(group) gives result<void>, so that a failed sum stops the step");
    return success();
  }
}

template <class Compute>
[[nodiscard]] double loss_of(Compute& compute) {
  if constexpr (requires { { compute.loss() } -> std::convertible_to<double>; })
    return compute.loss();
  else
    return 0;
}

template <class Compute>
[[nodiscard]] bytes held_by(const Compute& compute) {
  if constexpr (requires { { compute.held() } -> std::same_as<bytes>; })
    return compute.held();
  else
    return {};
}

template <class Compute>
void abort_step(Compute& compute) {
  if constexpr (requires { compute.abort_step(); }) compute.abort_step();
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
  if constexpr (requires { compute.make_tensor(size); })
    return compute.make_tensor(size);
  else
    return detail::aligned_bytes(static_cast<std::size_t>(size.value) * compute.format().bytes_per_token());
}

}  // namespace slimpack

#endif
