#ifndef SLIMPACK_TESTING_SOLVER_LAWS_HPP
#define SLIMPACK_TESTING_SOLVER_LAWS_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/forest/uncut.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/hooks.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/replica_laws.hpp>
#include <slimpack/testing/report.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::testing {

namespace detail {

[[nodiscard]] inline bool names_numbers(const error& e) {
  return std::any_of(e.detail.begin(), e.detail.end(),
                     [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
}

[[nodiscard]] inline bool equal(const replica_solution& a, const replica_solution& b) {
  return a.sequences == b.sequences && a.partition == b.partition && a.programs == b.programs;
}

[[nodiscard]] inline bool equal(const solution& a, const solution& b) {
  return a.merges == b.merges && a.cut == b.cut &&
         std::equal(a.replicas.begin(), a.replicas.end(), b.replicas.begin(), b.replicas.end(),
                    [](const auto& x, const auto& y) { return equal(x, y); });
}

/// Whether a solver's answer is of a batch, whose paths it may have cut.
[[nodiscard]] inline bool check_cut(report& r, const forest_cut& cut, const batch_view& batch) {
  const std::optional<std::string> fault = batch_view(cut).fault();
  r.check(1, !fault, "what paths are cut into is a forest", fault.value_or(""));
  if (fault) return false;
  const result<uncut_forest> from = uncut(cut, cut.copies);
  r.check(1, from.has_value(), "what is computed again are paths of the batch", from ? "" : from.error().detail);
  if (!from) return false;
  const batch_view made = from.value();
  const bool same =
      std::ranges::equal(made.lengths(), batch.lengths()) &&
      (made.parents().empty() ? !batch.shares_prefixes() : std::ranges::equal(made.parents(), batch.parents()));
  r.check(1, same, "each token is at home once, on its path", made.size(), "sequences of", batch.size());
  return same;
}

/// Solves one batch twice and checks the answer. Returns false when it was refused.
template <class Solver, class Slicer, class Cost, class Schedule>
bool check_batch(report& r, const Solver& solver, const Slicer& slicer, const Cost& cost, const Schedule& schedule,
                 const problem& batch, bool must_fit) {
  const result<solution> found = solver.solve(batch, slicer, cost, schedule);
  const Solver copy = solver;
  const result<solution> again = copy.solve(batch, slicer, cost, schedule);
  const std::size_t n = batch.lengths.size();
  if (!found) {
    const error& e = found.error();
    r.check(4, e.code == errc::out_of_memory && !must_fit,
            must_fit ? "a batch that any order fits is not refused" : "the only refusal is errc::out_of_memory", n,
            "sequences:", e.detail);
    r.check(4, names_numbers(e), "a refusal names the shortfall in numbers", e.detail);
    r.check(5, !again && again.error().code == e.code && again.error().detail == e.detail,
            "equal problems get equal solutions", n, "sequences: the second answer differs");
    return false;
  }
  const solution& all = found.value();
  r.check(5, again && equal(all, again.value()), "equal problems get equal solutions", n,
          "sequences: the second answer differs");
  std::vector<std::vector<std::uint8_t>> apart;
  for (const replica_solution& s : all.replicas)
    apart.push_back(weights_apart(s.programs, s.partition.backward.size()));
  std::vector<replica_view> replicas;
  for (const replica_solution& s : all.replicas)
    replicas.push_back(
        {s.sequences, s.partition, s.programs, apart[replicas.size()], all.cut ? all.cut->parents : batch.parents});
  if (all.cut && !check_cut(r, *all.cut, batch.batch())) return true;
  if (!check_slices(r, all.cut ? batch_view(*all.cut) : batch.batch(), batch.shape, replicas, all.merges)) return true;
  const auto packs_of = [&](std::uint32_t one) -> const partition& { return all.replicas[one].partition; };
  for (std::uint32_t i = 0; i < replicas.size(); ++i) replicas[i].others = naive::others_of(all.merges, packs_of, i);
  const result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
  const bool counted = unit_of(cost, batch.shape) == memory_unit::byte;
  const auto kept = [&](const slice& piece, int stage, tokens) {
    return counted ? kept_of(cost, piece, stage) : bytes{};
  };
  if (check_programs(r, batch.shape, replicas, all.merges) && rates)
    for (const replica_view& v : replicas) check_memory(r, batch.shape, v, rates.value(), kept);
  return true;
}

}  // namespace detail

/// Checks the laws of slimpack::solver_for on edge and random batches over `on`, with one slicer, cost model and
/// schedule. Each batch is solved under the shape's own memory limit; if that is none, then also under limits in
/// tokens: one that every order fits, the longest path, and half of that. A solver that plans_prefixes is asked random
/// batches whose samples share beginnings as well; on several replicas it may compute paths again. Coverage, order,
/// deadlock and memory are checked slice by slice (testing/replica_laws.hpp), with nothing taken from the simulator.
/// Returns   a report, which converts to bool; a test has to assert it: EXPECT_TRUE(found) << found
///           (testing/report.hpp)
/// Errors    none: what the policies throw passes through            Complexity  O(cases) calls of the solver
template <class Solver, slicer Slicer, cost_model Cost, schedule_for Schedule>
requires solver_for<Solver, Slicer, Cost, Schedule>
[[nodiscard]] report solver_laws(const Solver& solver, const Slicer& slicer, const Cost& cost, const Schedule& schedule,
                                 const shape& on, options o = {.cases = 20}) {
  report r("solver laws", o.seed);
  generator random(o.seed);
  std::vector<forest> batches;
  const auto add = [&](std::vector<tokens> lengths) { batches.emplace_back().lengths = std::move(lengths); };
  for (const tokens t : edge_lengths(o)) {
    add({t});                                      // fewer sequences than replicas
    add(std::vector<tokens>(9, t));                // all the same
    add({t, {1}, {1}, {1}, o.longest, {1}, {1}});  // one that outweighs all others
  }
  for (int i = 0; i < o.cases; ++i) {
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(1, 24); n > 0; --n) lengths.push_back(random.length(o.longest));
    add(std::move(lengths));
  }
  for (int i = 0; i < o.cases && plans_prefixes_of(solver); ++i)
    batches.push_back(trial_forest(random, random.between(1, 24), o.longest));
  for (const forest& asked : batches) {
    problem batch{asked.lengths, on};
    batch.parents = asked.parents;
    batch.shape.quantum = o.quantum;
    detail::check_batch(r, solver, slicer, cost, schedule, batch, !on.memory);
    if (on.memory) continue;
    std::int64_t all = 0;
    const std::int64_t longest = batch.batch().longest().value;
    for (const tokens t : asked.lengths) all += t.value;
    for (const std::int64_t limit : {all, longest, longest / 2}) {
      batch.shape.memory = memory_limit{memory_unit::token, static_cast<double>(limit)};
      detail::check_batch(r, solver, slicer, cost, schedule, batch, limit == all);
    }
  }
  return r;
}

}  // namespace slimpack::testing

#endif
