#ifndef SLIMPACK_BENCHMARKS_FIDELITY_PRICED_TRAININGS_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_PRICED_TRAININGS_HPP

#include "machines.hpp"
#include "paper_runs.hpp"
#include "score.hpp"

#include <filesystem>
#include <vector>

namespace fidelity {

/// F15: what each of slimpack-plan's prices says of published trainings in bf16, of those with experts, and of
/// speed-ups among them. `megatron`: the runs of F6, each with a slowdown that was not fitted to its own file.
[[nodiscard]] std::vector<score> priced_trainings(const std::filesystem::path& data,
                                                  const std::vector<paper_run>& megatron, machines& cluster);

}  // namespace fidelity

#endif
