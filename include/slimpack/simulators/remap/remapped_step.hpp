#ifndef SLIMPACK_SIMULATORS_REMAP_REMAPPED_STEP_HPP
#define SLIMPACK_SIMULATORS_REMAP_REMAPPED_STEP_HPP

#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/remap/remapping.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/plan_graphs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace slimpack::simulators {

/// The packs of one pass that replicas run side by side: of each micro-step the pack of each replica, or merge::none.
/// A replica's packs come in run order, those of a row are of one micro-step, and each is of the first that this lets
/// it be.
/// Requires  merges that name replicas and packs there are
/// Errors    cyclic_schedule: replicas that run the rows of what they share in different orders            Complexity
///           O(micro-steps * packs)
[[nodiscard]] inline result<std::vector<std::vector<pack_id>>> micro_steps(const plan& p, pass way) {
  std::vector<std::vector<std::size_t>> step(p.replicas.size());
  std::size_t packs = 0;
  for (std::size_t r = 0; r < step.size(); ++r)
    packs += p.replicas[r].partition.of(way).size(), step[r].resize(p.replicas[r].partition.of(way).size());
  for (bool changed = true; changed;) {
    changed = false;
    const auto raise = [&](std::size_t& one, std::size_t least) {
      if (one < least) one = least, changed = true;
    };
    for (std::vector<std::size_t>& own : step)
      for (std::size_t i = 1; i < own.size(); ++i) raise(own[i], own[i - 1] + 1);
    for (const merge& m : p.merges)
      for (const std::vector<pack_id>& row : m.of(way)) {
        std::size_t last = 0;
        for (std::size_t k = 0; k < row.size(); ++k)
          if (row[k] != merge::none) last = std::max(last, step[m.replicas[k]][row[k].value]);
        for (std::size_t k = 0; k < row.size(); ++k)
          if (row[k] != merge::none) raise(step[m.replicas[k]][row[k].value], last);
      }
    for (const std::vector<std::size_t>& own : step)
      if (!own.empty() && own.back() >= packs + 1)
        return error{errc::cyclic_schedule,
                     "replicas run the rows of what they share in different orders: they have no micro-steps"};
  }
  std::vector<std::vector<pack_id>> steps;
  for (std::size_t r = 0; r < step.size(); ++r)
    for (std::size_t i = 0; i < step[r].size(); ++i) {
      while (steps.size() <= step[r][i]) steps.emplace_back(p.replicas.size(), merge::none);
      steps[step[r][i]][r] = {static_cast<std::uint32_t>(i)};
    }
  return steps;
}

/// A plan's work if its replicas also moved rows between a layout balanced for attention, which the plan has, and one
/// balanced for tokens (pricing/remap/remapping.hpp): micro-step by micro-step, among the replicas that have a pack in
/// it. These then wait for each other.
struct remapped_step {
  by_pass<std::vector<remapping>> micro_steps{};  ///< targets of replicas without a pack are 0
  bytes moved{};                                  ///< on the wire, in a step, of all ranks
  seconds planned{};                              ///< makespan of the plan as it is
  seconds together{};  ///< where all packs of a micro-step start and end together, and nothing is moved
  seconds remapped{};  ///< the same with rows moved

  /// Formula   a pack takes token_time(target) - token_time(its tokens) more on each part, and what its replica waits
  ///           for while rows move; its messages are of `target` tokens
  /// rows: costs::moved_rows; replicas_per_node: neighbours on one node, 0: all are
  /// Errors    invalid_input: a vocabulary spread over the stages, weight gradients apart, stages that are tied, or
  ///           samples that share prefixes; those of micro_steps and joint_graph
  /// Complexity that of joint_graph of all replicas
  template <class Cost, class Rows>
  [[nodiscard]] static result<remapped_step> of(const plan& p, const Cost& cost, const Rows& rows,
                                                std::uint32_t replicas_per_node) {
    if (p.shape.vocabulary == vocabulary::spread)
      return error{
          errc::invalid_input,
          "rows are remapped where the vocabulary is in one place: plan with shape.vocabulary = vocabulary::last"};
    if (!p.parents.empty())
      return error{errc::invalid_input,
                   "rows are remapped where samples share no prefixes: plan each sample as a sequence of its own"};
    remapped_step made;
    std::vector<std::uint32_t> all(p.replicas.size());
    std::iota(all.begin(), all.end(), 0u);
    std::vector<workload> works;
    for (const std::uint32_t r : all) {
      if (p.replicas[r].times.apart.count() > 0)
        return error{
            errc::invalid_input,
            "rows are remapped where weight gradients run with those of inputs: plan with weight gradients together"};
      if (ties_stages(p.replicas[r]))
        return error{errc::invalid_input,
                     std::string("rows are remapped where no stages ") + what_ties + ": plan with " + without_ties};
      works.push_back(workload_of(p, r));
    }
    merge tied{{}, all, {}, {}};
    for (const pass way : both_passes) {
      result<std::vector<std::vector<pack_id>>> steps = simulators::micro_steps(p, way);
      if (!steps) return std::move(steps).error();
      tied.of(way) = std::move(steps).value();
    }
    std::vector<merge> merges = p.merges;
    const auto makespan = [&]() -> result<seconds> {
      const result<tied_graphs> graphs = tie_graphs(
          all, [&](std::uint32_t r) -> const workload& { return works[r]; },
          [&](std::uint32_t r) -> const std::vector<program>& { return p.replicas[r].programs; }, merges);
      if (!graphs) return graphs.error();
      return graphs.value().makespan();
    };
    for (seconds* const to : {&made.planned, &made.together, &made.remapped}) {
      if (to == &made.together) merges.push_back(std::move(tied));
      if (to == &made.remapped) made.remap(works, p, merges.back(), cost, rows, replicas_per_node);
      const result<seconds> found = makespan();
      if (!found) return found.error();
      *to = found.value();
    }
    return made;
  }

 private:
  template <class Cost, class Rows>
  void remap(std::vector<workload>& works, const plan& p, const merge& steps, const Cost& cost, const Rows& rows,
             std::uint32_t replicas_per_node) {
    const int parts = p.shape.parts();
    for (const pass way : both_passes)
      for (const std::vector<pack_id>& step : steps.of(way)) {
        std::vector<tokens> held(step.size());
        std::vector<std::uint32_t> has;  // a pack in it
        for (std::uint32_t r = 0; r < step.size(); ++r) {
          if (step[r] == merge::none) continue;
          has.push_back(r);
          held[r] = size_of(p.replicas[r].partition.of(way)[step[r].value]);
        }
        const remapping moves = among(held, has, replicas_per_node);
        std::vector<by_link> sent(step.size()), got(step.size());
        const std::uint32_t node = replicas_per_node == 0 ? static_cast<std::uint32_t>(step.size()) : replicas_per_node;
        for (const moved_tokens& m : moves.moves) {
          const bool crosses = m.from / node != m.to / node;
          (crosses ? sent[m.from].between : sent[m.from].inside) += m.count;
          (crosses ? got[m.to].between : got[m.to].inside) += m.count;
        }
        for (const std::uint32_t r : has)
          for (int part = 0; part < parts; ++part) {
            const std::size_t cell = step[r].value * static_cast<std::size_t>(parts) + static_cast<std::size_t>(part);
            seconds& time = works[r].times.calls[way][cell];
            const seconds linear =
                tokens_time(cost, moves.target[r], way, part) - tokens_time(cost, held[r], way, part);
            const by_link waits{std::max(sent[r].inside, got[r].inside), std::max(sent[r].between, got[r].between)};
            time = std::max(seconds{}, time + linear) + rows.time(waits.inside, waits.between, part);
            if (part != nth_place(way, parts - 1, parts))
              works[r].times.messages[way][cell] = message_time(cost, moves.target[r], way, part);
          }
        for (int part = 0; part < parts; ++part)
          moved += rows.token(part) * static_cast<double>(moves.moved().value * p.shape.tensor * p.shape.context);
        micro_steps[way].push_back(moves);
      }
  }

  struct by_link {
    tokens inside{};
    tokens between{};
  };

  /// Of the replicas that have a pack; numbers are those of all.
  [[nodiscard]] static remapping among(const std::vector<tokens>& held, const std::vector<std::uint32_t>& has,
                                       std::uint32_t replicas_per_node) {
    if (has.size() == held.size()) return remapping::of(held, replicas_per_node);
    std::vector<tokens> of_those;
    std::vector<std::uint32_t> node_of;
    for (const std::uint32_t r : has)
      of_those.push_back(held[r]), node_of.push_back(replicas_per_node == 0 ? 0 : r / replicas_per_node);
    remapping found = remapping::of(of_those, node_of);
    std::vector<tokens> target(held.size());
    for (std::size_t i = 0; i < has.size(); ++i) target[has[i]] = found.target[i];
    for (moved_tokens& m : found.moves) m.from = has[m.from], m.to = has[m.to];
    found.target = std::move(target);
    return found;
  }
};

}  // namespace slimpack::simulators

#endif
