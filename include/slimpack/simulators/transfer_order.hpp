#ifndef SLIMPACK_SIMULATORS_TRANSFER_ORDER_HPP
#define SLIMPACK_SIMULATORS_TRANSFER_ORDER_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/relays/legs.hpp>
#include <slimpack/core/vocabulary.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/transfer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack {

namespace detail {

/// Makes times of a plan that has none, which is written by hand, and checks those of any other.
/// places: parts of the model, or stages            Errors    invalid_input: too many or too few, or no times
inline result<void> complete_times(std::vector<seconds>& times, std::size_t packs, std::size_t places,
                                   const std::string& where) {
  if (times.empty()) times.resize(packs * places);
  if (times.size() != packs * places)
    return error{errc::invalid_input, where + " has " + std::to_string(times.size()) + " times, its packs need " +
                                          std::to_string(packs * places)};
  if (!std::all_of(times.begin(), times.end(), [](seconds t) { return t >= seconds{} && t <= seconds{1e12}; }))
    return error{errc::invalid_input, where + " has a time that is not from 0 to 1e12 s"};
  return success();
}

/// The times of a pass.            Errors    as complete_times
inline result<pass_timing> timing_in_plan(const pass_timing& from, std::size_t packs, std::size_t parts,
                                          const std::string& where) {
  pass_timing timing{from.time, from.message, std::vector<std::int64_t>(packs + 1)};
  std::iota(timing.before.begin(), timing.before.end(), std::int64_t{0});
  for (std::vector<seconds>* const times : {&timing.time, &timing.message})
    if (result<void> whole = complete_times(*times, packs, parts, where); !whole) return std::move(whole).error();
  return timing;
}

/// The times of the calls of a spread vocabulary.            Errors    as complete_times
inline result<vocabulary_timing> vocabulary_in_plan(const replica_plan& r, std::size_t stages,
                                                    const std::string& where) {
  vocabulary_timing timing = r.vocabulary;
  for (const auto& [name, column] : vocabulary_columns) {
    const bool is_backward = column == &vocabulary_timing::embed_gradients || column == &vocabulary_timing::gradients;
    if (result<void> whole =
            complete_times(timing.*column, r.partition.of(is_backward ? pass::backward : pass::forward).size(), stages,
                           where + " (" + name + ")");
        !whole)
      return std::move(whole).error();
  }
  return timing;
}

/// The replicas that run together with one, itself among them, ascending.
[[nodiscard]] inline std::vector<std::uint32_t> group_of(const plan& p, std::uint32_t replica) {
  if (!p.merges.empty())
    for (std::vector<std::uint32_t>& group : simulators::joint_groups(p.merges, p.replicas.size()))
      if (std::binary_search(group.begin(), group.end(), replica)) return std::move(group);
  return {replica};
}

/// What the ranks of an ensemble send each other.
class transfers_of_gate {
 public:
  /// Requires  that all outlive it            Complexity  O((rows * sharers + ties) log packs)
  transfers_of_gate(const plan& p, std::span<const std::uint32_t> group) : plan_(p), group_(group) {
    for (std::uint32_t m = 0; m < p.merges.size(); ++m)
      for (const pass way : both_passes)
        for (std::uint32_t row = 0; row < p.merges[m].of(way).size(); ++row) {
          const std::vector<pack_id>& packs = p.merges[m].of(way)[row];
          for (std::size_t k = 0; k < packs.size(); ++k)
            if (packs[k] != merge::none) rows_[{p.merges[m].replicas[k], way, packs[k]}].push_back({m, row});
        }
    for (const std::uint32_t r : group)
      each_tie(p.replicas[r], [&](const auto& one, const auto& other) {
        for (const auto* side : {&one, &other}) tied_.insert({r, side->stage, name_of(side->what, 2)});
      });
  }

  /// Adds those of a gate: rows, legs of relays, those of sharers without tokens of a row, ties.
  void add(const simulators::task_graph& graph, simulators::task_graph::node gate,
           std::vector<simulators::transfer>& to) const {
    std::vector<part_of_row> rows;
    for (const simulators::task_graph::node n : graph.successors(gate)) {
      const simulators::task& t = graph.tasks()[n];
      const auto here = rows_.find({group_[t.replica], t.what.pass, t.what.pack});
      if (here == rows_.end()) continue;
      to.push_back(simulators::transfers::rows{t.what, t.stage, group_[t.replica], gate});
      for (const auto& [m, row] : here->second)
        rows.push_back({plan_.merges[m].sequence, m, row, t.what.chunk, t.stage});
    }
    // As ranks run the rows of a pack, each once.
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const pass way = graph.tasks()[gate].what.pass;
    for (const auto& [sequence, m, row, chunk, stage] : rows) {
      const std::vector<leg> legs = legs_in_order(plan_.merges[m].relays);
      for (std::uint32_t k = 0; k < legs.size(); ++k)
        to.push_back(simulators::transfers::leg{way, chunk, stage, legs[k].from, legs[k].to, m, row, k, gate});
    }
    for (const auto& [sequence, m, row, chunk, stage] : rows)
      for (std::size_t k = 0; k < plan_.merges[m].replicas.size(); ++k)
        if (plan_.merges[m].of(way)[row][k] == merge::none)
          to.push_back(simulators::transfers::absent{way, chunk, stage, plan_.merges[m].replicas[k], m, row, gate});
    for (const simulators::task_graph::node n : graph.successors(gate)) {
      const simulators::task& t = graph.tasks()[n];
      if (!tied_.empty() && tied_.contains({group_[t.replica], t.stage, name_of(t.what, 2)}))
        to.push_back(simulators::transfers::ties{t.what, t.stage, group_[t.replica], gate});
    }
  }

 private:
  using part_of_row = std::tuple<sequence_id, std::uint32_t, std::uint32_t, std::uint32_t,
                                 std::uint32_t>;  // sequence, merge, row of the pass, chunk, stage
  struct merge_row {
    std::uint32_t merge{};
    std::uint32_t row{};
  };

  const plan& plan_;
  std::span<const std::uint32_t> group_;
  std::map<std::tuple<std::uint32_t, pass, pack_id>, std::vector<merge_row>> rows_;  // by replica, pass and pack
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::string>> tied_;             // replica, stage, instruction
};

/// What the order of a replica's transfers follows from.
inline result<workload> times_in_plan(const plan& p, std::uint32_t replica) {
  const replica_plan& r = p.replicas[replica];
  const auto parts = static_cast<std::size_t>(p.shape.parts());
  workload w;
  w.shape = p.shape;
  for (const pass way : both_passes) {
    const std::string where = "replica " + std::to_string(replica) + ", " + name_of(way);
    result<pass_timing> timing = timing_in_plan(r.of(way), r.partition.of(way).size(), parts, where);
    if (!timing) return std::move(timing).error();
    w.of(way) = std::move(timing).value();
  }
  if (p.shape.vocabulary == vocabulary::spread) {
    result<vocabulary_timing> timing = vocabulary_in_plan(r, static_cast<std::size_t>(p.shape.stages),
                                                          "replica " + std::to_string(replica) + ", vocabulary");
    if (!timing) return std::move(timing).error();
    w.vocabulary = std::move(timing).value();
  }
  w.weight = r.weight;
  if (!w.weight.apart.empty() && w.weight.apart.size() != w.backward.size())
    return error{errc::invalid_input,
                 "replica " + std::to_string(replica) + " says of " + std::to_string(w.weight.apart.size()) +
                     " backward packs where their weight gradients run, it has " + std::to_string(w.backward.size())};
  w.weight.time.resize(w.backward.time.size());
  w.turn.resize(w.backward.size());  // that a backward comes after its forwards is what the program says
  return w;
}

}  // namespace detail

namespace simulators {

/// One order of all transfers of the replicas that run together with `replica`: by the starts of their times in the
/// plan. Every rank that issues its part of it in this order cannot deadlock, even over a transport that runs one
/// transfer at a time: of all that are not done, the first is next on each rank that takes part in it. Replicas that
/// share nothing need no order between them.
/// Legs stand behind the rows of their merge, in the order in which sharers post them.
/// The transfers of an ensemble stand next to each other: rows, legs, those of absent sharers, ties.
/// Law       a rank's transfers stand in the order of its program: an instruction's rows before its ties, these before
///           its messages, and all after all that the instructions before it have; no message stands before one that
///           its instruction waits for
/// Source    derived: one order for all is what NCCL's maintainers ask for (nccl #784); starts, since transfers that
///           come early in time keep nobody waiting; equal starts as the task graph is numbered, which is
///           topologically, messages right behind their sender
/// Requires  merges that name replicas there are
/// Errors    invalid_input: programs, times or ties that do not fit the packs; cyclic_schedule: programs that wait for
///           each other, of one replica or through what runs together, so that there is no such order
/// Complexity O(instructions log instructions)
[[nodiscard]] inline result<std::vector<transfer>> transfer_order(const plan& p, std::uint32_t replica) {
  const std::vector<std::uint32_t> group = detail::group_of(p, replica);
  std::vector<workload> works;
  for (const std::uint32_t r : group) {
    result<workload> times = detail::times_in_plan(p, r);
    if (!times) return std::move(times).error();
    works.push_back(std::move(times).value());
    copy_ties(p.replicas[r], works.back());
  }
  const auto position = [&](std::uint32_t r) {
    return static_cast<std::size_t>(std::lower_bound(group.begin(), group.end(), r) - group.begin());
  };
  const result<task_graph> joined = joint_graph(
      group, [&](std::uint32_t r) -> const workload& { return works[position(r)]; },
      [&](std::uint32_t r) -> std::span<const program> { return p.replicas[r].programs; }, p.merges);
  if (!joined) return joined.error();
  const task_graph& graph = joined.value();
  std::vector<seconds> start;
  graph.sweep(start);
  // A message waits for its sender alone. Right behind it, it comes before all else that its rank has.
  std::vector<task_graph::node> nodes;
  for (task_graph::node n = 0; n < graph.size(); ++n) {
    if (graph.tasks()[n].is_gate) nodes.push_back(n);
    for (const task_graph::node to :
         graph.tasks()[n].is_instruction() ? graph.successors(n) : std::span<const task_graph::node>{})
      if (graph.tasks()[to].is_message) nodes.push_back(to);
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](task_graph::node a, task_graph::node b) { return start[a] < start[b]; });
  const detail::transfers_of_gate of_gate(p, group);
  std::vector<transfer> order;
  for (const task_graph::node n : nodes) {
    const task& t = graph.tasks()[n];
    if (t.is_gate)
      of_gate.add(graph, n, order);
    else
      order.push_back(transfers::message{t.what, t.stage, group[t.replica], t.receiver});
  }
  return order;
}

}  // namespace simulators

}  // namespace slimpack

#endif
