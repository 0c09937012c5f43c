#ifndef SLIMPACK_CORE_WIRING_WIRING_HPP
#define SLIMPACK_CORE_WIRING_WIRING_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace slimpack {

/// Which places of two kinds of instructions belong together. The places of a kind are the parts of the model, or the
/// stages, in order; the last part is on the last stage.
enum class place_pattern : unsigned char {
  same,            ///< each place and the one of the same number
  next,            ///< each place and the one after it
  previous,        ///< each place and the one before it
  last_to_first,   ///< the last place and the first
  first_to_last,   ///< the first place and the last
  last_to_last,    ///< the last place and the last
  last_to_others,  ///< the last place and each but the last
  others_to_last,  ///< each place but the last, and the last
};

/// Calls visit(from, to) for each pair of places of a pattern, in order.
/// from, to: how many places there are of either kind            Requires  one or more
template <class Visit>
constexpr void each_pair(place_pattern p, std::uint32_t from, std::uint32_t to, Visit&& visit) {
  switch (p) {
    case place_pattern::same:
      for (std::uint32_t at = 0; at < from; ++at) visit(at, at);
      return;
    case place_pattern::next:
      for (std::uint32_t at = 0; at + 1 < from; ++at) visit(at, at + 1);
      return;
    case place_pattern::previous:
      for (std::uint32_t at = 1; at < from; ++at) visit(at, at - 1);
      return;
    case place_pattern::last_to_first:
      return visit(from - 1, 0u);
    case place_pattern::first_to_last:
      return visit(0u, to - 1);
    case place_pattern::last_to_last:
      return visit(from - 1, to - 1);
    case place_pattern::last_to_others:
      for (std::uint32_t at = 0; at + 1 < to; ++at) visit(from - 1, at);
      return;
    case place_pattern::others_to_last:
      for (std::uint32_t at = 0; at + 1 < from; ++at) visit(at, to - 1);
  }
}

/// Messages that go from one kind of instruction to another, in every step that has both.
struct wire_rule {
  instruction_kind from;
  instruction_kind to;
  place_pattern pattern;
  message_kind carries;
  bool of_receiver;  ///< its times are numbered by the place that it goes to, not by the sender's
};

/// A place has its wires in the order of the rows and of their pairs.
inline constexpr wire_rule wire_rules[]{
    {instruction_kind::forward, instruction_kind::forward, place_pattern::next, message_kind::forward, false},
    {instruction_kind::forward, instruction_kind::output, place_pattern::last_to_others, message_kind::hidden, true},
    {instruction_kind::backward, instruction_kind::backward, place_pattern::previous, message_kind::backward, false},
    {instruction_kind::backward, instruction_kind::embed_gradients, place_pattern::first_to_last,
     message_kind::backward, false},
    {instruction_kind::embed, instruction_kind::embed, place_pattern::next, message_kind::embedded, false},
    {instruction_kind::embed, instruction_kind::forward, place_pattern::last_to_first, message_kind::embedded, false},
    {instruction_kind::output, instruction_kind::output, place_pattern::others_to_last, message_kind::partial, false},
    {instruction_kind::output, instruction_kind::output_weights, place_pattern::last_to_others,
     message_kind::statistics, true},
    {instruction_kind::embed_gradients, instruction_kind::embed_gradients, place_pattern::previous,
     message_kind::gradients, false},
};

/// What an instruction waits for on its own stage, beside its messages, in every step that has both kinds: the program
/// must run that before. Of a kind of the other pass it is the turn of its pack (workload::turn).
struct wait_rule {
  instruction_kind awaited;
  instruction_kind waiting;
  place_pattern pattern;
};

/// Where several rows are of one place, the last of them holds: B on the last part waits for V where there is one.
inline constexpr wait_rule wait_rules[]{
    {instruction_kind::forward, instruction_kind::backward, place_pattern::last_to_last},
    {instruction_kind::output, instruction_kind::backward, place_pattern::last_to_last},
    {instruction_kind::forward, instruction_kind::output, place_pattern::last_to_last},
    {instruction_kind::output, instruction_kind::output_weights, place_pattern::same},
    {instruction_kind::backward, instruction_kind::weights, place_pattern::same},
};

/// A place that packs pass: a kind of instruction on a part of the model, or on a stage.
struct pack_place {
  instruction_kind kind{};
  std::uint32_t at{};
  friend constexpr bool operator==(const pack_place&, const pack_place&) = default;
};

/// A way of messages from one place to another.
struct wire {
  pack_place from;
  pack_place to;
  message_kind carries{};
  std::uint32_t priced{};    ///< place that its times are numbered by
  std::uint32_t receiver{};  ///< the stage of `to`
  std::uint32_t number{};    ///< among the wires that carry packs of its pass
};

/// Whether a step on a shape has instructions of a kind, if it has packs for them; and what is wrong with one that it
/// has not.
[[nodiscard]] constexpr bool has(const shape& on, instruction_kind k) noexcept {
  return on.vocabulary == vocabulary::spread || !facts_of(k).of_vocabulary;
}
inline constexpr const char* is_not_of_shape =
    "is of a vocabulary that is spread over the stages, which the plan's is not";

/// Whether messages of a kind go in a step on a shape, if it has packs and places for them.
[[nodiscard]] constexpr bool has(const shape& on, message_kind m) noexcept {
  for (const wire_rule& r : wire_rules)
    if (r.carries == m && has(on, r.from) && has(on, r.to)) return true;
  return false;
}
/// Whether packs on a shape have times in a column: in those of weights only where some run apart.
[[nodiscard]] constexpr bool is_timed(time_column c, const shape& on) noexcept {
  return c.is_call() ? has(on, c.call()) : has(on, c.message());
}

/// Whether a step on a shape has the chunk of an instruction, too.
[[nodiscard]] constexpr bool has(const shape& on, const instruction& i) noexcept {
  return has(on, i.kind) && i.chunk < static_cast<std::uint32_t>(i.is_of_part() ? on.chunks : 1);
}

/// Requires  has(on, i), and a stage of the shape
[[nodiscard]] constexpr pack_place place_of(const instruction& i, std::uint32_t stage, const shape& on) noexcept {
  return {i.kind, i.chunk * static_cast<std::uint32_t>(on.stages) + stage};
}
[[nodiscard]] constexpr std::uint32_t stage_of(pack_place p, const shape& on) noexcept {
  return p.at % static_cast<std::uint32_t>(on.stages);
}
/// The instruction of a pack at a place.
[[nodiscard]] constexpr instruction instruction_at(pack_place p, pack_id pack, const shape& on) noexcept {
  return {p.kind, pack, p.at / static_cast<std::uint32_t>(on.stages)};
}

/// The places of a shape and the wires between them: wire_rules and wait_rules, written out.
/// Complexity O(places + wires) to make, O(1) each
class wiring {
 public:
  explicit wiring(const shape& on) {
    for (std::size_t k = 0; k < instruction_kinds.size(); ++k) {
      const auto kind = static_cast<instruction_kind>(k);
      first_[k + 1] =
          first_[k] + (slimpack::has(on, kind) ? static_cast<std::uint32_t>(count_of(facts_of(kind).each, on)) : 0);
    }
    rows_.resize(size() + 1);
    each_wire(on, [&](const wire& w) { ++rows_[number_of(w.from) + 1].out, ++rows_[number_of(w.to) + 1].in; });
    for (std::size_t p = 0; p < size(); ++p) rows_[p + 1].out += rows_[p].out, rows_[p + 1].in += rows_[p].in;
    out_.resize(rows_.back().out), in_.resize(rows_.back().in);
    each_wire(on, [&](wire w) {
      w.number = wires_[static_cast<std::size_t>(facts_of(w.carries).pass)]++;
      out_[rows_[number_of(w.from)].out + rows_[number_of(w.from)].placed_out++] = w;
      in_[rows_[number_of(w.to)].in + rows_[number_of(w.to)].placed_in++] = w;
    });
    for (const wait_rule& r : wait_rules)
      if (places(r.awaited) > 0 && places(r.waiting) > 0)
        each_pair(r.pattern, places(r.awaited), places(r.waiting), [&](std::uint32_t from, std::uint32_t to) {
          rows_[number_of({r.waiting, to})].awaited = pack_place{r.awaited, from};
        });
  }

  /// How many places there are of a kind; none where steps on the shape have no such instructions.
  [[nodiscard]] std::uint32_t places(instruction_kind k) const noexcept {
    return first_[static_cast<std::size_t>(k) + 1] - first_[static_cast<std::size_t>(k)];
  }
  [[nodiscard]] bool has(pack_place p) const noexcept { return p.at < places(p.kind); }
  /// Of all kinds.
  [[nodiscard]] std::uint32_t size() const noexcept { return first_.back(); }
  /// Of a place among those of all kinds.            Requires  has(p)
  [[nodiscard]] std::uint32_t number_of(pack_place p) const noexcept {
    return first_[static_cast<std::size_t>(p.kind)] + p.at;
  }
  /// Wires that carry packs of a pass.
  [[nodiscard]] std::uint32_t wires(pass p) const noexcept { return wires_[static_cast<std::size_t>(p)]; }

  /// Along which a pack goes from a place with a message.            Requires  has(p)
  [[nodiscard]] std::span<const wire> after(pack_place p) const noexcept {
    const std::uint32_t n = number_of(p);
    return {out_.data() + rows_[n].out, out_.data() + rows_[n + 1].out};
  }
  /// Whose messages a place waits for.            Requires  has(p)
  [[nodiscard]] std::span<const wire> before(pack_place p) const noexcept {
    const std::uint32_t n = number_of(p);
    return {in_.data() + rows_[n].in, in_.data() + rows_[n + 1].in};
  }
  /// What a place waits for on its own stage, beside its messages.            Requires  has(p)
  [[nodiscard]] const std::optional<pack_place>& awaited_by(pack_place p) const noexcept {
    return rows_[number_of(p)].awaited;
  }

 private:
  struct row {
    std::uint32_t out{}, in{};  // first of its wires
    std::uint32_t placed_out{}, placed_in{};
    std::optional<pack_place> awaited{};
  };

  template <class Visit>
  void each_wire(const shape& on, const Visit& visit) const {
    for (const wire_rule& r : wire_rules)
      if (places(r.from) > 0 && places(r.to) > 0)
        each_pair(r.pattern, places(r.from), places(r.to), [&](std::uint32_t from, std::uint32_t to) {
          visit(wire{{r.from, from}, {r.to, to}, r.carries, r.of_receiver ? to : from, stage_of({r.to, to}, on), 0});
        });
  }

  std::array<std::uint32_t, instruction_kinds.size() + 1> first_{};  // place, by kind
  std::vector<row> rows_;                                            // by place, and one behind
  std::vector<wire> out_, in_;
  std::array<std::uint32_t, 2> wires_{};
};

/// When a message arrives after its sender's end.
[[nodiscard]] inline seconds message_of(const timings& t, const wire& w, pack_id pack, const shape& on) noexcept {
  return t.messages[w.carries][pack.value * count_of(facts_of(w.carries).each, on) + w.priced];
}

/// Whether a message of a kind has a time at a place: none goes, for one, from the last stage to itself.
[[nodiscard]] constexpr bool sends(message_kind m, int place, const shape& on) noexcept {
  bool found = false;
  for (const wire_rule& r : wire_rules)
    if (r.carries == m && has(on, r.from) && has(on, r.to))
      each_pair(r.pattern, static_cast<std::uint32_t>(count_of(facts_of(r.from).each, on)),
                static_cast<std::uint32_t>(count_of(facts_of(r.to).each, on)),
                [&](std::uint32_t from, std::uint32_t to) {
                  found = found || (r.of_receiver ? to : from) == static_cast<std::uint32_t>(place);
                });
  return found;
}

}  // namespace slimpack

#endif
