#ifndef SLIMPACK_PROFILING_DETAIL_MADE_UP_HPP
#define SLIMPACK_PROFILING_DETAIL_MADE_UP_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/detail/messages/messages.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/message_format.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::profiling::detail {

/// A message of numbers 1 and -1 by turns, so that no arithmetic on it is slower than on those of a model: neither
/// zeros, which some kernels leave out, nor subnormal numbers. It is copied by the compute's own copy_rows, since its
/// memory may be a device's.
template <class Compute>
class made_up {
 public:
  made_up(Compute& compute, tokens size)
      : width_(compute.format().bytes_per_token()), memory_(make_tensor(compute, size)) {
    const std::span<std::byte> all = slimpack::detail::writable_bytes(memory_);
    const std::vector<std::byte> numbers =
        ones(compute.format().element, std::min(all.size(), static_cast<std::size_t>(size.value) * width_));
    filled_ = copy_rows(compute, numbers, all.first(numbers.size()));
  }

  /// Whether its numbers could be copied.
  [[nodiscard]] const result<void>& filled() const noexcept { return filled_; }

  /// Of so many tokens.
  [[nodiscard]] std::span<std::byte> bytes(tokens size) {
    return slimpack::detail::writable_bytes(memory_).first(static_cast<std::size_t>(size.value) * width_);
  }

 private:
  static std::vector<std::byte> ones(element_type element, std::size_t size) {
    std::vector<std::byte> bytes(size);
    const auto write = [&](auto one, auto minus) {
      for (std::size_t at = 0, n = 0; at + sizeof one <= size; at += sizeof one, ++n)
        std::memcpy(&bytes[at], n % 2 == 0 ? &one : &minus, sizeof one);
    };
    switch (element) {
      case element_type::float64:
        write(1.0, -1.0);
        break;
      case element_type::float32:
        write(1.0f, -1.0f);
        break;
      case element_type::float16:
        write(std::uint16_t{0x3c00}, std::uint16_t{0xbc00});
        break;
      case element_type::bfloat16:
        write(std::uint16_t{0x3f80}, std::uint16_t{0xbf80});
        break;
      case element_type::int8:
        write(std::int8_t{1}, std::int8_t{-1});
        break;
    }
    return bytes;
  }

  std::size_t width_;
  result<void> filled_ = success();
  decltype(make_tensor(std::declval<Compute&>(), tokens{})) memory_;
};

}  // namespace slimpack::profiling::detail

#endif
