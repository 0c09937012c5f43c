#ifndef SLIMPACK_BENCHMARKS_PLAN_QUALITY_BATCHES_HPP
#define SLIMPACK_BENCHMARKS_PLAN_QUALITY_BATCHES_HPP

#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace slimpack::plan_quality {

/// One batch to plan.
struct batch {
  std::string name;
  bool long_tailed{};  ///< else all of its sequences are short
  std::vector<tokens> lengths;
};

/// The first `sequences` lengths of every list below `data`/lengths, then of the laws (laws.hpp). Lists are in file
/// order, but linux_source, whose neighbours are alike, is shuffled; what exceeds `context` is cut to it. A list that
/// has fewer sequences is taken whole.
/// seed      of the shuffle and of the laws: with equal seeds batches are equal everywhere
/// Errors    plan_error: a list that cannot be read
[[nodiscard]] std::vector<batch> batches(const std::filesystem::path& data, std::size_t sequences, std::uint64_t seed,
                                         tokens context = {262144});

}  // namespace slimpack::plan_quality

#endif
