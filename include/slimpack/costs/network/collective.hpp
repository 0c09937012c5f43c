#ifndef SLIMPACK_COSTS_NETWORK_COLLECTIVE_HPP
#define SLIMPACK_COSTS_NETWORK_COLLECTIVE_HPP

#include <string_view>

namespace slimpack::costs {

/// What ranks do together. Its `bytes` are those that NCCL's own tests print: the message of a send, the buffer that
/// every rank holds of an all-reduce, the gathered output, the full input of a reduce-scatter, and all that one rank
/// sends in an all-to-all, its own part included.
enum class collective : unsigned char { send_receive, all_reduce, all_gather, reduce_scatter, all_to_all };

[[nodiscard]] constexpr std::string_view name_of(collective op) noexcept {
  switch (op) {
    case collective::send_receive:
      return "send_receive";
    case collective::all_reduce:
      return "all_reduce";
    case collective::all_gather:
      return "all_gather";
    case collective::reduce_scatter:
      return "reduce_scatter";
    case collective::all_to_all:
      break;
  }
  return "all_to_all";
}

/// What each rank puts on the wire for each of those bytes: bus bandwidth = traffic_per_byte x bytes / time.
/// Source    NCCL tests, PERFORMANCE.md; a ring moves as much            Requires  ranks >= 1
[[nodiscard]] constexpr double traffic_per_byte(collective op, int ranks) noexcept {
  const double others = (ranks - 1.0) / ranks;
  return op == collective::send_receive ? 1 : op == collective::all_reduce ? 2 * others : others;
}

}  // namespace slimpack::costs

#endif
