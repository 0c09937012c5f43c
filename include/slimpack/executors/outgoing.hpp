#ifndef SLIMPACK_EXECUTORS_OUTGOING_HPP
#define SLIMPACK_EXECUTORS_OUTGOING_HPP

#include <slimpack/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

namespace slimpack {

namespace detail {

/// Says why bytes cannot be elements of a size that lie at multiples of `alignment`.
[[noreturn]] inline void throw_no_elements(std::size_t bytes, std::size_t size, std::size_t alignment) {
  const std::string message = std::to_string(bytes) + " bytes of a message ";
  throw_error({errc::wrong_message,
               bytes % size == 0 ? message + "do not begin at a multiple of " + std::to_string(alignment) +
                                       " bytes, where elements of this type must lie: copy them"
                                 : message + "are no whole number of elements of " + std::to_string(size) + " bytes"});
}

/// A message's bytes as elements, of which there are a whole number, each where its type may lie.
template <class T, class Byte>
[[nodiscard]] std::span<T> elements_of(std::span<Byte> message) {
  static_assert(std::is_trivially_copyable_v<T>, "a message is seen as elements that can be copied byte by byte");
  if (message.size() % sizeof(T) != 0 || reinterpret_cast<std::uintptr_t>(message.data()) % alignof(T) != 0)
    throw_no_elements(message.size(), sizeof(T), alignof(T));
  return {reinterpret_cast<T*>(message.data()), message.size() / sizeof(T)};
}

}  // namespace detail

/// The bytes of a tensor that lies in one piece in host memory. A trainer's own tensor type joins in by a function
/// `std::span<const std::byte> as_span(const its_tensor&)` in the namespace of that type.
template <class Range>
requires requires(const Range& r) {
  std::span{r};
  requires std::is_trivially_copyable_v<typename decltype(std::span{r})::element_type>;
}
[[nodiscard]] std::span<const std::byte> as_span(const Range& r) noexcept { return std::as_bytes(std::span{r}); }

namespace detail {

template <class Tensor>
concept seen_as_bytes = requires(const Tensor& tensor) {
  { as_span(tensor) } -> std::convertible_to<std::span<const std::byte>>;
};

}  // namespace detail

/// Where a stage compute puts what goes to the next stage: activations forward, input gradients backward. The bytes are
/// the message itself (one pack is one message; a piece is a part of it), so nothing is copied twice.
/// A callback either writes into `bytes()`, which may be device memory (hook make_tensor), or calls `put`. One that
/// returns without doing so where `wanted()` is an error that stops the step: a peer would wait for it. It is taken by
/// reference, since what is written to a copy would not count.
class outgoing {
 public:
  outgoing() = default;
  outgoing(const outgoing&) = delete;
  outgoing& operator=(const outgoing&) = delete;
  explicit outgoing(std::span<std::byte> bytes) noexcept : bytes_(bytes), wanted_(true) {}

  /// False at the ends of the pipeline: no loss gradient goes on from the first part, no activation from the last.
  [[nodiscard]] bool wanted() const noexcept { return wanted_; }

  /// The message, tokens x width elements, to be written in place.
  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    written_ = true;
    return bytes_;
  }

  /// The message as elements, to be written in place.
  /// Requires  T as the message format says
  /// Errors    as slimpack::as
  template <class T>
  [[nodiscard]] std::span<T> as() {
    return detail::elements_of<T>(bytes());
  }

  /// Copies a tensor that lies in host memory. Where nothing is wanted, does nothing, and does not look at the tensor:
  /// a first stage may have none.
  /// Errors    wrong_message: the tensor has another size; the step stops even if the caller drops this result
  template <class Tensor>
  result<void> put(const Tensor& tensor) {
    static_assert(detail::seen_as_bytes<Tensor>,
                  "for put, std::span<const std::byte> as_span(const T&) stands in the namespace of the tensor type T");
    if constexpr (detail::seen_as_bytes<Tensor>) {
      // The tensor may be null where nothing takes it.
      if (wanted_) return copied(as_span(tensor));
    }
    return success();
  }

  [[nodiscard]] bool written() const noexcept { return written_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  /// Bytes of the last tensor put; size() where the message was written in place.
  [[nodiscard]] std::size_t given() const noexcept { return given_ == none ? bytes_.size() : given_; }

 private:
  [[nodiscard]] result<void> copied(std::span<const std::byte> from) {
    written_ = true;
    given_ = from.size();
    if (from.size() != bytes_.size())
      return error{errc::wrong_message, "a message of " + std::to_string(from.size()) + " bytes where the plan has " +
                                            std::to_string(bytes_.size())};
    if (!from.empty())
      std::memcpy(bytes_.data(), from.data(), from.size());  // not std::copy, whose header is most of
                                                             // what this one costs
    return success();
  }

  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::span<std::byte> bytes_;
  std::size_t given_{none};
  bool wanted_{};
  bool written_{};
};

/// What came from the previous stage, as elements. The memory of a message begins at a multiple of 64 bytes, unless the
/// hook make_tensor gives other; a piece in it begins at its first token, a multiple of the bytes per token behind.
/// Requires  T as the message format says, or made of such elements
/// Errors    throws plan_error (wrong_message), which stops the step as any exception of a compute: bytes that are no
///           whole number of T, or do not begin where a T may lie
template <class T>
[[nodiscard]] std::span<const T> as(std::span<const std::byte> message) {
  return detail::elements_of<const T>(message);
}

}  // namespace slimpack

#endif
