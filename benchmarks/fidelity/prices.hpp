#ifndef SLIMPACK_BENCHMARKS_FIDELITY_PRICES_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_PRICES_HPP

#include "machines.hpp"

#include <slimpack/core/shape.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/costs/stage_options.hpp>
#include <slimpack/costs/transformer.hpp>

#include <utility>

namespace fidelity {

/// The prices of slimpack-plan, by what --cost calls them.
enum class price_kind : unsigned char { measured, transformer, sheet };
inline constexpr price_kind all_prices[]{price_kind::measured, price_kind::transformer, price_kind::sheet};

[[nodiscard]] constexpr const char* name_of(price_kind by) noexcept {
  return by == price_kind::measured ? "measured" : by == price_kind::transformer ? "transformer" : "transformer:sheet";
}

/// Calls with the cost model of a training on a machine: tables, rates, or the data sheet's. The last knows
/// recomputation, layers, reduction and routing, but nothing else of how a trainer runs.
/// Errors    those of the cost model are thrown
template <class Call>
auto with_price(price_kind by, const machine& m, const slimpack::costs::model_shape& model, const slimpack::shape& on,
                const slimpack::costs::stage_options& with, const Call& call) {
  using namespace slimpack::costs;
  if (by == price_kind::measured) return call(profiled_of(model, on, m.kernels, m.net, with, m.layers).value());
  if (by == price_kind::transformer) return call(transformer::make(model, m.net.device(), on, with).value());
  return call(transformer::sheet(model, m.net.device(), on,
                                 {.recompute = with.recompute,
                                  .distributed_optimizer = with.distributed_optimizer,
                                  .reduction = with.reduction,
                                  .layers = with.layers,
                                  .routing = with.routing})
                  .value());
}

}  // namespace fidelity

#endif
