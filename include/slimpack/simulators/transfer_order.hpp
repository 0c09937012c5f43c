#ifndef SLIMPACK_SIMULATORS_TRANSFER_ORDER_HPP
#define SLIMPACK_SIMULATORS_TRANSFER_ORDER_HPP

#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/soundness/completed_times.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

/// What ranks send each other in a step, as simulators::transfer_order puts it in order. Each has the replica and the
/// stage of a rank that takes part in it.
namespace slimpack::simulators::transfers {

/// A message that an instruction sends.
struct message {
  instruction what;
  std::uint32_t stage{};
  std::uint32_t replica{};
  std::uint32_t receiver{};  ///< the stage
  friend bool operator==(const message&, const message&) = default;
};

/// What a pack's rows exchange with the other sharers, all rows of the pack. Those of the sharers stand next to each
/// other.
struct rows {
  instruction what;
  std::uint32_t stage{};
  std::uint32_t replica{};
  std::uint32_t gate{};  ///< what runs together has one number
  friend bool operator==(const rows&, const rows&) = default;
};

/// The transfers of a sharer with a row of which it has no tokens, behind those of the row.
struct absent {
  slimpack::pass pass{};
  std::uint32_t chunk{};
  std::uint32_t stage{};
  std::uint32_t replica{};
  std::uint32_t merge{};  ///< which of the plan's
  std::uint32_t row{};    ///< of the merge
  std::uint32_t gate{};   ///< that of the row
  friend bool operator==(const absent&, const absent&) = default;
};

/// A leg of rows that cross between nodes over proxies, in every hop of every layer, behind the rows.
struct leg {
  slimpack::pass pass{};
  std::uint32_t chunk{};
  std::uint32_t stage{};
  std::uint32_t replica{};   ///< that sends it
  std::uint32_t receiver{};  ///< the replica
  std::uint32_t merge{};     ///< which of the plan's
  std::uint32_t row{};       ///< of the merge
  std::uint32_t number{};    ///< its place in merge::legs
  std::uint32_t gate{};      ///< that of the rows
  friend bool operator==(const leg&, const leg&) = default;
};

/// What an instruction and those of other stages that it is tied to send each other (core/ensemble/stage_ties.hpp),
/// layer by layer. Those of what runs together stand next to each other, behind their rows.
struct ties {
  instruction what;
  std::uint32_t stage{};
  std::uint32_t replica{};
  std::uint32_t gate{};  ///< what runs together has one number
  friend bool operator==(const ties&, const ties&) = default;
};

}  // namespace slimpack::simulators::transfers

namespace slimpack::simulators {

using transfer = std::variant<transfers::message, transfers::rows, transfers::absent, transfers::leg, transfers::ties>;

}  // namespace slimpack::simulators

namespace slimpack {

namespace detail {

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

  /// Adds those of a gate: rows, legs, those of sharers without tokens of a row, ties.
  void add(const simulators::task_graph& graph, simulators::task_graph::node gate,
           std::vector<simulators::transfer>& to) const {
    std::vector<part_of_row> rows;
    for (const simulators::task_graph::node n : graph.successors(gate)) {
      const simulators::task& t = graph.tasks()[n];
      const auto here = rows_.find({group_[t.replica], t.what.pass(), t.what.pack});
      if (here == rows_.end()) continue;
      to.push_back(simulators::transfers::rows{t.what, t.stage, group_[t.replica], gate});
      for (const auto& [m, row] : here->second)
        rows.push_back({plan_.merges[m].sequence, m, row, t.what.chunk, t.stage});
    }
    // As ranks run the rows of a pack, each once.
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const pass way = graph.tasks()[gate].what.pass();
    for (const auto& [sequence, m, row, chunk, stage] : rows) {
      const std::vector<leg> legs = plan_.merges[m].legs();
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

/// What the order of a replica's transfers follows from. That a backward comes after its forwards is what programs say.
inline result<workload> work_in_plan(const plan& p, std::uint32_t replica) {
  const replica_plan& r = p.replicas[replica];
  result<timings> times = completed(r.times, r.partition, p.shape, replica);
  if (!times) return std::move(times).error();
  workload w;
  w.shape = p.shape;
  w.times = std::move(times).value();
  w.turn.resize(w.times.packs(pass::backward));
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
    result<workload> work = detail::work_in_plan(p, r);
    if (!work) return std::move(work).error();
    works.push_back(std::move(work).value());
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
