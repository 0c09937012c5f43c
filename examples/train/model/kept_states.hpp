#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_KEPT_STATES_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_KEPT_STATES_HPP

#include "config.hpp"
#include "model_stage.hpp"

#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace train {

/// What pieces keep beside their tokens, as a cost model answers the hook `kept` (slimpack/costs/hooks.hpp): a state
/// for each linear layer of the stage.
struct kept_states {
  std::vector<double> bytes;  ///< of a piece, by stage

  template <class T>
  [[nodiscard]] static kept_states of(const config& c, const slimpack::shape& on) {
    kept_states all;
    for (int stage = 0; stage < on.stages; ++stage)
      all.bytes.push_back(model_stage<T>::kept_of_piece(c, on, stage).value);
    return all;
  }

  [[nodiscard]] bool any() const {
    return std::any_of(bytes.begin(), bytes.end(), [](double one) { return one > 0; });
  }
  [[nodiscard]] slimpack::bytes kept(const slimpack::slice&, int stage) const {
    return {bytes[static_cast<std::size_t>(stage)]};
  }
};

}  // namespace train

#endif
