#ifndef SLIMPACK_SOLVERS_SEARCH_OPTIONS_HPP
#define SLIMPACK_SOLVERS_SEARCH_OPTIONS_HPP

#include <slimpack/core/error.hpp>

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace slimpack::solvers {

/// Every number that tunes the search of two_phase. The defaults are for any batch; nobody has to touch them.
/// Units     as each says; a ratio where it says none. A range in brackets is what check() takes.
/// Measured  by `slimpack-bench-plan_quality --only refit --seeds 1,2`, which plans lists and laws with each constant at 0.8
///           and 1.25 of its default (counts by one at least; where that changes no plan, at a quarter and at four times
///           it). "measured: value: growth" is by how many percent steps grow, the mean of 56 plans of 192 sequences and
///           its error, of the values that change any. Below about three errors it is luck of a random search. Constants
///           that changed no plan are no longer options: they stand where they are used
struct search_options {
  // Divisions: which replicas share what (divide/searched.hpp, divide/estimated.hpp).
  double part_first{1.0};   ///< [0.01, 1e9] of a replica's mean work, the most that it runs of one sequence: the rest is
                            ///< shared. Trades exchanges for level replicas. The first division that shares
                            ///< measured: 1.25: +0.02 +- 0.02
  double part_second{0.67};  ///< [0.01, 1e9] the next
                             ///< measured: 0.536: +0.06 +- 0.03, 0.8375: +0.05 +- 0.03
  double part_third{0.5};    ///< [0.01, 1e9] the next
                             ///< measured: 0.625: -0.00 +- 0.00
  double part_fourth{0.35};  ///< [0.01, 1e9] the last
                             ///< measured: 0.28: +0.00 +- 0.02, 0.4375: -0.01 +- 0.01
  double light{0.02};        ///< [0, 1] of a replica's mean work: what weighs less is balanced whole. Less shares more
                             ///< measured: 0.016: -0.01 +- 0.01, 0.025: +0.01 +- 0.03
  double near_mean{0.4};     ///< [0, 1e6] over the budget's candidates: a division whose step is within that of the mean
                             ///< work ends the trial of others. More is quicker and leaves better ones untried
                             ///< measured: 1.6: +0.02 +- 0.02
  double half_steady{0.5};   ///< [0.01, 1] of the start's pack sizes: each division is tried with packs so small, too
                             ///< measured: 0.4: -0.04 +- 0.04, 0.625: -0.01 +- 0.03
  double sharing_gain{0.002};  ///< [0, 1] of the step: what a division that shares more must gain at least, where the cost
                               ///< model takes no time for what sharers exchange
  std::uint32_t finalists{3};           ///< [1, 64] divisions that are balanced anew
                                        ///< measured: 2: +0.02 +- 0.02, 4: -0.02 +- 0.02
  std::uint32_t balance_quarters{1};    ///< [0, 16] of the effort, for the finalists together
                                        ///< measured: 0: +0.03 +- 0.04, 2: -0.01 +- 0.01
  std::uint32_t balance_again_quarters{1};  ///< [0, 16] of the effort, for the fastest of them
                                            ///< measured: 0: +0.02 +- 0.02, 2: -0.02 +- 0.02
  std::uint32_t level_quarters{3};      ///< [0, 16] of the effort, for the levelled one
                                        ///< measured: 2: +0.02 +- 0.01, 4: -0.02 +- 0.01
  double level_enough{0.0005};          ///< [0, 1] of their work, by which sharers may differ: more swaps make tuples
                                        ///< of unlike sequences, which cost more
                                        ///< measured: 0.0004: +0.01 +- 0.01

  // Packs by ratios (pack/partitioner.hpp, pack/size_curve.hpp, pack/fill.hpp).
  double front{0.23};            ///< [0, 1] share of the sequences that run before the longest, to begin with
                                 ///< measured: 0.184: -0.05 +- 0.05, 0.2875: -0.12 +- 0.05
  double crowding{0.3};          ///< [0, 1] of the room: a longer sequence leaves others short of it, to begin with
                                 ///< measured: 0.24: -0.01 +- 0.02, 0.375: -0.00 +- 0.02
  double overhead_packs{20};     ///< [0, 1000] o of size_ratios: work for which a pack's overhead is worth waiting
                                 ///< measured: 16: -0.07 +- 0.03, 25: -0.05 +- 0.04
  double quiet_packs{50};        ///< [0, 10000] overheads that packs are sized for at least without a limit
                                 ///< measured: 200: -0.02 +- 0.01
  double room_longest{2};        ///< [1, 1000] longest sequences that packs are sized for without a limit
                                 ///< measured: 1.6: -0.10 +- 0.04, 2.5: +0.03 +- 0.04
  double room_apart{0.5};        ///< [0, 1] of the room: a longer sequence shares no pack at its turn
                                 ///< measured: 0.4: -0.00 +- 0.00, 0.625: +0.01 +- 0.01
  double worth_overheads{2};     ///< [0, 100] of what a pack costs besides its slices, before it is closed for time
                                 ///< measured: 1.6: -0.00 +- 0.01, 2.5: -0.02 +- 0.02
  double even_step{0.7};         ///< [0.1, 0.95] from one size of even packs to the next that is tried
                                 ///< measured: 0.56: +0.05 +- 0.04, 0.875: -0.01 +- 0.03
  double even_below{0.25};       ///< [0.01, 1] of the best size so far, where trying even packs ends
                                 ///< measured: 0.2: +0.00 +- 0.00

  // Packs whose passes are cut at the same places (solvers/refined.hpp, pack/align.hpp).
  // Measured on eight lists (plan_quality's part calls), useful work in percent.
  double alignment{0.25};     ///< [0, 10] how far a cut moves to one of the other pass at first, as a share of the smaller pack
                              ///< beside it; measured: 0: -0.13, 0.2: -0.00, 0.32: -0.01
  double alignment_chance{0.3};  ///< [0, 1] that a child has another; measured: 0: -0.16, 0.24: -0.11, 0.38: -0.04
  double alignment_most{1};   ///< [0, 10] of what that may be; measured: 0.8: -0.09, 1.25: -0.12
  double piece_quanta{0.03};  ///< [0, 1e6] what a piece counts as besides, in quanta, where the cost model knows no overhead
                              ///< measured (8 and 32 sequences of 9 lists, 8 stages, no limit), beside plans that cut anywhere:
                              ///< 0: steps -0.1 %, 1.40 x the calls; 0.03: -0.4 %, 0.99 x; 0.1: +0.9 %, 0.75 x; 0.2: +1.5 %, 0.63 x

  // Packs that are tried before chance has its turn (improve/detail/candidates.hpp).
  double larger_backward{1.6};      ///< [0.1, 10] times as large backward packs, tried
                                    ///< measured: 1.28: +0.01 +- 0.03, 2: +0.01 +- 0.03
  double even_ramp{0.3};            ///< [0.01, 10] of even packs' ramps, tried
                                    ///< measured: 0.24: -0.06 +- 0.02, 0.375: -0.03 +- 0.02
  std::uint32_t alike_sizes{6};     ///< [0, 64] sizes of packs of as many tokens in both passes, tried where chunks have weight
                                    ///< gradients apart
                                    ///< measured (gsm8k_sft, 8 stages, 4 and 8 chunks, normal effort): 0: +1.15, +0.48;
                                    ///< 8 that are 1.15 apart: +0.50, +0.61
  double alike_step{1.2};           ///< [1.01, 4] from one of them to the next

  // The walk over pack sizes (improve/detail/evolve.hpp).
  std::uint32_t long_candidates{5000};  ///< [1, 1e9] candidates of a search that is long: it begins anew, and spares nothing
                                        ///< measured: 6250: -0.01 +- 0.01
  std::uint32_t restarts{4};            ///< [0, 20] walks of a long search before the last, which goes on from the best
                                        ///< measured: 3: +0.00 +- 0.00, 5: -0.00 +- 0.00
  std::uint32_t restart_twentieths{3};  ///< [0, 20] of the budget for each of them
                                        ///< measured: 2: -0.01 +- 0.01, 4: -0.00 +- 0.01
  double walk_step{0.3};                ///< [0.001, 1] first change of a ratio
                                        ///< measured: 0.24: -0.03 +- 0.02, 0.375: -0.04 +- 0.03
  double last_walk_step{0.1};           ///< [0.001, 1] the same in the last walk of a long search
                                        ///< measured: 0.08: -0.00 +- 0.01, 0.125: -0.00 +- 0.00
  std::uint32_t changed_ratios{3};      ///< [1, 15] that a child differs in, at most
                                        ///< measured: 2: -0.06 +- 0.03, 4: -0.04 +- 0.03
  double front_change{0.3};             ///< [0, 1] change of the front, of that of a ratio
                                        ///< measured: 0.24: -0.02 +- 0.01, 0.375: -0.03 +- 0.01
  double crowding_chance{0.05};         ///< [0, 1] that a child has another crowding
                                        ///< measured: 0.04: -0.01 +- 0.01, 0.0625: -0.01 +- 0.01
  double crowding_least{0.1};           ///< [0, 1] of what it may be
                                        ///< measured: 0.08: -0.03 +- 0.02, 0.125: -0.02 +- 0.01
  double crowding_range{0.6};           ///< [0, 1] above that
                                        ///< measured: 0.48: -0.03 +- 0.02, 0.75: -0.01 +- 0.01
  double step_growth{1.3};              ///< [1, 10] of the step, after a better child
                                        ///< measured: 1.04: +0.01 +- 0.02, 1.625: -0.04 +- 0.02
  double step_most{0.6};                ///< [0.001, 1]
                                        ///< measured: 0.48: -0.01 +- 0.01, 0.75: -0.01 +- 0.01
  double step_decay{0.975};             ///< [0.1, 1] of the step, after another
                                        ///< measured: 0.78: +0.09 +- 0.03, 1: -0.07 +- 0.03
  double step_least{0.05};              ///< [0.0001, 1]
                                        ///< measured: 0.04: +0.00 +- 0.00, 0.0625: +0.00 +- 0.00

  // Moves of single packs (improve/detail/neighbourhood.hpp, improve/).
  std::uint32_t moving_part{32};  ///< [1, 1e6] one of so many parts of the tasks is for them, beside the rest
                                  ///< measured: 25: -0.01 +- 0.01, 40: -0.00 +- 0.02
  double reorder_chance{0.3};     ///< [0, 1] that a move is of sequences, else of borders
                                  ///< measured: 0.24: -0.01 +- 0.02, 0.375: -0.00 +- 0.02
  double move_again{0.5};         ///< [0, 0.9] that another move follows before the packs are simulated
                                  ///< measured: 0.4: -0.01 +- 0.02, 0.625: +0.00 +- 0.01
  double split_weight{0.25};      ///< [0, 100] of improve::split, among moves of borders
                                  ///< measured: 0.2: +0.01 +- 0.01, 0.3125: -0.00 +- 0.01
  double join_weight{0.25};       ///< [0, 100] of improve::join
                                  ///< measured: 0.2: -0.02 +- 0.02, 0.3125: +0.01 +- 0.02
  double take_weight{0.25};       ///< [0, 100] of improve::take
                                  ///< measured: 0.2: -0.00 +- 0.02, 0.3125: -0.01 +- 0.01
  double give_weight{0.25};       ///< [0, 100] of improve::give
                                  ///< measured: 0.2: -0.00 +- 0.01, 0.3125: -0.01 +- 0.02

  // The order, and packs within it (detail/order_search.hpp, improve/).
  std::uint32_t walk_candidates{300};   ///< [0, 1e6] as many as the last that the walk keeps tasks for, of those left
                                        ///< measured: 240: -0.03 +- 0.02, 375: -0.00 +- 0.01
  std::uint32_t walk_least{10};         ///< [2, 1e6] one of so many parts of what is left is the walk's at least
                                        ///< measured: 8: +0.00 +- 0.00, 13: +0.00 +- 0.00
  std::uint32_t walk_most{2};           ///< [2, 1e6] and at most one of so many
                                        ///< measured: 3: -0.02 +- 0.01
  std::uint32_t least_sweeps{32};       ///< [1, 1e6] tasks for an instruction, without which no order is searched
                                        ///< measured: 25: -0.00 +- 0.00, 40: +0.01 +- 0.01
  std::uint32_t idle_sweeps{200};       ///< [1, 1e6] without a gain, after which a search of the order ends
                                        ///< measured: 160: -0.01 +- 0.01, 250: +0.00 +- 0.00
  double recut_share{0.2};              ///< [0, 1] of the packs that a sweep tries to cut anew; the first tries all
                                        ///< measured: 0.16: +0.01 +- 0.02, 0.25: -0.01 +- 0.02
  double delay_chance{0.2};              ///< [0, 1] that a sweep draws anew what it lets run later
                                        ///< measured: 0.16: -0.01 +- 0.01, 0.25: +0.00 +- 0.02
  double shift_weight{0.2};             ///< [0, 100] of improve::shift, among moves of packs in their order
                                        ///< measured: 0.16: -0.01 +- 0.02, 0.25: -0.01 +- 0.01
  double merge_weight{0.8};             ///< [0, 100] of improve::merge
                                        ///< measured: 0.64: -0.01 +- 0.01, 1: -0.01 +- 0.02
  std::uint32_t merged_packs{8};        ///< [2, 64] that become one fewer, at most
                                        ///< measured: 6: -0.00 +- 0.02, 10: -0.00 +- 0.02

  /// Errors    invalid_input: a constant is out of its range
  [[nodiscard]] result<void> check() const;

  friend constexpr bool operator==(const search_options&, const search_options&) = default;
};

/// One of the numbers: its name, its range, and where it stands.
struct search_constant {
  std::string_view name;
  double least;
  double most;
  double search_options::*ratio{};          ///< or
  std::uint32_t search_options::*count{};

  constexpr search_constant(std::string_view n, double a, double b, double search_options::*r)
      : name(n), least(a), most(b), ratio(r) {}
  constexpr search_constant(std::string_view n, double a, double b, std::uint32_t search_options::*c)
      : name(n), least(a), most(b), count(c) {}

  [[nodiscard]] constexpr double of(const search_options& o) const noexcept { return ratio ? o.*ratio : o.*count; }
  /// A count is rounded.            Requires  a value in the range
  constexpr void set(search_options& o, double value) const noexcept {
    if (ratio)
      o.*ratio = value;
    else
      o.*count = static_cast<std::uint32_t>(value + 0.5);
  }
};

/// All of them, in the order in which they stand above.
inline constexpr auto search_constants = [] {
  using o = search_options;
  using c = search_constant;
  return std::array{
      c("part_first", 0.01, 1e9, &o::part_first), c("part_second", 0.01, 1e9, &o::part_second),
      c("part_third", 0.01, 1e9, &o::part_third), c("part_fourth", 0.01, 1e9, &o::part_fourth),
      c("light", 0, 1, &o::light), c("near_mean", 0, 1e6, &o::near_mean), c("half_steady", 0.01, 1, &o::half_steady),
      c("sharing_gain", 0, 1, &o::sharing_gain), c("finalists", 1, 64, &o::finalists), c("balance_quarters", 0, 16, &o::balance_quarters),
      c("balance_again_quarters", 0, 16, &o::balance_again_quarters), c("level_quarters", 0, 16, &o::level_quarters),
      c("level_enough", 0, 1, &o::level_enough),

      c("front", 0, 1, &o::front), c("crowding", 0, 1, &o::crowding),
      c("overhead_packs", 0, 1000, &o::overhead_packs), c("quiet_packs", 0, 10000, &o::quiet_packs),
      c("room_longest", 1, 1000, &o::room_longest), c("room_apart", 0, 1, &o::room_apart),
      c("worth_overheads", 0, 100, &o::worth_overheads), c("even_step", 0.1, 0.95, &o::even_step),
      c("even_below", 0.01, 1, &o::even_below),

      c("alignment", 0, 10, &o::alignment), c("alignment_chance", 0, 1, &o::alignment_chance),
      c("alignment_most", 0, 10, &o::alignment_most), c("piece_quanta", 0, 1e6, &o::piece_quanta),

      c("larger_backward", 0.1, 10, &o::larger_backward), c("even_ramp", 0.01, 10, &o::even_ramp),
      c("alike_sizes", 0, 64, &o::alike_sizes), c("alike_step", 1.01, 4, &o::alike_step),

      c("long_candidates", 1, 1e9, &o::long_candidates), c("restarts", 0, 20, &o::restarts),
      c("restart_twentieths", 0, 20, &o::restart_twentieths), c("walk_step", 0.001, 1, &o::walk_step),
      c("last_walk_step", 0.001, 1, &o::last_walk_step), c("changed_ratios", 1, 15, &o::changed_ratios),
      c("front_change", 0, 1, &o::front_change), c("crowding_chance", 0, 1, &o::crowding_chance),
      c("crowding_least", 0, 1, &o::crowding_least), c("crowding_range", 0, 1, &o::crowding_range),
      c("step_growth", 1, 10, &o::step_growth), c("step_most", 0.001, 1, &o::step_most),
      c("step_decay", 0.1, 1, &o::step_decay), c("step_least", 0.0001, 1, &o::step_least),

      c("moving_part", 1, 1e6, &o::moving_part), c("reorder_chance", 0, 1, &o::reorder_chance),
      c("move_again", 0, 0.9, &o::move_again), c("split_weight", 0, 100, &o::split_weight),
      c("join_weight", 0, 100, &o::join_weight), c("take_weight", 0, 100, &o::take_weight),
      c("give_weight", 0, 100, &o::give_weight),

      c("walk_candidates", 0, 1e6, &o::walk_candidates), c("walk_least", 2, 1e6, &o::walk_least),
      c("walk_most", 2, 1e6, &o::walk_most),
      c("least_sweeps", 1, 1e6, &o::least_sweeps), c("idle_sweeps", 1, 1e6, &o::idle_sweeps),
      c("recut_share", 0, 1, &o::recut_share), c("delay_chance", 0, 1, &o::delay_chance),
      c("shift_weight", 0, 100, &o::shift_weight), c("merge_weight", 0, 100, &o::merge_weight),
      c("merged_packs", 2, 64, &o::merged_packs)};
}();

inline result<void> search_options::check() const {
  for (const search_constant& c : search_constants)
    if (const double value = c.of(*this); !(value >= c.least && value <= c.most))
      return error{errc::invalid_input, "search_options." + std::string(c.name) + " is " + std::to_string(value) +
                                            ", it must be from " + std::to_string(c.least) + " to " + std::to_string(c.most)};
  if (restarts * restart_twentieths > 20)
    return error{errc::invalid_input, "search_options.restarts take more than the whole budget: " +
                                          std::to_string(restarts) + " of " + std::to_string(restart_twentieths) + " twentieths"};
  return success();
}

/// The defaults, where nothing else is given.
inline constexpr search_options default_search_options{};

/// Prints those that are not the default.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const search_options& o) {
  const char* before = "{";
  for (const search_constant& c : search_constants) {
    if (c.of(o) == c.of(default_search_options)) continue;
    out << before << "." << c.name << " = " << c.of(o);
    before = ", ";
  }
  return out << (*before == '{' ? "{}" : "}");
}

}  // namespace slimpack::solvers

#endif
