#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_MEMORY_BLOCK_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_MEMORY_BLOCK_HPP

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

}  // namespace slimpack::detail

#endif
