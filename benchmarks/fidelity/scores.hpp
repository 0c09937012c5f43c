#ifndef SLIMPACK_BENCHMARKS_FIDELITY_SCORES_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_SCORES_HPP

#include "score.hpp"

#include <filesystem>
#include <vector>

/// One function per subject, each in a file of its own name. They read what they need below `data`, the folder that
/// holds profiles/, published/, gpus/ and models/, and score whatever rows and GPUs they find there.
namespace fidelity {

std::vector<score> pipelines(const std::filesystem::path& data);     ///< F1 to F5
std::vector<score> iterations(const std::filesystem::path& data);    ///< F6, F7, F15
std::vector<score> kernels(const std::filesystem::path& data);       ///< F8, F9, F10
std::vector<score> collectives(const std::filesystem::path& data);   ///< F11
std::vector<score> memory(const std::filesystem::path& data);        ///< F12
std::vector<score> speed(const std::filesystem::path& data);         ///< F13
std::vector<score> long_context(const std::filesystem::path& data);  ///< F14

}  // namespace fidelity

#endif
