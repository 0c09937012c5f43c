#ifndef SLIMPACK_TESTS_EXECUTORS_EVERYWHERE_HPP
#define SLIMPACK_TESTS_EXECUTORS_EVERYWHERE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/transports/threads.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// Calls what(rank) on a thread per rank, and returns when all have.
template <class What>
void on_every_rank(int ranks, What what) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&what, rank] { what(rank); });
}

[[nodiscard]] inline int ranks_of(const plan& p) { return p.shape.stages * p.shape.replicas; }

/// A compute for each rank, made of its stage, the stages and the chunks.
template <class Compute>
[[nodiscard]] std::vector<Compute> one_per_rank(const plan& p) {
  std::vector<Compute> stages;
  for (int rank = 0; rank < ranks_of(p); ++rank)
    stages.emplace_back(rank % p.shape.stages, p.shape.stages, p.shape.chunks);
  return stages;
}

/// Reports of call(rank, endpoint), each on a thread.
template <class World, class Call>
std::vector<result<step_report>> reports_of(World& world, std::size_t ranks, const Call& call) {
  std::vector<std::optional<result<step_report>>> made(ranks);
  on_every_rank(static_cast<int>(ranks), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    const auto at = static_cast<std::size_t>(rank);
    made[at].emplace(call(at, endpoint));
  });
  std::vector<result<step_report>> all;
  for (std::optional<result<step_report>>& one : made) all.push_back(std::move(*one));
  return all;
}

/// Runs a plan on threads, rank r with computes[r]. Plans may differ between ranks.
template <class Compute, class World>
std::vector<result<step_report>> run_everywhere(World& world, const std::vector<const plan*>& plans,
                                                std::vector<Compute>& computes, executors::packflow run = {}) {
  return reports_of(world, computes.size(), [&](std::size_t rank, auto& endpoint) {
    return run.execute(*plans[rank], computes[rank], endpoint);
  });
}

template <class Compute>
std::vector<result<step_report>> run_everywhere(const plan& p, std::vector<Compute>& computes,
                                                executors::packflow run = {}) {
  transports::threads world{ranks_of(p), {.time_out = {20}}};
  return run_everywhere(world, std::vector<const plan*>(computes.size(), &p), computes, run);
}

/// Evaluates by a plan on threads.
template <class Compute>
std::vector<result<step_report>> evaluate_everywhere(const plan& p, std::vector<Compute>& computes,
                                                     executors::packflow run = {}) {
  transports::threads world{ranks_of(p), {.time_out = {20}}};
  return reports_of(world, computes.size(),
                    [&](std::size_t rank, auto& endpoint) { return run.evaluate(p, computes[rank], endpoint); });
}

/// Lengths where cutting goes wrong first, a tail, and one sequence longer than all others together.
[[nodiscard]] inline std::vector<tokens> awkward_lengths(testing::generator& random, tokens quantum,
                                                         std::size_t count) {
  std::vector<tokens> lengths{{1}, quantum - tokens{1}, quantum, quantum + tokens{1}};
  if (quantum == tokens{1}) lengths[1] = {1};
  while (lengths.size() < count) lengths.push_back(random.length(quantum * 8));
  tokens sum{};
  for (const tokens t : lengths) sum += t;
  lengths.push_back(sum + tokens{random.between(1, quantum.value * 4)});
  random.shuffle(lengths);
  return lengths;
}

/// A batch planned by one of the shipped combinations; costs keep packs small, so that there are many.
struct named_planner {
  const char* name;
  result<plan> (*make)(const shape&, std::span<const tokens>);
};

/// Every shipped solver, with each schedule that suits it. Compiled once (every_planner.cpp), since planners are what
/// takes the compiler longest.
[[nodiscard]] std::vector<named_planner> every_planner();

/// Those whose plans let replicas share sequences, with each schedule that suits them.
[[nodiscard]] std::vector<named_planner> sharing_planners();

/// Those that search with a vocabulary that is spread over the stages, with and without weight gradients apart.
[[nodiscard]] std::vector<named_planner> spreading_planners();

/// Those whose plans run weight gradients apart, without sequences that replicas share, and with them.
[[nodiscard]] std::vector<named_planner> splitting_planners();
[[nodiscard]] std::vector<named_planner> splitting_and_sharing_planners();

/// Those that plan samples that share beginnings: one by one, with weight gradients apart, and in pieces that both
/// passes share.
struct forest_planner {
  const char* name;
  backward_cuts cuts;  ///< of who runs its plans
  result<plan> (*make)(const shape&, const batch_view&);
};
[[nodiscard]] std::vector<forest_planner> forest_planners();
/// With a vocabulary that is spread over the stages.
[[nodiscard]] std::vector<forest_planner> spreading_forest_planners();
/// On replicas of which none has room for the longest path, so that some share it. Where it cannot be cut so, they say
/// so.
[[nodiscard]] std::vector<forest_planner> sharing_forest_planners();

/// Those that compute paths again: of micro-batches, and of forests that are cut in ways of the tests' own, on one
/// replica, too (cut_planners.cpp).
[[nodiscard]] std::vector<forest_planner> cut_planners();

}  // namespace slimpack::tests

#endif
