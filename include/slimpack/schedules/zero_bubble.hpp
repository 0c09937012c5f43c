#ifndef SLIMPACK_SCHEDULES_ZERO_BUBBLE_HPP
#define SLIMPACK_SCHEDULES_ZERO_BUBBLE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/zero_bubble_fill.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace slimpack::schedules {

/// Which packs have their weight gradients apart, the order that these are put into, and the memory that they may take.
enum class zero_bubble_order : unsigned char {
  automatic,  ///< what ends first of none, the last packs, and all, in list's order or 1F1B's, under the workload's
              ///< limit
  h1,         ///< all packs, in 1F1B of lead 1, the classic one; no stage holds more than its fullest stage, if
              ///< weight gradients need no more than activations (memory_rates::weight_token)
  h2,         ///< all packs, in 1F1B of lead 2, near twice the memory; likewise
};

/// Zero bubble: backward is split into the gradients of inputs (B), which the stage before waits for, and those of
/// weights (W), which nobody waits for and which run where the stage would wait.
///
/// For equal packs, with messages that take c: a stage's bubble, from its first to its last instruction, is
/// (p - 1)(F + B - W + 4c) with h1 and (p - 1)(F + B - 2W + 2c) with h2, where W <= F and W <= B. What Qi et al. call
/// ZB-1p and ZB-2p is automatic under a limit of what 1F1B holds, or twice that; it comes near zero where memory that
/// only B needs (cost model hook `kept`) is a good part of that. The makespan cannot fall below
/// (p - 1)(F + c) + m (F + B + W), since stages wait for their first forward; trainers that let the optimizer step of
/// one stage run beside the last W of another get the bubble of the span.
/// Among orders that end at the same time, the one with the shortest such span is kept.
///
/// A W is a launch more, with a pack's overhead, so automatic splits few packs where packs are many: the last ones,
/// from one on, which is what trainers can run (a sequence's tokens are done with from the last to the first). It takes
/// as many as have W on the last stage for some multiples of what its wait for the first stage's last backward lasts:
/// only there a stage has nothing else to run. No step is longer than list's with each W inside its backward.
/// Source    Qi et al. (arXiv:2401.10241), sections 2 and 3.1; packs of unequal times, that share sequences, and with
///           chunks are derived: any order that is free of deadlock without W is so with it, since nothing waits for W.
///           The split of some packs is derived
///
/// What weight gradients need beside activations (memory_rates::weight_token) is there while B runs already, so orders
/// under a limit are made with as much room in each backward.
/// Requires  a workload priced so that weight gradients may run apart (weight_gradients_of)
/// Errors    out_of_memory: the order does not fit even with each W right after its B; the detail has the shortfall
/// Complexity a few times that of list, plus O(instructions * stages); where it may pay to split all, that of
/// one_f_one_b
struct zero_bubble {
  using with_tested_laws = zero_bubble;  ///< searches need not look at its answers again (timed.hpp)
  static constexpr bool splits_weight_gradients = true;

  zero_bubble_order order{zero_bubble_order::automatic};

  /// Solvers may improve what automatic found; the others are orders by rule.
  [[nodiscard]] constexpr bool orders_may_change() const noexcept { return order == zero_bubble_order::automatic; }

  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    result<timed_programs> found = timed(work);
    if (!found) return std::move(found).error();
    return std::move(found.value().programs);
  }

  /// The programs with their makespan, which putting weight gradients in tells.
  [[nodiscard]] result<timed_programs> timed(const workload& work) const {
    const std::size_t packs = work.times.packs(pass::backward);
    const workload whole = settled(work, last_of(packs, 0));
    std::optional<filled> best;
    const workload roomy = with_room(whole);
    if (order != zero_bubble_order::automatic) {
      const auto found = one_f_one_b{.lead = order == zero_bubble_order::h1 ? 1 : 2}.programs(roomy);
      if (!found) return found.error();
      const std::vector<double> peak = simulators::peak_memory(roomy, found.value());
      try_all(best, settled(work, last_of(packs, packs)), found.value(), *std::max_element(peak.begin(), peak.end()));
      return timed_programs{std::move(best->programs), {best->makespan}};
    }
    const double limit = work.shape.memory ? work.shape.memory->amount : std::numeric_limits<double>::infinity();
    std::optional<error> why;
    result<timed_programs> listed = list{}.timed(whole);
    if (listed)
      best = filled{std::move(listed.value().programs), listed.value().makespan.value, never};
    else
      why = std::move(listed).error();
    if (const workload all = settled(work, last_of(packs, packs)); !best || busiest(all) < best->makespan) {
      const auto try_or_say_why = [&](const auto& schedule) {
        result<std::vector<program>> found = schedule.programs(whole);
        if (!found) {
          why = std::move(found).error();
          return;
        }
        keep_better(best, detail::zero_bubble::fill(whole, found.value(), limit, overrun::alike).programs());
        if (roomy.rates != whole.rates) found = schedule.programs(roomy);
        if (found) try_all(best, all, found.value(), limit);
      };
      try_or_say_why(one_f_one_b{});
      if (best && work.shape.chunks == 1) try_or_say_why(list{}.longer());
    }
    if (!best) return *std::move(why);
    if (work.shape.chunks == 1) {
      for (double share = 3; share <= 12; share *= 2)
        try_last(best, work, last_of(packs, last_packs(work, share)), limit);
    } else {  // whose orders take longer to find, and are best where all packs are apart, or few
      try_last(best, work, last_of(packs, packs), limit);
      try_last(best, work, last_of(packs, last_packs(work, 3)), limit);
    }
    return timed_programs{std::move(best->programs), {best->makespan}};
  }

  friend constexpr bool operator==(const zero_bubble&, const zero_bubble&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const zero_bubble& s) {
    constexpr const char* names[] = {"automatic", "h1", "h2"};
    return out << "schedules::zero_bubble{.order = schedules::zero_bubble_order::"
               << names[static_cast<std::size_t>(s.order)] << "}";
  }

 private:
  using filled = detail::zero_bubble::filled;
  using overrun = detail::zero_bubble::overrun;
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// The last `apart` of so many packs.
  static std::vector<std::uint8_t> last_of(std::size_t packs, std::size_t apart) {
    if (apart == 0) return {};
    std::vector<std::uint8_t> flags(packs, 0);
    std::fill(flags.end() - static_cast<std::ptrdiff_t>(apart), flags.end(), std::uint8_t{1});
    return flags;
  }

  /// With room in each backward for what its weight gradients need beside activations, should they run apart.
  static workload with_room(workload work) {
    for (memory_rates& r : work.rates) r.backward_token += r.weight_token / work.shape.chunks;
    return work;
  }

  /// What the busiest stage must run: no makespan is shorter.
  static double busiest(const workload& work) {
    const auto stages = static_cast<std::size_t>(work.shape.stages);
    std::vector<double> sum(stages, 0.0);
    for (const instruction_kind k :
         {instruction_kind::forward, instruction_kind::backward, instruction_kind::weights}) {
      const std::vector<seconds>& times = work.times.calls[k];
      for (std::size_t cell = 0; cell < times.size(); ++cell) sum[cell % stages] += times[cell].value;
    }
    return *std::max_element(sum.begin(), sum.end());
  }

  /// How many last packs have, on the last stage, weight gradients for `share` times what the last backward takes from
  /// there to its end on the first part.
  static std::size_t last_packs(const workload& work, double share) {
    const auto stages = static_cast<std::size_t>(work.shape.stages),
               parts = static_cast<std::size_t>(work.shape.parts());
    const std::size_t packs = work.times.packs(pass::backward);
    if (packs == 0 || work.split.weights.empty()) return 0;
    double drain = 0;
    for (std::size_t part = 0; part + 1 < parts; ++part) {
      const std::size_t cell = (packs - 1) * parts + part;
      drain += work.times.messages[pass::backward][cell + 1].value + work.times.calls[pass::backward][cell].value;
    }
    // A last stage that only turns packs has none.
    std::size_t last = stages - 1;
    const auto has_weights = [&](std::size_t stage) {
      return work.split.weights[(packs - 1) * parts + stage] > seconds{};
    };
    while (last > 0 && !has_weights(last)) --last;
    std::size_t apart = 0;
    for (double sum = 0; apart < packs && sum < share * drain; ++apart)
      for (std::size_t part = last; part < parts; part += stages)
        sum += work.split.weights[(packs - 1 - apart) * parts + part].value;
    return apart;
  }

  static void keep_better(std::optional<filled>& best, filled&& made) {
    if (!best || std::pair(made.makespan, made.span) < std::pair(best->makespan, best->span)) best = std::move(made);
  }

  /// Puts weight gradients of all packs into an order within a budget. Waits filled one by one may make a step longer;
  /// each W before what comes next never does.
  static void try_all(std::optional<filled>& best, const workload& all, const std::vector<program>& order,
                      double budget) {
    constexpr double at_once = -1;  // no stage holds so little: each W runs before what comes next
    for (const double most : {budget, at_once})
      keep_better(best, detail::zero_bubble::fill(all, order, most, overrun::alike).programs());
  }

  /// Orders the packs as if weight gradients that are apart took no time, then puts these in.
  static void try_last(std::optional<filled>& best, const workload& work, std::vector<std::uint8_t> apart,
                       double budget) {
    if (apart.empty()) return;
    const workload some = settled(work, std::move(apart));
    if (busiest(some) >= best->makespan) return;
    workload ordered = with_room(some);
    ordered.times.apart = {}, ordered.times.calls[instruction_kind::weights].clear();
    const result<std::vector<program>> found = list{}.longer().programs(ordered);
    if (!found) return;
    filled made = detail::zero_bubble::fill(some, found.value(), budget, overrun::draining).programs();
    if (made.makespan < best->makespan) best = std::move(made);
  }
};

}  // namespace slimpack::schedules

#endif
