#ifndef SLIMPACK_COSTS_IMPL_TRANSFORMER_IPP
#define SLIMPACK_COSTS_IMPL_TRANSFORMER_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/costs/detail/analytic/sheet_rates.hpp>
#include <slimpack/costs/detail/analytic/training_rates.hpp>
#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/detail/rank_kernels.hpp>
#include <slimpack/costs/detail/step_ends.hpp>
#include <slimpack/costs/detail/vocabulary_lines.hpp>
#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/network/placement.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/transformer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

SLIMPACK_DECL result<transformer> transformer::make(model_shape model, gpu device, const shape& on,
                                                    stage_options with) {
  result<std::vector<int>> layers = slimpack::detail::layers_on_parts(model, on, std::move(with.layers), with.routing);
  if (!layers) return std::move(layers).error();
  with.layers = std::move(layers).value();
  return transformer(std::move(model), std::move(device), on, std::move(with));
}

SLIMPACK_DECL result<transformer> transformer::sheet(model_shape model, gpu device, const shape& on, options with) {
  result<std::vector<int>> layers = slimpack::detail::layers_on_parts(model, on, std::move(with.layers), with.routing);
  if (!layers) return std::move(layers).error();
  with.layers = std::move(layers).value();
  return transformer(std::move(model), std::move(device), on, std::move(with));
}

SLIMPACK_DECL transformer::transformer(model_shape model, gpu device, const shape& on, options with)
    : transformer(std::move(model), std::move(device), on, with.layers, with.routing,
                  {.distributed_optimizer = with.distributed_optimizer,
                   .recompute = with.recompute,
                   .cuts = with.cuts,
                   .tensors = with.tensors},
                  {.compute = 1, .exposed = 1}, with.call, with.hop) {
  joins_rows_ = with.joins_rows;
  const network net(device_);
  const slimpack::detail::sheet_rates rates(model_, device_, on, net, with.routing, with.recompute, with.launch);
  const std::vector<layer> all = slimpack::detail::layers_of(model_, on, with.routing);
  std::size_t first = 0;
  for (int part = 0; part < on.parts(); ++part) {
    const auto count = static_cast<std::size_t>(layers_[static_cast<std::size_t>(part)]);
    const bool has_head = part == on.parts() - 1 && on.vocabulary == vocabulary::last;
    parts_.push_back(rates.of(std::span(all).subspan(first, count), has_head));
    first += count;
  }
  find_like();
  if (on.vocabulary == vocabulary::spread) vocabulary_ = rates.of_vocabulary();
  // fp32 gradients scattered, bf16 weights gathered.
  const rank_group copies = net.place().copies(on);
  const rank_group of_experts = net.place().expert_copies(on);
  const auto scatter = [&](double parameters, double experts) {
    const seconds shared = net.reduce_scatter(copies, bytes{4 * parameters});
    return on.expert > 1 ? shared + net.reduce_scatter(of_experts, bytes{4 * experts}) : shared;
  };
  const auto gather = [&](double parameters, double experts) {
    const seconds shared = net.all_gather(copies, bytes{2 * parameters});
    return on.expert > 1 ? shared + net.all_gather(of_experts, bytes{2 * experts}) : shared;
  };
  if (with.reduction == reduction::exposed || !on.has_copies()) {
    reduce_ = scatter(states_.heaviest, states_.heaviest_experts) + gather(states_.heaviest, states_.heaviest_experts);
    return;
  }
  for (const std::vector<slimpack::detail::weight_bucket>& part :
       slimpack::detail::weight_buckets(model_, on, layers_, with.routing)) {
    std::vector<gradient_bucket>& own = buckets_.emplace_back();
    for (const slimpack::detail::weight_bucket& b : part)
      own.push_back({b.at, scatter(b.parameters, b.experts), gather(b.parameters, b.experts)});
  }
}

SLIMPACK_DECL transformer::transformer(model_shape model, gpu device, const shape& on, stage_options with)
    : transformer(std::move(model), std::move(device), on, with.layers, with.routing,
                  {.distributed_optimizer = with.distributed_optimizer,
                   .recompute = with.recompute,
                   .sequence_parallel = with.sequence_parallel,
                   .cuts = with.cuts,
                   .tensors = with.tensors},
                  with.slowdown, with.call, with.hop) {
  joins_rows_ = with.joins_rows;
  const network net(device_);
  const kernel_times kernels = slimpack::detail::sustained_kernels(device_);
  const slimpack::detail::training_rates rates(model_, on, layers_, kernels, net, with);
  const traffic& wires = rates.parts().wires();
  slimpack::detail::line message;
  if (with.messages == messages::waited_for) {
    const auto carried = slimpack::detail::message_line::of(model_, on, wires, with);
    message = {carried.empty.value, carried.token.value};
    hop_ = seconds{};  // in the time of the pack
  }
  for (std::size_t part = 0; part < layers_.size(); ++part) parts_.push_back(rates.of(part, message));
  find_like();
  if (on.vocabulary == vocabulary::spread && on.stages > 1)
    vocabulary_ = slimpack::detail::vocabulary_lines(model_, on, rates.parts().kernels(), wires, with);
  slimpack::detail::step_ends ends = slimpack::detail::step_ends::of(model_, on, layers_, states_, wires, with);
  reduce_ = ends.after;
  buckets_ = std::move(ends.buckets);
}

SLIMPACK_DECL transformer::transformer(model_shape model, gpu device, const shape& on, std::vector<int> layers,
                                       const costs::routing& routing, const costs::memory& rule, slowdown by,
                                       seconds call, std::optional<seconds> hop)
    : model_(std::move(model)),
      device_(std::move(device)),
      shape_(on),
      layers_(std::move(layers)),
      call_(call),
      hop_(hop),
      exchange_(model_, on, layers_, rule.recompute, network(device_), by.exposed),
      lending_(model_, on, layers_, rule.recompute, network(device_), by.exposed),
      states_(slimpack::detail::stage_states::of(model_, on, layers_, rule, routing)) {
  const network net(device_);
  message_token_ = 2.0 * static_cast<double>(model_.hidden) / (on.tensor * on.context);
  for (int r = 0; r < on.stages; ++r)
    links_.push_back(net.link_of(net.place().boundary(on, r), on.tensor * on.context));
  if (on.vocabulary == vocabulary::spread) to_last_ = wires_to_last(net);
}

SLIMPACK_DECL std::vector<transformer::gathering> transformer::wires_to_last(const network& net) const {
  std::vector<gathering> wires;
  std::array<int, 2> messages{};  // inside a node, and between nodes
  const auto kind = [&](int r) -> int& { return messages[net.place().to_last(shape_, r).nodes > 1 ? 1 : 0]; };
  for (int r = 0; r + 1 < shape_.stages; ++r) ++kind(r);
  for (int r = 0; r + 1 < shape_.stages; ++r)
    wires.push_back({net.link_of(net.place().to_last(shape_, r), shape_.tensor * shape_.context), kind(r)});
  return wires;
}

SLIMPACK_DECL void transformer::find_like() {
  has_borders_ = std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part.forward.has_borders(); });
  for (int part = 0; part < parts(); ++part) {
    int like = 0;
    while (like < part && !(at(like) == at(part) && exchange_.alike(like, part))) ++like;
    like_.push_back(like);
  }
}

}  // namespace slimpack::costs

#endif
