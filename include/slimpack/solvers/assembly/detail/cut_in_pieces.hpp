#ifndef SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_CUT_IN_PIECES_HPP
#define SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_CUT_IN_PIECES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/detail/function_ref.hpp>
#include <slimpack/solvers/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace slimpack::detail {

/// Cuts the packs of some replicas at the cuts of either pass. Those that change, of a replica that shares nothing, are
/// ordered anew.
/// Shapes    threads: that do so side by side, on which `order` is called
/// Errors    those of `order`            Complexity  O(slices log slices), and that of `order`
[[nodiscard]] result<void> cut_in_pieces(solution& found, std::span<const std::uint32_t> replicas, std::size_t threads,
                                         function_ref<result<void>(replica_solution&)> order);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/solvers/assembly/impl/cut_in_pieces.ipp>
#endif

#endif
