#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_MEMORY_BLOCK_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_MEMORY_BLOCK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/hooks.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace slimpack::detail {

/// Memory of messages or rows, whoever made it. It stays where it is as long as anybody has it.
struct memory_block {
  std::shared_ptr<void> owner;
  std::span<std::byte> bytes;
};

/// What make_tensor of executors/hooks.hpp makes.
template <class Compute>
[[nodiscard]] memory_block tensor_block(Compute& compute, tokens size) {
  using tensor = decltype(make_tensor(compute, size));
  const std::shared_ptr<tensor> made(new tensor(make_tensor(compute, size)));
  return {made, writable_bytes(*made)};
}

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
