#ifndef SLIMPACK_CORE_WIRING_RULES_HPP
#define SLIMPACK_CORE_WIRING_RULES_HPP

#include <slimpack/core/wiring/step_kinds.hpp>

#include <cstdint>

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

}  // namespace slimpack

#endif
