#ifndef SLIMPACK_EXAMPLES_PLAN_ANY_LAYOUT_BOUND_HPP
#define SLIMPACK_EXAMPLES_PLAN_ANY_LAYOUT_BOUND_HPP

#include "setting.hpp"

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/plan.hpp>

#include <optional>

namespace cli {

/// What no layout, layers or recomputation of as many GPUs has a plan of the batch faster than: all its useful work in
/// the passes that the plan runs, divided evenly. The work is that of the plan, of one stage that holds the whole
/// model, or of a stage for each layer, whichever is least: none splits a product into faster ones, and measured prices
/// differ by a thousandth between these. Nothing where the model has no cost on one of these layouts.
/// Requires  the plan's rank time
[[nodiscard]] std::optional<slimpack::seconds> any_layout_bound(const setting& s, const slimpack::plan& p,
                                                                const slimpack::batch_view& of);

}  // namespace cli

#endif
