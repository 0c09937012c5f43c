#ifndef SLIMPACK_SOLVERS_ASSEMBLY_IMPL_LAWS_CHECK_IPP
#define SLIMPACK_SOLVERS_ASSEMBLY_IMPL_LAWS_CHECK_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/bounds/forward_bounds.hpp>
#include <slimpack/solvers/assembly/detail/plan_assembly.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack::detail {

/// Asks a cost model for the slices and packs of a plan, and keeps the first answer that breaks a law.
class law_search {
 public:
  law_search(const plan& p, const checked_answers& cost) : plan_(p), all_(batch_of(p).sequences()), cost_(cost) {}

  [[nodiscard]] std::string found() {
    using look_of = void (law_search::*)(pass, int);
    for (const look_of ask :
         {static_cast<look_of>(&law_search::look), &law_search::look_at_quanta, &law_search::look_at_messages})
      for (const pass p : std::span(both_passes).first(is_forward_only(plan_) ? 1 : 2))
        for (int part = 0; part < plan_.shape.parts() && told_.empty(); ++part) (this->*ask)(p, part);
    for (const time_column c : time_columns)
      if (c.each() == places::stages && (c.is_call() ? has(plan_.shape, c.call()) : has(plan_.shape, c.message())))
        for (int stage = 0; stage < plan_.shape.stages && told_.empty(); ++stage) look_at_ends(c, stage);
    return told_;
  }

 private:
  // Sums of the same numbers in another order differ by less; testing/cost_model_laws.hpp has the same limit.
  static constexpr double rounding = 1e-9;

  /// The finest cuts, which bounds count with and plans seldom have.
  void look_at_quanta(pass p, int part) {
    for (const sequence& s : all_) {
      if (!told_.empty()) return;
      seconds cut{};
      for (tokens at = s.begin; at < s.end(); at += plan_.shape.quantum)
        cut += least_time(cost_, {s.id, at, std::min(plan_.shape.quantum, s.end() - at)}, p, part);
      compare(4, "the times of a sequence's slices add up to its own (hook least)", cut,
              "cut into single quanta, sequence " + std::to_string(s.id.value), least_time(cost_, s.whole(), p, part),
              said(s.whole()), p, part);
    }
  }

  /// Compares messages of the ends of paths, which fill a pipeline and leave it, with those of packs.
  void look_at_messages(pass p, int part) {
    if (p == pass::forward ? part + 1 == plan_.shape.parts() : part == 0) return;
    const auto time = [&](tokens size) { return message_time(cost_, size, p, part); };
    each_pack(p, [&](std::span<const slice> pack, tokens size) {
      for (const slice& s : pack) {
        const tokens first = std::min(plan_.shape.quantum, s.length);
        const tokens last = simulators::last_slice(all_[s.sequence.value], plan_.shape.quantum).length;
        for (const tokens least : {tokens{1}, first, std::min(last, s.length)})
          compare(3, "a message does not get faster as it grows", time(least), said(least), time(size), said(size),
                  "the message " + at(p, part));
      }
    });
  }

  /// What stages run before the first part and behind the last, and its messages, against what bounds and useful work
  /// count.
  void look_at_ends(time_column c, int stage) {
    const auto time = [&](tokens size) { return time_on_stage(cost_, size, c, stage, plan_.shape); };
    const std::string where =
        (c.is_call() ? "" : "the message ") + std::string(c.name()) + " on stage " + std::to_string(stage);
    seconds packs{};
    tokens all{};
    each_pack(c.pass(), [&](std::span<const slice>, tokens size) {
      compare(3, c.is_call() ? "time does not fall as a pack grows" : "a message does not get faster as it grows",
              time({1}), said(tokens{1}), time(size), said(size), where);
      packs += time(size), all += size;
    });
    if (!c.is_call()) return;
    compare(4, "a pack of more tokens takes no longer than several that have these together", time(all),
            "a pack of all tokens", packs, "the plan's packs together", where);
    seconds useful{};
    for (const slice& whole : tokens_at_home(plan_)) useful += time(whole.length) - time({});
    compare(4, "besides what a pack costs, tokens take no longer in several packs than in one", useful,
            "besides that, a pack of each sequence", packs, "the plan's packs together", where);
  }

  /// Calls visit(pack, its tokens).
  template <class Visit>
  void each_pack(pass p, const Visit& visit) const {
    for (const replica_plan& r : plan_.replicas)
      for (std::size_t i = 0; i < r.partition.of(p).size(); ++i)
        visit(r.partition.of(p)[i], size_of(r.partition.of(p)[i]));
  }

  void look(pass p, int part) {
    std::vector<seconds> cut(plan_.lengths.size());  // least times of a sequence's slices, one after the other
    std::vector<bool> runs(plan_.lengths.size());
    for (const replica_plan& r : plan_.replicas)
      for (std::size_t i = 0; i < r.partition.of(p).size(); ++i) {
        const std::span<const slice> pack = r.partition.of(p)[i];
        for (const slice& s : pack) {
          look(s, p, part);
          cut[s.sequence.value] += least_time(cost_, s, p, part);
          runs[s.sequence.value] = true;
        }
        look(pack, p, part);
      }
    for (std::uint32_t i = 0; i < cut.size(); ++i) {
      if (!runs[i]) continue;
      const slice whole = all_[i].whole();
      compare(4, "the times of a sequence's slices add up to its own (hook least)", least_time(cost_, whole, p, part),
              said(whole), cut[i], "its slices together", p, part);
      compare(1, "the useful share of a time is no more than all of it", useful_time(cost_, whole, p, part),
              "of what is useful, " + said(whole), std::max(cut[i], cost_.time(whole, p, part)), "all of it", p, part);
    }
  }

  void look(const slice& s, pass p, int part) {
    const seconds time = cost_.time(s, p, part);
    const slice first{s.sequence, {0}, std::min(plan_.shape.quantum, s.length)};
    for (const slice& smaller : {first, slice{s.sequence, {0}, s.length}, slice{s.sequence, s.begin, first.length}})
      compare(3, "time does not fall when a slice grows, nor below that without a prefix", cost_.time(smaller, p, part),
              said(smaller), time, said(s), p, part);
    compare(1, "what a slice costs at least is no more than its time", least_time(cost_, s, p, part),
            "at least, " + said(s), time, "all of it", p, part);
    if (p == pass::forward) return;
    const seconds weights = weight_time(cost_, s, part);
    compare(1, "weight gradients take no more than all of a backward time", weights, "for weight gradients, " + said(s),
            time, "all of it", p, part);
    compare(3, "backward without weight gradients does not fall as a slice grows",
            cost_.time(first, p, part) - weight_time(cost_, first, part), "without weight gradients, " + said(first),
            time - weights, said(s), p, part);
  }

  void look(std::span<const slice> pack, pass p, int part) {
    const seconds together = pack_time(cost_, pack, p, part);
    seconds largest{};
    seconds least = pack_overhead(cost_, p, part) + call_overhead_of(cost_, p, part) * static_cast<double>(pack.size());
    for (const slice& s : pack) {
      largest = std::max(largest, cost_.time(s, p, part));
      least += least_time(cost_, s, p, part);
    }
    const std::string all = "a pack of " + std::to_string(pack.size()) + " slices, the first " + said(pack.front());
    compare(2, "a pack costs no less than its overhead and its largest member", pack_overhead(cost_, p, part) + largest,
            "overhead and largest member", together, all, p, part);
    compare(2, "a pack costs no less than its overhead, the least times of its slices and their calls", least, "these",
            together, all, p, part);
  }

  /// Notes a law if `less` is more than `more`.
  void compare(int law, const char* says, seconds less, const std::string& of_less, seconds more,
               const std::string& of_more, pass p, int part) {
    compare(law, says, less, of_less, more, of_more, at(p, part));
  }
  void compare(int law, const char* says, seconds less, const std::string& of_less, seconds more,
               const std::string& of_more, const std::string& where) {
    if (!told_.empty() || less.value <= more.value * (1 + rounding)) return;
    told_ = "cost_model law " + std::to_string(law) + " (" + says + "): " + where + ", " + of_less + " takes " +
            told_number(less.value) + " s, " + of_more + " " + told_number(more.value) + " s";
  }

  [[nodiscard]] static std::string at(pass p, int part) {
    return std::string(name_of(p)) + " on part " + std::to_string(part);
  }
  [[nodiscard]] static std::string said(tokens size) { return "of " + std::to_string(size.value) + " tokens"; }
  [[nodiscard]] static std::string said(const slice& s) {
    return "slice [" + std::to_string(s.begin.value) + ", " + std::to_string(s.end().value) + ") of sequence " +
           std::to_string(s.sequence.value);
  }

  const plan& plan_;
  std::vector<sequence> all_;
  const checked_answers& cost_;
  std::string told_;
};

SLIMPACK_DECL result<void> laws_check(const plan& p, const checked_answers& cost) {
  constexpr double rounding = 1e-9;  // of sums in different orders
  const bool too_fast = p.lower_bound > p.step_time * (1 + rounding);
  if (!too_fast && p.bubble >= -rounding) return success();
  const seconds stages = p.step_time * (static_cast<double>(p.shape.replicas) * p.shape.stages);
  const std::string law = law_search(p, cost).found();
  return error{
      errc::invalid_input,
      "the cost model contradicts itself: by it the step takes " +
          told_number(too_fast ? p.step_time.value : stages.value) +
          (too_fast ? " s, but no less than " + told_number(p.lower_bound.value) + " s"
                    : " s of all stages, but its useful work " + told_number(stages.value * (1 - p.bubble)) + " s") +
          ". It breaks " +
          (law.empty() ? std::string("a law of cost models in slices that this plan does not have") : law) +
          ". testing/cost_model_laws.hpp checks them"};
}

}  // namespace slimpack::detail

#endif
