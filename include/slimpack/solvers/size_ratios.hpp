#ifndef SLIMPACK_SOLVERS_SIZE_RATIOS_HPP
#define SLIMPACK_SOLVERS_SIZE_RATIOS_HPP

#include <array>
#include <iosfwd>

namespace slimpack::solvers {

/// How large the packs of one pass are along a step: small where the pipeline fills or drains, small around the turns
/// of long sequences, `steady` between. All are ratios, so that one set serves every batch and depth.
///
/// Formula   size(x) = min(steady U / (p + 1), ramp_least g + fill r x, ramp_least g + drain r (W - x),
///                         for each long sequence, whose turn is at t:
///                         turn_least (1 - length / room) (U / (p + 1) + 20 o) + before r (t - x), or after r (x - t))
///           with x the work of the pass before the pack, W all of it, p the stages, g the work of one quantum, room
///           the tokens that packs are sized for, U the work of that many at g a quantum, o what a pack costs besides
///           its slices, and r = (1 + 20 o (p + 1) / U) / (parts - 1), the parts p of each chunk. A turn is where a
///           sequence's forwards end, or its backwards begin; long are those of more than a share of room, 0.3 before
///           the search varies it. Room is what the fullest stage can hold, and no more than the largest of twice the
///           longest sequence, the batch's tokens over p, and p packs of 50 times their overhead. With one part all
///           packs are steady. Only ramps have packs so small that simulating them would take more than the budget.
/// Source    derived, the 20 (overhead_packs of search_options) and the ratios that walks start from (search_tuning)
///           fitted to many batches and overheads.
///           Steady: a stage holds the packs that are on their way through p stages and the one that comes next, and
///           together they fill the memory. Fill: a stage is idle until its first pack arrives, and a pack larger than
///           what the stages ahead have already been given makes them wait; so sizes may grow in proportion to the
///           work issued. Drain is its mirror image. Turn: the first backward of a sequence waits for all its
///           forwards, a lag of p - 1 packs of each pass that only work beside the sequence can cover. The more a pack
///           costs besides, the more waiting is worth fewer packs.
struct size_ratios {
  double steady{};
  double ramp_least{};
  double fill{};
  double drain{};
  double turn_least{};
  double before{};
  double after{};

  static constexpr std::array<double size_ratios::*, 7> all() noexcept {
    return {&size_ratios::steady,     &size_ratios::ramp_least, &size_ratios::fill, &size_ratios::drain,
            &size_ratios::turn_least, &size_ratios::before,     &size_ratios::after};
  }
  friend constexpr bool operator==(const size_ratios&, const size_ratios&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const size_ratios& s) {
    return out << "{.steady = " << s.steady << ", .ramp_least = " << s.ramp_least << ", .fill = " << s.fill
               << ", .drain = " << s.drain << ", .turn_least = " << s.turn_least << ", .before = " << s.before
               << ", .after = " << s.after << "}";
  }
};

}  // namespace slimpack::solvers

#endif
