#ifndef SLIMPACK_SOLVERS_DETAIL_SEARCH_TUNING_HPP
#define SLIMPACK_SOLVERS_DETAIL_SEARCH_TUNING_HPP

#include <slimpack/solvers/search_constants.hpp>
#include <slimpack/solvers/size_ratios.hpp>

#include <array>

namespace slimpack::detail {

/// What tunes a search besides search_options: constants that measurements have chosen, each with its name, its default
/// and its range. A constant without a unit is a ratio.
/// Source    measured: benchmarks/plan_quality/constants.md, by `slimpack-bench-plan_quality --only refit`
struct search_tuning {
  using ratio = solvers::search_ratio;
  using count = solvers::search_count;

  // Divisions: which replicas share what (divide/searched.hpp, divide/estimated.hpp).
  /// The most that a replica runs of one sequence, in mean works of a replica, in the first division that shares.
  ratio part_first{"part_first", 1.0, 0.01, 1e9};
  /// The same in the next three divisions, each of which shares more.
  ratio part_second{"part_second", 0.67, 0.01, 1e9};
  ratio part_third{"part_third", 0.5, 0.01, 1e9};
  ratio part_fourth{"part_fourth", 0.35, 0.01, 1e9};
  /// Each division is tried with packs of this share of the first sizes, too.
  ratio half_steady{"half_steady", 0.5, 0.01, 1};
  /// Quarters of the effort, for all finalists together, for the fastest of them, and for the levelled one.
  count balance_quarters{"balance_quarters", 1, 0, 16};
  count balance_again_quarters{"balance_again_quarters", 1, 0, 16};
  count level_quarters{"level_quarters", 3, 0, 16};
  /// The share of their work by which sharers of a tuple of sequences may differ.
  ratio level_enough{"level_enough", 0.0005, 0, 1};

  // Packs by ratios (pack/partitioner.hpp, pack/partition_rule.hpp, pack/fill.hpp).
  /// A sequence of more than this share of the room leaves others short of it at its turn, to begin with.
  ratio crowding{"crowding", 0.3, 0, 1};
  /// The number of overheads that packs are sized for at least, without a memory limit.
  ratio quiet_packs{"quiet_packs", 50, 0, 10000};
  /// A sequence of more than this share of the room shares no pack at its turn.
  ratio room_apart{"room_apart", 0.5, 0, 1};
  /// The time of a pack's slices in overheads of the pack, before it is closed for time.
  ratio worth_overheads{"worth_overheads", 2, 0, 100};

  // Where the walk over pack sizes begins: the size_ratios of each pass.
  ratio forward_steady{"forward_steady", 0.93, 0, 1000};
  ratio forward_ramp_least{"forward_ramp_least", 0.6, 0, 1000};
  ratio forward_fill{"forward_fill", 0.82, 0, 1000};
  ratio forward_drain{"forward_drain", 1.0, 0, 1000};
  ratio forward_turn_least{"forward_turn_least", 0.7, 0, 1000};
  ratio forward_before{"forward_before", 0.41, 0, 1000};
  ratio forward_after{"forward_after", 0.62, 0, 1000};
  ratio backward_steady{"backward_steady", 0.39, 0, 1000};
  ratio backward_ramp_least{"backward_ramp_least", 2.3, 0, 1000};
  ratio backward_fill{"backward_fill", 1.6, 0, 1000};
  ratio backward_drain{"backward_drain", 0.262, 0, 1000};
  ratio backward_turn_least{"backward_turn_least", 0.68, 0, 1000};
  ratio backward_before{"backward_before", 0.104, 0, 1000};
  ratio backward_after{"backward_after", 0.081, 0, 1000};

  // Packs whose passes are cut at the same places (solvers/refined.hpp, pack/align.hpp).
  /// How far a cut moves to a cut of the other pass at first, in packs: of the two beside it, the smaller one.
  ratio alignment{"alignment", 0.25, 0, 10};
  /// The chance that a child of the walk has another alignment.
  ratio alignment_chance{"alignment_chance", 0.3, 0, 1};
  /// The largest alignment of a child.
  ratio alignment_most{"alignment_most", 1, 0, 10};

  // Packs that are tried before chance has its turn (improve/detail/candidates.hpp).
  /// Where the last packs did not fit: the share of their size that is tried next.
  ratio smaller_step{"smaller_step", 0.25, 0.01, 0.9};
  /// Where a cut costs time: the quanta of which each cut is a multiple, in two tries.
  count coarse_first{"coarse_first", 8, 1, 1e6};
  count coarse_second{"coarse_second", 64, 1, 1e6};
  /// The factor of backward packs that are tried larger.
  ratio larger_backward{"larger_backward", 1.6, 0.1, 10};
  /// The factor of the smallest packs of the ramps of even packs.
  ratio even_ramp{"even_ramp", 0.3, 0.01, 10};
  /// The number of sizes of packs with as many tokens in both passes, where weight gradients run apart.
  count alike_sizes{"alike_sizes", 6, 0, 64};
  /// The factor from one of these sizes to the next.
  ratio alike_step{"alike_step", 1.2, 1.01, 4};

  // The walk over pack sizes (improve/detail/evolve.hpp, improve/detail/local_search.hpp).
  /// The number of candidates from which on a search is long: then it begins anew, and spares nothing.
  count long_candidates{"long_candidates", 5000, 1, 1e9};
  /// The first change of a ratio.
  ratio walk_step{"walk_step", 0.3, 0.001, 1};
  /// The number of ratios in which a child differs, at most.
  count changed_ratios{"changed_ratios", 3, 1, 15};
  /// The change of the front, in changes of a ratio.
  ratio front_change{"front_change", 0.3, 0, 1};
  /// The chance that a child has another crowding, the least of it, and the range above that.
  ratio crowding_chance{"crowding_chance", 0.05, 0, 1};
  ratio crowding_least{"crowding_least", 0.1, 0, 1};
  ratio crowding_range{"crowding_range", 0.6, 0, 1};
  /// The factor of the step after a better child, and the largest step.
  ratio step_growth{"step_growth", 1.3, 1, 10};
  ratio step_most{"step_most", 0.6, 0.001, 1};
  /// The factor of the step after another child, and the smallest step.
  ratio step_decay{"step_decay", 0.975, 0.1, 1};
  ratio step_least{"step_least", 0.05, 0.0001, 1};

  // Moves of single packs (improve/detail/neighbourhood.hpp, improve/).
  /// One of so many parts of the tasks is for these moves.
  count moving_part{"moving_part", 32, 1, 1e6};
  /// The chance that a move is of sequences, else of borders.
  ratio reorder_chance{"reorder_chance", 0.3, 0, 1};
  /// The chance that another move follows before the packs are simulated.
  ratio move_again{"move_again", 0.5, 0, 0.9};
  /// Weights of the moves of borders.
  ratio split_weight{"split_weight", 0.25, 0, 100};
  ratio join_weight{"join_weight", 0.25, 0, 100};
  ratio take_weight{"take_weight", 0.25, 0, 100};
  ratio give_weight{"give_weight", 0.25, 0, 100};

  // The order, and packs within it (improve/detail/local_search.hpp, improve/detail/order_search.hpp).
  /// The walk keeps tasks for so many candidates as the last one.
  count walk_candidates{"walk_candidates", 300, 0, 1e6};
  /// The walk has at least one of so many parts of what is left, and at most one of so many; the order has the rest.
  count walk_least{"walk_least", 10, 2, 1e6};
  count walk_most{"walk_most", 2, 2, 1e6};
  /// The same as walk_least where replicas share sequences, so that packs stay as they are while the order changes.
  count shared_walk_least{"shared_walk_least", 2, 1, 1e6};
  /// The tasks of an instruction, without which no order is searched.
  count least_sweeps{"least_sweeps", 32, 1, 1e6};
  /// The number of sweeps without a gain after which a search of the order ends.
  count idle_sweeps{"idle_sweeps", 200, 1, 1e6};
  /// The share of the packs that a sweep tries to cut anew; the first sweep tries all.
  ratio recut_share{"recut_share", 0.2, 0, 1};
  /// The chance that a sweep draws anew what it lets run later.
  ratio delay_chance{"delay_chance", 0.2, 0, 1};
  /// Weights of the moves of packs in their order.
  ratio shift_weight{"shift_weight", 0.2, 0, 100};
  ratio merge_weight{"merge_weight", 0.8, 0, 100};
  /// The number of packs that become one fewer, at most.
  count merged_packs{"merged_packs", 8, 2, 64};

  // Divisions by estimates (divide/estimated.hpp).
  /// Weights of the loss_terms of divide/detail/unit_estimate.hpp.
  ratio loss_peak{"loss_peak", 25, 0, 1e6};
  ratio loss_tail{"loss_tail", 2.6, 0, 1e6};
  ratio loss_alike{"loss_alike", 30, 0, 1e6};
  ratio loss_uneven{"loss_uneven", 0.38, 0, 1e6};
  ratio loss_exchange{"loss_exchange", 1.75, 0, 1e6};
  ratio loss_rows{"loss_rows", 0.6, 0, 1e6};
  /// The packs of a pass for each part of the model, by which rows are counted.
  ratio loss_packs{"loss_packs", 10, 0, 1e6};
  /// A group shares its own sequences of more than this share of a replica's mean work, if that pays.
  ratio heavy{"heavy", 0.05, 0, 1};

  // Plans of a forward alone (pack/forward_packs.hpp).
  /// Numbers of packs are tried from the best one over this factor to the best one times it.
  ratio evaluation_around{"evaluation_around", 1.25, 1, 10};
  /// The step between these numbers is one of so many parts of the best one.
  count evaluation_steps{"evaluation_steps", 24, 1, 1e6};
  /// The size of the first and the last pack of a ramp, in even packs.
  ratio evaluation_end{"evaluation_end", 0.125, 0, 1};
  /// The slowest ramp: by how much packs grow from the ends, of the work done. The other three grow twice as fast each.
  ratio evaluation_ramp{"evaluation_ramp", 0.25, 0, 1e6};

  [[nodiscard]] constexpr solvers::size_ratios forward_ratios() const noexcept {
    return {forward_steady,     forward_ramp_least, forward_fill, forward_drain,
            forward_turn_least, forward_before,     forward_after};
  }
  [[nodiscard]] constexpr solvers::size_ratios backward_ratios() const noexcept {
    return {backward_steady,     backward_ramp_least, backward_fill, backward_drain,
            backward_turn_least, backward_before,     backward_after};
  }
  /// The most that a replica runs of one sequence, in the order in which divisions are tried: all of it at first.
  [[nodiscard]] constexpr std::array<double, 5> parts() const noexcept {
    return {1e9, part_first, part_second, part_third, part_fourth};
  }

  friend constexpr bool operator==(const search_tuning&, const search_tuning&) = default;
};

}  // namespace slimpack::detail

#endif
