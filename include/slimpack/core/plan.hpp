#ifndef SLIMPACK_CORE_PLAN_HPP
#define SLIMPACK_CORE_PLAN_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/timings.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack {

/// A proven least step time, with the name of the argument that proves it (simulators/bounds/lower_bounds.hpp).
struct bound {
  std::string name;
  seconds time;
  friend bool operator==(const bound&, const bound&) = default;
};

/// Where the time of a step goes, summed over the stages of all replicas. The parts add up to replicas x stages x step
/// time.
/// Units     seconds of stages: the GPUs of a tensor- or context-parallel group count as one
struct rank_time {
  seconds useful{};         ///< work of the batch, each token once (cost model hook `useful`), without collectives
  seconds recomputation{};  ///< what backward computes again
  seconds packs{};          ///< what packs cost besides: their overheads, the loss of short slices, and what cuts make
                            ///< a context-parallel ring wait for
  seconds communication{};  ///< that nothing hides: exchanges of shared sequences, sums of gradients and the optimizer,
                            ///< weights that first packs wait for
  seconds imbalance{};      ///< stages that are idle because another stage of their replica has more to do: no order of
                            ///< the packs can fill it
  seconds waiting{};        ///< all other idle time: fill and drain, messages, the slowest replica
  seconds collectives{};    ///< what work of the batch waits for inside its stages (cost model hook `collectives`):
                            ///< sums and gathers of tensor-parallel ranks, all-to-alls of experts
  seconds copies{};         ///< paths that are computed again (core/forest/forest_cut.hpp), with what backward
                            ///< recomputes

  [[nodiscard]] constexpr seconds total() const noexcept {
    return useful + collectives + recomputation + packs + communication + imbalance + waiting + copies;
  }
  friend constexpr bool operator==(const rank_time&, const rank_time&) = default;
};

/// Its parts with their names in plan files, in order; copies come last (rank_time_parts_of).
inline constexpr std::pair<const char*, seconds rank_time::*> rank_time_parts[]{
    {"useful", &rank_time::useful},
    {"collectives", &rank_time::collectives},
    {"recomputation", &rank_time::recomputation},
    {"packs", &rank_time::packs},
    {"communication", &rank_time::communication},
    {"imbalance", &rank_time::imbalance},
    {"waiting", &rank_time::waiting},
    {"copies", &rank_time::copies}};

/// One pipeline's part of a plan.
struct replica_plan {
  std::vector<sequence_id> sequences;
  slimpack::partition partition;
  timings times{};                         ///< of its packs
  std::vector<loan> loans{};               ///< attention that its stages lend each other; times of packs have it in
  std::vector<program> programs;           ///< one per stage
  std::vector<double> peak_memory;         ///< per stage, in the plan's memory unit
  std::vector<memory_rates> rates;         ///< per stage; what peak_memory was computed with, not part of the plan file
  seconds makespan;                        ///< end of the last instruction, from a common start
  seconds lower_bound;                     ///< for the sequences it shares with no other; decides nothing
  std::vector<gradient_span> gradients{};  ///< of each part, where they are reduced beside the work; not part of the
                                           ///< file
};

/// What a plan was made with, so that it can be made again. Options are those of the program that planned, without
/// dashes.
struct plan_origin {
  /// What a program read besides options: a file, or a description that it has itself.
  struct input {
    std::string option;  ///< that names it
    std::string name;
    std::uint64_t hash{};                  ///< text_hash of its content
    std::optional<std::string> content{};  ///< where it is short
  };
  using options = std::vector<std::pair<std::string, std::string>>;  ///< names and values

  std::string version;  ///< of the library
  options planning;
  options batch;     ///< how the lengths were taken from a list; the plan has the lengths. Of several batches
                     ///< that were planned together, "number" says which one this is, from 0; it is no option
  tokens longest{};  ///< of all batches that were planned together: prices are tabulated up to there
  std::vector<input> inputs;
};

/// Where the sequences of a plan come from: a file of sequences, and which of them these are.
struct plan_data {
  std::string file;                 ///< its name, as the caller has it
  std::vector<std::uint64_t> rows;  ///< the data row of each sequence: its place in the file, from 0 (io/lengths.hpp);
                                    ///< where samples share beginnings, of the first sample that has all of its path
  friend bool operator==(const plan_data&, const plan_data&) = default;
};

/// Everything a rank needs for one optimizer step, with its certificate.
struct plan {
  std::uint64_t hash{};  ///< core/plan_hash.hpp; ranks compare it before they start
  bool truncated{};      ///< planned under a wall-clock limit: plan on one rank and broadcast
  std::string planner;   ///< names given by the caller, for people
  std::string cost;
  std::string model;
  std::string gpu;
  std::string simulator;               ///< that ran it, simulator_for's name; neither hashed nor part of plan files
  std::vector<tokens> lengths;         ///< as planned; a sequence_id is an index into it
  std::vector<sequence_id> parents{};  ///< of each sequence, no_parent of a root, where samples share beginnings; else
                                       ///< empty
  std::vector<path_copy> copies{};     ///< of paths that several replicas compute, in ascending order of sequence
  std::vector<sample_end> samples{};   ///< where samples end, and
  std::vector<target_run> targets{};   ///< what they train on, where the batch was a forest (core/forest/forest.hpp);
                                       ///< else empty. Weights of targets are not hashed, as they change no plan
  std::optional<plan_data> data{};     ///< where these come from, where the caller says. Not hashed
  slimpack::shape shape;
  std::vector<int> layers{};  ///< of the model on each part, where they were chosen; empty: as the trainer spreads them
  std::vector<replica_plan> replicas;
  std::vector<merge> merges;                      ///< sequences that several replicas share
  std::optional<gradient_reduction> reduction{};  ///< over copies of the weights, where it runs beside the work
  seconds reduce_time;        ///< gradient reduction over copies of the weights, as far as it goes on after the slowest
                              ///< replica
  seconds step_time;          ///< slowest replica + reduce_time
  std::vector<bound> bounds;  ///< the reduction included
  seconds lower_bound;        ///< largest of bounds; no plan of this batch on this shape is faster
  double efficiency{};        ///< lower_bound / step_time
  double bubble{};            ///< 1 - (useful work + collectives) / (replicas * stages * step_time)
  std::optional<slimpack::rank_time> rank_time{};  ///< where the time of the stages goes; none of a part, or where a
                                                   ///< plan file does not say. Follows from the rest: not hashed
  std::optional<double> mfu{};  ///< model flops utilisation (costs/model/training_flops.hpp), where the caller knows
                                ///< the model and the GPU. Not hashed
  std::optional<seconds> any_layout_bound{};  ///< what no plan of this batch on as many GPUs is faster than, whatever
                                              ///< its layout, layers and recomputation; where the caller knows. Not
                                              ///< hashed
  std::optional<plan_origin> origin{};        ///< where the caller says. Not hashed
  slimpack::memory_unit memory_unit{};        ///< of every peak_memory and of the limit
  seconds planning_time;                      ///< lengths in memory to certified plan
};

/// What the ranks of one group of replicas plan for themselves: the group's part of a plan, and a fingerprint of the
/// division that it is a part of. A group is a replica alone, or those that share sequences.
///
///   slimpack::rank_plan mine = plan_batch.of_replica(lengths, replica).value();
///
/// The part has all lengths, the whole shape, and replicas and merges of the group only: other replicas have no packs
/// and no programs in it. Step time, bounds, efficiency and bubble are those of a whole plan, and 0 here;
/// basic_planner::put_together makes it of the parts of all groups.
struct rank_plan {
  std::uint64_t division{};          ///< of all replicas; ranks compare it before they start, as they compare part.hash
                                     ///< within a group
  std::vector<std::uint32_t> group;  ///< replicas that are planned here, ascending
  plan part;
};

/// The share of the stages' time that is useful work. Where a file does not say where the time goes, collectives are in
/// it.
[[nodiscard]] inline double useful_share(const plan& p) noexcept {
  const seconds all = p.rank_time ? p.rank_time->total() : seconds{};
  return all > seconds{} ? p.rank_time->useful / all : 1 - p.bubble;
}

/// Whether the plan runs forward packs alone (basic_planner::plan_forward): no replica has backward packs.
[[nodiscard]] inline bool is_forward_only(const plan& p) noexcept {
  bool runs = false;
  for (const replica_plan& r : p.replicas) {
    if (!r.partition.backward.empty()) return false;
    runs = runs || !r.partition.forward.empty();
  }
  return runs;
}

/// The batch that a plan is of.            Requires  the plan outlives it
[[nodiscard]] inline batch_view batch_of(const plan& p) noexcept {
  return {p.lengths, p.parents, p.samples, p.targets};
}

/// The parts of its rank time that are told: copies only where there are some.
[[nodiscard]] inline auto rank_time_parts_of(const plan& p) noexcept {
  return std::span(rank_time_parts).first(std::size(rank_time_parts) - (p.copies.empty() ? 1 : 0));
}

/// Of each sequence the tokens that are at home in it, and no copies: each token of the batch once.
/// Complexity O(sequences)
[[nodiscard]] inline std::vector<slice> tokens_at_home(const plan& p) {
  std::vector<slice> all;
  for (const sequence& s : batch_of(p).sequences()) all.push_back(s.whole());
  for (const path_copy& c : p.copies) {
    slice& own = all[c.sequence.value];
    own = {own.sequence, c.until, own.end() - c.until};
  }
  std::erase_if(all, [](const slice& s) { return s.length == tokens{}; });
  return all;
}

/// The plan that a rank runs its stage of: a whole one, or its group's part.
[[nodiscard]] inline const plan& part_of(const plan& p) noexcept { return p; }
[[nodiscard]] inline const plan& part_of(const rank_plan& p) noexcept { return p.part; }
[[nodiscard]] inline plan& part_of(plan& p) noexcept { return p; }
[[nodiscard]] inline plan& part_of(rank_plan& p) noexcept { return p.part; }

}  // namespace slimpack

#endif
