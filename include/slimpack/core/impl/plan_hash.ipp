#ifndef SLIMPACK_CORE_IMPL_PLAN_HASH_IPP
#define SLIMPACK_CORE_IMPL_PLAN_HASH_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace slimpack {

namespace detail {

/// Adds the parts of a plan to a hash.
struct plan_hasher {
  word_hash& h;

  template <class Range>
  void add_all(const Range& range) const {
    h.add(std::uint64_t{range.size()});
    for (const auto& x : range) h.add(x);
  }

  /// What a batch has beside its lengths. Weights of targets change no plan.
  void add_forest(const plan& p) const {
    if (!p.parents.empty()) h.add(std::string_view{"parents"});
    for (const sequence_id parent : p.parents) h.add(parent.value);
    if (!p.copies.empty()) h.add(std::string_view{"copies"}), h.add(std::uint64_t{p.copies.size()});
    for (const path_copy& c : p.copies) h.add(c.sequence.value), h.add(c.of.value), h.add(c.until);
    if (!p.samples.empty()) h.add(std::string_view{"samples"}), h.add(std::uint64_t{p.samples.size()});
    for (const sample_end& s : p.samples) h.add(s.sequence.value), h.add(s.at), h.add(s.count);
    if (!p.targets.empty()) h.add(std::string_view{"targets"}), h.add(std::uint64_t{p.targets.size()});
    for (const target_run& t : p.targets) h.add(t.sequence.value), h.add(t.begin), h.add(t.length), h.add(t.count);
  }

  void add(const shape& on) const {
    for (const int degree : {on.stages, on.replicas, on.tensor, on.context, on.chunks}) h.add(degree);
    h.add(on.quantum);
    if (on.expert > 1) h.add(std::string_view{"expert"}), h.add(on.expert);
    if (on.vocabulary != vocabulary::last) h.add(name_of(on.vocabulary));
    if (!on.words.empty()) h.add(std::string_view{"words"}), add_all(on.words);
  }

  void add(const micropacks& packs) const {
    h.add(std::uint64_t{packs.size()});
    for (std::size_t i = 0; i < packs.size(); ++i) {
      h.add(std::uint64_t{packs[i].size()});
      for (const slice& s : packs[i]) h.add(s.sequence.value), h.add(s.begin), h.add(s.length);
    }
  }

  void add(const loan& l) const {
    for (const loan::side& side : {l.lender, l.helper})
      h.add(facts_of(side.what.kind).hash), h.add(side.stage), h.add(side.what.pack.value), h.add(side.what.chunk);
    h.add(l.queries.sequence.value), h.add(l.queries.begin), h.add(l.queries.length), h.add(l.context.begin),
        h.add(l.context.length);
  }

  void add(const replica_plan& r) const {
    h.add(std::uint64_t{r.sequences.size()});
    for (const sequence_id s : r.sequences) h.add(s.value);
    for (const time_column c : time_columns) {
      if (c == instruction_kind::weights ? r.times.apart.count() == 0
                                         : c.each() == places::stages && !r.times.has(c.each()))
        continue;
      if (c == instruction_kind::forward || c == instruction_kind::backward) add(r.partition.of(c.pass()));
      if (c == instruction_kind::weights)
        for (const std::uint8_t apart : r.times.apart.flags) h.add(std::uint32_t{apart});
      add_all(r.times[c]);
    }
    if (!r.loans.empty()) h.add(std::string_view{"loans"}), h.add(std::uint64_t{r.loans.size()});
    for (const loan& l : r.loans) add(l);
    for (const program& stage : r.programs) {
      h.add(std::uint64_t{stage.size()});
      for (const instruction& i : stage) h.add(facts_of(i.kind).hash), h.add(i.pack.value), h.add(i.chunk);
    }
    add_all(r.peak_memory);
    h.add(r.makespan), h.add(r.lower_bound);
  }

  void add(const merge& m) const {
    h.add(m.sequence.value);
    if (m.exchange != exchange::keep) h.add(name_of(m.exchange));
    add_all(m.replicas);
    if (!m.relays.empty()) h.add(std::string_view{"relays"}), h.add(std::uint64_t{m.relays.size()});
    for (const relay& r : m.relays) add_all(r.out), add_all(r.in), h.add(r.segments);
    for (const pass direction : {pass::forward, pass::backward}) {
      h.add(std::uint64_t{m.of(direction).size()});
      for (const std::vector<pack_id>& row : m.of(direction))
        for (const pack_id pack : row) h.add(pack.value);
    }
  }

  void add(const gradient_reduction& reduction) const {
    h.add(std::string_view{"reduction"}), h.add(reduction.after);
    for (const std::vector<gradient_bucket>& part : reduction.parts) {
      h.add(std::uint64_t{part.size()});
      for (const gradient_bucket& b : part) h.add(b.at), h.add(b.scatter), h.add(b.gather);
    }
  }
};

}  // namespace detail

SLIMPACK_DECL std::uint64_t hash_of(const plan& p) noexcept {
  detail::word_hash h;
  const detail::plan_hasher parts{h};
  for (const std::string_view text :
       {std::string_view{p.planner}, std::string_view{p.cost}, std::string_view{p.model}, std::string_view{p.gpu}})
    h.add(text);
  parts.add_all(p.lengths);
  parts.add_forest(p);
  parts.add(p.shape);
  if (!p.layers.empty()) h.add(std::string_view{"layers"}), parts.add_all(p.layers);
  for (const replica_plan& r : p.replicas) parts.add(r);
  for (const merge& m : p.merges) parts.add(m);
  if (p.reduction) parts.add(*p.reduction);
  h.add(p.reduce_time), h.add(p.step_time);
  for (const bound& b : p.bounds) h.add(std::string_view{b.name}), h.add(b.time);
  h.add(p.lower_bound), h.add(p.efficiency), h.add(p.bubble);
  h.add(p.memory_unit == memory_unit::token ? 0 : 1);
  h.add(p.shape.memory ? p.shape.memory->amount : -1.0);
  return h.value();
}

}  // namespace slimpack

#endif
