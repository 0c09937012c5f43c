#ifndef SLIMPACK_CORE_PROGRAM_HPP
#define SLIMPACK_CORE_PROGRAM_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <cstdint>
#include <vector>

namespace slimpack {

/// One step of a stage: the forward or backward of a pack through one of the stage's chunks of layers.
struct instruction {
  slimpack::pass pass{};
  pack_id pack;
  std::uint32_t chunk{};  ///< virtual stage on this stage, 0 when there is one

  friend constexpr bool operator==(const instruction&, const instruction&) = default;
};

/// The ordered instructions of one stage; transfers, reduce and optimizer step are implied.
using program = std::vector<instruction>;

}  // namespace slimpack

#endif
