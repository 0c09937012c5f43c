#ifndef SLIMPACK_SOLVERS_IMPROVE_SWAP_HPP
#define SLIMPACK_SOLVERS_IMPROVE_SWAP_HPP

#include <slimpack/solvers/improve/sites.hpp>

#include <string_view>

namespace slimpack::solvers::improve {

/// An instruction changes places with the one that follows it on its stage, if packs may pass each other there: of the
/// other pass, of another chunk, or weight gradients that run apart. Most swaps leave the step as long as it was: the
/// search goes along those until one shortens it.
/// Source    interchange of neighbours (E. Taillard, 1994); changing_order tells at once whether the step takes no
///           longer
struct swap {
  static constexpr std::string_view name = "swap";
  [[nodiscard]] static constexpr double weight(const search_options&) noexcept { return 1; }

  bool operator()(instruction_site& at) const { return at.order.swap(at.position); }
};

}  // namespace slimpack::solvers::improve

#endif
