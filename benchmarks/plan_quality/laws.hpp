#ifndef SLIMPACK_BENCHMARKS_PLAN_QUALITY_LAWS_HPP
#define SLIMPACK_BENCHMARKS_PLAN_QUALITY_LAWS_HPP

#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::plan_quality {

inline constexpr tokens shortest{128};
inline constexpr tokens longest{262144};

/// Lengths whose logarithms are normal: median 3,072 tokens, 99 of 100 below 73,728 (24 medians), clamped to
/// [shortest, longest]; the longest drawn is made `longest`, so that a batch of any size has its giant.
/// Law       equal seeds give equal lengths with one C library; another's exp, log and cos may move a length by a token
[[nodiscard]] std::vector<tokens> log_normal(std::size_t sequences, std::uint64_t seed);

/// 19 of 20 lengths around 1,024 tokens, the others around 50,000 (log-normal with deviations of 0.5 and 1), clamped to
/// [shortest, longest]. The wide long mode makes 512 sequences about as much work as as many of log_normal; with a
/// deviation of 0.5 it would be half of that, in memory for as long a sequence, so overheads would weigh twice.
[[nodiscard]] std::vector<tokens> bimodal(std::size_t sequences, std::uint64_t seed);

/// A law by its name, and how many sequences of it are a batch.
struct law {
  const char* name;
  std::vector<tokens> (*draw)(std::size_t sequences, std::uint64_t seed);
  std::size_t sequences;
};

}  // namespace slimpack::plan_quality

#endif
