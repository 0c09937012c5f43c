#ifndef SLIMPACK_COSTS_PROFILED_OF_HPP
#define SLIMPACK_COSTS_PROFILED_OF_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/detail/model_parts.hpp>
#include <slimpack/costs/detail/rank_kernels.hpp>
#include <slimpack/costs/detail/step_ends.hpp>
#include <slimpack/costs/detail/step_traffic.hpp>
#include <slimpack/costs/detail/tabulated_parts.hpp>
#include <slimpack/costs/detail/vocabulary_lines.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/loan_rows.hpp>
#include <slimpack/costs/network/row_exchange.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// The cost model of a stage, out of times of single kernels and collectives: what each part of the model takes on one
/// of its ranks, tabulated, so that a question of a planner is as fast as any.
///
/// A part is its layers (dense, mixture of experts, MLA), with the embedding on the first and logits and loss on the
/// last, or, where the shape spreads the vocabulary, on all stages; a step has the reduction of gradients and the optimizer
/// besides. Detail headers list every kernel, byte and
/// message: detail/layer_pricing.hpp, detail/part_times.hpp, costs/network/traffic.hpp. `layers`: what was measured on this GPU;
/// where the model's own layer was on as many tensor-parallel ranks, these times replace its products and element-wise
/// kernels, and where only others were, both are as much slower than their kernels alone as the others were.
///
/// What backward computes again, and what collectives take, are told from useful work by the shares that they have of a
/// sequence of 8192 tokens.
///
/// Slices are tabulated twice, among so many others as fill the device, and alone. Weight gradients (W) are their
/// products, at the rate of large packs. Messages take the time of the slowest boundary; where they are waited for they
/// count in the time of the pack that they carry, for sender and receiver alike. Gradients that a kernel of its own
/// adds to those of the step (accumulation_traffic) cost a backward pack the same however short it is. The optimizer
/// moves 52 bytes a
/// parameter: gradient cast and unscaled (6), its norm (4), clipped (8), Adam's reads and writes of gradient, weight
/// and both moments (28), the weight cast back (6). `sources()` of what is returned is about the uncut sequence of 8192
/// tokens, there and back through all parts.
///
/// Source    derived. Against published layer and iteration times: benchmarks/fidelity/iterations.cpp
/// Errors    invalid_input: a degree below 1, more parts than layers, tensor ranks that do not divide the heads, a list
///           of layers that does not add up, or experts that cannot be divided so
/// Complexity some thousand questions to kernels for each kind of part
[[nodiscard]] inline result<profiled> profiled_of(const model_shape& model, const shape& on,
                                                  const kernel_times& kernels, const network& net,
                                                  const stage_options& with = {},
                                                  std::span<const layer_sample> layers = {}) {
  result<std::vector<int>> spread = slimpack::detail::layers_on_parts(model, on, with.layers, with.routing);
  if (!spread) return std::move(spread).error();
  const std::vector<int>& count = spread.value();
  const slimpack::detail::model_parts parts(model, on, count, kernels, net, with, layers);
  const traffic& wires = parts.wires();
  const memory rule{.distributed_optimizer = with.distributed_optimizer,
                    .recompute = with.recompute,
                    .sequence_parallel = with.sequence_parallel,
                    .tensors = with.tensors};
  slimpack::detail::stage_states states = slimpack::detail::stage_states::of(model, on, count, rule, with.routing);
  slimpack::detail::step_ends ends = slimpack::detail::step_ends::of(model, on, count, states, wires, with);
  profiled::extras beside{.memory = std::move(states.memory),
                          .pair_bytes = std::move(states.pair_bytes),
                          .exchange = row_exchange(model, on, count, with.recompute, net, with.slowdown.exposed),
                          .joins_rows = with.joins_rows,
                          .lending = loan_rows(model, on, count, with.recompute, net, with.slowdown.exposed),
                          .reduce = ends.after,
                          .buckets = std::move(ends.buckets),
                          .call = with.call};
  const slimpack::detail::message_line message = slimpack::detail::message_line::of(model, on, wires, with);
  if (on.vocabulary == vocabulary::spread && on.stages > 1)
    beside.vocabulary = slimpack::detail::vocabulary_lines(model, on, parts.kernels(), wires, with);
  const bool waits = with.messages == messages::waited_for;
  if (!waits) beside.message = message.empty, beside.message_token = message.token;

  stage_options once = with;
  once.recompute = recompute::none;
  const slimpack::detail::model_parts useful(model, on, count, kernels, net, once, layers);
  slimpack::detail::tabulated_parts tables(parts, useful, with, std::int64_t{4} * net.device().multiprocessors, model.heads / on.tensor);
  for (int part = 0; part < on.parts(); ++part) tables.add(part, waits ? message : slimpack::detail::message_line{}, beside);
  return profiled::make(tables.slices(), tables.packs(), std::move(beside));
}

}  // namespace slimpack::costs

#endif
