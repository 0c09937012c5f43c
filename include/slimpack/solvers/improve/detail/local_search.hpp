#ifndef SLIMPACK_SOLVERS_IMPROVE_DETAIL_LOCAL_SEARCH_HPP
#define SLIMPACK_SOLVERS_IMPROVE_DETAIL_LOCAL_SEARCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/detail/cost_questions.hpp>
#include <slimpack/solvers/detail/search_tuning.hpp>
#include <slimpack/solvers/improve/detail/candidates.hpp>
#include <slimpack/solvers/improve/detail/neighbourhood.hpp>
#include <slimpack/solvers/improve/detail/order_search.hpp>
#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/improve/sites.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/size_ratios.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// An evolution strategy of one parent and one child, until `spent()`: a child differs in up to three of the parent's
/// ratios, by factors that grow with success and shrink with failure; what has helped is done again.
/// A child's crowding is now and then another. `score(child)` is the child's makespan, or why it has no plan;
/// `of_parent` the parent's. `step` is the first change.
/// Source    (1+1)-ES with step size control (I. Rechenberg, 1973), on random subspaces; derived
template <class Score, class Spent>
void evolve(partition_rule parent, seconds of_parent, double step, splitmix& random, const Score& score,
            const Spent& spent, const search_tuning& tuning = {}, bool common_cuts = false) {
  constexpr std::size_t ratios = 2 * solvers::size_ratios::all().size();
  // No exp: libraries choose among implementations by processor, and plans must not.
  const auto factor = [](double up) { return up < 0 ? 1 / (1 - up) : 1 + up; };
  std::array<double, ratios + 1> change{};  // of ratios, what factor takes; of the front, a difference
  for (bool better = false; !spent();) {
    partition_rule child = parent;
    if (!better) {
      change = {};
      for (int some = 1 + static_cast<int>(tuning.changed_ratios * random.uniform()); some > 0; --some) {
        const auto which = static_cast<std::size_t>(random.uniform() * static_cast<double>(change.size()));
        change[which] = (2 * random.uniform() - 1) * step * (which == ratios ? double{tuning.front_change} : 1.0);
      }
      if (random.uniform() < tuning.crowding_chance)
        child.crowding = tuning.crowding_least + tuning.crowding_range * random.uniform();
      if (common_cuts && random.uniform() < tuning.alignment_chance)
        child.alignment = tuning.alignment_most * random.uniform();
    }
    std::size_t at = 0;
    for (const pass p : both_passes)
      for (double solvers::size_ratios::*ratio : solvers::size_ratios::all())
        child.sizes[p].*ratio *= factor(change[at++]);
    child.front = std::clamp(child.front + change[ratios], 0.0, 1.0);
    const bool again = better;
    const result<seconds> time = score(child);
    better = time && time.value() < of_parent;
    if (better) {
      parent = child;
      of_parent = time.value();
      step = std::min<double>(tuning.step_most, step * tuning.step_growth);
    } else if (!again) {
      step = std::max<double>(tuning.step_least, step * tuning.step_decay);
    }
  }
}

/// Phase 2 on one replica: spends a budget on a walk over partition rules, then on moves of single packs, then on
/// changes of the order where the schedule lets it change, and on all this again while it lasts. Works on local
/// sequence ids (0, 1, ...) and translates its answer.
/// Law       with two candidates or more, never slower than the whole packs of solvers::megatron on the same schedule
///           that the slicer allows, unless they are more than the quickest search could simulate
template <class Moves = solvers::improve::shipped>
class local_search {
 public:
  local_search(std::span<const sequence> group, const problem& batch, const any_slicer& slicer, const any_cost& cost,
               const any_schedule& schedule, std::span<const memory_rates> rates,
               const solvers::search_options& options = solvers::default_search_options)
      : group_(group), batch_(batch), slicer_(slicer), cost_(cost), schedule_(schedule), options_(options) {
    if (!group.empty()) tried_.emplace(group, batch, slicer, cost, schedule, rates, options);
  }

  /// The best of the candidates that the budget allows, and at least the first.
  result<replica_solution> best(const partition_rule& start, solvers::search_budget budget) {
    if (!tried_) return replica_solution{{}, {}, std::vector<program>(stages())};
    tried_->begin(budget);
    tried_->call("first");
    if (result<seconds> first = consider_first(*tried_, start); !first) return std::move(first).error();
    // Orders of small plans are soon found, which leaves tasks for other walks and other orders.
    for (bool again = false;; again = true) {
      const std::uint64_t ordering = tasks_for_order();
      if (again && (ordering == 0 || tried_->used().candidates >= budget.candidates)) return translated();
      tried_->end_at({budget.tasks - (orders_beside() ? 0 : ordering), budget.candidates});
      if (!again) tried_->call("kinds"), consider_kinds(*tried_);
      tried_->call("sizes");
      walk_sizes();
      if (!again && budget.candidates > 1) tried_->call("whole"), consider_whole(*tried_);
      if (result<void> moved = move_packs(); !moved) return std::move(moved).error();
      if (ordering > 0) improve_order(ordering);
    }
  }

  /// Of what best() has found.
  [[nodiscard]] seconds makespan() const noexcept {
    return tried_ ? std::min(tried_->fastest().makespan, improved_.makespan) : seconds{};
  }

  /// What best() has done.
  [[nodiscard]] solvers::search_report report() const {
    solvers::search_report all;
    if (tried_) all = tried_->report();
    counts_.add_to(all);
    return all;
  }

 private:
  [[nodiscard]] std::size_t stages() const { return static_cast<std::size_t>(batch_.shape.stages); }
  [[nodiscard]] std::size_t parts() const { return static_cast<std::size_t>(batch_.shape.parts()); }

  /// A long search begins anew four times, with three twentieths of the budget each, since a walk ends where chance led
  /// it. Then it goes on from the best by smaller steps.
  void walk_sizes() {
    if (tried_->spent()) return;
    const auto walk = [&](const partition_rule& from, seconds of_from, double step) {
      evolve(
          from, of_from, step, random_, [&](const partition_rule& c) { return tried_->consider(c); },
          [&] { return tried_->spent(); }, options_.tuning, batch_.common_cuts);
    };
    const partition_rule first = tried_->best();
    const seconds of_first = tried_->of_best();
    const solvers::search_budget begin = tried_->used();
    const solvers::search_budget end = tried_->until();
    for (std::uint64_t i = 1; tried_->is_long() && i <= 4; ++i) {
      tried_->end_at({begin.tasks + (end.tasks - begin.tasks) / 20 * 3 * i,
                      begin.candidates + (end.candidates - begin.candidates) / 20 * 3 * i});
      walk(first, of_first, options_.tuning.walk_step);
    }
    tried_->end_at(end);
    walk(tried_->best(), tried_->of_best(), tried_->is_long() ? 0.1 : double{options_.tuning.walk_step});
  }

  /// Changes single packs of the best so far. Where packs are few that finds what no ratios describe; it is not counted
  /// in plans, which cost next to nothing there.
  /// Source    (1+1) evolutionary algorithm: random moves, one plan after the other, the faster kept
  result<void> move_packs() {
    tried_->call({});
    tried_->end_at({tried_->used().tasks + tried_->budget().tasks / options_.tuning.moving_part,
                    std::numeric_limits<std::uint64_t>::max()});
    const auto& packs = tried_->packs();
    neighbourhood<any_slicer, any_cost, Moves> moves(packs.sequences(), slicer_, cost_,
                                                     packs.limits(batch_.shape.quantum), options_);
    while (!tried_->spent()) {
      const seconds before = tried_->fastest().makespan;
      std::optional<partition> next = moves.neighbour(tried_->fastest().packs, moved_);
      if (moves.wrong()) return *moves.wrong();
      if (next && *next != tried_->fastest().packs)
        static_cast<void>(tried_->score(*std::move(next)));
      else
        tried_->spend(tried_->last());
      count(moves.made(), before - tried_->fastest().makespan);
    }
    return success();
  }

  /// Several moves that were tried together share what they gained.
  void count(std::span<const std::size_t> made, seconds gain) {
    for (const std::size_t move : made) {
      ++counts_.of[move].tried;
      if (gain > seconds{}) counts_.of[move].take(gain * (1 / static_cast<double>(made.size())));
    }
  }

  /// How much of the tasks that are left is for the order, if the schedule lets it change and they are enough for some
  /// sweeps: half; and more, where packs change with it, once the walks have theirs. Where they do not, walks keep half
  /// at least.
  [[nodiscard]] std::uint64_t tasks_for_order() const {
    const std::uint64_t used = tried_->used().tasks;
    if (!changes_order() || used >= tried_->budget().tasks || tried_->stopped()) return 0;
    const std::uint64_t left = tried_->budget().tasks - used;
    if (orders_beside()) return left / 2;
    const std::uint64_t least =
        left / (sharers_priced_by(cost_) > 0 ? options_.tuning.shared_walk_least : options_.tuning.walk_least);
    const std::uint64_t walks = std::max(options_.tuning.walk_candidates * tried_->last(), least);
    const std::uint64_t tasks = left - std::min(walks, left / options_.tuning.walk_most);
    const partition& packs = tried_->fastest().packs;
    return tasks < options_.tuning.least_sweeps * (packs.forward.size() + packs.backward.size()) * parts() ? 0 : tasks;
  }

  /// Whether the order has tasks of its own, half as many again: schedules take so long to order chunks, or to put
  /// weight gradients in, that walks need all of theirs and changes of the order are a small part of the time. A long
  /// search has enough for both.
  [[nodiscard]] bool orders_beside() const {
    return !tried_->is_long() && (batch_.shape.chunks > 1 || schedule_.weights() == weight_gradients::apart);
  }

  /// Not where anything is kept beside tokens under a limit: it depends on common cuts of both passes, which changes of
  /// one would move.
  [[nodiscard]] bool changes_order() const {
    return schedule_.orders_may_change() && (!batch_.shape.memory || !tried_->keeps_beside_tokens());
  }

  /// Improves the order of the fastest that the schedule found, and its packs in that order. Where both passes are cut
  /// alike, packs change between the pieces that there are.
  void improve_order(std::uint64_t tasks) {
    const bool alike = batch_.common_cuts && sharers_priced_by(cost_) == 0;
    const ordered_packs& listed = tried_->fastest();
    workload priced = settled(
        price(listed.packs, cost_, batch_.shape, tried_->rates(), schedule_.weights(), {}, tried_->packs().parents()),
        listed.programs);
    priced.times.kept.forward.clear(), priced.times.kept.backward.clear();  // nothing limits it, says changes_order
    const common_cuts cuts(alike ? listed.packs : partition{});
    const piece_slicer between_pieces(cuts);
    order_search<any_slicer, any_cost, Moves> search(listed.packs, listed.programs, priced, tried_->packs().sequences(),
                                                     alike ? static_cast<const any_slicer&>(between_pieces) : slicer_,
                                                     cost_, tried_->packs().limits(batch_.shape.quantum), random_,
                                                     options_, alike ? &cuts : nullptr);
    search.run(tasks, batch_.stop);
    tried_->spend(search.spent());
    counts_.add(search.counts());
    if (search.makespan() < improved_.makespan) improved_ = {search.packs(), search.programs(), search.makespan()};
  }

  /// The fastest in the batch's sequence ids.
  replica_solution translated() {
    ordered_packs& listed = tried_->fastest();
    ordered_packs& fastest = improved_.makespan < listed.makespan ? improved_ : listed;
    replica_solution answer{{}, {}, std::move(fastest.programs)};
    for (const sequence& s : group_) answer.sequences.push_back(s.id);
    for (const pass p : both_passes) {
      const micropacks& packs = fastest.packs.of(p);
      micropacks& renamed = answer.partition.of(p);
      for (std::size_t i = 0; i < packs.size(); ++i) {
        for (slice s : packs[i]) {
          s.sequence = group_[s.sequence.value].id;
          renamed.push(s);
        }
        renamed.close();
      }
    }
    return answer;
  }

  std::span<const sequence> group_;
  const problem& batch_;
  const any_slicer& slicer_;
  const any_cost& cost_;
  const any_schedule& schedule_;
  const solvers::search_options& options_;
  std::optional<candidates> tried_;  // none of an empty group
  splitmix random_;                  // of walks and orders
  splitmix moved_;                   // of moves, so that how many there are does not change what follows
  solvers::improve::move_counts<Moves> counts_;
  ordered_packs improved_;  // in another order than the schedule's
};

}  // namespace slimpack::detail

#endif
