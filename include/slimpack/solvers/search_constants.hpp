#ifndef SLIMPACK_SOLVERS_SEARCH_CONSTANTS_HPP
#define SLIMPACK_SOLVERS_SEARCH_CONSTANTS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

/// The numbers of search_options as a list, for whoever checks, prints or varies them.
namespace slimpack::solvers {

/// One of the numbers: its name, its range, and where it stands.
struct search_constant {
  std::string_view name;
  double least;
  double most;
  double search_options::*ratio{};  ///< or
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
  return std::array{c("part_first", 0.01, 1e9, &o::part_first),
                    c("part_second", 0.01, 1e9, &o::part_second),
                    c("part_third", 0.01, 1e9, &o::part_third),
                    c("part_fourth", 0.01, 1e9, &o::part_fourth),
                    c("light", 0, 1, &o::light),
                    c("near_mean", 0, 1e6, &o::near_mean),
                    c("half_steady", 0.01, 1, &o::half_steady),
                    c("sharing_gain", 0, 1, &o::sharing_gain),
                    c("finalists", 1, 64, &o::finalists),
                    c("balance_quarters", 0, 16, &o::balance_quarters),
                    c("balance_again_quarters", 0, 16, &o::balance_again_quarters),
                    c("level_quarters", 0, 16, &o::level_quarters),
                    c("level_enough", 0, 1, &o::level_enough),

                    c("front", 0, 1, &o::front),
                    c("crowding", 0, 1, &o::crowding),
                    c("overhead_packs", 0, 1000, &o::overhead_packs),
                    c("quiet_packs", 0, 10000, &o::quiet_packs),
                    c("room_longest", 1, 1000, &o::room_longest),
                    c("room_apart", 0, 1, &o::room_apart),
                    c("worth_overheads", 0, 100, &o::worth_overheads),
                    c("even_step", 0.1, 0.95, &o::even_step),
                    c("even_below", 0.01, 1, &o::even_below),

                    c("alignment", 0, 10, &o::alignment),
                    c("alignment_chance", 0, 1, &o::alignment_chance),
                    c("alignment_most", 0, 10, &o::alignment_most),
                    c("piece_quanta", 0, 1e6, &o::piece_quanta),

                    c("larger_backward", 0.1, 10, &o::larger_backward),
                    c("even_ramp", 0.01, 10, &o::even_ramp),
                    c("alike_sizes", 0, 64, &o::alike_sizes),
                    c("alike_step", 1.01, 4, &o::alike_step),

                    c("long_candidates", 1, 1e9, &o::long_candidates),
                    c("restarts", 0, 20, &o::restarts),
                    c("restart_twentieths", 0, 20, &o::restart_twentieths),
                    c("walk_step", 0.001, 1, &o::walk_step),
                    c("last_walk_step", 0.001, 1, &o::last_walk_step),
                    c("changed_ratios", 1, 15, &o::changed_ratios),
                    c("front_change", 0, 1, &o::front_change),
                    c("crowding_chance", 0, 1, &o::crowding_chance),
                    c("crowding_least", 0, 1, &o::crowding_least),
                    c("crowding_range", 0, 1, &o::crowding_range),
                    c("step_growth", 1, 10, &o::step_growth),
                    c("step_most", 0.001, 1, &o::step_most),
                    c("step_decay", 0.1, 1, &o::step_decay),
                    c("step_least", 0.0001, 1, &o::step_least),

                    c("moving_part", 1, 1e6, &o::moving_part),
                    c("reorder_chance", 0, 1, &o::reorder_chance),
                    c("move_again", 0, 0.9, &o::move_again),
                    c("split_weight", 0, 100, &o::split_weight),
                    c("join_weight", 0, 100, &o::join_weight),
                    c("take_weight", 0, 100, &o::take_weight),
                    c("give_weight", 0, 100, &o::give_weight),

                    c("walk_candidates", 0, 1e6, &o::walk_candidates),
                    c("walk_least", 2, 1e6, &o::walk_least),
                    c("walk_most", 2, 1e6, &o::walk_most),
                    c("least_sweeps", 1, 1e6, &o::least_sweeps),
                    c("idle_sweeps", 1, 1e6, &o::idle_sweeps),
                    c("recut_share", 0, 1, &o::recut_share),
                    c("delay_chance", 0, 1, &o::delay_chance),
                    c("shift_weight", 0, 100, &o::shift_weight),
                    c("merge_weight", 0, 100, &o::merge_weight),
                    c("merged_packs", 2, 64, &o::merged_packs),

                    c("forward_steady", 0, 1000, &o::forward_steady),
                    c("forward_ramp_least", 0, 1000, &o::forward_ramp_least),
                    c("forward_fill", 0, 1000, &o::forward_fill),
                    c("forward_drain", 0, 1000, &o::forward_drain),
                    c("forward_turn_least", 0, 1000, &o::forward_turn_least),
                    c("forward_before", 0, 1000, &o::forward_before),
                    c("forward_after", 0, 1000, &o::forward_after),
                    c("backward_steady", 0, 1000, &o::backward_steady),
                    c("backward_ramp_least", 0, 1000, &o::backward_ramp_least),
                    c("backward_fill", 0, 1000, &o::backward_fill),
                    c("backward_drain", 0, 1000, &o::backward_drain),
                    c("backward_turn_least", 0, 1000, &o::backward_turn_least),
                    c("backward_before", 0, 1000, &o::backward_before),
                    c("backward_after", 0, 1000, &o::backward_after),
                    c("smaller_first", 0.01, 1, &o::smaller_first),
                    c("smaller_step", 0.01, 0.9, &o::smaller_step),

                    c("coarse_first", 1, 1e6, &o::coarse_first),
                    c("coarse_second", 1, 1e6, &o::coarse_second),
                    c("order_beside", 1, 1e6, &o::order_beside),
                    c("shared_walk_least", 1, 1e6, &o::shared_walk_least),
                    c("estimate_times", 1, 100, &o::estimate_times),

                    c("loss_peak", 0, 1e6, &o::loss_peak),
                    c("loss_tail", 0, 1e6, &o::loss_tail),
                    c("loss_alike", 0, 1e6, &o::loss_alike),
                    c("loss_uneven", 0, 1e6, &o::loss_uneven),
                    c("loss_exchange", 0, 1e6, &o::loss_exchange),
                    c("loss_rows", 0, 1e6, &o::loss_rows),
                    c("loss_packs", 0, 1e6, &o::loss_packs),
                    c("heavy", 0, 1, &o::heavy),

                    c("evaluation_growth", 1.01, 10, &o::evaluation_growth),
                    c("evaluation_beyond", 1, 100, &o::evaluation_beyond),
                    c("evaluation_around", 1, 10, &o::evaluation_around),
                    c("evaluation_steps", 1, 1e6, &o::evaluation_steps),
                    c("evaluation_end", 0, 1, &o::evaluation_end),
                    c("evaluation_ramp_first", 0, 1e6, &o::evaluation_ramp_first),
                    c("evaluation_ramp_second", 0, 1e6, &o::evaluation_ramp_second),
                    c("evaluation_ramp_third", 0, 1e6, &o::evaluation_ramp_third),
                    c("evaluation_ramp_fourth", 0, 1e6, &o::evaluation_ramp_fourth)};
}();

inline result<void> search_options::check() const {
  for (const search_constant& c : search_constants)
    if (const double value = c.of(*this); !(value >= c.least && value <= c.most))
      return error{errc::invalid_input, "search_options." + std::string(c.name) + " is " + std::to_string(value) +
                                            ", it must be from " + std::to_string(c.least) + " to " +
                                            std::to_string(c.most)};
  if (restarts * restart_twentieths > 20)
    return error{errc::invalid_input,
                 "search_options.restarts take more than the whole budget: " + std::to_string(restarts) + " of " +
                     std::to_string(restart_twentieths) + " twentieths"};
  return success();
}

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
