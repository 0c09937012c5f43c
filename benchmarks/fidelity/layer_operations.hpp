#ifndef SLIMPACK_BENCHMARKS_FIDELITY_LAYER_OPERATIONS_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_LAYER_OPERATIONS_HPP

#include "score.hpp"

#include <filesystem>
#include <vector>

namespace fidelity {

/// Single operations of layers whose model is left out of the tables. Their goals are what is reached today, rounded
/// up: of the errors' mean, and of their bias on each GPU that has another model's table, since errors to one side do
/// not cancel in a step.
[[nodiscard]] std::vector<score> layer_operations(const std::filesystem::path& data);

}  // namespace fidelity

#endif
