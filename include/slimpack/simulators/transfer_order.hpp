#ifndef SLIMPACK_SIMULATORS_TRANSFER_ORDER_HPP
#define SLIMPACK_SIMULATORS_TRANSFER_ORDER_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/laws/completed_times.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/relays/legs.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack {

namespace detail {

/// The replicas that run together with one, itself among them, ascending.
[[nodiscard]] inline std::vector<std::uint32_t> group_of(const plan& p, std::uint32_t replica) {
  if (!p.merges.empty())
    for (std::vector<std::uint32_t>& group : simulators::joint_groups(p.merges, p.replicas.size()))
      if (std::binary_search(group.begin(), group.end(), replica)) return std::move(group);
  return {replica};
}

using merge_row = std::pair<std::uint32_t, std::uint32_t>;  // merge, and row of the pass

/// Of packs: the rows they hold for which `is_meant(merge, packs of the row)`.
template <class IsMeant>
[[nodiscard]] std::map<std::tuple<std::uint32_t, pass, pack_id>, std::vector<merge_row>> rows_where(
    const plan& p, const IsMeant& is_meant) {
  std::map<std::tuple<std::uint32_t, pass, pack_id>, std::vector<merge_row>> found;
  for (std::uint32_t m = 0; m < p.merges.size(); ++m)
    for (const pass way : both_passes)
      for (std::uint32_t row = 0; row < p.merges[m].of(way).size(); ++row) {
        const std::vector<pack_id>& packs = p.merges[m].of(way)[row];
        if (!is_meant(p.merges[m], packs)) continue;
        for (std::size_t k = 0; k < packs.size(); ++k)
          if (packs[k] != merge::none) found[{p.merges[m].replicas[k], way, packs[k]}].push_back({m, row});
      }
  return found;
}

/// Of which some sharer has no tokens.
[[nodiscard]] inline auto rows_with_absent(const plan& p) {
  return rows_where(p, [](const merge&, const std::vector<pack_id>& packs) {
    return std::find(packs.begin(), packs.end(), merge::none) != packs.end();
  });
}
/// That cross between nodes over proxies.
[[nodiscard]] inline auto rows_with_relays(const plan& p) {
  return rows_where(p, [](const merge& m, const std::vector<pack_id>&) { return !m.relays.empty(); });
}

/// As ranks run the rows of a pack, each once.
inline void in_order_of_sequence(std::vector<merge_row>& rows, std::span<const merge> merges) {
  std::sort(rows.begin(), rows.end(), [&](const merge_row& a, const merge_row& b) {
    return std::pair(merges[a.first].sequence, a) < std::pair(merges[b.first].sequence, b);
  });
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

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

/// Transfers of an instruction: a message that it sends, or what its pack's rows exchange with the other sharers. Or
/// those of a sharer with a row of which it has no tokens. Or, behind its rows, a leg of a relay, in every hop of every
/// layer.
struct transfer {
  instruction what;
  std::uint32_t stage{};
  std::uint32_t replica{};
  bool is_rows{};    ///< the exchanges of all rows of the pack; those of the sharers stand next to each other
  bool is_absent{};  ///< of a sharer without tokens of the row that `what` names in place of a pack; behind those of
                     ///< the row
  std::uint32_t merge{};     ///< of that row: which of the plan's
  std::uint32_t gate{};      ///< rows that run together have one number
  std::uint32_t receiver{};  ///< of a message: the stage; of a leg: the replica
  bool is_leg{};             ///< of a relay of `merge`, whose row `what` names in place of a pack; `replica` sends it
  std::uint32_t leg{};       ///< its place in legs_in_order

  friend bool operator==(const transfer&, const transfer&) = default;
};

/// One order of all transfers of the replicas that run together with `replica`: by the starts of their times in the
/// plan. Every rank that issues its part of it in this order cannot deadlock, even over a transport that runs one
/// transfer at a time: of all that are not done, the first is next on each rank that takes part in it. Replicas that
/// share nothing need no order between them.
/// Legs stand behind the rows of their merge, in the order in which sharers post them (core/relays/legs.hpp).
/// Law       a rank's transfers stand in the order of its program: an instruction's rows before its message, and both
///           after all that the instructions before it have; no message stands before one that its instruction waits
///           for
/// Source    derived: one order for all is what NCCL's maintainers ask for (nccl #784); starts, since transfers that
///           come early in time keep nobody waiting; equal starts as the task graph is numbered, which is
///           topologically, messages right behind their sender
/// Requires  merges that name replicas there are
/// Errors    invalid_input: programs or times that do not fit the packs; cyclic_schedule: programs that wait for each
///           other, of one replica or through rows, so that there is no such order
/// Complexity O(instructions log instructions)
[[nodiscard]] inline result<std::vector<transfer>> transfer_order(const plan& p, std::uint32_t replica) {
  const std::vector<std::uint32_t> group = detail::group_of(p, replica);
  std::vector<workload> works;
  for (const std::uint32_t r : group) {
    result<workload> work = detail::work_in_plan(p, r);
    if (!work) return std::move(work).error();
    works.push_back(std::move(work).value());
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
  const auto with_absent = detail::rows_with_absent(p);
  const auto with_relays = detail::rows_with_relays(p);
  std::vector<transfer> order;
  for (const task_graph::node n : nodes) {
    const task& t = graph.tasks()[n];
    if (t.is_message)
      order.push_back({.what = t.what, .stage = t.stage, .replica = group[t.replica], .receiver = t.receiver});
    if (!t.is_gate) continue;
    std::vector<detail::merge_row> absent;  // from the rows that run here
    std::vector<detail::merge_row> relayed;
    for (const task_graph::node of : graph.successors(n)) {
      const task& one = graph.tasks()[of];
      order.push_back({one.what, one.stage, group[one.replica], true, false, 0, n});
      const auto here = with_absent.find({group[one.replica], one.what.pass(), one.what.pack});
      if (here != with_absent.end()) absent.insert(absent.end(), here->second.begin(), here->second.end());
      const auto legs = with_relays.find({group[one.replica], one.what.pass(), one.what.pack});
      if (legs != with_relays.end()) relayed.insert(relayed.end(), legs->second.begin(), legs->second.end());
    }
    detail::in_order_of_sequence(relayed, p.merges);
    for (const auto& [m, row] : relayed) {
      const std::vector<leg> legs = legs_in_order(p.merges[m].relays);
      for (std::uint32_t k = 0; k < legs.size(); ++k)
        order.push_back(
            {{t.what.kind, {row}, t.what.chunk}, t.stage, legs[k].from, false, false, m, n, legs[k].to, true, k});
    }
    detail::in_order_of_sequence(absent, p.merges);
    for (const auto& [m, row] : absent)
      for (std::size_t k = 0; k < p.merges[m].replicas.size(); ++k)
        if (p.merges[m].of(t.what.pass())[row][k] == merge::none)
          order.push_back({{t.what.kind, {row}, t.what.chunk}, t.stage, p.merges[m].replicas[k], true, true, m, n});
  }
  return order;
}

}  // namespace simulators

}  // namespace slimpack

#endif
