#ifndef SLIMPACK_SOLVERS_PACK_SIZES_HPP
#define SLIMPACK_SOLVERS_PACK_SIZES_HPP

#include <array>
#include <iosfwd>

namespace slimpack::solvers {

/// How large the packs of one pass are along a step: small where the pipeline fills or drains, small around the turns
/// of long sequences, `steady` between. All are ratios, so that one set serves every batch and depth.
///
/// Formula   size(x) = min(steady U / p, ramp_least g + fill x / (p - 1), ramp_least g + drain (W - x) / (p - 1),
///                         for each long sequence s, whose turn is at t:
///                         turn_least (1 - length / room) U / p + before (t - x) / (p - 1), or after (x - t) / (p - 1))
///           with x the work of the pass before the pack, W all of it, p the stages, g the work of one quantum, room the
///           tokens that a stage can hold, U the work of that many
/// Source    derived. Steady: each of p stages holds a pack of those that are under way, and together they fill the memory.
///           Fill: a stage is idle until its first pack arrives, and a pack larger than what the stages ahead have already
///           been given makes them wait; so sizes may grow in proportion to the work issued. Drain is its mirror image.
///           Turn: the first backward of a sequence waits for all its forwards, a lag of p - 1 packs of each pass that only
///           work beside the sequence can cover.
struct pack_sizes {
  double steady{0.85};
  double ramp_least{1.5};
  double fill{0.65};
  double drain{1.0};
  double turn_least{0.4};
  double before{2.0};
  double after{1.4};

  static constexpr std::array<double pack_sizes::*, 7> all() noexcept {
    return {&pack_sizes::steady,     &pack_sizes::ramp_least, &pack_sizes::fill, &pack_sizes::drain,
            &pack_sizes::turn_least, &pack_sizes::before,     &pack_sizes::after};
  }
  friend constexpr bool operator==(const pack_sizes&, const pack_sizes&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const pack_sizes& s) {
    return out << "{.steady = " << s.steady << ", .ramp_least = " << s.ramp_least << ", .fill = " << s.fill
               << ", .drain = " << s.drain << ", .turn_least = " << s.turn_least << ", .before = " << s.before
               << ", .after = " << s.after << "}";
  }
};

}  // namespace slimpack::solvers

#endif
