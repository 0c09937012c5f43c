#ifndef SLIMPACK_IO_DETAIL_PLAN_PLAN_WRITER_HPP
#define SLIMPACK_IO_DETAIL_PLAN_PLAN_WRITER_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/io/detail/json_out.hpp>
#include <slimpack/io/detail/plan/columns.hpp>
#include <slimpack/io/detail/plan/forest_json.hpp>
#include <slimpack/io/detail/plan/merge_out.hpp>
#include <slimpack/io/detail/plan/origin_json.hpp>
#include <slimpack/views.hpp>

#include <range/v3/view/iota.hpp>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <span>
#include <string_view>
#include <utility>

namespace slimpack::io::detail {

inline constexpr std::string_view plan_format = "slimpack-plan/1";
inline constexpr std::string_view plan_format_2 = "slimpack-plan/2";  // of plans that plan_format has no words for
inline constexpr std::string_view transfers_by_start = "start";       // simulators/transfer_order.hpp

/// Writes a plan bit by bit: a plan of 100,000 packs is never a document in memory.
class plan_writer {
 public:
  plan_writer(std::ostream& out, const plan& p, bool explained)
      : json_(out),
        plan_(p),
        is_second_(!p.merges.empty() || !p.layers.empty() || p.reduction || p.shape.expert > 1 || spreads() ||
                   (explained && p.rank_time) || p.mfu || p.any_layout_bound || p.origin || p.data || has_forest(p) ||
                   std::any_of(p.replicas.begin(), p.replicas.end(),
                               [](const replica_plan& r) { return !r.loans.empty(); })) {}

  void write() {
    json_.open('{').field("format", is_second_ ? plan_format_2 : plan_format).field("hash", hash_text(plan_.hash));
    json_.field("truncated", plan_.truncated).field("planner", plan_.planner).field("cost", plan_.cost);
    json_.field("model", plan_.model).field("gpu", plan_.gpu);
    if (plan_.origin) {
      json_.line();
      write_origin(json_, *plan_.origin);
    }
    if (plan_.data) {
      json_.line();
      write_data(json_, *plan_.data);
    }
    json_.line();
    list("lengths", plan_.lengths, [](tokens length) { return length.value; });
    json_.line();
    write_forest(json_, plan_);
    const shape& s = plan_.shape;
    json_.field("stages", s.stages).field("dp", s.replicas).field("tp", s.tensor).field("cp", s.context);
    json_.field("vpp", s.chunks).field("quantum", s.quantum.value);
    if (s.expert > 1) json_.field("ep", s.expert);
    if (spreads()) json_.field("vocabulary", name_of(s.vocabulary));
    if (!s.words.empty()) list("words", s.words, [](std::int64_t count) { return count; });
    json_.line();
    if (!plan_.layers.empty()) {
      list("layers", plan_.layers, [](int count) { return count; });
      json_.line();
    }
    json_.key("replicas").open('[');
    for (std::size_t r = 0; r < plan_.replicas.size(); ++r) replica(r);
    json_.close(']');
    if (is_second_) json_.field("transfers", transfers_by_start);
    json_.key("merges").open('[');
    for (const merge& m : plan_.merges) {
      json_.line();
      write_merge(json_, m);
    }
    json_.close(']');
    json_.line();
    if (plan_.reduction) reduction(*plan_.reduction);
    json_.field("reduce_time", plan_.reduce_time.value).field("step_time", plan_.step_time.value);
    json_.key("bounds").open('{');
    for (const bound& b : plan_.bounds) json_.field(b.name, b.time.value);
    json_.close('}').field("lower_bound", plan_.lower_bound.value);
    json_.field("efficiency", plan_.efficiency).field("bubble", plan_.bubble);
    if (plan_.mfu) json_.field("mfu", *plan_.mfu);
    if (plan_.any_layout_bound) json_.field("any_layout_bound", plan_.any_layout_bound->value);
    if (is_second_ && plan_.rank_time) {
      json_.key("rank_time").open('{');
      for (const auto& [name, part] : rank_time_parts_of(plan_)) json_.field(name, ((*plan_.rank_time).*part).value);
      json_.close('}');
    }
    json_.field("memory_unit", plan_.memory_unit == memory_unit::byte ? "bytes" : "tokens").key("memory_limit");
    s.memory ? json_.value(s.memory->amount) : json_.null();
    json_.field("planning_seconds", plan_.planning_time.value).close('}').line();
  }

 private:
  [[nodiscard]] bool spreads() const noexcept { return plan_.shape.vocabulary == vocabulary::spread; }

  template <class Range, class Value>
  void list(std::string_view name, const Range& range, Value value) {
    json_.key(name).open('[');
    for (const auto& x : range) json_.value(value(x));
    json_.close(']');
  }

  void replica(std::size_t index) {
    const replica_plan& r = plan_.replicas[index];
    json_.line();
    json_.open('{');
    list("sequences", r.sequences, [](sequence_id s) { return s.value; });
    packs("forward", views::packs(plan_, index, pass::forward));
    packs("backward", views::packs(plan_, index, pass::backward));
    json_.line();
    json_.key("message").open('{');
    messages(r);
    json_.close('}');
    json_.line();
    json_.key("programs").open('[');
    for (const program& stage : r.programs) instructions(stage);
    json_.close(']');
    json_.line();
    if (!r.loans.empty()) loans(r.loans);
    if (is_second_ && !r.times.weight_waits.empty())
      list("weight_waits", r.times.weight_waits, [](seconds wait) { return wait.value; });
    list("peak_memory", r.peak_memory, [](double peak) { return peak; });
    json_.field("makespan", r.makespan.value).field("lower_bound", r.lower_bound.value).close('}');
  }

  void loans(std::span<const loan> all) {
    json_.key("loans").open('[');
    for (const loan& l : all) {
      json_.line();
      json_.open('{');
      for (const auto& [name, side] : {std::pair("lender", &l.lender), std::pair("helper", &l.helper)})
        json_.key(name).open('[').value(side->stage).value(name_of(side->what, plan_.shape.chunks)).close(']');
      for (const auto& [name, part] : {std::pair("queries", &l.queries), std::pair("context", &l.context)})
        json_.key(name)
            .open('[')
            .value(part->sequence.value)
            .value(part->begin.value)
            .value(part->length.value)
            .close(']');
      json_.close('}');
    }
    json_.close(']');
    json_.line();
  }

  /// A bucket is [at, scatter, gather].
  void reduction(const gradient_reduction& r) {
    json_.key("reduction").open('{').field("after", r.after.value).key("buckets").open('[');
    for (const std::vector<gradient_bucket>& part : r.parts) {
      json_.line();
      json_.open('[');
      for (const gradient_bucket& b : part)
        json_.open('[').value(b.at).value(b.scatter.value).value(b.gather.value).close(']');
      json_.close(']');
    }
    json_.close(']').close('}');
    json_.line();
  }

  template <class Packs>
  void packs(std::string_view name, const Packs& packs) {
    json_.line();
    json_.key(name).open('[');
    for (const pack_view& pack : packs) {
      json_.line();
      json_.open('{').key("slices").open('[');
      for (const slice& s : pack.slices)
        json_.open('[').value(s.sequence.value).value(s.begin.value).value(s.length.value).close(']');
      json_.close(']');
      times(pack);
      json_.close('}');
    }
    json_.close(']');
  }

  /// What the calls for a pack take: [stage], or with virtual stages [stage][chunk] of those of parts.
  void times(const pack_view& pack) {
    const timings& all = plan_.replicas[pack.replica].times;
    for (const time_column c : time_columns) {
      if (!c.is_call() || c.pass() != pack.pass || !is_timed(c, plan_.shape)) continue;
      if (c == instruction_kind::weights && !all.apart.splits(pack.pack.value)) continue;
      json_.key(key_of(c));
      const std::span<const seconds> column = all.of(c, pack.pack.value, plan_.shape);
      c.each() == places::parts ? times_of_parts(column) : times_of_stages(column);
    }
  }
  void times_of_parts(std::span<const seconds> parts) {
    json_.open('[');
    for (int stage = 0; stage < plan_.shape.stages; ++stage) {
      if (plan_.shape.chunks > 1) json_.open('[');
      for (int chunk = 0; chunk < plan_.shape.chunks; ++chunk)
        json_.value(parts[static_cast<std::size_t>(chunk * plan_.shape.stages + stage)].value);
      if (plan_.shape.chunks > 1) json_.close(']');
    }
    json_.close(']');
  }
  void times_of_stages(std::span<const seconds> stages) {
    json_.open('[');
    for (const seconds time : stages) json_.value(time.value);
    json_.close(']');
  }

  /// What packs send.
  void messages(const replica_plan& r) {
    const auto write = [&](std::string_view name, time_column c, const auto& sent_of) {
      messages(name, ranges::views::iota(std::size_t{0}, r.partition.of(c.pass()).size()),
               [&](std::size_t pack) { return sent_of(r.times.of(c, pack, plan_.shape)); });
    };
    for (const time_column c : time_columns)
      if (!c.is_call() && is_timed(c, plan_.shape))
        write(c.name(), c, [&](std::span<const seconds> pack) { return sent_in(c, pack); });
    if (spreads())
      write(to_gradients, message_kind::backward, [](std::span<const seconds> pack) { return pack.first(1); });
  }

  /// A number per pack where every boundary has the same, else a list of boundaries.
  /// sent_of(pack): its messages
  template <class Packs, class SentOf>
  void messages(std::string_view name, const Packs& packs, const SentOf& sent_of) {
    json_.key(name).open('[');
    for (const auto& pack : packs) {
      const std::span<const seconds> sent = sent_of(pack);
      const auto differs = [&](seconds time) { return time != sent.front(); };
      if (sent.empty()) {
        json_.value(0);
      } else if (std::none_of(sent.begin(), sent.end(), differs)) {
        json_.value(sent.front().value);
      } else {
        json_.open('[');
        for (const seconds time : sent) json_.value(time.value);
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
  bool is_second_;  // the format
};

}  // namespace slimpack::io::detail

#endif
