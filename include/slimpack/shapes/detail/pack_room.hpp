#ifndef SLIMPACK_SHAPES_DETAIL_PACK_ROOM_HPP
#define SLIMPACK_SHAPES_DETAIL_PACK_ROOM_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace slimpack::detail {

/// The room that memory leaves for packs on a layout, and what that says of its plans before one is made.
class pack_room {
 public:
  /// rates: one per stage            Requires  weights and optimizer fit; rates in the unit of the shape's limit, if it
  /// has one
  pack_room(const shape& on, std::span<const memory_rates> rates) : shape_(on) {
    if (!on.memory) return;
    for (const memory_rates& of_stage : rates)
      if (of_stage.live_token > 0)
        tokens_ = std::min(tokens_, (on.memory->amount - of_stage.fixed) / of_stage.live_token);
  }

  /// How long steps take, about, whose least time is `bound`. The least bounds are those of layouts that divide the
  /// model least, and leave little room: they promise more than plans hold. Memory forces nothing where each stage has
  /// room for as many of the longest sequences as there are stages; with less, the time grows as the fourth root of
  /// what is missing.
  /// Source    measured, and rough: first looks at 256 GPUs of llama-3.1-70b and 64 of llama-3.1-8b,
  ///           mooncake_conversation
  [[nodiscard]] double promised(seconds bound, tokens longest) const {
    return bound.value *
           std::sqrt(std::sqrt(std::max(1.0, shape_.stages * static_cast<double>(longest.value) / tokens_)));
  }

  /// Nodes of a replica's task graph, about, for a batch of so many tokens: as many packs of each pass as let one for
  /// each stage be live at a time, and of each an instruction, a message and a slice on each part.
  [[nodiscard]] double tasks(tokens batch) const {
    return 6.0 * shape_.parts() * shape_.stages * static_cast<double>(batch.value) / shape_.replicas / tokens_;
  }

 private:
  shape shape_;
  double tokens_{std::numeric_limits<double>::infinity()};  // that may be live on the stage with the least room
};

}  // namespace slimpack::detail

#endif
