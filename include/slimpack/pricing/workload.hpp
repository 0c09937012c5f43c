#ifndef SLIMPACK_PRICING_WORKLOAD_HPP
#define SLIMPACK_PRICING_WORKLOAD_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack {

/// What backward packs take in two parts, for schedules that may run the weight gradients of some apart.
/// Shapes    both empty, or both [pack * parts + part]; per-pack overhead included in each
struct backward_parts {
  std::vector<seconds> inputs;   ///< B
  std::vector<seconds> weights;  ///< W

  friend bool operator==(const backward_parts&, const backward_parts&) = default;
};

/// What runs at once of a backward pack with a row that replicas share and anything else: its rows, one after the other
/// in order of sequence, and then all else. What one lets go of, the next has room for.
struct backward_call {
  std::int64_t tokens{};
  std::int64_t others{};            ///< of other sharers, let go of at its end
  std::int64_t gradient_running{};  ///< dK, dV accumulator tokens while it runs
  double pairs{};                   ///< slice::dense_pairs of its slices

  friend bool operator==(const backward_call&, const backward_call&) = default;
};

/// One replica's packs, priced: all that schedules and the simulator read. They never see the cost model.
struct workload {
  slimpack::shape shape;
  timings times{};            ///< weight gradients run apart as programs have decided (`settled`)
  std::vector<loan> loans{};  ///< attention that stages lend each other; the times have it in (pricing/lend.hpp)
  backward_parts split{};  ///< what a schedule may decide on, if it was priced so; calls of B are then of whole packs
  std::vector<std::uint32_t> turn;             ///< phi(i): last forward pack with a sequence of backward packs 0..i
  std::vector<std::int64_t> gradient_running;  ///< dK, dV accumulator tokens while backward pack i runs
  std::vector<std::int64_t> gradient_before;   ///< the same between packs i-1 and i; packs + 1
  std::vector<memory_rates> rates;             ///< per stage
  by_pass<std::vector<double>> pairs{};        ///< of each pack, slice::dense_pairs of its slices; empty: not counted
  seconds turn_wait{};                        ///< of each forward pack's message to a stage where packs only turn, in a
                                              ///< search: a part that packs do not set
  std::vector<backward_call> calls{};         ///< of backward packs that have several
  std::vector<std::uint32_t> calls_before{};  ///< packs + 1: where those of each begin; empty where none has several
  std::vector<std::int64_t> ended{};  ///< where there are forward packs alone: of each, the tokens of the sequences
                                      ///< that end in it, which are let go of after it; empty of a step

  [[nodiscard]] bool is_forward_only() const noexcept { return !ended.empty(); }
  [[nodiscard]] double pairs_of(pass p, std::size_t pack) const noexcept {
    return pairs[p].empty() ? 0 : pairs[p][pack];
  }

  /// Of a backward pack; none where it runs in one call.
  [[nodiscard]] std::span<const backward_call> calls_of(std::size_t pack) const noexcept {
    if (calls_before.empty()) return {};
    return std::span(calls).subspan(calls_before[pack], calls_before[pack + 1] - calls_before[pack]);
  }

  /// Bytes beside their tokens that a stage lets go of after a forward pack, where there are forward packs alone: what
  /// the sequences that end in it have kept. A plan keeps them as times.kept.backward, by forward packs: [stage *
  /// (packs + 1) + pack].
  [[nodiscard]] double ended_kept(std::size_t pack, std::size_t stage) const noexcept {
    if (times.kept.backward.empty()) return 0;
    const double* const sums = &times.kept.backward[stage * (times.packs(pass::forward) + 1)];
    return sums[pack + 1] - sums[pack];
  }

  /// Bytes beside live tokens that a stage keeps once so many packs of each pass have run (one chunk).
  [[nodiscard]] double kept(std::size_t stage, std::size_t forwards, std::size_t backwards) const noexcept {
    if (times.kept.forward.empty()) return 0;
    return times.kept.forward[stage * (times.packs(pass::forward) + 1) + forwards] -
           times.kept.backward[stage * (times.packs(pass::backward) + 1) + backwards];
  }
};

/// The workload as these packs make it: where `apart`, a backward pack takes what B takes and its weight gradients come
/// in an instruction of their own; other packs run whole.
/// Shapes    apart: empty, or one per backward pack
/// Requires  none is apart, or work.split tells what they take            Complexity  O(packs * parts)
[[nodiscard]] inline workload settled(workload work, std::vector<std::uint8_t> apart) {
  if (work.split.inputs.empty()) return work;
  const auto parts = static_cast<std::size_t>(work.shape.parts());
  std::vector<seconds>& inputs = work.times.calls[instruction_kind::backward];
  std::vector<seconds>& weights = work.times.calls[instruction_kind::weights];
  weights.assign(apart.empty() ? 0 : inputs.size(), seconds{});
  work.times.apart = {std::move(apart)};
  const apart_packs& of = work.times.apart;
  for (std::size_t pack = of.next(0); pack < of.flags.size(); pack = of.next(pack + 1)) {
    for (std::size_t cell = pack * parts; cell < (pack + 1) * parts; ++cell) {
      inputs[cell] = work.split.inputs[cell];
      weights[cell] = work.split.weights[cell];
    }
  }
  work.split = {};
  return work;
}

/// The workload as programs make it: what the simulator reads.
/// Complexity O(instructions + packs * parts)
[[nodiscard]] inline workload settled(workload work, std::span<const program> programs) {
  std::vector<std::uint8_t> apart = weights_apart(programs, work.times.packs(pass::backward));
  return settled(std::move(work), std::move(apart));
}

}  // namespace slimpack

#endif
