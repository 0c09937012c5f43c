#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_MESSAGE_OWNER_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_MESSAGE_OWNER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/detail/messages/memory_block.hpp>

#include <cstddef>
#include <span>

namespace slimpack::detail {

/// What the messages of a stage ask of its compute.
class message_owner {
 public:
  /// What make_tensor of executors/hooks.hpp makes.
  [[nodiscard]] virtual memory_block make(tokens size) = 0;
  /// copy_rows of it.
  [[nodiscard]] virtual result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// Posts the transfers with a row of which this rank has no tokens: the script's transfers.absent[index].
  [[nodiscard]] virtual result<void> stand_by(std::size_t index) = 0;

 protected:
  message_owner() = default;
  message_owner(const message_owner&) = default;
  message_owner& operator=(const message_owner&) = default;
  ~message_owner() = default;
};

}  // namespace slimpack::detail

#endif
