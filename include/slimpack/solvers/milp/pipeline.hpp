#ifndef SLIMPACK_SOLVERS_MILP_PIPELINE_HPP
#define SLIMPACK_SOLVERS_MILP_PIPELINE_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/solvers/milp/instance.hpp>
#include <slimpack/solvers/milp/model.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Phase 2 as a mixed-integer program: which atoms run in which packs, in which order each stage runs them, and when.
///
/// Variables, all sums over them linear:
///   entered(p, a, i)   atom a is in one of packs 0..i of pass p; so it is in pack i if entered there, not before
///   runs(p, i)         pack i holds something. Empty packs come last forward, first backward, and take no time.
///   before(r, i, k)    stage r runs forward pack i before backward pack k
///   start(p, r, i)     of pack i on stage r, seconds over `horizon`
/// Source    derived: the phase 2 of a planner in two phases, with the simulator's semantics in the place of budgets
class milp_pipeline {
 public:
  /// `horizon` seconds: the makespan of a known plan; `floor` a proven lower bound of all.
  /// At most so many packs in each pass, which must be as many as a best plan may need.
  milp_pipeline(const milp_instance& of, std::size_t forwards, std::size_t backwards, seconds horizon, seconds floor)
      : of_(of), packs_{forwards, backwards}, horizon_(horizon.value) {
    add_variables(floor.value / horizon_);
    keep_sequences_in_order();
    keep_packs_in_order();
    wait_for_turns();
    order_stages();
    fit_memory();
    strengthen();
  }

  [[nodiscard]] const milp_model& model() const noexcept { return model_; }
  /// Seconds of a value of the objective.
  [[nodiscard]] seconds time(double objective) const noexcept { return {objective * horizon_}; }

  /// The values of a known plan, which cuts at the quantum only.
  [[nodiscard]] std::vector<double> values_of(const replica_solution& plan) const;
  /// The plan that values describe.
  [[nodiscard]] replica_solution plan_of(const std::vector<double>& values) const;

 private:
  class told_values;

  static constexpr std::size_t index(pass p) noexcept { return p == pass::backward; }

  [[nodiscard]] std::size_t atoms() const { return of_.atoms.size(); }

  /// entered(p, a, i) with i counted from 1: nothing has entered before the first pack, all have after the last.
  [[nodiscard]] linear_sum entered(pass p, std::size_t a, std::size_t packs) const {
    if (packs == 0) return 0;
    if (packs >= packs_[index(p)]) return 1;
    return entered_[index(p)][a * (packs_[index(p)] - 1) + packs - 1];
  }
  [[nodiscard]] linear_sum in(pass p, std::size_t a, std::size_t i) const {
    return entered(p, a, i + 1) - entered(p, a, i);
  }

  /// The last backward pack follows every forward: all sequences have turned.
  [[nodiscard]] linear_sum before(std::size_t r, std::size_t i, std::size_t k) const {
    if (k + 1 == packs_[1]) return 1;
    return before_[(r * packs_[0] + i) * (packs_[1] - 1) + k];
  }
  [[nodiscard]] const linear_sum& start(pass p, std::size_t r, std::size_t i) const {
    return start_[index(p)][r * packs_[index(p)] + i];
  }
  [[nodiscard]] const linear_sum& runs(pass p, std::size_t i) const { return runs_[index(p)][i]; }

  [[nodiscard]] linear_sum tokens_in(pass p, std::size_t i) const {
    linear_sum sum;
    for (std::size_t a = 0; a < atoms(); ++a) sum.add(in(p, a, i), size(a));
    return sum;
  }
  [[nodiscard]] double size(std::size_t a) const { return static_cast<double>(of_.atoms[a].run.length.value); }

  [[nodiscard]] const linear_sum& duration(pass p, std::size_t r, std::size_t i) const {
    return duration_[index(p)][same_[index(p)][r] * packs_[index(p)] + i];
  }
  /// What the duration of pack i on stage r is at least, over horizon.
  [[nodiscard]] linear_sum time_of(pass p, std::size_t r, std::size_t i) const {
    linear_sum sum = overhead(p, r) * runs(p, i);
    for (std::size_t a = 0; a < atoms(); ++a) sum.add(in(p, a, i), time(a, r, p));
    return sum;
  }
  [[nodiscard]] linear_sum message(pass p, std::size_t r, std::size_t i) const {
    const milp_instance::pass_rates& rates = of_.of(p);
    linear_sum sum = (rates.message[r] / horizon_) * runs(p, i);
    if (rates.message_token[r] != 0) sum.add(tokens_in(p, i), rates.message_token[r] / horizon_);
    return sum;
  }

  [[nodiscard]] bool equal_times(pass p, std::size_t r, std::size_t other) const {
    if (overhead(p, r) != overhead(p, other)) return false;
    for (std::size_t a = 0; a < atoms(); ++a)
      if (time(a, r, p) != time(a, other, p)) return false;
    return true;
  }

  void add_variables(double floor) {
    end_ = model_.number(floor, 1, 1);
    for (const pass p : {pass::forward, pass::backward}) {
      const std::size_t packs = packs_[index(p)];
      for (std::size_t n = atoms() * (packs - 1); n > 0; --n) entered_[index(p)].push_back(model_.binary());
      for (std::size_t n = of_.stages * packs; n > 0; --n) start_[index(p)].push_back(model_.number(0, 1));
      for (std::size_t i = 0; i < packs; ++i) {
        const bool certain = i == nth_place(p, std::size_t{0}, packs);
        runs_[index(p)].push_back(model_.number(certain ? 1 : 0, 1));
      }
      // Stages with equal times share their durations, and with them the rows that define them.
      for (std::size_t r = 0; r < of_.stages; ++r) {
        std::size_t like = 0;
        while (!equal_times(p, like, r)) ++like;
        same_[index(p)].push_back(like < r ? same_[index(p)][like] : duration_[index(p)].size() / packs);
        if (like < r) continue;
        for (std::size_t i = 0; i < packs; ++i) {
          duration_[index(p)].push_back(model_.number(0, 1));
          model_.at_least(duration(p, r, i), time_of(p, r, i));
        }
      }
    }
    for (std::size_t n = of_.stages * packs_[0] * (packs_[1] - 1); n > 0; --n) before_.push_back(model_.binary());
  }

  /// Each atom enters once; those of a sequence one after the other, forward from its beginning, backward from its end.
  void keep_sequences_in_order() {
    for (const pass p : {pass::forward, pass::backward}) {
      for (std::size_t a = 0; a < atoms(); ++a) {
        for (std::size_t n = 1; n < packs_[index(p)]; ++n) {
          model_.at_least(entered(p, a, n + 1), entered(p, a, n));
          if (of_.atoms[a].last) continue;
          const std::size_t earlier = p == pass::forward ? a : a + 1;
          const std::size_t later = p == pass::forward ? a + 1 : a;
          model_.at_least(entered(p, earlier, n), entered(p, later, n));
        }
      }
    }
    // Of sequences of one length, the one listed first begins no later.
    for (std::size_t a = 0; a < atoms(); ++a) {
      if (of_.atoms[a].run.begin > tokens{}) continue;
      for (std::size_t b = a + 1; b < atoms(); ++b) {
        if (of_.atoms[b].run.begin > tokens{} || length_of(a) != length_of(b)) continue;
        for (std::size_t n = 1; n < packs_[0]; ++n)
          model_.at_least(entered(pass::forward, a, n), entered(pass::forward, b, n));
        break;
      }
    }
  }
  [[nodiscard]] tokens length_of(std::size_t a) const { return of_.atoms[last_of(a)].run.end(); }

  /// A pack runs if it holds something; packs run in order on a stage, and go from stage to stage.
  void keep_packs_in_order() {
    for (const pass p : {pass::forward, pass::backward}) {
      const std::size_t packs = packs_[index(p)];
      for (std::size_t i = 0; i < packs; ++i) {
        linear_sum held;
        for (std::size_t a = 0; a < atoms(); ++a) {
          held.add(in(p, a, i));
          model_.at_least(runs(p, i), in(p, a, i));
        }
        model_.at_least(held, runs(p, i));
        if (i + 1 < packs)
          model_.at_least(runs(p, p == pass::forward ? i : i + 1), runs(p, p == pass::forward ? i + 1 : i));
        for (std::size_t r = 0; r < of_.stages; ++r) {
          const linear_sum ended = start(p, r, i) + duration(p, r, i);
          if (i + 1 < packs) model_.at_least(start(p, r, i + 1), ended);
          if (p == pass::forward && r + 1 < of_.stages) model_.at_least(start(p, r + 1, i), ended + message(p, r, i));
          if (p == pass::backward && r > 0) model_.at_least(start(p, r - 1, i), ended + message(p, r, i));
        }
      }
    }
    model_.at_least(end_, start(pass::backward, 0, packs_[1] - 1) + duration(pass::backward, 0, packs_[1] - 1));
  }

  /// On the last stage a sequence's backward follows all its forwards.
  void wait_for_turns() {
    for (std::size_t a = 0; a < atoms(); ++a) {
      if (!of_.atoms[a].last) continue;
      for (std::size_t i = 0; i < packs_[0]; ++i)
        for (std::size_t k = 0; k + 1 < packs_[1]; ++k)
          model_.at_least(before(of_.stages - 1, i, k),
                          entered(pass::backward, a, k + 1) - entered(pass::forward, a, i));
    }
  }

  /// A stage runs one pack at a time, and before a backward no fewer forwards than the next, or both would wait.
  void order_stages() {
    for (std::size_t r = 0; r < of_.stages; ++r) {
      for (std::size_t i = 0; i < packs_[0]; ++i) {
        const linear_sum& down = duration(pass::forward, r, i);
        for (std::size_t k = 0; k < packs_[1]; ++k) {
          const linear_sum first = before(r, i, k);
          if (i + 1 < packs_[0]) model_.at_least(first, before(r, i + 1, k));
          if (k + 1 < packs_[1]) model_.at_least(before(r, i, k + 1), first);
          if (r + 1 < of_.stages) model_.at_least(first, before(r + 1, i, k));
          model_.at_least(start(pass::backward, r, k), start(pass::forward, r, i) + down - (1 - first));
          if (k + 1 < packs_[1])
            model_.at_least(start(pass::forward, r, i),
                            start(pass::backward, r, k) + duration(pass::backward, r, k) - first);
        }
      }
    }
  }

  /// While a pack runs, a stage holds what forward packs before it brought, less what backward packs took.
  void fit_memory() {
    for (std::size_t r = 0; r < of_.stages; ++r) {
      const memory_rates& rates = of_.memory[r];
      double all = 0;
      for (std::size_t a = 0; a < atoms(); ++a) all += size(a);
      const double most = rates.in_backward(all, all, 0) + std::max(rates.forward_token, rates.backward_token) * all;
      const double spare = most / of_.limit - 1;  // what a row must give away where it does not apply
      if (!(spare > 0)) continue;
      for (std::size_t k = 0; k < packs_[1]; ++k) {
        const linear_sum running = rates.gradient_token > 0 ? gradient_running(k) : linear_sum{};
        const linear_sum waiting = rates.gradient_token > 0 ? gradient_before(k) : linear_sum{};
        linear_sum live;
        for (std::size_t a = 0; a < atoms(); ++a) live.add(entered(pass::backward, a, k), -size(a));
        for (std::size_t i = 0; i < packs_[0]; ++i) {
          live.add(tokens_in(pass::forward, i));
          const linear_sum held = live_and(r, live, running).add(tokens_in(pass::backward, k), rates.backward_token);
          const linear_sum first = before(r, i, k);
          model_.at_least(1 + spare * (1 - first), (1 / of_.limit) * held);
          // Without gradients or buffers, a forward holds no more than the next backward.
          if (rates.gradient_token == 0 && rates.forward_token == 0) continue;
          const linear_sum forward = live_and(r, live, waiting).add(tokens_in(pass::forward, i), rates.forward_token);
          const linear_sum earlier = k > 0 ? before(r, i, k - 1) : linear_sum{};
          model_.at_least(1 + spare * (1 - first) + spare * earlier, (1 / of_.limit) * forward);
        }
      }
    }
  }
  [[nodiscard]] linear_sum live_and(std::size_t r, const linear_sum& live, const linear_sum& gradient) const {
    return of_.memory[r].fixed + of_.memory[r].live_token * live + of_.memory[r].gradient_token * gradient;
  }

  /// Tokens of dK and dV kept between backward packs k - 1 and k: of sequences that have begun, what has not run.
  [[nodiscard]] linear_sum gradient_before(std::size_t k) const {
    linear_sum sum;
    for (std::size_t a = 0; a < atoms(); ++a)
      sum.add(entered(pass::backward, last_of(a), k) - entered(pass::backward, a, k), size(a));
    return sum;
  }
  /// And while backward pack k runs; a sequence that it runs whole needs none.
  [[nodiscard]] linear_sum gradient_running(std::size_t k) {
    linear_sum sum;
    for (std::size_t a = 0; a < atoms(); ++a) {
      if (of_.atoms[a].run.begin == tokens{}) {
        whole_.push_back({a, k, model_.number(0, 1)});
        sum.add(whole_.back().value, -static_cast<double>(length_of(a).value));
      }
      model_.at_least(in(pass::backward, a, k), whole_.back().value);
      sum.add(entered(pass::backward, last_of(a), k + 1) - entered(pass::backward, a, k), size(a));
    }
    return sum;
  }

  /// Implied by the order of a stage, but not by the relaxation, where orders are fractions.
  void strengthen() {
    linear_sum behind;  // the last backward pack's way back from stage r
    for (std::size_t r = 0; r < of_.stages; ++r) {
      if (r > 0)
        behind.add(message(pass::backward, r, packs_[1] - 1)).add(duration(pass::backward, r - 1, packs_[1] - 1));
      // From a forward pack on, a stage runs all later ones, and the backward of all sequences that are not through.
      linear_sum after = end_ - behind;
      for (std::size_t i = 0; i < packs_[0]; ++i) {
        linear_sum left = start(pass::forward, r, i);
        for (std::size_t n = i; n < packs_[0]; ++n) left.add(runs(pass::forward, n), overhead(pass::forward, r));
        if (i == 0)
          for (std::size_t n = 0; n < packs_[1]; ++n) left.add(runs(pass::backward, n), overhead(pass::backward, r));
        else
          left.add(overhead(pass::backward, r));
        for (std::size_t a = 0; a < atoms(); ++a) {
          left.add(1 - entered(pass::forward, a, i), time(a, r, pass::forward));
          left.add(1 - entered(pass::forward, last_of(a), i), time(a, r, pass::backward));
        }
        model_.at_least(after, left);
      }
      // Up to a backward pack, a stage has run all earlier ones, and the forward of all sequences that have turned.
      for (std::size_t k = 0; k < packs_[1]; ++k) {
        linear_sum done = start(pass::forward, r, 0) + overhead(pass::forward, r) * runs(pass::backward, k);
        for (std::size_t n = 0; n < k; ++n) done.add(runs(pass::backward, n), overhead(pass::backward, r));
        for (std::size_t a = 0; a < atoms(); ++a) {
          done.add(entered(pass::backward, a, k), time(a, r, pass::backward));
          done.add(entered(pass::backward, last_of(a), k + 1), time(a, r, pass::forward));
        }
        model_.at_least(start(pass::backward, r, k), done);
      }
    }
  }
  [[nodiscard]] double overhead(pass p, std::size_t r) const { return of_.of(p).overhead[r] / horizon_; }
  [[nodiscard]] double time(std::size_t a, std::size_t r, pass p) const { return of_.time(a, r, p) / horizon_; }
  [[nodiscard]] std::size_t last_of(std::size_t a) const {
    while (!of_.atoms[a].last) ++a;
    return a;
  }

  /// Whether a sequence, named by its first atom, runs backward in one pack.
  struct whole_run {
    std::size_t atom{};
    std::size_t pack{};
    linear_sum value;
  };

  const milp_instance& of_;
  std::size_t packs_[2];
  double horizon_;
  milp_model model_;
  linear_sum end_;
  std::vector<linear_sum> entered_[2];   // by pass, [atom * (packs - 1) + pack]
  std::vector<linear_sum> runs_[2];      // by pass and pack
  std::vector<linear_sum> start_[2];     // by pass, [stage * packs + pack]
  std::vector<linear_sum> duration_[2];  // by pass, [same_ * packs + pack], seconds over horizon_
  std::vector<std::size_t> same_[2];     // by pass and stage
  std::vector<linear_sum> before_;       // [(stage * forwards + forward) * (backwards - 1) + backward]
  std::vector<whole_run> whole_;         // by stage with accumulators, pack and sequence
};

}  // namespace slimpack::detail

#endif
