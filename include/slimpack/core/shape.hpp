#ifndef SLIMPACK_CORE_SHAPE_HPP
#define SLIMPACK_CORE_SHAPE_HPP

#include <slimpack/core/units.hpp>

#include <cstddef>
#include <optional>

namespace slimpack {

/// What a memory limit counts.
enum class memory_unit : unsigned char {
  token,  ///< live tokens of a stage, under any cost model
  byte,   ///< everything on one GPU, under a cost model that knows bytes
};

/// The most a GPU (bytes) or a stage (tokens) may hold at any time.
struct memory_limit {
  memory_unit unit{memory_unit::token};
  double amount{};
  friend constexpr bool operator==(const memory_limit&, const memory_limit&) = default;
};

/// How a model is laid over GPUs, and the rules that every plan on them obeys.
/// Units     degrees are counts of ranks; quantum in tokens
/// Requires  every degree and the quantum >= 1
struct shape {
  int stages{1};    ///< pipeline depth p (--pp)
  int replicas{1};  ///< data-parallel copies (--dp)
  int tensor{1};    ///< tensor-parallel ranks of a stage (--tp)
  int context{1};   ///< context-parallel ranks of a stage (--cp)
  int chunks{1};    ///< virtual stages on each stage (--vpp)
  tokens quantum{128};                ///< sequences may be cut at its multiples
  std::optional<memory_limit> memory{};  ///< none: memory is reported, not limited

  /// Parts that the model is cut into: part c * stages + r is chunk c of stage r.
  [[nodiscard]] constexpr int parts() const noexcept { return stages * chunks; }
  friend constexpr bool operator==(const shape&, const shape&) = default;
};

}  // namespace slimpack

#endif
