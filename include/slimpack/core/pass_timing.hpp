#ifndef SLIMPACK_CORE_PASS_TIMING_HPP
#define SLIMPACK_CORE_PASS_TIMING_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/vocabulary.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack {

/// What the packs of one pass cost, in run order.
/// Shapes    time, message: [pack * parts + part]; before: packs + 1; kept: empty, or [stage * (packs + 1) + pack], of
///           a backward without packs by the forward ones (workload::ended_kept)
struct pass_timing {
  std::vector<seconds> time;         ///< on each part, per-pack overhead included
  std::vector<seconds> message;      ///< from its end on a part to its arrival at the part it flows to
  std::vector<std::int64_t> before;  ///< tokens of the packs run earlier: before[i] sums packs 0..i-1
  std::vector<double> kept{};        ///< whole bytes that these packs keep, or release, beside their tokens (cost
                                     ///< model hook `kept`); like rates not part of the plan file

  [[nodiscard]] std::size_t size() const noexcept { return before.empty() ? 0 : before.size() - 1; }
  /// Bytes beside its tokens that a pack keeps from forward to backward on a stage.
  [[nodiscard]] double kept_by(std::size_t pack, std::size_t stage) const noexcept {
    if (kept.empty()) return 0;
    const double* const sums = &kept[stage * (size() + 1)];
    return sums[pack + 1] - sums[pack];
  }
  friend bool operator==(const pass_timing&, const pass_timing&) = default;
};

namespace detail {
/// The messages of one pack, boundary by boundary: b lies between parts b and b + 1, and a forward message is kept with
/// the part below it, a backward message with the part above.
/// Shapes    pack: one value per part, one more than there are boundaries
template <class Seconds>
[[nodiscard]] std::span<Seconds> boundaries(std::span<Seconds> pack, pass p) noexcept {
  return pack.subspan(p == pass::forward ? 0 : 1, pack.size() - 1);
}
}  // namespace detail

/// Whether all backward packs compute their weight gradients with those of inputs, or a schedule may leave those of
/// some packs to W instructions.
enum class weight_gradients : unsigned char { with_inputs, apart };

/// The weight gradients of backward packs, where they run apart (W instructions).
/// Shapes    apart: empty, or one per backward pack; time: empty, or [pack * parts + part]
struct weight_timing {
  std::vector<std::uint8_t> apart;  ///< 1: the pack's run apart, and backward.time is what is left; empty: none do
  std::vector<seconds> time;        ///< per-pack overhead included; 0 where they do not

  [[nodiscard]] bool splits(std::size_t pack) const noexcept { return !apart.empty() && apart[pack] != 0; }
  /// The first pack from `pack` on whose weight gradients run apart; past the last of `apart` when none does.
  [[nodiscard]] std::size_t next(std::size_t pack) const noexcept {
    while (pack < apart.size() && apart[pack] == 0) ++pack;
    return pack;
  }
  [[nodiscard]] std::size_t count() const noexcept {
    std::size_t packs = 0;
    for (const std::uint8_t a : apart) packs += a != 0;
    return packs;
  }
  friend bool operator==(const weight_timing&, const weight_timing&) = default;
};

/// The times of a kind of instruction, or of message, by the timings of a workload or of a replica of a plan.
template <class Timings>
[[nodiscard]] const std::vector<seconds>& times_of(const Timings& t, instruction_kind k) noexcept {
  switch (k) {
    case instruction_kind::weights:
      return t.weight.time;
    case instruction_kind::embed:
      return t.vocabulary.embed;
    case instruction_kind::output:
      return t.vocabulary.output;
    case instruction_kind::output_weights:
      return t.vocabulary.output_weights;
    case instruction_kind::embed_gradients:
      return t.vocabulary.embed_gradients;
    default:
      return t.of(facts_of(k).pass).time;
  }
}
template <class Timings>
[[nodiscard]] const std::vector<seconds>& times_of(const Timings& t, message_kind m) noexcept {
  switch (m) {
    case message_kind::embedded:
      return t.vocabulary.embedded;
    case message_kind::hidden:
      return t.vocabulary.hidden;
    case message_kind::partial:
      return t.vocabulary.partial;
    case message_kind::statistics:
      return t.vocabulary.statistics;
    case message_kind::gradients:
      return t.vocabulary.gradients;
    default:
      return t.of(facts_of(m).pass).message;
  }
}

/// What an instruction takes on a stage.
template <class Timings>
[[nodiscard]] seconds time_of(const Timings& t, const instruction& i, std::size_t stage, const shape& on) noexcept {
  return times_of(t, i.kind)[i.pack.value * count_of(facts_of(i.kind).each, on) +
                             place_of(i, static_cast<std::uint32_t>(stage), on).at];
}

/// When a message arrives after its sender's end.
template <class Timings>
[[nodiscard]] seconds message_of(const Timings& t, const wire& w, pack_id pack, const shape& on) noexcept {
  return times_of(t, w.carries)[pack.value * count_of(facts_of(w.carries).each, on) + w.priced];
}

/// Whether there is such a message of a stage.
[[nodiscard]] constexpr bool sends(vocabulary_rows rows, int stage, const shape& on) noexcept {
  return sends(static_cast<message_kind>(2 + static_cast<unsigned char>(rows)), stage, on);
}

}  // namespace slimpack

#endif
