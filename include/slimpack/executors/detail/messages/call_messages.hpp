#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_CALL_MESSAGES_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_CALL_MESSAGES_HPP

#include <cstddef>
#include <span>

namespace slimpack::detail {

/// What an instruction reads and writes, valid until it has ended.
struct call_messages {
  std::span<const std::byte> in;  ///< empty at the ends of the pipeline, as `out` is
  std::span<std::byte> out;
  // Of V on the last stage:
  std::span<const std::span<const std::byte>> partials{};  ///< of all stages; the last is what `out` gets
  std::span<std::byte> rows{};                             ///< gradients of hidden rows
  std::span<std::byte> statistics{};
};

}  // namespace slimpack::detail

#endif
