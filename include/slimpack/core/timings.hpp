#ifndef SLIMPACK_CORE_TIMINGS_HPP
#define SLIMPACK_CORE_TIMINGS_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack {

/// Whether all backward packs compute their weight gradients with those of inputs, or a schedule may leave those of
/// some packs to W instructions.
enum class weight_gradients : unsigned char { with_inputs, apart };

/// Which backward packs leave their weight gradients to a W.
/// Shapes    flags: empty where none does, or one per backward pack
struct apart_packs {
  std::vector<std::uint8_t> flags{};  ///< 1 for those

  [[nodiscard]] bool splits(std::size_t pack) const noexcept { return !flags.empty() && flags[pack] != 0; }
  /// The first pack from `pack` on whose weight gradients run apart; the number of packs when none does.
  [[nodiscard]] std::size_t next(std::size_t pack) const noexcept {
    while (pack < flags.size() && flags[pack] == 0) ++pack;
    return pack;
  }
  [[nodiscard]] std::size_t count() const noexcept {
    std::size_t packs = 0;
    for (const std::uint8_t flag : flags) packs += flag != 0;
    return packs;
  }
  friend bool operator==(const apart_packs&, const apart_packs&) = default;
};

/// A column of times for each kind of instruction, or for each kind of message.
///
///   times.calls[instruction_kind::embed]   that of a kind
///   times.calls[pass::forward]             that of the layers in a pass: F, or B
template <class Kind>
class columns {
 public:
  [[nodiscard]] std::vector<seconds>& operator[](Kind k) noexcept { return of_[static_cast<std::size_t>(k)]; }
  [[nodiscard]] const std::vector<seconds>& operator[](Kind k) const noexcept {
    return of_[static_cast<std::size_t>(k)];
  }
  [[nodiscard]] std::vector<seconds>& operator[](pass p) noexcept { return (*this)[of_layers(p)]; }
  [[nodiscard]] const std::vector<seconds>& operator[](pass p) const noexcept { return (*this)[of_layers(p)]; }

  friend bool operator==(const columns&, const columns&) = default;

 private:
  static constexpr Kind of_layers(pass p) noexcept { return p == pass::forward ? Kind::forward : Kind::backward; }

  static constexpr std::size_t size =
      instruction_kinds.size() < message_kinds.size() ? message_kinds.size() : instruction_kinds.size();

  std::array<std::vector<seconds>, size> of_{};
};

/// One of the columns of `timings`: the calls of a kind of instruction, or the messages of a kind.
class time_column {
 public:
  constexpr time_column(instruction_kind k) noexcept : is_call_(true), kind_(static_cast<unsigned char>(k)) {}
  constexpr time_column(message_kind k) noexcept : is_call_(false), kind_(static_cast<unsigned char>(k)) {}

  [[nodiscard]] constexpr bool is_call() const noexcept { return is_call_; }
  /// Requires  is_call()
  [[nodiscard]] constexpr instruction_kind call() const noexcept { return static_cast<instruction_kind>(kind_); }
  /// Requires  !is_call()
  [[nodiscard]] constexpr message_kind message() const noexcept { return static_cast<message_kind>(kind_); }
  /// The pass whose packs it has times of.
  [[nodiscard]] constexpr slimpack::pass pass() const noexcept {
    return is_call_ ? facts_of(call()).pass : facts_of(message()).pass;
  }
  [[nodiscard]] constexpr places each() const noexcept {
    return is_call_ ? facts_of(call()).each : facts_of(message()).each;
  }
  [[nodiscard]] constexpr const char* name() const noexcept {
    return is_call_ ? facts_of(call()).name.data() : facts_of(message()).name.data();
  }
  friend constexpr bool operator==(const time_column&, const time_column&) = default;

 private:
  bool is_call_;
  unsigned char kind_;
};

/// All columns, in the order of plan files, of their hash and of all else that goes through them.
inline constexpr time_column time_columns[]{instruction_kind::forward,
                                            message_kind::forward,
                                            instruction_kind::backward,
                                            message_kind::backward,
                                            instruction_kind::weights,
                                            instruction_kind::embed,
                                            message_kind::embedded,
                                            message_kind::hidden,
                                            instruction_kind::output,
                                            message_kind::partial,
                                            message_kind::statistics,
                                            instruction_kind::output_weights,
                                            instruction_kind::embed_gradients,
                                            message_kind::gradients};

/// How many of these places a shape has.
[[nodiscard]] constexpr std::size_t count_of(places each, const shape& on) noexcept {
  return static_cast<std::size_t>(each == places::parts ? on.parts() : on.stages);
}

/// What the packs of a replica take on each part of the model, or on each stage, and what follows from them: what a
/// workload and a replica of a plan have in common.
/// Units     seconds; those of calls with the overhead of their packs
/// Shapes    calls, messages: [pack * places + place], with packs of the kind's pass and as many places as its facts
///           say (core/wiring/step_kinds.hpp); those of weights empty where none run apart, and those of stages empty
///           where the shape has no such kinds. before: packs + 1. kept: empty, or [stage * (packs + 1) + pack]; of
///           a backward without packs by the forward ones (workload::ended_kept). weight_waits: empty, or one per stage
struct timings {
  columns<instruction_kind> calls{};  ///< what each takes. Of a pack whose weight gradients run apart, B takes what is
                                      ///< left; of any other, the time of W is 0
  columns<message_kind> messages{};   ///< from the end of the sender to the arrival; 0 where a place sends none
  by_pass<std::vector<std::int64_t>> before{};  ///< tokens of the packs run earlier: before[p][i] sums packs 0..i-1
  by_pass<std::vector<double>> kept{};          ///< whole bytes that packs 0..i-1 keep, or release, beside their tokens
                                                ///< (cost model hook `kept`); like rates not part of the plan file
  apart_packs apart{};                          ///< whose weight gradients run apart
  seconds communication{};              ///< that the calls include, over all packs and parts: exchanges of shared rows,
                                        ///< what first packs wait for weights, and tied stages for each other. Not part
                                        ///< of the plan file
  std::vector<seconds> weight_waits{};  ///< of each stage: what its first packs and calls wait for weights that are
                                        ///< gathered, a part of their times and of communication; empty where there is
                                        ///< nothing to wait for. Not hashed

  [[nodiscard]] std::vector<seconds>& operator[](time_column c) noexcept {
    return c.is_call() ? calls[c.call()] : messages[c.message()];
  }
  [[nodiscard]] const std::vector<seconds>& operator[](time_column c) const noexcept {
    return c.is_call() ? calls[c.call()] : messages[c.message()];
  }

  /// How many packs a pass has.
  [[nodiscard]] std::size_t packs(pass p) const noexcept { return before[p].empty() ? 0 : before[p].size() - 1; }
  /// Whether it has times of kinds that parts, or stages, have one of for each pack.
  [[nodiscard]] bool has(places each) const noexcept {
    for (const time_column c : time_columns)
      if (c.each() == each && !(*this)[c].empty()) return true;
    return false;
  }
  /// The times of a pack in a column, by place.
  [[nodiscard]] std::span<const seconds> of(time_column c, std::size_t pack, const shape& on) const noexcept {
    const std::size_t count = count_of(c.each(), on);
    return std::span((*this)[c]).subspan(pack * count, count);
  }
  /// Bytes beside its tokens that a pack keeps from forward to backward on a stage.
  [[nodiscard]] double kept_by(pass p, std::size_t pack, std::size_t stage) const noexcept {
    if (kept[p].empty()) return 0;
    const double* const sums = &kept[p][stage * (packs(p) + 1)];
    return sums[pack + 1] - sums[pack];
  }
  friend bool operator==(const timings&, const timings&) = default;
};

/// What an instruction takes on a stage.
[[nodiscard]] inline seconds time_of(const timings& t, const instruction& i, std::size_t stage,
                                     const shape& on) noexcept {
  return t.calls[i.kind][i.pack.value * count_of(facts_of(i.kind).each, on) +
                         i.chunk * static_cast<std::size_t>(on.stages) + stage];
}

namespace detail {
/// The messages of one pack, boundary by boundary: b lies between parts b and b + 1, and a forward message is kept with
/// the part below it, a backward message with the part above.
/// Shapes    pack: one value per part, one more than there are boundaries
template <class Seconds>
[[nodiscard]] std::span<Seconds> boundaries(std::span<Seconds> pack, pass p) noexcept {
  return pack.subspan(p == pass::forward ? 0 : 1, pack.size() - 1);
}
}  // namespace detail

}  // namespace slimpack

#endif
