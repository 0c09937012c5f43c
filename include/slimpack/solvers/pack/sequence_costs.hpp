#ifndef SLIMPACK_SOLVERS_PACK_SEQUENCE_COSTS_HPP
#define SLIMPACK_SOLVERS_PACK_SEQUENCE_COSTS_HPP

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/solvers/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack::solvers {

/// The part with the most work: the one that a balanced pipeline waits for.
template <class Cost>
[[nodiscard]] int busiest_part(const Cost& cost, std::span<const sequence> batch, int parts) {
  int busiest = 0;
  seconds most{-1};
  for (int part = 0; part < parts; ++part) {
    seconds work{};
    for (const sequence& s : batch) {
      const slice whole = s.whole();
      work += cost.time(whole, pass::forward, part) + cost.time(whole, pass::backward, part);
    }
    if (work > most) most = work, busiest = part;
  }
  return busiest;
}

/// What a stage does for a slice: forward and backward on all of its chunks, with their calls.            Complexity
/// O(chunks)
template <class Cost>
[[nodiscard]] seconds stage_time(const Cost& cost, const slice& s, int stage, const shape& on) {
  seconds work{};
  for (int part = stage; part < on.parts(); part += on.stages)
    work += cost.time(s, pass::forward, part) + cost.time(s, pass::backward, part) +
            (call_overhead_of(cost, pass::forward, part) + call_overhead_of(cost, pass::backward, part));
  return work;
}

/// The stage with the most work, all of its chunks together: no division makes a step shorter than its share of that.
template <class Cost>
[[nodiscard]] int busiest_stage(const Cost& cost, std::span<const sequence> batch, const shape& on) {
  int busiest = 0;
  seconds most{-1};
  for (int stage = 0; stage < on.stages; ++stage) {
    seconds work{};
    for (const sequence& s : batch) work += stage_time(cost, s.whole(), stage, on);
    if (work > most) most = work, busiest = stage;
  }
  return busiest;
}

/// The answer when a sequence exceeds the memory of stage `stage` even where only it is there, and as many replicas
/// share it as can, in numbers.
[[nodiscard]] inline error does_not_fit(const shape& shape, std::size_t stage, tokens length, std::int64_t sharers,
                                        double need, double fixed) {
  const memory_limit& limit = *shape.memory;
  const auto text = [&](double amount) { return detail::amount(amount, limit.unit); };
  std::string detail = "a sequence of " + std::to_string(length.value) + " tokens" +
                       (sharers > 1 ? ", shared by " + std::to_string(sharers) + " replicas," : "") + " needs " +
                       text(need) + " on stage " + std::to_string(stage) + ", the limit is " + text(limit.amount) +
                       ": " + text(need - limit.amount) + " are missing";
  if (limit.unit == memory_unit::byte) detail += " (weights and optimizer take " + text(fixed) + ")";
  return {errc::out_of_memory, detail};
}

/// The least that a stage holds of a sequence alone, at its turn, however it is cut: all its tokens are live on every
/// chunk. Its last forward, and its first backward, run at least the tokens after the last possible cut, each of which
/// attends to all keys; a backward in one slice needs no accumulators of dK and dV, the first of several those of its
/// chunk.
/// own: of a path, tokens that its last sequence has at least
[[nodiscard]] inline double least_held(const memory_rates& rates, const shape& on, tokens length, tokens own) {
  const tokens rest{length.value % on.quantum.value};
  const auto all = static_cast<double>(length.value);
  const auto tail = static_cast<double>((rest > tokens{} ? rest : std::min(length, on.quantum)).value);
  const double least_pairs = std::min(tail, static_cast<double>(own.value)) * all;
  const double whole = rates.in_backward(all, 0, all, static_cast<double>(own.value) * all);
  const double cut = tail < all ? rates.in_backward(all, all / on.chunks, tail, least_pairs) : whole;
  return std::max(rates.in_forward(all, 0, tail, least_pairs), std::min(cut, whole));
}
[[nodiscard]] inline double least_held(const memory_rates& rates, const shape& on, tokens length) {
  return least_held(rates, on, length, length);
}

}  // namespace slimpack::solvers

#endif
