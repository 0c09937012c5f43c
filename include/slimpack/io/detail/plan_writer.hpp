#ifndef SLIMPACK_IO_DETAIL_PLAN_WRITER_HPP
#define SLIMPACK_IO_DETAIL_PLAN_WRITER_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/io/detail/json_out.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string_view>
#include <vector>

namespace slimpack::io::detail {

inline constexpr std::string_view plan_format = "slimpack-plan/1";

/// The messages of one pack, boundary by boundary: b lies between parts b and b + 1, and a forward message is kept with
/// the part below it, a backward message with the part above.
/// Shapes    pack: one value per part, one more than there are boundaries
template <class Seconds>
[[nodiscard]] std::span<Seconds> boundaries(std::span<Seconds> pack, pass p) noexcept {
  return pack.subspan(p == pass::forward ? 0 : 1, pack.size() - 1);
}

/// Writes a plan piece by piece: a plan of 100,000 packs is never a document in memory.
class plan_writer {
 public:
  plan_writer(std::ostream& out, const plan& p) : json_(out), plan_(p) {}

  void write() {
    json_.open('{').field("format", plan_format).field("hash", hash_text(plan_.hash));
    json_.field("truncated", plan_.truncated).field("planner", plan_.planner).field("cost", plan_.cost);
    json_.field("model", plan_.model).field("gpu", plan_.gpu);
    json_.line();
    list("lengths", plan_.lengths, [](tokens length) { return length.value; });
    json_.line();
    const shape& s = plan_.shape;
    json_.field("stages", s.stages).field("dp", s.replicas).field("tp", s.tensor).field("cp", s.context);
    json_.field("vpp", s.chunks).field("quantum", s.quantum.value);
    json_.line();
    json_.key("replicas").open('[');
    for (const replica_plan& r : plan_.replicas) replica(r);
    json_.close(']').key("merges").open('[');
    for (const merge& m : plan_.merges) shared(m);
    json_.close(']');
    json_.line();
    json_.field("reduce_time", plan_.reduce_time.value).field("step_time", plan_.step_time.value);
    json_.key("bounds").open('{');
    for (const bound& b : plan_.bounds) json_.field(b.name, b.time.value);
    json_.close('}').field("lower_bound", plan_.lower_bound.value);
    json_.field("efficiency", plan_.efficiency).field("bubble", plan_.bubble);
    json_.field("memory_unit", plan_.memory_unit == memory_unit::byte ? "bytes" : "tokens").key("memory_limit");
    s.memory ? json_.value(s.memory->amount) : json_.null();
    json_.field("planning_seconds", plan_.planning_time.value).close('}').line();
  }

 private:
  template <class Range, class Value>
  void list(std::string_view name, const Range& range, Value value) {
    json_.key(name).open('[');
    for (const auto& x : range) json_.value(value(x));
    json_.close(']');
  }

  void replica(const replica_plan& r) {
    json_.line();
    json_.open('{');
    list("sequences", r.sequences, [](sequence_id s) { return s.value; });
    packs("forward", r.partition.forward, r.forward, {});
    packs("backward", r.partition.backward, r.backward, r.weight);
    json_.line();
    json_.key("message").open('{');
    messages("forward", r.forward, pass::forward);
    messages("backward", r.backward, pass::backward);
    json_.close('}');
    json_.line();
    json_.key("programs").open('[');
    for (const program& stage : r.programs) instructions(stage);
    json_.close(']');
    json_.line();
    list("peak_memory", r.peak_memory, [](double peak) { return peak; });
    json_.field("makespan", r.makespan.value).field("lower_bound", r.lower_bound.value).close('}');
  }

  void shared(const merge& m) {
    json_.line();
    json_.open('{').field("sequence", m.sequence.value);
    list("replicas", m.replicas, [](std::uint32_t replica) { return replica; });
    for (const pass p : {pass::forward, pass::backward}) {
      json_.key(p == pass::forward ? "forward" : "backward").open('[');
      for (const std::vector<pack_id>& row : m.of(p)) {
        json_.open('[');
        for (const pack_id pack : row) json_.value(pack.value);
        json_.close(']');
      }
      json_.close(']');
    }
    json_.close('}');
  }

  void packs(std::string_view name, const micropacks& packs, const pass_timing& timing, const weight_timing& weight) {
    json_.line();
    json_.key(name).open('[');
    const auto parts = static_cast<std::size_t>(plan_.shape.parts());
    for (std::size_t i = 0; i < packs.size(); ++i) {
      json_.line();
      json_.open('{').key("slices").open('[');
      for (const slice& s : packs[i])
        json_.open('[').value(s.sequence.value).value(s.begin.value).value(s.length.value).close(']');
      json_.close(']').key("time");
      times(std::span(timing.time).subspan(i * parts, parts));
      if (weight.splits(i)) {
        json_.key("weight_time");
        times(std::span(weight.time).subspan(i * parts, parts));
      }
      json_.close('}');
    }
    json_.close(']');
  }

  /// [stage], or [stage][chunk] with virtual stages.
  void times(std::span<const seconds> parts) {
    json_.open('[');
    for (int stage = 0; stage < plan_.shape.stages; ++stage) {
      if (plan_.shape.chunks > 1) json_.open('[');
      for (int chunk = 0; chunk < plan_.shape.chunks; ++chunk)
        json_.value(parts[static_cast<std::size_t>(chunk * plan_.shape.stages + stage)].value);
      if (plan_.shape.chunks > 1) json_.close(']');
    }
    json_.close(']');
  }

  /// A number per pack where every boundary has the same, else a list of boundaries.
  void messages(std::string_view name, const pass_timing& timing, pass p) {
    json_.key(name).open('[');
    const auto parts = static_cast<std::size_t>(plan_.shape.parts());
    for (std::size_t i = 0; i < timing.size(); ++i) {
      const auto pack = boundaries(std::span(timing.message).subspan(i * parts, parts), p);
      const auto differs = [&](seconds time) { return time != pack.front(); };
      if (pack.empty()) {
        json_.value(0);
      } else if (std::none_of(pack.begin(), pack.end(), differs)) {
        json_.value(pack.front().value);
      } else {
        json_.open('[');
        for (const seconds time : pack) json_.value(time.value);
        json_.close(']');
      }
    }
    json_.close(']');
  }

  void instructions(const program& stage) {
    json_.line();
    json_.open('[');
    for (const instruction& i : stage) json_.value(name_of(i, plan_.shape.chunks));
    json_.close(']');
  }

  json_out json_;
  const plan& plan_;
};

}  // namespace slimpack::io::detail

#endif
