#ifndef SLIMPACK_COSTS_NETWORK_RELAYED_TRANSFER_HPP
#define SLIMPACK_COSTS_NETWORK_RELAYED_TRANSFER_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/network/collective.hpp>
#include <slimpack/costs/network/network.hpp>

#include <algorithm>

namespace slimpack::costs {

/// What a transfer between nodes takes that goes in x strands over as many adapters (core/relays/relay.hpp).
/// Formula   of V bytes in n segments: a = V (x - 1) / (x n inside) that the sender's link carries to its proxies, or
///           the hearer's from its own, b = V / (x n between) that each adapter carries. The first segment takes a + b
///           + a, and each of the others follows after the longest of these:
///             2 latency inside + latency between + 2 a + b + (n - 1) max(a, b)
///           With one segment the legs run one after the other
/// Source    Zeppelin (arXiv:2509.21841), its routing: b n becomes b_intra n (x - 1) / x + b_inter n / x + b_intra n (x
///           - 1) / x; the form for several segments is derived: three legs are the stages of a pipeline
/// Units     bytes in, seconds out            Errors    none
struct relayed_transfer {
  seconds inside;   ///< a: a segment, to all proxies of a node or from them
  seconds between;  ///< b: a segment of a strand
  seconds latency;  ///< of the three legs together
  int segments{1};

  /// abreast: so many neighbouring ranks send at the same time, each its own transfer
  /// Requires  strands >= 2, segments >= 1            Complexity  that of network
  [[nodiscard]] static relayed_transfer of(const network& net, bytes size, int strands, int segments, int abreast = 1) {
    const placement& place = net.place();
    const rank_group inside{2, 1, place.island < place.gpus_per_node ? 2 : 1}, between{2, 2, 2};
    const seconds near = net.send_receive(inside, {}), far = net.send_receive(between, {});
    const double part = 1.0 / strands / segments;
    return {net.send_receive(inside, size * ((strands - 1) * part)) - near,
            net.send_receive(between, size * part, abreast) - far, near * 2 + far, segments};
  }

  [[nodiscard]] constexpr seconds flow() const noexcept {
    return inside * 2 + between + std::max(inside, between) * (segments - 1.0);
  }
  [[nodiscard]] constexpr seconds time() const noexcept { return latency + flow(); }
};

}  // namespace slimpack::costs

#endif
