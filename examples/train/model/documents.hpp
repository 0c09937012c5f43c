#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_DOCUMENTS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_DOCUMENTS_HPP

#include <slimpack/core/units.hpp>

#include <cstdint>
#include <functional>
#include <span>

namespace train {

/// The bytes of the path of a sequence of the present batch, down to its end: of a sequence that begins a path, its
/// own. They are tokens, each of which is the target of the one before, where the batch does not say what is trained
/// on. They must stay where they are for the step, and be the same on every rank.
using documents = std::function<std::span<const std::uint8_t>(slimpack::sequence_id)>;

}  // namespace train

#endif
