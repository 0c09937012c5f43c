#ifndef SLIMPACK_CORE_LENDING_LOAN_HPP
#define SLIMPACK_CORE_LENDING_LOAN_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>

#include <cstdint>

namespace slimpack {

/// Attention that one stage lends another for a pass of a pack: in every layer of the lender's instruction, the helper
/// attends with the lender's queries to keys that lie before all of them, beside its own instruction. So no mask is
/// needed.
///
///   forward   the lender sends keys, values and queries; it gets outputs and log-sum-exps of these keys alone, and
///             merges them
///   backward  it sends keys, values, queries, outputs, log-sum-exps of all keys, and gradients of outputs; it gets the
///             gradients of the queries from these keys, and those of these keys and values
///
/// Both instructions start together, and end together with the longer.
/// Source    SlimPipe (arXiv:2504.14519), its context exchange
struct loan {
  struct side {
    std::uint32_t stage{};
    instruction what;
    friend constexpr bool operator==(const side&, const side&) = default;
  };

  side lender;
  side helper;
  slice queries;  ///< of the lender's pack
  slice context;  ///< of the same sequence, before them

  [[nodiscard]] constexpr slimpack::pass pass() const noexcept { return lender.what.pass(); }
  /// Pairs of a query and a key.
  [[nodiscard]] constexpr double pairs() const noexcept {
    return static_cast<double>(queries.length.value) * static_cast<double>(context.length.value);
  }
  friend constexpr bool operator==(const loan&, const loan&) = default;
};

}  // namespace slimpack

#endif
