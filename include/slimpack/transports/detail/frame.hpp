#ifndef SLIMPACK_TRANSPORTS_DETAIL_FRAME_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_FRAME_HPP

#include <cstdint>

namespace slimpack::detail {

/// What the ranks of a transport send each other over a stream of bytes without channels: this, then `size` bytes.
/// No other program begins a message with one of these numbers.
enum class frame_kind : std::uint32_t { message = 0x736c6d01, abort = 0x736c6d02, good_bye = 0x736c6d03 };

struct frame_header {
  frame_kind what{};
  std::int32_t channel{};
  std::uint64_t step{};
  std::uint64_t size{};

  [[nodiscard]] bool is_known() const noexcept {
    return what == frame_kind::message || what == frame_kind::abort || what == frame_kind::good_bye;
  }
};

}  // namespace slimpack::detail

#endif
