#ifndef SLIMPACK_COSTS_NETWORK_COLLECTIVE_SAMPLE_HPP
#define SLIMPACK_COSTS_NETWORK_COLLECTIVE_SAMPLE_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/network/collective.hpp>

#include <string>

namespace slimpack::costs {

/// One measurement of a collective, alone on the machine.
/// Shapes    ranks are neighbours and fill nodes: 2 ranks of which 1 per node sit on two nodes
struct collective_sample {
  std::string gpu{};   ///< as the measurement names it
  std::string node{};  ///< what kind of box, as the measurement names it; empty: it does not say
  costs::collective op{};
  int ranks{};
  int ranks_per_node{};
  bytes size{};  ///< as NCCL's tests count, see costs::collective
  seconds time{};
  friend bool operator==(const collective_sample&, const collective_sample&) = default;
};

}  // namespace slimpack::costs

#endif
