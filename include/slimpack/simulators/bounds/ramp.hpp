#ifndef SLIMPACK_SIMULATORS_BOUNDS_RAMP_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_RAMP_HPP

#include <algorithm>
#include <cmath>
#include <limits>

namespace slimpack::simulators {

/// How fast the packs of a pass can grow from the first on, seen from a stage with others before it. The same holds
/// backward in time for the last packs of the other pass.
///
/// Setting   Packs of way work w_0, w_1, ... (their time on the stages before) reach the stage one after the other.
///           When pack i starts here, it has come all the way after all earlier packs had left the first stage.
///           Meanwhile the stage has run those packs, at most so many other instructions as they allow, and was idle or
///           busy with overhead for A_i more. So
///               w_i + constant <= A_i + (time here less time on the first stage, of the packs before)
///                                     + (other work run here)                                               (1)
///           Per way work, the first bracket brings at most `own_rate`, both together at most `rate`.
/// Claim     Before packs with `amount` of way work have started, the stage has lost at least least_loss(amount) to
///           idleness and overhead. The overhead of the pack that starts last is not counted.
/// Proof     Let packs 0..m have started, and j other instructions have run before the last of them. They divide the
///           packs into j + 1 groups. Let A be the final loss without the packs' own overhead, and Z = A - constant +
///           brought j + rate (way work of the groups before). By (1) the next group's packs have way work at most Z,
///           (1 + own_rate) Z, (1 + own_rate)^2 Z, ..., so k of them multiply Z by at most
///               h(k) = 1 + rate ((1 + own_rate)^k - 1) / own_rate,   or 1 + rate k where own_rate is 0.
///           log h is concave, so g groups multiply it by at most h((m + 1) / g)^g, and more than m + 1 groups by no
///           more than m + 1 do. Reaching `amount` therefore asks for
///               A >= constant - brought j + rate amount / (h((m + 1) / g)^g - 1),   g = min(j, m) + 1.        (2)
///           And A >= first + other j, since nothing can run before the first pack has come. The loss is A + own m; its
///           least over m and j is the claim.
/// Source    derived            Units  seconds
struct ramp {
  double constant{};  ///< overhead and messages on the way of each pack
  double first{};     ///< idleness before the first pack can start
  double rate{};      ///< most work that a unit of way work allows, less what it takes on the first stage
  double own_rate{};  ///< the part of it that packs bring themselves, by taking longer here than on the first stage
  double own{};       ///< overhead of a pack of this pass
  double other{};     ///< least overhead of any other instruction
  double brought{};   ///< most work that another instruction can bring which no earlier pack of the ramp allowed
  int others{};       ///< least number of other instructions

  /// Complexity O(m log m), m the number of packs that is best, at most 512
  [[nodiscard]] double least_loss(double amount) const {
    constexpr int most = 512;
    const auto floor = [this](int j) { return first + other * j; };
    const double least = floor(others);
    if (!(own > 0) || !(amount > 0) || !std::isfinite(rate) || !std::isfinite(own_rate)) return least;
    double best = std::numeric_limits<double>::infinity();
    for (int m = 0; m < most; ++m) {
      if (own * m + least >= best) return best;
      const auto need = [&](int j) {
        const int groups = std::min(j, m) + 1;
        return constant - brought * j + amount / grown(own_of(m + 1, groups), groups, rate);
      };
      // `floor` grows and `need` falls with j: the best is where they cross. More than m others only bring work.
      int low = others;
      int high = brought > 0 ? most : std::max(others, m);
      if (need(high) > floor(high)) {
        best = std::min(best, own * m + (brought > 0 ? floor(high) : need(high)));
        continue;
      }
      while (low < high) {
        const int j = low + (high - low) / 2;
        if (need(j) <= floor(j))
          high = j;
        else
          low = j + 1;
      }
      const double before = low > others ? need(low - 1) : std::numeric_limits<double>::infinity();
      best = std::min(best, own * m + std::min(floor(low), before));
    }
    return std::min(best, own * most + least);
  }

 private:
  /// one + one (1 + rate one) + one (1 + rate one)^2 + ... of so many terms, by doubling: exact sums and products only,
  /// so the same bits everywhere.
  static double grown(double one, int terms, double rate) {
    double sum = 0;
    for (; terms > 0; terms /= 2) {
      if (terms % 2 != 0) sum += one * (1 + rate * sum);
      one *= 2 + rate * one;
    }
    return sum;
  }

  /// What a group brings for each unit of Z: ((1 + own_rate)^k - 1) / own_rate with k = packs / groups, on the chord
  /// between whole k, which lies above it.
  [[nodiscard]] double own_of(int packs, int groups) const {
    const int whole = packs / groups;
    const double few = grown(1, whole, own_rate);
    const double more = few * (1 + own_rate) + 1;  // one pack more
    return few + (more - few) * (packs % groups) / groups;
  }
};

}  // namespace slimpack::simulators

#endif
