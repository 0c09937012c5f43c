#ifndef SLIMPACK_BENCHMARKS_FIDELITY_MEMORY_TABLES_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_MEMORY_TABLES_HPP

#include "score.hpp"

#include <filesystem>

namespace fidelity {

/// Memory that others computed, to be met digit for digit: Korthikanti et al.'s formulas, SlimPipe's planner.
score memory_formulas(const std::filesystem::path& data);
score slimpipe_tables();

}  // namespace fidelity

#endif
