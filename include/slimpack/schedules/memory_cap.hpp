#ifndef SLIMPACK_SCHEDULES_MEMORY_CAP_HPP
#define SLIMPACK_SCHEDULES_MEMORY_CAP_HPP

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::schedules {

/// How many forward packs a stage may have run with i backward packs done, under the memory limit (one chunk).
///
/// Derivation: let backward i run when a forwards have run. The stage then holds in_backward(F(a) - B(i), ...), and
/// what is kept beside those tokens. Both grow with a, so for each i there is a largest a that fits. A forward that has
/// run is never undone, so the a that is allowed at i must fit at all later backwards, too: it is the least of theirs.
/// The forward that reaches a must fit as well. A program that never exceeds `allowed` therefore obeys the limit; where
/// only live tokens count, every program that obeys the limit stays within `allowed`, too. If phi(i) + 1 is allowed for
/// each i, which `check` tests, no stage waits for ever: a stage that still lacks forwards for its next backward is
/// always allowed to run them.
class memory_cap {
 public:
  /// Complexity  O(packs) for each stage that differs in memory from the one before; where accumulators take memory,
  ///             O(packs) more for each pack that opens some
  explicit memory_cap(const workload& work) : packs_(work.times.packs(pass::backward)) {
    const auto stages = static_cast<std::size_t>(work.shape.stages);
    const auto all = static_cast<std::uint32_t>(work.times.packs(pass::forward));
    for (std::size_t r = 0; r < stages; ++r) {
      const bool alike =
          r > 0 && (!work.shape.memory || (work.rates[r] == work.rates[r - 1] && work.times.kept.forward.empty()));
      if (!alike) {
        allowed_.resize(allowed_.size() + packs_ + 1, all);
        if (work.shape.memory) fill(work, r, work.shape.memory->amount, &allowed_[allowed_.size() - (packs_ + 1)]);
      }
      row_.push_back(allowed_.size() - (packs_ + 1));
    }
  }

  /// Per number of backwards done (0..packs), the most forwards. Stages of equal memory share one row.
  [[nodiscard]] const std::uint32_t* allowed(std::size_t stage) const noexcept { return &allowed_[row_[stage]]; }

  /// Errors    out_of_memory: some stage does not fit even with each backward right after the forwards that it needs;
  ///           the detail has the shortfall
  [[nodiscard]] result<void> check(const workload& work) const {
    for (std::size_t i = 0; i < packs_; ++i)
      for (std::size_t r = 0; r < row_.size(); ++r)
        if (allowed(r)[i] <= work.turn[i]) return does_not_fit(work, r);
    return success();
  }

 private:
  /// What the stage holds at most with each backward right after the forwards that it needs.
  static error does_not_fit(const workload& work, std::size_t stage) {
    const std::vector<std::int64_t>& f = work.times.before.forward;
    const std::vector<std::int64_t>& b = work.times.before.backward;
    const memory_rates& rates = work.rates[stage];
    double most = 0;
    std::string when;
    const auto consider = [&](double held, const char* direction, std::size_t pack) {
      if (held > most) most = held, when = direction + std::to_string(pack);
    };
    std::size_t run = 0;
    for (std::size_t i = 0; i < work.times.packs(pass::backward); ++i) {
      for (; run <= work.turn[i]; ++run)
        consider(rates.in_forward(static_cast<double>(f[run + 1] - b[i]), static_cast<double>(work.gradient_before[i]),
                                  static_cast<double>(f[run + 1] - f[run]), work.pairs_of(pass::forward, run)) +
                     work.kept(stage, run + 1, i),
                 "forward pack ", run);
      consider(rates.in_backward(static_cast<double>(f[run] - b[i]), static_cast<double>(work.gradient_running[i]),
                                 static_cast<double>(b[i + 1] - b[i]), work.pairs_of(pass::backward, i)) +
                   work.kept(stage, run, i),
               "backward pack ", i);
    }
    const memory_limit& limit = *work.shape.memory;
    return {errc::out_of_memory,
            "stage " + std::to_string(stage) + " holds " + detail::amount(most, limit.unit) + " while it runs " + when +
                ", even with no forward before it is needed; the limit is " + detail::amount(limit.amount, limit.unit)};
  }

  static void fill(const workload& work, std::size_t stage, double limit, std::uint32_t* allowed) {
    const memory_rates& rates = work.rates[stage];
    const std::vector<std::int64_t>& f = work.times.before.forward;
    const std::vector<std::int64_t>& b = work.times.before.backward;
    const auto all = static_cast<std::uint32_t>(work.times.packs(pass::forward));
    const std::size_t packs = work.times.packs(pass::backward);
    std::uint32_t a = all;
    for (std::size_t i = packs; i-- > 0;) {  // limits loosen with i, so a only falls
      const auto gradient = static_cast<double>(work.gradient_running[i]);
      const auto size = static_cast<double>(b[i + 1] - b[i]);
      const auto held = [&] {
        return rates.in_backward(static_cast<double>(f[a] - b[i]), gradient, size, work.pairs_of(pass::backward, i)) +
               work.kept(stage, a, i);
      };
      while (a > 0 && held() > limit) --a;
      allowed[i] = a;
    }
    std::uint32_t reached = 0;  // each forward below it has run, or fits now
    for (std::size_t i = 0; i <= packs; ++i) {
      const auto gradient = static_cast<double>(work.gradient_before[i]);
      const auto fits = [&](std::uint32_t j) {
        const auto live = static_cast<double>(f[j + 1] - b[i]);
        const auto running = static_cast<double>(f[j + 1] - f[j]);
        return rates.in_forward(live, gradient, running, work.pairs_of(pass::forward, j)) +
                   work.kept(stage, j + 1, i) <=
               limit;
      };
      if (i > 0) {
        const std::uint32_t run = work.turn[i - 1] + 1;
        // What fitted may fit no longer where more accumulators are open, and they take memory.
        const bool opened = rates.gradient_token > 0 && work.gradient_before[i] > work.gradient_before[i - 1];
        reached = opened ? run : std::max(reached, run);
      }
      while (reached < allowed[i] && fits(reached)) ++reached;
      allowed[i] = std::min(allowed[i], reached);
    }
    for (std::size_t i = packs; i-- > 0;) allowed[i] = std::min(allowed[i], allowed[i + 1]);
  }

  std::size_t packs_;
  std::vector<std::uint32_t> allowed_;  // rows of packs + 1
  std::vector<std::size_t> row_;        // per stage, where its row begins
};

}  // namespace slimpack::schedules

#endif
