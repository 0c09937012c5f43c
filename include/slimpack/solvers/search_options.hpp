#ifndef SLIMPACK_SOLVERS_SEARCH_OPTIONS_HPP
#define SLIMPACK_SOLVERS_SEARCH_OPTIONS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/solvers/size_ratios.hpp>

#include <cstdint>

namespace slimpack::solvers {

/// Every number that tunes the search of two_phase. The defaults are for any batch; nobody has to touch them.
/// Units     as each says; a ratio where it says none. A range in brackets is what check() takes. "likewise": as the
///           one before.
/// Measured  by `slimpack-bench-plan_quality --only refit --seeds 1,2`, which plans lists and laws with each constant
///           at 0.8 and 1.25 of its default (counts by one at least; where that changes no plan, at a quarter and at
///           four times it). "measured: value: growth" is by how many percent steps grow, the mean of 56 plans of 192
///           sequences and its error, of the values that change any. Below about three errors it is luck of a random
///           search. Of those that stand last, and of sharing_gain and alike_step, it is the mean of the plans that can
///           ask the constant: 76 of seed 1; of two seeds 14 with passes cut alike, as many evaluations on equal stages
///           and 21 on others, 14 whose cuts cost, 7 long ones of replicas that share and as many with free exchanges
///           or with E, V, U and G, and 14 by estimates; of seed 1 fifteen under tight limits, eight of them
///           shared, and eight with weight gradients apart. Each constant changes some of these plans
struct search_options {
  // Divisions: which replicas share what (divide/searched.hpp, divide/estimated.hpp).
  double part_first{1.0};    ///< [0.01, 1e9] of a replica's mean work, the most that it runs of one sequence: the rest
                             ///< is shared. Trades exchanges for level replicas. The first division that shares
                             ///< measured: 1.25: +0.02 +- 0.02
  double part_second{0.67};  ///< [0.01, 1e9] the next, which shares more
                             ///< measured: 0.536: +0.06 +- 0.03, 0.8375: +0.05 +- 0.03
  double part_third{0.5};    ///< [0.01, 1e9] the next
                             ///< measured: 0.625: -0.00 +- 0.00
  double part_fourth{0.35};  ///< [0.01, 1e9] the last
                             ///< measured: 0.28: +0.00 +- 0.02, 0.4375: -0.01 +- 0.01
  double light{0.02};        ///< [0, 1] of a replica's mean work: what weighs less is balanced whole. Less shares more
                             ///< measured: 0.016: -0.01 +- 0.01, 0.025: +0.01 +- 0.03
  double near_mean{0.4};     ///< [0, 1e6] over the budget's candidates: a division whose step is within that of the
                             ///< mean work ends the trial of others. More is quicker and leaves better ones untried
                             ///< measured: 1.6: +0.02 +- 0.02
  double half_steady{0.5};   ///< [0.01, 1] of the start's pack sizes: each division is tried with packs so small, too
                             ///< measured: 0.4: -0.04 +- 0.04, 0.625: -0.01 +- 0.03
  double sharing_gain{0.002};  ///< [0, 1] of the step: what a division that shares more must gain at least, where the
                               ///< cost model takes no time for what sharers exchange
                               ///< measured: 0.0016: -0.11 +- 0.11, 0.0025: none of seven plans changes
  std::uint32_t finalists{3};  ///< [1, 64] divisions that are balanced anew. More finds better ones, with less
                               ///< effort for each
                               ///< measured: 2: +0.02 +- 0.02, 4: -0.02 +- 0.02
  std::uint32_t balance_quarters{1};  ///< [0, 16] of the effort, for the finalists together. More balances better, in
                                      ///< more time measured: 0: +0.03 +- 0.04, 2: -0.01 +- 0.01
  std::uint32_t balance_again_quarters{1};  ///< [0, 16] of the effort, for the fastest of them: likewise
                                            ///< measured: 0: +0.02 +- 0.02, 2: -0.02 +- 0.02
  std::uint32_t level_quarters{3};          ///< [0, 16] of the effort, for the levelled one: likewise
                                            ///< measured: 2: +0.02 +- 0.01, 4: -0.02 +- 0.01
  double level_enough{0.0005};  ///< [0, 1] of their work, by which sharers may differ: more swaps make tuples
                                ///< of unlike sequences, which cost more
                                ///< measured: 0.0004: +0.01 +- 0.01

  // Packs by ratios (pack/partitioner.hpp, pack/size_curve.hpp, pack/fill.hpp).
  double front{0.23};         ///< [0, 1] share of the sequences that run before the longest, to begin with: work
                              ///< to cover its turn before it, or after it
                              ///< measured: 0.184: -0.05 +- 0.05, 0.2875: -0.12 +- 0.05
  double crowding{0.3};       ///< [0, 1] of the room: a longer sequence leaves others short of it, to begin with.
                              ///< Less makes smaller packs at more turns
                              ///< measured: 0.24: -0.01 +- 0.02, 0.375: -0.00 +- 0.02
  double overhead_packs{20};  ///< [0, 1000] o of size_ratios: work for which a pack's overhead is worth waiting.
                              ///< More makes fewer packs, which wait longer
                              ///< measured: 16: -0.07 +- 0.03, 25: -0.05 +- 0.04
  double quiet_packs{50};     ///< [0, 10000] overheads that packs are sized for at least without a limit: likewise
                              ///< measured: 200: -0.02 +- 0.01
  double room_longest{2};     ///< [1, 1000] longest sequences that packs are sized for without a limit: likewise
                              ///< measured: 1.6: -0.10 +- 0.04, 2.5: +0.03 +- 0.04
  double room_apart{0.5};     ///< [0, 1] of the room: a longer sequence shares no pack at its turn. Less makes more
                              ///< packs, which hold less
                              ///< measured: 0.4: -0.00 +- 0.00, 0.625: +0.01 +- 0.01
  double worth_overheads{2};  ///< [0, 100] of what a pack costs besides its slices, before it is closed for time.
                              ///< More makes fewer packs
                              ///< measured: 1.6: -0.00 +- 0.01, 2.5: -0.02 +- 0.02
  double even_step{0.7};      ///< [0.1, 0.95] from one size of even packs to the next that is tried. Less is quicker
                              ///< and coarser measured: 0.56: +0.05 +- 0.04, 0.875: -0.01 +- 0.03
  double even_below{0.25};    ///< [0.01, 1] of the best size so far, where trying even packs ends. More is quicker,
                              ///< and may miss a smaller size
                              ///< measured: 0.2: +0.00 +- 0.00

  // Packs whose passes are cut at the same places (solvers/refined.hpp, pack/align.hpp).
  // Measured on eight lists (plan_quality's part calls), useful work in percent.
  double alignment{0.25};        ///< [0, 10] how far a cut moves to one of the other pass at first, as a share of the
                                 ///< smaller pack beside it; measured: 0: -0.13, 0.2: -0.00, 0.32: -0.01
  double alignment_chance{0.3};  ///< [0, 1] that a child has another: more tries of that, fewer of sizes; measured: 0:
                                 ///< -0.16, 0.24: -0.11, 0.38: -0.04
  double alignment_most{1};   ///< [0, 10] of what that may be: fewer pieces, or packs that are further from their best
                              ///< sizes; measured: 0.8: -0.09, 1.25: -0.12
  double piece_quanta{0.03};  ///< [0, 1e6] what a piece counts as besides, in quanta, where the cost model knows no
                              ///< overhead measured (8 and 32 sequences of 9 lists, 8 stages, no limit), beside plans
                              ///< that cut anywhere: 0: steps -0.1 %, 1.40 x the calls; 0.03: -0.4 %, 0.99 x; 0.1: +0.9
                              ///< %, 0.75 x; 0.2: +1.5 %, 0.63 x

  // Packs that are tried before chance has its turn (improve/detail/candidates.hpp).
  double larger_backward{1.6};   ///< [0.1, 10] times as large backward packs, tried: fewer packs, which fill the
                                 ///< pipeline later
                                 ///< measured: 1.28: +0.01 +- 0.03, 2: +0.01 +- 0.03
  double even_ramp{0.3};         ///< [0.01, 10] of even packs' ramps, tried: stages that wait less, in more packs
                                 ///< measured: 0.24: -0.06 +- 0.02, 0.375: -0.03 +- 0.02
  std::uint32_t alike_sizes{6};  ///< [0, 64] sizes of packs of as many tokens in both passes, tried where chunks
                                 ///< have weight gradients apart
                                 ///< measured (gsm8k_sft, 8 stages, 4 and 8 chunks, normal effort): 0: +1.15, +0.48;
                                 ///< 8 that are 1.15 apart: +0.50, +0.61
  double alike_step{1.2};        ///< [1.01, 4] from one of them to the next. More reaches larger packs, in coarser
                                 ///< steps measured: 1.01: +0.03 +- 0.02, 1.5: +0.01 +- 0.03

  // The walk over pack sizes (improve/detail/evolve.hpp).
  std::uint32_t long_candidates{5000};  ///< [1, 1e9] candidates of a search that is long: it begins anew, and spares
                                        ///< nothing. Less gives more
                                        ///< searches several shorter walks
                                        ///< measured: 6250: -0.01 +- 0.01
  std::uint32_t restarts{4};            ///< [0, 20] walks of a long search before the last, which goes on from the
                                        ///< best. More of them are shorter
                                        ///< measured: 3: +0.00 +- 0.00, 5: -0.00 +- 0.00
  std::uint32_t restart_twentieths{3};  ///< [0, 20] of the budget for each of them, which the last walk lacks
                                        ///< measured: 2: -0.01 +- 0.01, 4: -0.00 +- 0.01
  double walk_step{0.3};                ///< [0.001, 1] first change of a ratio. More leaves the start sooner, and comes
                                        ///< near the best later
                                        ///< measured: 0.24: -0.03 +- 0.02, 0.375: -0.04 +- 0.03
  double last_walk_step{0.1};           ///< [0.001, 1] the same in the last walk of a long search: likewise
                                        ///< measured: 0.08: -0.00 +- 0.01, 0.125: -0.00 +- 0.00
  std::uint32_t changed_ratios{3};      ///< [1, 15] that a child differs in, at most. More finds what helps together,
                                        ///< more seldom measured: 2: -0.06 +- 0.03, 4: -0.04 +- 0.03
  double front_change{0.3};             ///< [0, 1] change of the front, of that of a ratio: as walk_step
                                        ///< measured: 0.24: -0.02 +- 0.01, 0.375: -0.03 +- 0.01
  double crowding_chance{0.05};         ///< [0, 1] that a child has another crowding: more tries of that, fewer of
                                        ///< sizes measured: 0.04: -0.01 +- 0.01, 0.0625: -0.01 +- 0.01
  double crowding_least{0.1};           ///< [0, 1] of what it may be: a wider range is tried less densely
                                        ///< measured: 0.08: -0.03 +- 0.02, 0.125: -0.02 +- 0.01
  double crowding_range{0.6};           ///< [0, 1] above that: likewise
                                        ///< measured: 0.48: -0.03 +- 0.02, 0.75: -0.01 +- 0.01
  double step_growth{1.3};              ///< [1, 10] of the step, after a better child. More follows a gain faster, and
                                        ///< past the best
                                        ///< measured: 1.04: +0.01 +- 0.02, 1.625: -0.04 +- 0.02
  double step_most{0.6};                ///< [0.001, 1] that it grows to: larger changes leave a poor place, and seldom
                                        ///< gain measured: 0.48: -0.01 +- 0.01, 0.75: -0.01 +- 0.01
  double step_decay{0.975};             ///< [0.1, 1] of the step, after another. Less settles sooner, and may do so far
                                        ///< from the best
                                        ///< measured: 0.78: +0.09 +- 0.03, 1: -0.07 +- 0.03
  double step_least{0.05};              ///< [0.0001, 1] that it shrinks to: smaller changes come nearer to the best
                                        ///< measured: 0.04: +0.00 +- 0.00, 0.0625: +0.00 +- 0.00

  // Moves of single packs (improve/detail/neighbourhood.hpp, improve/).
  std::uint32_t moving_part{32};  ///< [1, 1e6] one of so many parts of the tasks is for them, beside the rest
                                  ///< measured: 25: -0.01 +- 0.01, 40: -0.00 +- 0.02
  double reorder_chance{0.3};     ///< [0, 1] that a move is of sequences, else of borders: each has less of the other
                                  ///< measured: 0.24: -0.01 +- 0.02, 0.375: -0.00 +- 0.02
  double move_again{0.5};         ///< [0, 0.9] that another move follows before the packs are simulated. More reaches
                                  ///< further, and seldom gains
                                  ///< measured: 0.4: -0.01 +- 0.02, 0.625: +0.00 +- 0.01
  double split_weight{0.25};      ///< [0, 100] of improve::split, among moves of borders: more of it leaves less for
                                  ///< the others measured: 0.2: +0.01 +- 0.01, 0.3125: -0.00 +- 0.01
  double join_weight{0.25};       ///< [0, 100] of improve::join
                                  ///< measured: 0.2: -0.02 +- 0.02, 0.3125: +0.01 +- 0.02
  double take_weight{0.25};       ///< [0, 100] of improve::take
                                  ///< measured: 0.2: -0.00 +- 0.02, 0.3125: -0.01 +- 0.01
  double give_weight{0.25};       ///< [0, 100] of improve::give
                                  ///< measured: 0.2: -0.00 +- 0.01, 0.3125: -0.01 +- 0.02

  // The order, and packs within it (detail/order_search.hpp, improve/).
  std::uint32_t walk_candidates{300};  ///< [0, 1e6] as many as the last that the walk keeps tasks for, of those left
                                       ///< measured: 240: -0.03 +- 0.02, 375: -0.00 +- 0.01
  std::uint32_t walk_least{10};        ///< [2, 1e6] one of so many parts of what is left is the walk's at least: the
                                       ///< order has the rest
                                       ///< measured: 8: +0.00 +- 0.00, 13: +0.00 +- 0.00
  std::uint32_t walk_most{2};          ///< [2, 1e6] and at most one of so many: likewise
                                       ///< measured: 3: -0.02 +- 0.01
  std::uint32_t least_sweeps{32};      ///< [1, 1e6] tasks for an instruction, without which no order is searched. Less
                                       ///< searches it for large plans, with
                                       ///< few sweeps
                                       ///< measured: 25: -0.00 +- 0.00, 40: +0.01 +- 0.01
  std::uint32_t idle_sweeps{200};      ///< [1, 1e6] without a gain, after which a search of the order ends. More finds
                                       ///< rare gains, in more time
                                       ///< measured: 160: -0.01 +- 0.01, 250: +0.00 +- 0.00
  double recut_share{0.2};             ///< [0, 1] of the packs that a sweep tries to cut anew; the first tries all.
                                       ///< More finds better
                                       ///< packs in an order, with fewer sweeps
                                       ///< measured: 0.16: +0.01 +- 0.02, 0.25: -0.01 +- 0.02
  double delay_chance{0.2};            ///< [0, 1] that a sweep draws anew what it lets run later. More follows no
                                       ///< kind for long measured: 0.16: -0.01 +- 0.01, 0.25: +0.00 +- 0.02
  double shift_weight{0.2};            ///< [0, 100] of improve::shift, among moves of packs in their order: more of it
                                       ///< leaves less for the other
                                       ///< measured: 0.16: -0.01 +- 0.02, 0.25: -0.01 +- 0.01
  double merge_weight{0.8};            ///< [0, 100] of improve::merge
                                       ///< measured: 0.64: -0.01 +- 0.01, 1: -0.01 +- 0.02
  std::uint32_t merged_packs{8};       ///< [2, 64] that become one fewer, at most. More find a pack less where few do,
                                       ///< and cost more to try
                                       ///< measured: 6: -0.00 +- 0.02, 10: -0.00 +- 0.02

  // Later ones stand last, so that lists of initial values stay what they were.

  // Packs by ratios: where the walk over pack sizes begins (size_ratios.hpp has the formula). The walk varies each of
  // them.
  double forward_steady{0.93};       ///< [0, 1000] of a stage's share of the room: larger packs cost less besides, and
                                     ///< fill the pipeline later
                                     ///< measured: 0.744: -0.01 +- 0.08, 1.163: +0.05 +- 0.04
  double forward_ramp_least{0.6};    ///< [0, 1000] quanta of the smallest packs of a ramp: fewer packs, or stages that
                                     ///< wait less measured: 0.48: +0.02 +- 0.05, 0.75: +0.01 +- 0.05
  double forward_fill{0.82};         ///< [0, 1000] how fast packs grow while the pipeline fills: likewise
                                     ///< measured: 0.656: -0.06 +- 0.07, 1.025: +0.04 +- 0.04
  double forward_drain{1.0};         ///< [0, 1000] and shrink while it drains: likewise
                                     ///< measured: 0.8: +0.02 +- 0.12, 1.25: +0.04 +- 0.04
  double forward_turn_least{0.7};    ///< [0, 1000] of a steady pack, at the turn of a long sequence: likewise
                                     ///< measured: 0.56: +0.11 +- 0.21, 0.875: +0.04 +- 0.08
  double forward_before{0.41};       ///< [0, 1000] how fast packs shrink before it: likewise
                                     ///< measured: 0.328: +0.04 +- 0.09, 0.5125: +0.01 +- 0.08
  double forward_after{0.62};        ///< [0, 1000] and grow after it: likewise
                                     ///< measured: 0.496: +0.05 +- 0.04, 0.775: +0.01 +- 0.06
  double backward_steady{0.39};      ///< [0, 1000] the same of backward packs
                                     ///< measured: 0.312: -0.03 +- 0.05, 0.4875: +0.08 +- 0.08
  double backward_ramp_least{2.3};   ///< [0, 1000]
                                     ///< measured: 1.84: +0.04 +- 0.07, 2.875: -0.02 +- 0.04
  double backward_fill{1.6};         ///< [0, 1000]
                                     ///< measured: 1.28: +0.01 +- 0.03, 2: +0.09 +- 0.09
  double backward_drain{0.262};      ///< [0, 1000]
                                     ///< measured: 0.2096: -0.07 +- 0.05, 0.3275: +0.06 +- 0.07
  double backward_turn_least{0.68};  ///< [0, 1000]
                                     ///< measured: 0.544: -0.04 +- 0.04, 0.85: -0.03 +- 0.03
  double backward_before{0.104};     ///< [0, 1000]
                                     ///< measured: 0.0832: +0.03 +- 0.03, 0.13: +0.02 +- 0.09
  double backward_after{0.081};      ///< [0, 1000]
                                     ///< measured: 0.0648: +0.00 +- 0.03, 0.1013: +0.00 +- 0.04

  // Packs where the first do not fit (improve/detail/kinds.hpp).
  double smaller_first{0.5};  ///< [0.01, 1] of the start's sizes, tried first. Less fits sooner, in more packs
                              ///< measured: 0.4: +0.75 +- 0.67, 0.625: +0.00 +- 0.02, and two plans of fifteen fail
                              ///< with either
  double smaller_step{0.25};  ///< [0.01, 0.9] of those, tried next, as long as nothing fits: likewise
                              ///< measured: 0.2, 0.3125: one plan of fifteen fails

  // Packs that are tried before chance has its turn (improve/detail/kinds.hpp).
  std::uint32_t coarse_first{8};    ///< [1, 1e6] quanta of which every cut is a multiple, tried where a cut costs:
                                    ///< fewer cuts, less even packs
                                    ///< measured: 6: +0.00 +- 0.00
  std::uint32_t coarse_second{64};  ///< [1, 1e6] likewise
                                    ///< measured: 51: +0.63 +- 0.64, 80: -0.37 +- 0.11

  // The order (improve/detail/local_search.hpp).
  std::uint32_t order_beside{2};       ///< [1, 1e6] one of so many parts of what is left, which the order has besides
                                       ///< where schedules take long: a longer search of the order, in more time
                                       ///< measured: 1: -0.00 +- 0.00, 3: +0.00 +- 0.00
  std::uint32_t shared_walk_least{2};  ///< [1, 1e6] walk_least where replicas share, so that packs stay as they are
                                       ///< while the order changes: walks or the order get more
                                       ///< measured: 1, 3: no plan changes, 8: -0.03 +- 0.07

  // Divisions by trial (divide/searched.hpp, two_phase/detail/).
  double estimate_times{1.5};  ///< [1, 100] a plan takes less than so many times what the search says there, as a
                               ///< rule. More tries baselines that look slower
                               ///< measured: 1: +1.32 +- 1.32

  // Divisions by estimates (divide/estimated.hpp): weights of divide/detail/unit_estimate.hpp's terms, by least
  // squares, and what is tried with them. A larger weight shares less of what that term is about.
  double loss_peak{25};        ///< [0, 1e6] of loss_terms::peak: a larger one shares more
                               ///< measured: 20: +0.09 +- 0.29, 31.25: +0.02 +- 0.09
  double loss_tail{2.6};       ///< [0, 1e6] of tail: likewise
                               ///< measured: 2.08: +0.01 +- 0.08, 3.25: -0.09 +- 0.13
  double loss_alike{30};       ///< [0, 1e6] of alike
                               ///< measured: 24: +0.09 +- 0.18, 37.5: +0.15 +- 0.25
  double loss_uneven{0.38};    ///< [0, 1e6] of uneven
                               ///< measured: 0.304: +0.34 +- 0.25, 0.475: +0.35 +- 0.41
  double loss_exchange{1.75};  ///< [0, 1e6] of exchange
                               ///< measured: 1.4: -0.10 +- 0.27, 2.188: +0.37 +- 0.48
  double loss_rows{0.6};       ///< [0, 1e6] of rows
                               ///< measured: 0.48: +0.09 +- 0.17, 0.75: +0.10 +- 0.20
  double loss_packs{10};       ///< [0, 1e6] packs of a pass for each part of the model, by which rows are counted. More
                               ///< shares less measured: 8: -0.10 +- 0.27, 12.5: +0.37 +- 0.48
  double heavy{0.05};          ///< [0, 1] of a replica's mean work: a group shares those of its own sequences that
                               ///< weigh more, if that pays, and else perhaps those above `light`. More shares less
                               ///< measured: 0.0125: +0.02 +- 0.02; of 57 plans of 6 to 48 replicas, three seeds:
                               ///< 0.0125: +0.03 +- 0.02, 0.02 (none besides `light`): +0.01 +- 0.01

  // Plans of a forward alone (pack/forward_packs.hpp). More packs fill the pipeline sooner, and cost more besides.
  double evaluation_growth{1.25};      ///< [1.01, 10] from one number of even packs to the next that is tried: less is
                                       ///< finer, and slower
                                       ///< measured: 1.01: -0.10 +- 0.03, 1.562: -0.06 +- 0.02
  double evaluation_beyond{2};         ///< [1, 100] times the best number so far, after which slower packs end that:
                                       ///< more is slower measured: 1.6: +0.00 +- 0.00; of seed 1, 1: +4.30 +- 1.98,
                                       ///< all of it on virtual stages
  double evaluation_around{1.25};      ///< [1, 10] how far below and above the best number others are tried, too:
                                       ///< likewise measured: 1: +0.02 +- 0.01, 1.562: -0.01 +- 0.01
  std::uint32_t evaluation_steps{24};  ///< [1, 1e6] one of so many parts of the best number is the step there: likewise
                                       ///< measured: 19: -0.03 +- 0.02, 30: -0.02 +- 0.01
  double evaluation_end{0.125};        ///< [0, 1] of an even pack, the first and the last of a ramp
                                       ///< measured: 0.1: +0.01 +- 0.00, 0.1562: -0.01 +- 0.01
  double evaluation_ramp_first{0.25};  ///< [0, 1e6] by how much packs grow from there, of the work done: tried, since
                                       ///< ramps help where stages are not equal: without any, +0.19 +- 0.03
                                       ///< measured: 0.2: -0.02 +- 0.01, 0.3125: +0.03 +- 0.01
  double evaluation_ramp_second{0.5};  ///< [0, 1e6] the next
                                       ///< measured: 0.4: -0.00 +- 0.00, 0.625: +0.00 +- 0.00
  double evaluation_ramp_third{1};     ///< [0, 1e6] the next
                                       ///< measured: 1.25: -0.00 +- 0.00
  double evaluation_ramp_fourth{2};    ///< [0, 1e6] the last
                                       ///< measured: 1.6: -0.00 +- 0.00, 2.5: -0.00 +- 0.00

  /// Where walks over packs of a pass begin.
  [[nodiscard]] constexpr size_ratios forward_ratios() const noexcept {
    return {forward_steady,     forward_ramp_least, forward_fill, forward_drain,
            forward_turn_least, forward_before,     forward_after};
  }
  [[nodiscard]] constexpr size_ratios backward_ratios() const noexcept {
    return {backward_steady,     backward_ramp_least, backward_fill, backward_drain,
            backward_turn_least, backward_before,     backward_after};
  }

  /// Errors    invalid_input: a constant is out of its range
  [[nodiscard]] result<void> check() const;

  friend constexpr bool operator==(const search_options&, const search_options&) = default;
};

/// The defaults, where nothing else is given.
inline constexpr search_options default_search_options{};

}  // namespace slimpack::solvers

#include <slimpack/solvers/search_constants.hpp>  // check and operator<<, which go through the list

#endif
