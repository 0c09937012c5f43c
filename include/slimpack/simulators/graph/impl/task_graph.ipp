#ifndef SLIMPACK_SIMULATORS_GRAPH_IMPL_TASK_GRAPH_IPP
#define SLIMPACK_SIMULATORS_GRAPH_IMPL_TASK_GRAPH_IPP

#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/core/detail/flow.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/detail/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace slimpack::simulators {

SLIMPACK_DECL result<void> task_graph::assign(const workload& work, std::span<const program> programs) {
  std::size_t instructions = 0;
  for (const program& code : programs) instructions += code.size();
  tasks_.clear();
  rows_.clear();
  targets_.clear();
  tasks_.reserve(2 * instructions);
  rows_.reserve(2 * instructions + 1);
  targets_.reserve(3 * instructions);
  previous_.assign(programs.size(), unknown);
  const shape& on = work.shape;
  const detail::messages_under_way number(work);
  inbox_.resize(number.size());
  result<void> walked = detail::walk(work, programs, [&](const detail::step_of_walk& s) {
    const instruction& i = s.instruction;
    const node self = append(i, s.stage, slimpack::time_of(work, i, s.stage, on), s.is_followed);
    if (i.is_weights()) return;
    detail::each_before(s.place, on, [&](detail::flow_place from) { targets_[inbox_[number(from, s.place, i.pack)]] = self; });
    node message = self;
    detail::each_after(s.place, on, [&](detail::flow_place) { targets_.push_back(++message); });
    detail::each_after(s.place, on, [&](detail::flow_place to) {
      tasks_.push_back({i, s.stage, true, detail::message_of(work, s.place, to, i.pack, on), 0, false, detail::stage_of(to, on)});
      rows_.push_back(static_cast<std::uint32_t>(targets_.size()));
      inbox_[number(s.place, to, i.pack)] = static_cast<std::uint32_t>(targets_.size());
      targets_.push_back(unknown);
    });
  });
  rows_.push_back(static_cast<std::uint32_t>(targets_.size()));
  return walked;
}

SLIMPACK_DECL result<void> task_graph::join(std::span<const task_graph> alone, std::span<const std::vector<node>> together,
                                            std::span<const std::pair<node, node>> between) {
  std::vector<task> tasks;
  for (std::size_t g = 0; g < alone.size(); ++g) {
    const std::size_t first = tasks.size();
    tasks.insert(tasks.end(), alone[g].tasks_.begin(), alone[g].tasks_.end());
    for (std::size_t n = first; n < tasks.size(); ++n) tasks[n].replica = static_cast<std::uint32_t>(g);
  }
  // The gates come after them: each task is entered by its gate where it has one.
  std::vector<node> entry(tasks.size());
  std::iota(entry.begin(), entry.end(), node{0});
  for (const std::vector<node>& set : together) {
    seconds longest{};
    for (const node n : set) longest = std::max(longest, tasks[n].duration);
    for (const node n : set) {
      tasks[n].duration = longest;
      entry[n] = static_cast<node>(tasks.size());
    }
    task gate = tasks[set.front()];
    gate.duration = {};
    gate.is_gate = true;
    tasks.push_back(gate);
  }
  std::vector<std::pair<node, node>> more(between.begin(), between.end());
  std::sort(more.begin(), more.end());
  auto next = more.begin();
  std::vector<std::uint32_t> rows{0};  // before nodes are numbered anew
  std::vector<node> targets;
  for (const task_graph& g : alone) {
    const auto first = static_cast<node>(rows.size() - 1);
    for (node n = 0; n < g.size(); ++n) {
      for (const node to : g.successors(n)) targets.push_back(entry[first + to]);
      for (; next != more.end() && next->first == first + n; ++next) targets.push_back(entry[next->second]);
      rows.push_back(static_cast<std::uint32_t>(targets.size()));
    }
  }
  for (const std::vector<node>& set : together) {
    targets.insert(targets.end(), set.begin(), set.end());
    rows.push_back(static_cast<std::uint32_t>(targets.size()));
  }

  std::vector<std::uint32_t> missing(tasks.size(), 0);  // tasks that lead to it and have no number yet
  for (const node n : targets) ++missing[n];
  std::vector<node> order;
  order.reserve(tasks.size());
  for (node n = 0; n < tasks.size(); ++n)
    if (missing[n] == 0) order.push_back(n);
  for (std::size_t at = 0; at < order.size(); ++at)
    for (std::uint32_t e = rows[order[at]]; e < rows[order[at] + 1]; ++e)
      if (--missing[targets[e]] == 0) order.push_back(targets[e]);
  if (order.size() != tasks.size())
    return error{errc::cyclic_schedule, "replicas wait for each other: they do not run the rows of what they share in one order"};

  std::vector<node> place(tasks.size());
  for (node n = 0; n < order.size(); ++n) place[order[n]] = n;
  tasks_.clear();
  rows_.assign(1, 0);
  targets_.clear();
  for (const node n : order) {
    tasks_.push_back(tasks[n]);
    for (std::uint32_t e = rows[n]; e < rows[n + 1]; ++e) targets_.push_back(place[targets[e]]);
    rows_.push_back(static_cast<std::uint32_t>(targets_.size()));
  }
  return success();
}

SLIMPACK_DECL seconds task_graph::sweep(std::vector<seconds>& start) const {
  start.assign(size(), seconds{});
  seconds makespan{};
  for (node n = 0; n < size(); ++n) {
    const seconds end = start[n] + tasks_[n].duration;
    makespan = std::max(makespan, end);
    for (const node m : successors(n)) start[m] = std::max(start[m], end);
  }
  return makespan;
}

}  // namespace slimpack::simulators

#endif
