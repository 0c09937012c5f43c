#ifndef SLIMPACK_EXECUTORS_OUTGOING_HPP
#define SLIMPACK_EXECUTORS_OUTGOING_HPP

#include <slimpack/core/error.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

namespace slimpack {

/// The bytes of a tensor that lies in one piece in host memory. A trainer's own tensor type joins in by a function
/// `std::span<const std::byte> as_span(const its_tensor&)` in the namespace of that type.
template <class Range>
  requires requires(const Range& r) {
    std::span{r};
    requires std::is_trivially_copyable_v<typename decltype(std::span{r})::element_type>;
  }
[[nodiscard]] std::span<const std::byte> as_span(const Range& r) noexcept {
  return std::as_bytes(std::span{r});
}

/// Where a stage compute puts what goes to the next stage: activations forward, input gradients backward. The bytes are
/// the message itself (one pack is one message; a piece is a part of it), so nothing is copied twice.
/// A callback either writes into `bytes()`, which may be device memory (hook make_tensor), or calls `put`. One that
/// returns without doing so where `wanted()` is an error that stops the step: a peer would wait for it.
class outgoing {
 public:
  outgoing() = default;
  explicit outgoing(std::span<std::byte> bytes) noexcept : bytes_(bytes), wanted_(true) {}

  /// False at the ends of the pipeline: no loss gradient goes on from the first part, no activation from the last.
  [[nodiscard]] bool wanted() const noexcept { return wanted_; }

  /// The message, tokens x width elements, to be written in place.
  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    written_ = true;
    return bytes_;
  }

  /// The message as elements. Requires   T as the message format says
  template <class T>
  [[nodiscard]] std::span<T> as() noexcept {
    return {reinterpret_cast<T*>(bytes().data()), bytes_.size() / sizeof(T)};
  }

  /// Copies a tensor that lies in host memory. Where nothing is wanted, does nothing.
  /// Errors    wrong_message: the tensor has another size; the step stops even if the caller drops this result
  template <class Tensor>
  result<void> put(const Tensor& tensor) {
    const std::span<const std::byte> from = as_span(tensor);
    if (!wanted_) return success();
    written_ = true;
    given_ = from.size();
    if (from.size() != bytes_.size())
      return error{errc::wrong_message, "a message of " + std::to_string(from.size()) + " bytes where the plan has " +
                                            std::to_string(bytes_.size())};
    if (!from.empty()) std::memcpy(bytes_.data(), from.data(), from.size());
    return success();
  }

  [[nodiscard]] bool written() const noexcept { return written_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  /// Bytes of the last tensor put; size() where the message was written in place.
  [[nodiscard]] std::size_t given() const noexcept { return given_ == none ? bytes_.size() : given_; }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::span<std::byte> bytes_;
  std::size_t given_{none};
  bool wanted_{};
  bool written_{};
};

/// What came from the previous stage, as elements. Requires   T as the message format says
template <class T>
[[nodiscard]] std::span<const T> as(std::span<const std::byte> message) noexcept {
  return {reinterpret_cast<const T*>(message.data()), message.size() / sizeof(T)};
}

}  // namespace slimpack

#endif
