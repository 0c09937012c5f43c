#ifndef SLIMPACK_CORE_VOCABULARY_HPP
#define SLIMPACK_CORE_VOCABULARY_HPP

#include <slimpack/core/units.hpp>

#include <utility>
#include <vector>

namespace slimpack {

/// An end of the model whose vocabulary is spread over the stages: what an instruction runs this stage's share of.
enum class model_end : unsigned char {
  none,       ///< no end: layers
  embedding,  ///< before the first layer
  output,     ///< after the last layer: logits and loss
};

}  // namespace slimpack

#endif
