#ifndef SLIMPACK_CORE_DETAIL_FLOW_HPP
#define SLIMPACK_CORE_DETAIL_FLOW_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace slimpack::detail {

/// What packs pass through, from stage to stage: the layers, in each pass, and the ends of a model whose vocabulary is
/// spread. W sends nothing, so it is of no flow.
enum class flow : unsigned char { forward, backward, embedding, output, output_weights, embedding_gradients };
inline constexpr std::size_t flows = 6;

[[nodiscard]] constexpr flow flow_of(const instruction& i) noexcept {
  switch (i.kind) {
    case instruction_kind::forward:
      return flow::forward;
    case instruction_kind::embed:
      return flow::embedding;
    case instruction_kind::output:
      return flow::output;
    case instruction_kind::output_weights:
      return flow::output_weights;
    case instruction_kind::embed_gradients:
      return flow::embedding_gradients;
    default:
      return flow::backward;
  }
}
[[nodiscard]] constexpr bool is_of_layers(flow f) noexcept { return f == flow::forward || f == flow::backward; }
/// Whose packs it carries.
[[nodiscard]] constexpr pass pass_of(flow f) noexcept {
  return f == flow::backward || f == flow::embedding_gradients ? pass::backward : pass::forward;
}

/// A place that packs of a flow pass: of layers a part of the model, of its ends a stage.
struct flow_place {
  detail::flow flow{};
  std::uint32_t at{};
  friend constexpr bool operator==(const flow_place&, const flow_place&) = default;
};

[[nodiscard]] constexpr flow_place place_of(const instruction& i, std::uint32_t stage, const shape& on) noexcept {
  const flow f = flow_of(i);
  return {f, is_of_layers(f) ? i.chunk * static_cast<std::uint32_t>(on.stages) + stage : stage};
}
[[nodiscard]] constexpr std::uint32_t stage_of(flow_place p, const shape& on) noexcept {
  return p.at % static_cast<std::uint32_t>(on.stages);
}
/// The instruction of a pack at a place.
[[nodiscard]] constexpr instruction instruction_at(flow_place p, pack_id pack, const shape& on) noexcept {
  switch (p.flow) {
    case flow::embedding:
      return {instruction_kind::embed, pack};
    case flow::output:
      return {instruction_kind::output, pack};
    case flow::output_weights:
      return {instruction_kind::output_weights, pack};
    case flow::embedding_gradients:
      return {instruction_kind::embed_gradients, pack};
    default:
      return {pass_kind(pass_of(p.flow)), pack, p.at / static_cast<std::uint32_t>(on.stages)};
  }
}

/// How many places a flow has.
[[nodiscard]] constexpr std::uint32_t width_of(flow f, const shape& on) noexcept {
  return static_cast<std::uint32_t>(is_of_layers(f) ? on.parts() : on.stages);
}

/// Calls visit(place) for each place that a pack goes to with a message.
template <class Visit>
constexpr void each_after(flow_place p, const shape& on, Visit&& visit) {
  const bool spread = on.vocabulary == vocabulary::spread;
  const auto stages = static_cast<std::uint32_t>(on.stages);
  switch (p.flow) {
    case flow::forward:
      if (p.at + 1 < static_cast<std::uint32_t>(on.parts()))
        visit(flow_place{flow::forward, p.at + 1});
      else if (spread)
        for (std::uint32_t r = 0; r + 1 < stages; ++r) visit(flow_place{flow::output, r});
      return;
    case flow::backward:
      if (p.at > 0)
        visit(flow_place{flow::backward, p.at - 1});
      else if (spread)
        visit(flow_place{flow::embedding_gradients, stages - 1});
      return;
    case flow::embedding:
      return visit(p.at + 1 < stages ? flow_place{flow::embedding, p.at + 1} : flow_place{flow::forward, 0});
    case flow::output:
      if (p.at + 1 < stages)
        visit(flow_place{flow::output, stages - 1});
      else
        for (std::uint32_t r = 0; r + 1 < stages; ++r) visit(flow_place{flow::output_weights, r});
      return;
    case flow::output_weights:
      return;
    case flow::embedding_gradients:
      if (p.at > 0) visit(flow_place{flow::embedding_gradients, p.at - 1});
  }
}

/// The same of each place whose message it waits for. What it waits for on its own stage is not among them: V and U on
/// the last stage, B on the last part.
template <class Visit>
constexpr void each_before(flow_place p, const shape& on, Visit&& visit) {
  const bool spread = on.vocabulary == vocabulary::spread;
  const auto stages = static_cast<std::uint32_t>(on.stages), parts = static_cast<std::uint32_t>(on.parts());
  switch (p.flow) {
    case flow::forward:
      if (p.at > 0)
        visit(flow_place{flow::forward, p.at - 1});
      else if (spread)
        visit(flow_place{flow::embedding, stages - 1});
      return;
    case flow::backward:
      if (p.at + 1 < parts) visit(flow_place{flow::backward, p.at + 1});
      return;
    case flow::embedding:
      if (p.at > 0) visit(flow_place{flow::embedding, p.at - 1});
      return;
    case flow::output:
      if (p.at + 1 < stages)
        visit(flow_place{flow::forward, parts - 1});
      else
        for (std::uint32_t r = 0; r + 1 < stages; ++r) visit(flow_place{flow::output, r});
      return;
    case flow::output_weights:
      if (p.at + 1 < stages) visit(flow_place{flow::output, stages - 1});
      return;
    case flow::embedding_gradients:
      visit(p.at + 1 < stages ? flow_place{flow::embedding_gradients, p.at + 1} : flow_place{flow::backward, 0});
  }
}

/// Whether there is such a message of a stage: none goes from the last stage to itself, and G ends on stage 0.
[[nodiscard]] constexpr bool sends(message_kind rows, int stage, const shape& on) noexcept {
  if (rows == message_kind::embedded) return true;
  return stage != (rows == message_kind::gradients ? 0 : on.stages - 1);
}

/// What a pack waits for on its own stage, beside what its messages bring: its program must run that before. Of B it is
/// what its turn waits for (workload::turn).
[[nodiscard]] constexpr std::optional<flow_place> waits_on_stage(flow_place p, const shape& on) noexcept {
  const bool spread = on.vocabulary == vocabulary::spread;
  const auto last = static_cast<std::uint32_t>(on.stages) - 1, part = static_cast<std::uint32_t>(on.parts()) - 1;
  if (p.flow == flow::backward && p.at == part)
    return spread ? flow_place{flow::output, last} : flow_place{flow::forward, part};
  if (p.flow == flow::output && p.at == last) return flow_place{flow::forward, part};
  if (p.flow == flow::output_weights) return flow_place{flow::output, p.at};
  return std::nullopt;
}

/// When a message arrives after its sender's end.
[[nodiscard]] inline seconds message_of(const timings& t, flow_place from, flow_place to, pack_id pack,
                                        const shape& on) noexcept {
  const auto of_stage = [&](std::uint32_t r) {
    return std::size_t{pack.value} * static_cast<std::size_t>(on.stages) + r;
  };
  if (is_of_layers(from.flow) && to.flow != flow::output)
    return t.messages[pass_of(from.flow)][std::size_t{pack.value} * static_cast<std::size_t>(on.parts()) + from.at];
  if (to.flow == flow::output)
    return from.flow == flow::forward ? t.messages[message_kind::hidden][of_stage(to.at)]
                                      : t.messages[message_kind::partial][of_stage(from.at)];
  if (to.flow == flow::output_weights) return t.messages[message_kind::statistics][of_stage(to.at)];
  return t.messages[from.flow == flow::embedding ? message_kind::embedded : message_kind::gradients][of_stage(from.at)];
}

}  // namespace slimpack::detail

#endif
