#ifndef SLIMPACK_SOLVERS_MILP_PIPELINE_PLANS_HPP
#define SLIMPACK_SOLVERS_MILP_PIPELINE_PLANS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/simulators/graph/timed_instruction.hpp>
#include <slimpack/simulators/timeline.hpp>
#include <slimpack/solvers/milp/pipeline.hpp>
#include <slimpack/solvers/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Between plans and the values of a milp_pipeline's variables.
namespace slimpack::detail {

inline std::vector<double> milp_pipeline::values_of(const replica_solution& plan) const {
  std::vector<double> values;
  for (const milp_model::column& c : model_.columns()) values.push_back(c.low);
  const auto set = [&](const linear_sum& s, double value) {
    if (!s.terms.empty()) values[static_cast<std::size_t>(s.terms.front().variable)] = value;
  };
  const std::size_t empty = packs_[1] - plan.partition.backward.size();
  for (const pass p : {pass::forward, pass::backward}) {
    const micropacks& packs = plan.partition.of(p);
    const std::size_t skip = p == pass::backward ? empty : 0;
    for (std::size_t i = 0; i < packs.size(); ++i) {
      set(runs(p, skip + i), 1);
      for (const slice& s : packs[i])
        for (std::size_t a = 0; a < atoms(); ++a) {
          const slice& run = of_.atoms[a].run;
          if (run.sequence != s.sequence || run.begin < s.begin || run.begin >= s.end()) continue;
          for (std::size_t n = skip + i + 1; n <= packs_[index(p)]; ++n) set(entered(p, a, n), 1);
        }
    }
  }
  for (const whole_run& w : whole_) {
    const bool one = in(pass::backward, w.atom, w.pack).at(values) > 0.5 &&
                     in(pass::backward, last_of(w.atom), w.pack).at(values) > 0.5;
    set(w.value, one ? 1 : 0);
  }
  // Empty packs run beside their neighbour: after the last forward, before the first backward.
  const std::size_t forwards = plan.partition.forward.size();
  for (std::size_t r = 0; r < of_.stages; ++r) {
    std::size_t run = 0;
    for (const instruction& i : plan.programs[r]) {
      if (i.pass == pass::forward) {
        ++run;
        continue;
      }
      for (std::size_t f = 0; f < (run == forwards ? packs_[0] : run); ++f)
        for (std::size_t k = i.pack.value == 0 ? 0 : empty + i.pack.value; k <= empty + i.pack.value; ++k)
          set(before(r, f, k), 1);
    }
  }
  for (const pass p : {pass::forward, pass::backward})
    for (std::size_t r = 0; r < of_.stages; ++r)
      for (std::size_t i = 0; i < packs_[index(p)]; ++i) set(duration(p, r, i), time_of(p, r, i).at(values));
  workload work;
  work.shape.stages = static_cast<int>(of_.stages);
  work.turn.assign(plan.partition.backward.size(), 0);
  for (const pass p : {pass::forward, pass::backward}) {
    pass_timing& timing = work.of(p);
    const std::size_t packs = plan.partition.of(p).size();
    timing.before.resize(packs + 1);
    for (std::size_t i = packs_[index(p)] * index(p) - packs * index(p); timing.time.size() < packs * of_.stages; ++i)
      for (std::size_t r = 0; r < of_.stages; ++r) {
        timing.time.push_back({duration(p, r, i).at(values)});
        timing.message.push_back({message(p, r, i).at(values)});
      }
  }
  const result<simulators::timeline> run = simulators::simulate(work, plan.programs);
  if (!run) return {};
  set(end_, run.value().makespan.value);
  for (std::size_t r = 0; r < of_.stages; ++r) {
    for (const timed_instruction& t : run.value().stages[r]) {
      const pass p = t.instruction.pass;
      const pack_id pack = t.instruction.pack;
      const bool back = p == pass::backward;
      set(start(p, r, pack.value + (back ? empty : 0)), t.begin.value);
      if (back && pack.value == 0)
        for (std::size_t k = 0; k < empty; ++k) set(start(p, r, k), t.begin.value);
      if (!back && pack.value + 1 == forwards)
        for (std::size_t f = forwards; f < packs_[0]; ++f) set(start(p, r, f), t.end.value);
    }
  }
  return values;
}

inline replica_solution milp_pipeline::plan_of(const std::vector<double>& values) const {
  const auto chosen = [&](const linear_sum& s) { return s.at(values) > 0.5; };
  replica_solution plan;
  for (const sequence& s : of_.sequences) plan.sequences.push_back(s.id);
  std::size_t packs[2]{};
  for (const pass p : {pass::forward, pass::backward}) {
    micropacks& made = plan.partition.of(p);
    for (std::size_t i = 0; i < packs_[index(p)]; ++i) {
      for (std::size_t a = 0; a < atoms(); ++a)
        if (chosen(in(p, a, i))) made.push(of_.atoms[a].run);
      made.close();
    }
    packs[index(p)] = made.size();
  }
  const std::size_t empty = packs_[1] - packs[1];
  for (std::size_t r = 0; r < of_.stages; ++r) {
    program code;
    std::uint32_t i = 0;
    for (std::uint32_t k = 0; k < packs[1]; ++k) {
      for (; i < packs[0] && chosen(before(r, i, empty + k)); ++i) code.push_back({pass::forward, {i}});
      code.push_back({pass::backward, {k}});
    }
    plan.programs.push_back(std::move(code));
  }
  return plan;
}

}  // namespace slimpack::detail

#endif
