#ifndef SLIMPACK_SCHEDULES_MEMORY_CAP_HPP
#define SLIMPACK_SCHEDULES_MEMORY_CAP_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/workload.hpp>
#include <slimpack/detail/amount.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::schedules {

/// How many forward packs a stage may have run with i backward packs done, under the memory limit (one chunk).
///
/// Derivation: while backward i runs after a forwards, a stage holds in_backward(F(a) - B(i), ...) and what is kept
/// beside those tokens, which grows with a; so there is a largest a for each i. Forwards are never undone, hence what is
/// allowed at i is the least over all later backwards; and the forward that reaches a must itself fit. A program that
/// never exceeds `allowed` obeys the limit; where only live tokens count, the converse holds too. If phi(i) + 1 is
/// allowed for each i, which `check` tests, no stage waits for ever: one short of the forwards that its next backward
/// needs is always allowed to run them.
class memory_cap {
 public:
  /// Complexity  O(stages * packs)
  explicit memory_cap(const workload& work) : packs_(work.backward.size()) {
    const auto stages = static_cast<std::size_t>(work.shape.stages);
    const auto all = static_cast<std::uint32_t>(work.forward.size());
    allowed_.assign(stages * (packs_ + 1), all);
    if (!work.shape.memory) return;
    for (std::size_t r = 0; r < stages; ++r) fill(work, r, work.shape.memory->amount, &allowed_[r * (packs_ + 1)]);
  }

  /// Per number of backwards done (0..packs), the most forwards.
  [[nodiscard]] const std::uint32_t* allowed(std::size_t stage) const noexcept { return &allowed_[stage * (packs_ + 1)]; }

  /// Errors    out_of_memory: some backward cannot get its forwards on some stage; the detail has the shortfall
  [[nodiscard]] result<void> check(const workload& work) const {
    for (std::size_t i = 0; i < packs_; ++i) {
      for (std::size_t r = 0; r < static_cast<std::size_t>(work.shape.stages); ++r) {
        if (allowed(r)[i] > work.turn[i]) continue;
        const double live = static_cast<double>(work.forward.before[work.turn[i] + 1] - work.backward.before[i]);
        const double size = static_cast<double>(work.backward.before[i + 1] - work.backward.before[i]);
        const double held = work.rates[r].in_backward(live, static_cast<double>(work.gradient_running[i]), size) +
                            work.kept(r, work.turn[i] + 1, i);
        const memory_limit& limit = *work.shape.memory;
        return error{errc::out_of_memory, "stage " + std::to_string(r) + " holds at least " + detail::amount(held, limit.unit) +
                                              " when backward pack " + std::to_string(i) + " starts, the limit is " +
                                              detail::amount(limit.amount, limit.unit)};
      }
    }
    return success();
  }

 private:
  static void fill(const workload& work, std::size_t stage, double limit, std::uint32_t* allowed) {
    const memory_rates& rates = work.rates[stage];
    const std::vector<std::int64_t>& f = work.forward.before;
    const std::vector<std::int64_t>& b = work.backward.before;
    const auto all = static_cast<std::uint32_t>(work.forward.size());
    const std::size_t packs = work.backward.size();
    std::uint32_t a = all;
    for (std::size_t i = packs; i-- > 0;) {  // limits loosen with i, so a only falls
      const auto gradient = static_cast<double>(work.gradient_running[i]);
      const auto size = static_cast<double>(b[i + 1] - b[i]);
      const auto held = [&] {
        return rates.in_backward(static_cast<double>(f[a] - b[i]), gradient, size) + work.kept(stage, a, i);
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
        return rates.in_forward(live, gradient, running) + work.kept(stage, j + 1, i) <= limit;
      };
      if (i > 0) {
        const std::uint32_t run = work.turn[i - 1] + 1;
        const bool opened = work.gradient_before[i] > work.gradient_before[i - 1];  // then what fitted may fit no longer
        reached = opened ? run : std::max(reached, run);
      }
      while (reached < allowed[i] && fits(reached)) ++reached;
      allowed[i] = std::min(allowed[i], reached);
    }
    for (std::size_t i = packs; i-- > 0;) allowed[i] = std::min(allowed[i], allowed[i + 1]);
  }

  std::size_t packs_;
  std::vector<std::uint32_t> allowed_;
};

}  // namespace slimpack::schedules

#endif
