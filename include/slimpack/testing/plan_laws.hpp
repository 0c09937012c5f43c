#ifndef SLIMPACK_TESTING_PLAN_LAWS_HPP
#define SLIMPACK_TESTING_PLAN_LAWS_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/lending/detail/loan_fault.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/soundness/is_sound.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/transfer_order.hpp>
#include <slimpack/testing/detail/transfers_in_order.hpp>
#include <slimpack/testing/naive.hpp>
#include <slimpack/testing/replica_laws.hpp>
#include <slimpack/testing/report.hpp>
#include <slimpack/views.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::testing {

namespace detail {

/// The passes that a plan runs.
[[nodiscard]] inline std::span<const pass> passes_of(const plan& p) {
  return std::span(both_passes).first(is_forward_only(p) ? 1 : 2);
}

/// Two ways to the same figure; they may round differently.
[[nodiscard]] inline bool same_figure(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max({1e-300, std::abs(a), std::abs(b)});
}
[[nodiscard]] inline bool no_less(double a, double b) { return a >= b || same_figure(a, b); }

/// Whether each pack of a replica has a time and a message in each place.
[[nodiscard]] inline bool is_priced(const replica_plan& replica, const shape& on) {
  const timings& t = replica.times;
  return std::all_of(std::begin(time_columns), std::end(time_columns),
                     [&](time_column c) {
                       return !is_timed(c, on) || (c == instruction_kind::weights && t.apart.count() == 0) ||
                              t[c].size() == replica.partition.of(c.pass()).size() * count_of(c.each(), on);
                     }) &&
         (t.apart.count() == 0 || t.apart.flags.size() == replica.partition.backward.size());
}

/// What a pack's message takes from one place to another.
[[nodiscard]] inline seconds way_time(const timings& t, naive::spot from, naive::spot to, std::uint32_t pack,
                                      const shape& on) {
  const auto on_stage = [&](message_kind k, std::size_t stage) {
    return t.messages[k][pack * static_cast<std::size_t>(on.stages) + stage];
  };
  if (to.kind == 'V')
    return from.kind == 'F' ? on_stage(message_kind::hidden, to.place) : on_stage(message_kind::partial, from.place);
  if (to.kind == 'U') return on_stage(message_kind::statistics, to.place);
  if (from.kind == 'E') return on_stage(message_kind::embedded, from.place);
  if (from.kind == 'G') return on_stage(message_kind::gradients, from.place);
  return t.messages[from.kind == 'F' ? pass::forward : pass::backward]
                   [pack * static_cast<std::size_t>(on.parts()) + from.place];
}

/// Law 4, memory as written, and law 5, times as a replay finds them.
/// kept(piece, stage): what pieces keep beside their tokens; only a plan without such pieces is recounted without it.
template <class Kept>
void check_replica(report& r, const plan& p, const replica_plan& replica, const replica_view& view,
                   const naive::outcome& found, const Kept& kept) {
  const auto stages = static_cast<std::size_t>(p.shape.stages);
  const bool measured = replica.rates.size() == stages && replica.peak_memory.size() == stages;
  r.check(4, measured, "each stage has memory rates and a peak", replica.rates.size(), replica.peak_memory.size(),
          "for", stages);
  const bool keeps_others =
      std::any_of(replica.rates.begin(), replica.rates.end(), [](const memory_rates& m) { return m.other_token > 0; });
  const bool knows_pieces = !std::is_same_v<Kept, naive::nothing_kept> || replica.times.kept.forward.empty() ||
                            (keeps_others && !view.others.empty());
  if (measured && knows_pieces) {
    check_memory(r, p.shape, view, replica.rates, kept);
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const double peak = naive::peak_memory(replica.partition, replica.programs[stage], replica.rates[stage], p.shape,
                                             static_cast<int>(stage), kept, replica.times.apart.flags, view.others,
                                             replica.loans, p.parents);
      r.check(4, same_figure(peak, replica.peak_memory[stage]), "peak memory is what the program holds", "stage", stage,
              "holds", peak, "written", replica.peak_memory[stage]);
    }
  }
  r.check(5, found.makespan == replica.makespan, "the makespan is that of a replay, exactly", "replay", found.makespan,
          "written", replica.makespan);
  r.check(5, no_less(p.step_time.value, (replica.makespan + p.reduce_time).value),
          "the step is no shorter than a replica's critical path", "step", p.step_time, "replica", replica.makespan);
  r.check(6, no_less(replica.makespan.value, replica.lower_bound.value), "a replica is no faster than its lower bound",
          "makespan", replica.makespan, "bound", replica.lower_bound);
  for (std::size_t stage = 0; stage < stages; ++stage)
    r.check(5, no_less(p.step_time.value, found.busy[stage].value), "the step is no shorter than the busiest stage",
            "step", p.step_time, "stage", stage, "is busy", found.busy[stage]);
}

/// What a replay of all replicas finds, with the times of the plan.
/// Requires  replicas that is_priced, and programs that end
[[nodiscard]] inline std::vector<naive::outcome> replayed(const plan& p) {
  std::vector<naive::running> running;
  for (const replica_plan& one : p.replicas) running.push_back({&one.partition, one.programs, one.loans, p.parents});
  return naive::joint_run(
      std::span<const naive::running>(running), p.merges, p.shape,
      [&](std::size_t replica, const instruction& i, std::size_t place) {
        return p.replicas[replica].times.of(i.kind, i.pack.value, p.shape)[place];
      },
      [&](std::size_t replica, naive::spot from, naive::spot to, std::uint32_t pack) {
        return way_time(p.replicas[replica].times, from, to, pack, p.shape);
      })();
}

/// What readers and executors ask of a plan, beside what laws find out on their own.
inline void check_runs(report& r, const plan& p) {
  const result<void> sound = is_sound(p);
  r.check(3, sound.has_value(), "readers and executors take it", sound ? "" : sound.error().detail);
}

/// That stages lend as they may.
inline void check_loans(report& r, const replica_plan& replica, const slice_order& order, const shape& on) {
  if (replica.loans.empty()) return;
  const std::optional<std::string> fault = slimpack::detail::loan_fault(replica.loans, replica.partition, order, on);
  r.check(9, !fault, "stages can lend each other this attention", fault.value_or(""));
}

/// That there is an order of all transfers in which none stands before what it waits for.
inline void check_transfers(report& r, const plan& p) {
  for (const std::vector<std::uint32_t>& group : simulators::joint_groups(p.merges, p.replicas.size())) {
    const result<std::vector<simulators::transfer>> order = simulators::transfer_order(p, group.front());
    r.check(8, order.has_value(), "transfers have an order", order ? "" : order.error().detail);
    if (!order) continue;
    const std::optional<std::string> wrong = out_of_order(p, group, order.value());
    r.check(8, !wrong, "no transfer stands before what it waits for", wrong.value_or(""));
  }
}

/// Stages times step time: what the bubble is a share of.
[[nodiscard]] inline seconds stage_seconds(const plan& p) {
  return p.step_time * static_cast<double>(p.shape.stages * p.shape.replicas);
}

inline void check_rank_time(report& r, const plan& p) {
  const double all = stage_seconds(p).value;
  r.check(6, std::abs(p.rank_time->total().value - all) <= 1e-9 * all, "the parts of the rank time add up", "parts",
          p.rank_time->total(), "stages", all);
  for (const auto& [name, part] : rank_time_parts_of(p))
    r.check(6, ((*p.rank_time).*part).value >= -1e-9 * all, "no part of the rank time is negative", name,
            (*p.rank_time).*part);
  const seconds work = p.rank_time->useful + p.rank_time->collectives;
  r.check(6, std::abs((1 - p.bubble) * all - work.value) <= 1e-9 * all,
          "useful work and collectives are what the bubble leaves", "bubble", p.bubble, "work", work, "of", all);
}

/// That the reduction goes on after the slowest replica for as long as is written, and that first packs wait for
/// weights.
inline void check_reduction(report& r, const plan& p, std::span<const naive::outcome> found) {
  seconds last{};
  seconds slowest{};
  for (const naive::outcome& one : found) slowest = std::max(slowest, one.makespan);
  for (int stage = 0; stage < p.shape.stages; ++stage) {
    std::vector<int> parts;  // in the order of gathers
    if (p.shape.vocabulary == vocabulary::spread) parts.push_back(p.shape.parts() + stage);
    for (int part = stage; part < p.shape.parts(); part += p.shape.stages) parts.push_back(part);
    seconds gathered{};
    for (const int part : parts) {
      const auto at = static_cast<std::size_t>(part);
      for (const gradient_bucket& b : p.reduction->parts[at]) gathered += b.gather;
      for (std::size_t i = 0; i < found.size(); ++i)
        r.check(5, p.replicas[i].partition.forward.size() == 0 || no_less(found[i].first[at].value, gathered.value),
                "a first pack ends no earlier than its weights are gathered", "replica", i, "part", part, "ends",
                found[i].first[at], "gathered", gathered);
    }
    // Sums come in reverse, but a share of the vocabulary at the end.
    parts.clear();
    for (int part = p.shape.parts() - p.shape.stages + stage; part >= 0; part -= p.shape.stages) parts.push_back(part);
    if (p.shape.vocabulary == vocabulary::spread) parts.push_back(p.shape.parts() + stage);
    seconds stream{};
    for (const int part : parts) {
      const auto at = static_cast<std::size_t>(part);
      const std::vector<gradient_bucket>& buckets = p.reduction->parts[at];
      for (auto b = buckets.rbegin(); b != buckets.rend(); ++b) {
        for (const naive::outcome& one : found)
          stream = std::max(stream, one.gradients[at].end - (one.gradients[at].end - one.gradients[at].begin) * b->at);
        stream += b->scatter;
      }
    }
    last = std::max(last, stream);
  }
  const seconds after = std::max(seconds{}, last - slowest) + p.reduction->after;
  r.check(5, same_figure(p.reduce_time.value, after.value), "the reduction beside the work ends as in a replay",
          "replay", after, "written", p.reduce_time);
}

/// All but the bubble. Returns the seconds in which stages are busy, if all programs can be replayed.
template <class Kept>
std::optional<seconds> check_plan(report& r, const plan& p, const Kept& kept) {
  std::vector<replica_view> replicas;
  for (const replica_plan& one : p.replicas)
    replicas.push_back({one.sequences, one.partition, one.programs, one.times.apart.flags, p.parents});
  std::optional<seconds> busy;
  if (check_slices(r, batch_of(p), p.shape, replicas, p.merges, passes_of(p))) {
    const auto packs_of = [&](std::uint32_t one) -> const partition& { return p.replicas[one].partition; };
    for (std::uint32_t i = 0; i < replicas.size(); ++i) replicas[i].others = naive::others_of(p.merges, packs_of, i);
    bool priced = true;
    for (const replica_plan& one : p.replicas) {
      r.check(5, is_priced(one, p.shape), "each pack has a time and a message on each part",
              one.partition.forward.size(), "forward and", one.partition.backward.size(), "backward packs");
      priced = priced && is_priced(one, p.shape);
    }
    seconds slowest{};
    for (const replica_plan& one : p.replicas) slowest = std::max(slowest, one.makespan);
    r.check(5, same_figure(p.step_time.value, (slowest + p.reduce_time).value),
            "the step is the slowest replica and the reduction", "step", p.step_time, "slowest", slowest, "reduction",
            p.reduce_time);
    if (check_programs(r, p.shape, replicas, p.merges) && priced) {
      busy = seconds{};
      const std::vector<naive::outcome> found = replayed(p);
      for (std::size_t i = 0; i < replicas.size(); ++i) {
        check_replica(r, p, p.replicas[i], replicas[i], found[i], kept);
        for (const seconds stage : found[i].busy) *busy += stage;
      }
      if (p.reduction && p.reduction->parts.size() == static_cast<std::size_t>(p.shape.reduced_parts()))
        check_reduction(r, p, found);
      for (const replica_plan& one : p.replicas) check_loans(r, one, slice_order(batch_of(p)), p.shape);
      check_runs(r, p);
      check_transfers(r, p);
    }
  }
  seconds largest{};
  for (const bound& b : p.bounds) largest = std::max(largest, b.time);
  r.check(6, p.lower_bound == largest, "the lower bound is the largest of the bounds", "written", p.lower_bound,
          "largest", largest);
  r.check(6, no_less(p.step_time.value, p.lower_bound.value), "no plan is faster than the lower bound", "step",
          p.step_time, "bound", p.lower_bound);
  if (p.step_time > seconds{})
    r.check(6, same_figure(p.efficiency, p.lower_bound / p.step_time), "efficiency is lower bound over step time",
            p.efficiency, "of", p.lower_bound / p.step_time);
  if (p.rank_time) check_rank_time(r, p);
  r.check(7, p.hash == hash_of(p), "the hash is that of the plan", "written", p.hash, "computed", hash_of(p));
  return busy;
}

template <class Kept>
report all_but_useful_work(const plan& p, const Kept& kept) {
  report r("plan laws", 0);
  const std::optional<seconds> busy = check_plan(r, p, kept);
  if (busy && p.step_time > seconds{})  // useful work is at most what the stages are busy for
    r.check(6, no_less(busy->value, (1 - p.bubble) * stage_seconds(p).value) && p.bubble <= 1,
            "the bubble is at least the idle share, and at most all", "bubble", p.bubble, "busy", *busy, "of",
            stage_seconds(p));
  return r;
}

}  // namespace detail

/// Checks a finished plan with slow code that shares nothing with the simulator (testing/naive.hpp):
///  1. every token of every sequence is once in a forward pack and once in a backward pack of one replica, or of those
///     that share it (core/merge.hpp); of a forward-only plan, once in a forward pack. Where samples share beginnings,
///     a path is on one replica
///  2. cuts fall on the quantum, counted from the first token of each sequence
///  3. slices run in order, sequences forward after their parents and backward before them, and the rows of shared
///     sequences; programs run each pack once and are free of deadlock, and readers and executors take the plan
///     (core/soundness/is_sound.hpp)
///  4. peak memory is as written, and within the limit
///  5. times are those of a replay; the step is no shorter than the critical path and the busiest stage
///  6. step time >= lower bound; lower bound, efficiency, bubble and rank time follow from the other figures
///  7. the hash is that of the plan
///  8. all transfers of replicas that run together have one order, which a transport that moves one at a time can run
///  9. stages lend each other attention in lock steps, of keys that the queries see, the oldest first
///     (core/lending/loans_of.hpp)
/// Peak memory of a plan whose pieces keep bytes beside their tokens is recounted where its cost model is given.
/// Returns   a report, which converts to bool; a test has to assert it: EXPECT_TRUE(found) << found
///           (testing/report.hpp)
/// Errors    none            Complexity  O(instructions * (stages + pieces)), with maps
[[nodiscard]] inline report plan_laws(const plan& p) { return detail::all_but_useful_work(p, naive::nothing_kept{}); }

/// Checks the same laws, and two more by the plan's own cost model: the bubble is held against the work of the batch
/// that the model counts, and memory against its rates of steps or, for a forward-only plan, of evaluations.
template <cost_model Cost>
[[nodiscard]] report plan_laws(const plan& p, const Cost& cost) {
  const bool counted = p.memory_unit == memory_unit::byte, alone = is_forward_only(p);
  report r = detail::all_but_useful_work(p, [&](const slice& piece, int stage, tokens first) {
    return !counted ? bytes{} : alone ? evaluation_kept_of(cost, piece, stage, first) : kept_of(cost, piece, stage);
  });
  const result<std::vector<memory_rates>> rates =
      is_forward_only(p) ? evaluation_rates_of(cost, p.shape) : rates_of(cost, p.shape);
  r.check(4, rates.has_value(), "the cost model knows the unit of the memory limit", rates ? "" : rates.error().detail);
  for (std::size_t i = 0; rates && i < p.replicas.size(); ++i)
    r.check(4, p.replicas[i].rates == rates.value(),
            "memory rates are those of the cost model, for a step or an evaluation", "replica", i);
  seconds work{};  // useful, and collectives
  const std::vector<slice> own = tokens_at_home(p);
  for (const slice& whole : own)
    for (int part = 0; part < p.shape.parts(); ++part)
      for (const pass d : detail::passes_of(p)) work += useful_time(cost, whole, d, part);
  if (p.shape.vocabulary == vocabulary::spread)
    for (const slice& whole : own)
      for (int stage = 0; stage < p.shape.stages; ++stage)
        for (const instruction_kind call : {instruction_kind::embed, instruction_kind::output,
                                            instruction_kind::output_weights, instruction_kind::embed_gradients})
          work += vocabulary_time(cost, whole.length, call, stage) - vocabulary_time(cost, {}, call, stage);
  if (p.step_time > seconds{})
    r.check(6, std::abs(p.bubble - (1 - work / detail::stage_seconds(p))) <= 1e-9,
            "the bubble is what work of the batch leaves", "bubble", p.bubble, "work", work, "of",
            detail::stage_seconds(p));
  return r;
}

}  // namespace slimpack::testing

#endif
