#ifndef SLIMPACK_SOLVERS_MILP_PIPELINE_PLANS_HPP
#define SLIMPACK_SOLVERS_MILP_PIPELINE_PLANS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/simulators/timeline.hpp>
#include <slimpack/solvers/milp/pipeline.hpp>
#include <slimpack/solvers/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Between plans and the values of a milp_pipeline's variables.
namespace slimpack::detail {

/// The values that make a plan, one kind of variable after the other: what a later one is made of is set before.
class milp_pipeline::told_values {
 public:
  told_values(const milp_pipeline& of, const replica_solution& plan)
      : of_(of), plan_(plan), empty_(of.packs_[1] - plan.partition.backward.size()) {
    for (const milp_model::column& c : of.model_.columns()) values_.push_back(c.low);
  }

  [[nodiscard]] std::vector<double>& values() noexcept { return values_; }

  /// Which packs run, what is in them, and which sequences run backward whole.
  void set_packs() {
    for (const pass p : both_passes) {
      const micropacks& packs = plan_.partition.of(p);
      for (std::size_t i = 0; i < packs.size(); ++i) {
        set(of_.runs(p, place_of(p, i)), 1);
        for (const slice& s : packs[i])
          for (std::size_t a = 0; a < of_.atoms(); ++a) {
            const slice& run = of_.of_.atoms[a].run;
            if (run.sequence != s.sequence || run.begin < s.begin || run.begin >= s.end()) continue;
            for (std::size_t n = place_of(p, i) + 1; n <= of_.packs_[index(p)]; ++n) set(of_.entered(p, a, n), 1);
          }
      }
    }
    for (const whole_run& w : of_.whole_) {
      const bool one = of_.in(pass::backward, w.atom, w.pack).at(values_) > 0.5 &&
                       of_.in(pass::backward, of_.last_of(w.atom), w.pack).at(values_) > 0.5;
      set(w.value, one ? 1 : 0);
    }
  }

  /// Empty packs run beside their neighbour: after the last forward, before the first backward.
  void set_order() {
    for (std::size_t r = 0; r < of_.of_.stages; ++r) {
      std::size_t run = 0;
      for (const instruction& i : plan_.programs[r]) {
        if (i.pass() == pass::forward) {
          ++run;
          continue;
        }
        for (std::size_t f = 0; f < (run == plan_.partition.forward.size() ? of_.packs_[0] : run); ++f)
          for (std::size_t k = i.pack.value == 0 ? 0 : empty_ + i.pack.value; k <= empty_ + i.pack.value; ++k)
            set(of_.before(r, f, k), 1);
      }
    }
  }

  void set_durations() {
    for (const pass p : both_passes)
      for (std::size_t r = 0; r < of_.of_.stages; ++r)
        for (std::size_t i = 0; i < of_.packs_[index(p)]; ++i)
          set(of_.duration(p, r, i), of_.time_of(p, r, i).at(values_));
  }

  /// As the simulator says.            Returns   whether the programs run at all
  bool set_starts() {
    const result<simulators::timeline> run = simulators::simulate(work(), plan_.programs);
    if (!run) return false;
    set(of_.end_, run.value().makespan.value);
    const std::size_t forwards = plan_.partition.forward.size();
    for (std::size_t r = 0; r < of_.of_.stages; ++r) {
      for (const timed_instruction& t : run.value().stages[r]) {
        const pass p = t.instruction.pass();
        const std::size_t pack = t.instruction.pack.value;
        set(of_.start(p, r, place_of(p, pack)), t.begin.value);
        if (p == pass::backward && pack == 0)
          for (std::size_t k = 0; k < empty_; ++k) set(of_.start(p, r, k), t.begin.value);
        if (p == pass::forward && pack + 1 == forwards)
          for (std::size_t f = forwards; f < of_.packs_[0]; ++f) set(of_.start(p, r, f), t.end.value);
      }
    }
    return true;
  }

 private:
  void set(const linear_sum& s, double value) {
    if (!s.terms.empty()) values_[static_cast<std::size_t>(s.terms.front().variable)] = value;
  }

  /// The program's place of a pack of the plan: backward, empty packs come first.
  [[nodiscard]] std::size_t place_of(pass p, std::size_t pack) const noexcept {
    return p == pass::backward ? empty_ + pack : pack;
  }

  [[nodiscard]] workload work() const {
    workload work;
    work.shape.stages = static_cast<int>(of_.of_.stages);
    work.turn.assign(plan_.partition.backward.size(), 0);
    for (const pass p : both_passes) {
      work.times.before[p].resize(plan_.partition.of(p).size() + 1);
      for (std::size_t i = 0; i < plan_.partition.of(p).size(); ++i)
        for (std::size_t r = 0; r < of_.of_.stages; ++r) {
          work.times.calls[p].push_back({of_.duration(p, r, place_of(p, i)).at(values_)});
          work.times.messages[p].push_back({of_.message(p, r, place_of(p, i)).at(values_)});
        }
    }
    return work;
  }

  const milp_pipeline& of_;
  const replica_solution& plan_;
  std::size_t empty_;  // backward packs of the program that the plan has not
  std::vector<double> values_;
};

inline std::vector<double> milp_pipeline::values_of(const replica_solution& plan) const {
  told_values told(*this, plan);
  told.set_packs();
  told.set_order();
  told.set_durations();
  return told.set_starts() ? std::move(told.values()) : std::vector<double>{};
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
      for (; i < packs[0] && chosen(before(r, i, empty + k)); ++i) code.push_back({instruction_kind::forward, {i}});
      code.push_back({instruction_kind::backward, {k}});
    }
    plan.programs.push_back(std::move(code));
  }
  return plan;
}

}  // namespace slimpack::detail

#endif
