#ifndef SLIMPACK_TESTING_DETAIL_TRIAL_MEMORY_HPP
#define SLIMPACK_TESTING_DETAIL_TRIAL_MEMORY_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::testing::detail {

/// Memory of messages that a trial fills and reads on the host: each its own.
template <class Transport>
class trial_memory {
 public:
  explicit trial_memory(Transport&) {}

  [[nodiscard]] result<std::span<std::byte>> take(std::size_t size) { return std::span(taken_.emplace_back(size)); }
  /// All that was taken is free.
  void forget() { taken_.clear(); }

 private:
  std::deque<std::vector<std::byte>> taken_;
};

/// Where messages are those of a device: pinned memory, which host and device both touch. It is taken from a few large
/// blocks, since a host that asks for some may have to wait for the device, where a transfer may wait for a rank's next
/// call.
template <class Transport>
requires(slimpack::detail::moves_device_memory<Transport>()) class trial_memory<Transport> {
 public:
  explicit trial_memory(Transport& t) : transport_(&t) {}

  [[nodiscard]] result<std::span<std::byte>> take(std::size_t size) {
    const std::size_t room = (size + alignment - 1) / alignment * alignment;
    while (block_ < blocks_.size() && as_span(blocks_[block_]).size() - used_ < room) ++block_, used_ = 0;
    if (block_ == blocks_.size()) {
      auto made = transport_->device().allocate_pinned(std::max(room, block_size));
      if (!made) return std::move(made).error();
      blocks_.push_back(std::move(made).value());
    }
    const std::span<std::byte> taken = as_span(blocks_[block_]).subspan(used_, size);
    used_ += room;
    return taken;
  }
  void forget() { block_ = used_ = 0; }

 private:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t block_size = std::size_t{1} << 26;

  using memory = typename std::remove_cvref_t<decltype(std::declval<Transport&>().device())>::memory;
  Transport* transport_;
  std::deque<memory> blocks_;
  std::size_t block_{}, used_{};
};

}  // namespace slimpack::testing::detail

#endif
