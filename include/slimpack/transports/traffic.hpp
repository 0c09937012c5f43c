#ifndef SLIMPACK_TRANSPORTS_TRAFFIC_HPP
#define SLIMPACK_TRANSPORTS_TRAFFIC_HPP

namespace slimpack {

/// What the runtime's messages on a channel are: a transport may carry each kind by itself.
enum class traffic {
  collectives,  ///< of transports/hooks.hpp, and sums beside a program
  forward,      ///< packs on their way forward
  backward,     ///< and back
  rows,         ///< of sequences that ranks share, of packs that stages run together, and of a spread vocabulary
};

/// The n-th channel of a kind.            Requires   n >= 0
[[nodiscard]] constexpr int channel_of(traffic what, int n) noexcept { return 4 * n + static_cast<int>(what); }
[[nodiscard]] constexpr traffic traffic_on(int channel) noexcept { return static_cast<traffic>(channel % 4); }

}  // namespace slimpack

#endif
