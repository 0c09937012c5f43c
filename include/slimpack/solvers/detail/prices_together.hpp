#ifndef SLIMPACK_SOLVERS_DETAIL_PRICES_TOGETHER_HPP
#define SLIMPACK_SOLVERS_DETAIL_PRICES_TOGETHER_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/partition.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/pricing/workload.hpp>

#include <vector>

namespace slimpack::detail {

/// What packs of this cost model take depends on other packs (solvers/divide/stand_in_cost.hpp).
template <class Cost>
concept prices_together = requires(const Cost& c, const partition& packs, const shape& on,
                                   const std::vector<memory_rates>& r) {
  c.priced(packs, on, r, weight_gradients::with_inputs);
};

}  // namespace slimpack::detail

#endif
