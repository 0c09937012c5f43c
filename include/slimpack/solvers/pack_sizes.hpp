#ifndef SLIMPACK_SOLVERS_PACK_SIZES_HPP
#define SLIMPACK_SOLVERS_PACK_SIZES_HPP


#include <array>
#include <iosfwd>

namespace slimpack::solvers {

/// How large the packs of one pass are along a step: small where the pipeline fills or drains, small around the turn
/// of the longest sequence, `steady` between. All are ratios, so that one set serves every batch and depth.
///
/// Formula   size(x) = min(steady U, ramp_least g + ramp (distance of x to the ramp's end) / (p - 1),
///                         turn_least S / p + turn (distance of x to the turn) / (p - 1))
///           with U the memory limit's worth of work over p, S the work that fits beside the longest sequence,
///           g the work of one quantum, p the stages; x, and distances, in work of the pass
/// Source    derived. Ramp: while the pipeline fills, a stage is idle until its first pack arrives, and a pack that
///           is larger than what the stages ahead have already been given makes them wait; so sizes may grow in
///           proportion to the work issued. Draining is the mirror image. Turn: the first backward of the longest
///           sequence waits for all its forwards, a lag of p - 1 packs that only work beside it can cover.
struct pack_sizes {
  double steady{0.5};
  double ramp_least{1.3};
  double ramp{0.6};
  double turn_least{0.5};
  double turn{0.7};

  static constexpr std::array<double pack_sizes::*, 5> all() noexcept {
    return {&pack_sizes::steady, &pack_sizes::ramp, &pack_sizes::turn_least, &pack_sizes::turn, &pack_sizes::ramp_least};
  }
  friend constexpr bool operator==(const pack_sizes&, const pack_sizes&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const pack_sizes& s) {
    return out << "{.steady = " << s.steady << ", .ramp_least = " << s.ramp_least << ", .ramp = " << s.ramp
               << ", .turn_least = " << s.turn_least << ", .turn = " << s.turn << "}";
  }
};

}  // namespace slimpack::solvers

#endif
