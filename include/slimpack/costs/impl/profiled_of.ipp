#ifndef SLIMPACK_COSTS_IMPL_PROFILED_OF_IPP
#define SLIMPACK_COSTS_IMPL_PROFILED_OF_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/detail/model_parts.hpp>
#include <slimpack/costs/detail/rank_kernels.hpp>
#include <slimpack/costs/detail/step_ends.hpp>
#include <slimpack/costs/detail/tabulated_parts.hpp>
#include <slimpack/costs/detail/vocabulary_lines.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/network/loan_rows.hpp>
#include <slimpack/costs/network/row_exchange.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/profiled_of.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::costs {

SLIMPACK_DECL result<profiled> profiled_of(const model_shape& model, const shape& on, const kernel_times& kernels,
                                           const network& net, const stage_options& with,
                                           std::span<const layer_sample> layers) {
  result<std::vector<int>> spread = slimpack::detail::layers_on_parts(model, on, with.layers, with.routing);
  if (!spread) return std::move(spread).error();
  const std::vector<int>& count = spread.value();
  const slimpack::detail::model_parts parts(model, on, count, kernels, net, with, layers);
  const traffic& wires = parts.wires();
  const memory rule{.distributed_optimizer = with.distributed_optimizer,
                    .recompute = with.recompute,
                    .sequence_parallel = with.sequence_parallel,
                    .cuts = with.cuts,
                    .tensors = with.tensors};
  slimpack::detail::stage_states states = slimpack::detail::stage_states::of(model, on, count, rule, with.routing);
  slimpack::detail::step_ends ends = slimpack::detail::step_ends::of(model, on, count, states, wires, with);
  profiled::extras beside{.memory = std::move(states.memory),
                          .evaluation_memory = std::move(states.evaluation),
                          .evaluation_kept = std::move(states.evaluation_keeps),
                          .pair_bytes = std::move(states.pair_bytes),
                          .piece_bytes = std::move(states.piece_bytes),
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
  slimpack::detail::tabulated_parts tables(parts, useful, with, std::int64_t{4} * net.device().multiprocessors,
                                           std::max(1, model.heads / on.tensor));
  for (int part = 0; part < on.parts(); ++part)
    tables.add(part, waits ? message : slimpack::detail::message_line{}, beside);
  return profiled::make(tables.slices(), tables.packs(), std::move(beside));
}

}  // namespace slimpack::costs

#endif
