#ifndef SLIMPACK_CORE_RELAYS_RELAY_HPP
#define SLIMPACK_CORE_RELAYS_RELAY_HPP

#include <cstdint>
#include <vector>

namespace slimpack {

/// How rows that go round the sharers of a sequence cross from one node to the next: in strands, one over the adapter
/// of each of several sharers. out[i] sends strand i to in[i]. The first of `out` has the rows and the first of `in`
/// gets them; all others are proxies, which hand on what is not theirs. So strand 0 has one leg, and each other three:
/// from the first of `out` to its proxy, across, and from that proxy to the first of `in`.
/// Shapes    out, in: as many each, at least two; nobody twice
/// Source    the routing of Zeppelin (arXiv:2509.21841); that its proxies are sharers of the same sequence is derived:
///           they are at the same rotation, so that each can post its legs there
struct relay {
  std::vector<std::uint32_t> out;  ///< replicas on the sender's node
  std::vector<std::uint32_t> in;   ///< replicas on the hearer's node
  std::uint32_t segments{1};       ///< of each strand, one behind the other: a leg may begin with one before it has the
                                   ///< next

  friend bool operator==(const relay&, const relay&) = default;
};

inline constexpr std::uint32_t most_segments = 4096;  ///< of a strand

}  // namespace slimpack

#endif
