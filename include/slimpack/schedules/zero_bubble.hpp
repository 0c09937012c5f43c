#ifndef SLIMPACK_SCHEDULES_ZERO_BUBBLE_HPP
#define SLIMPACK_SCHEDULES_ZERO_BUBBLE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/workload.hpp>
#include <slimpack/schedules/detail/zero_bubble_fill.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulator/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <iosfwd>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace slimpack::schedules {

/// The order of forwards and backwards that weight gradients are put into, and the memory that they may take.
enum class zero_bubble_order : unsigned char {
  automatic,  ///< one_f_one_b or list, whichever ends first, under the workload's limit alone
  h1,         ///< 1F1B of lead 1, the classic one; no stage holds more than its fullest stage
  h2,         ///< 1F1B of lead 2, which takes near twice the memory; no stage holds more than its fullest stage
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
/// Among orders that end at the same time, the one with the shortest such span is kept. No step is longer than that of
/// the order it starts from, with each W inside its backward. Yet a W is a launch more, with a pack's overhead: where packs
/// are many and small, list without W may end sooner.
/// Source    Qi et al. (arXiv:2401.10241), sections 2 and 3.1; packs of unequal times, that share sequences, and with
///           chunks are derived: any order that is free of deadlock without W is so with it, since nothing waits for W
/// Requires  a workload priced with weight gradients apart (weight_gradients_of); a pack whose are not has a whole B
/// Errors    out_of_memory: the order does not fit even with each W right after its B; the detail has the shortfall
/// Complexity that of list and one_f_one_b, plus O(instructions * stages)
struct zero_bubble {
  static constexpr bool splits_weight_gradients = true;

  zero_bubble_order order{zero_bubble_order::automatic};

  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    const workload whole = with_weights(work);
    std::optional<detail::zero_bubble::filled> best;
    if (order != zero_bubble_order::automatic) {
      const auto found = one_f_one_b{.lead = order == zero_bubble_order::h1 ? 1 : 2}.programs(whole);
      if (!found) return found;
      const std::vector<double> peak = simulator::peak_memory(whole, found.value());
      try_order(best, work, found.value(), *std::max_element(peak.begin(), peak.end()));
      return std::move(best->programs);
    }
    const double limit = work.shape.memory ? work.shape.memory->amount : std::numeric_limits<double>::infinity();
    std::optional<error> why;
    const auto try_or_say_why = [&](const result<std::vector<program>>& found) {
      if (found)
        try_order(best, work, found.value(), limit);
      else
        why = found.error();
    };
    try_or_say_why(one_f_one_b{}.programs(whole));
    if (work.shape.chunks == 1) try_or_say_why(list{}.programs(whole));
    if (!best) return *std::move(why);
    return std::move(best->programs);
  }

  friend constexpr bool operator==(const zero_bubble&, const zero_bubble&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const zero_bubble& s) {
    constexpr const char* names[] = {"automatic", "h1", "h2"};
    return out << "schedules::zero_bubble{.order = schedules::zero_bubble_order::"
               << names[static_cast<std::size_t>(s.order)] << "}";
  }

 private:
  /// The workload with each W inside its backward: what the orders are made for.
  static workload with_weights(const workload& work) {
    workload whole = work;
    for (std::size_t cell = 0; cell < work.weight.time.size(); ++cell)
      whole.backward.time[cell] += work.weight.time[cell];
    whole.weight = {};
    return whole;
  }

  /// Puts weight gradients into an order within a budget, and keeps what ends first. Waits filled one by one may make a
  /// step longer; each W before what comes next never does.
  static void try_order(std::optional<detail::zero_bubble::filled>& best, const workload& work,
                        const std::vector<program>& order, double budget) {
    constexpr double at_once = -1;  // no stage holds so little: each W runs before what comes next
    for (const double most : {budget, at_once}) {
      detail::zero_bubble::filled made = detail::zero_bubble::fill(work, order, most).programs();
      if (!best || std::pair(made.makespan, made.span) < std::pair(best->makespan, best->span)) best = std::move(made);
    }
  }
};

}  // namespace slimpack::schedules

#endif
