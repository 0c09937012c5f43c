#ifndef SLIMPACK_SIMULATORS_REDUCTION_STREAM_HPP
#define SLIMPACK_SIMULATORS_REDUCTION_STREAM_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

/// The reduction of gradients beside the work of a step (core/gradient_reduction.hpp).
namespace slimpack::simulators {

/// What a cost model says of it; nothing where it has no buckets, or where there is one copy of the weights.
template <class Cost>
[[nodiscard]] std::optional<gradient_reduction> reduction_of(const Cost& cost, const shape& on) {
  if (!on.has_copies()) return std::nullopt;
  gradient_reduction found{{}, reduce_time_of(cost)};
  bool any = false;
  for (int part = 0; part < on.reduced_parts(); ++part) {
    const std::span<const gradient_bucket> own = gradient_buckets_of(cost, part);
    found.parts.emplace_back(own.begin(), own.end());
    any = any || !own.empty();
  }
  if (!any) return std::nullopt;
  return found;
}

/// When the gradients of each part of each replica become final, in a graph of replicas that run together.
/// Shapes    start: of each task, from task_graph::sweep; answer [replica][part]
/// Complexity O(nodes)
[[nodiscard]] inline std::vector<std::vector<gradient_span>> gradients_of(const task_graph& graph,
                                                                          std::span<const seconds> start,
                                                                          std::size_t replicas, const shape& on) {
  std::vector<std::vector<gradient_span>> found(
      replicas, std::vector<gradient_span>(static_cast<std::size_t>(on.reduced_parts())));
  for (std::size_t n = 0; n < graph.size(); ++n) {
    const task& t = graph.tasks()[n];
    // A backward that leaves its weight gradients to a W ends before it.
    if (!t.is_instruction() || !facts_of(t.what.kind).weight_gradients) continue;
    const auto chunk = static_cast<std::size_t>(t.what.is_of_part() ? static_cast<int>(t.what.chunk) : on.chunks);
    gradient_span& last = found[t.replica][chunk * static_cast<std::size_t>(on.stages) + t.stage];
    if (start[n] + t.duration >= last.end) last = {start[n], start[n] + t.duration};
  }
  return found;
}

/// One bucket on its stage's stream.
struct stream_use {
  int part{};
  std::size_t bucket{};
  seconds begin;
  seconds end;

  friend constexpr bool operator==(const stream_use&, const stream_use&) = default;
};

/// The gathers of a stage in the order of its stream, one after the other from the step's begin.
/// Complexity O(buckets)
[[nodiscard]] inline std::vector<stream_use> gathered_buckets(const gradient_reduction& reduction, const shape& on,
                                                              int stage) {
  std::vector<stream_use> gathers;
  seconds free{};
  const auto gather = [&](int part) {
    const std::vector<gradient_bucket>& buckets = reduction.parts[static_cast<std::size_t>(part)];
    for (std::size_t k = 0; k < buckets.size(); ++k) {
      gathers.push_back({part, k, free, free + buckets[k].gather});
      free = gathers.back().end;
    }
  };
  if (on.reduced_parts() > on.parts()) gather(on.parts() + stage);
  for (int part = stage; part < on.parts(); part += on.stages) gather(part);
  return gathers;
}

/// The sums of a stage in the order of its stream: each begins when the one before has ended and its gradients are
/// final on all replicas.
/// Shapes    gradients(replica): a replica's gradient_span of each part
/// Complexity O(buckets * replicas)
template <class GradientsOf>
[[nodiscard]] std::vector<stream_use> reduced_buckets(const gradient_reduction& reduction, const shape& on, int stage,
                                                      const GradientsOf& gradients) {
  std::vector<stream_use> sums;
  seconds free{};
  const auto sum = [&](int part) {
    const std::vector<gradient_bucket>& buckets = reduction.parts[static_cast<std::size_t>(part)];
    for (std::size_t k = buckets.size(); k-- > 0;) {
      seconds begin = free;
      for (int replica = 0; replica < on.replicas; ++replica) {
        const gradient_span& last = gradients(static_cast<std::size_t>(replica))[static_cast<std::size_t>(part)];
        begin = std::max(begin, last.end - (last.end - last.begin) * buckets[k].at);
      }
      free = begin + buckets[k].scatter;
      sums.push_back({part, k, begin, free});
    }
  };
  for (int chunk = on.chunks - 1; chunk >= 0; --chunk) sum(chunk * on.stages + stage);
  if (on.reduced_parts() > on.parts()) sum(on.parts() + stage);
  return sums;
}

/// The sums of a stage of a plan whose replicas have their gradients (replica_plan::gradients): not of one read from a
/// file.
[[nodiscard]] inline std::vector<stream_use> reduced_buckets(const plan& p, int stage) {
  return reduced_buckets(*p.reduction, p.shape, stage, [&](std::size_t replica) {
    return std::span<const gradient_span>(p.replicas[replica].gradients);
  });
}

/// How much longer than its slowest replica a step takes for its gradients.
/// Requires  a plan with a reduction and with the gradients of each replica            Complexity O(buckets * replicas)
[[nodiscard]] inline seconds exposed_reduction(const plan& p) {
  seconds slowest{};
  for (const replica_plan& r : p.replicas) slowest = std::max(slowest, r.makespan);
  seconds end = slowest;
  for (int stage = 0; stage < p.shape.stages; ++stage)
    for (const stream_use& sum : reduced_buckets(p, stage)) end = std::max(end, sum.end);
  return end - slowest + p.reduction->after;
}

}  // namespace slimpack::simulators

#endif
