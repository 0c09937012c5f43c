#ifndef SLIMPACK_SOLVERS_BASELINES_RECIPE_HPP
#define SLIMPACK_SOLVERS_BASELINES_RECIPE_HPP

#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/whole.hpp>

#include <concepts>

namespace slimpack::baselines {

/// A baseline whole: how it cuts, packs and orders. A planner takes its parts:
///
///   const auto usual = slimpack::baselines::megatron(on);
///   const slimpack::planner plan_batch{on, usual.slicer, cost, usual.solver, usual.schedule};
template <class Slicer, class Solver, class Schedule>
struct recipe {
  Slicer slicer;
  Solver solver;
  Schedule schedule;

  /// Whether it may cut a sequence.
  static constexpr bool cuts = !std::same_as<Slicer, slicers::whole>;
};

/// 1F1B as Megatron-LM runs it: a lead of 1; with virtual stages its warm-up is that of a lead of 2.
[[nodiscard]] constexpr schedules::one_f_one_b classic(const shape& on) noexcept {
  return {.lead = on.chunks > 1 ? 2 : 1};
}

}  // namespace slimpack::baselines

#endif
