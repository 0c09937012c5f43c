#ifndef SLIMPACK_BENCHMARKS_FIDELITY_LAYER_OPERATIONS_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_LAYER_OPERATIONS_HPP

#include "score.hpp"

#include <filesystem>
#include <vector>

namespace fidelity {

/// Single operations of layers whose model is left out of the tables. No goal is set.
[[nodiscard]] std::vector<score> layer_operations(const std::filesystem::path& data);

}  // namespace fidelity

#endif
