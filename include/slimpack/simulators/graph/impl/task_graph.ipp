#ifndef SLIMPACK_SIMULATORS_GRAPH_IMPL_TASK_GRAPH_IPP
#define SLIMPACK_SIMULATORS_GRAPH_IMPL_TASK_GRAPH_IPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/detail/walk.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The nodes of a graph in topological order, and fewer where there is a cycle.            Complexity O(nodes + edges)
inline std::vector<std::uint32_t> topological_order(std::span<const std::uint32_t> rows,
                                                    std::span<const std::uint32_t> targets) {
  const auto size = static_cast<std::uint32_t>(rows.size() - 1);
  std::vector<std::uint32_t> missing(size, 0);  // tasks that lead to it and have no place yet
  for (const std::uint32_t n : targets) ++missing[n];
  std::vector<std::uint32_t> order;
  order.reserve(size);
  for (std::uint32_t n = 0; n < size; ++n)
    if (missing[n] == 0) order.push_back(n);
  for (std::size_t at = 0; at < order.size(); ++at)
    for (std::uint32_t e = rows[order[at]]; e < rows[order[at] + 1]; ++e)
      if (--missing[targets[e]] == 0) order.push_back(targets[e]);
  return order;
}

/// The nodes of several graphs, counted one graph after the other.
class counted_graphs {
 public:
  explicit counted_graphs(std::span<const simulators::task_graph> graphs) : graphs_(graphs) {
    for (const simulators::task_graph& g : graphs)
      first_.push_back(first_.back() + static_cast<std::uint32_t>(g.size())), edges_ += g.edges();
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return first_.back(); }
  [[nodiscard]] std::size_t edges() const noexcept { return edges_; }
  [[nodiscard]] std::uint32_t first_of(std::size_t graph) const noexcept { return first_[graph]; }
  [[nodiscard]] std::size_t graph_of(std::uint32_t n) const {
    return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), n) - first_.begin()) - 1;
  }
  [[nodiscard]] const simulators::task& operator[](std::uint32_t n) const {
    const std::size_t g = graph_of(n);
    return graphs_[g].tasks()[n - first_[g]];
  }
  /// Where each node of sets is entered: at itself, or at the gate of its set. Gates are counted behind all nodes.
  [[nodiscard]] std::vector<std::uint32_t> entries(std::span<const std::vector<std::uint32_t>> sets) const {
    std::vector<std::uint32_t> entry = slimpack::detail::indices<std::uint32_t>(size());
    for (std::size_t s = 0; s < sets.size(); ++s)
      for (const std::uint32_t n : sets[s]) entry[n] = size() + static_cast<std::uint32_t>(s);
    return entry;
  }
  /// What each task of a set takes: the longest of them.
  [[nodiscard]] seconds longest_of(std::span<const std::uint32_t> set) const {
    seconds most{};
    for (const std::uint32_t n : set) most = std::max(most, (*this)[n].duration);
    return most;
  }

 private:
  std::span<const simulators::task_graph> graphs_;
  std::vector<std::uint32_t> first_{0};
  std::size_t edges_{};
};

inline error rows_in_different_orders() {
  return {errc::cyclic_schedule,
          "replicas wait for each other: they do not run the rows of what they share in one order"};
}

}  // namespace slimpack::detail

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
  const wiring wires(on);
  const detail::messages_under_way number(wires, work);
  inbox_.resize(number.size());
  result<void> walked = detail::walk(wires, work, programs, [&](const detail::step_of_walk& s) {
    const instruction& i = s.instruction;
    const node self = append(i, s.stage, slimpack::time_of(work.times, i, s.stage, on), s.is_followed);
    for (const wire& w : wires.before(s.place)) targets_[inbox_[number(w, i.pack)]] = self;
    const std::span<const wire> sent = wires.after(s.place);
    for (node message = self; message < self + sent.size();) targets_.push_back(++message);
    for (const wire& w : sent) {
      tasks_.push_back({i, s.stage, true, message_of(work.times, w, i.pack, on), 0, false, w.receiver});
      rows_.push_back(static_cast<std::uint32_t>(targets_.size()));
      inbox_[number(w, i.pack)] = static_cast<std::uint32_t>(targets_.size());
      targets_.push_back(unknown);
    }
  });
  rows_.push_back(static_cast<std::uint32_t>(targets_.size()));
  return walked;
}

SLIMPACK_DECL result<void> task_graph::join(std::span<const task_graph> alone,
                                            std::span<const std::vector<node>> together,
                                            std::span<const std::pair<node, node>> between) {
  // Large groups have millions of tasks: vectors are given their sizes, and a task is copied once.
  const detail::counted_graphs before(alone);
  const std::size_t all = before.size() + together.size();
  std::size_t edges = before.edges() + between.size();
  // The gates come after the tasks: each task is entered by its gate where it has one.
  const std::vector<node> entry = before.entries(together);
  std::vector<seconds> longest;  // of a gate's tasks
  for (const std::vector<node>& set : together) longest.push_back(before.longest_of(set)), edges += set.size();
  std::vector<std::pair<node, node>> more(between.begin(), between.end());
  std::sort(more.begin(), more.end());
  auto next = more.begin();
  std::vector<std::uint32_t> rows{0};  // before nodes are numbered anew
  std::vector<node> targets;
  rows.reserve(all + 1), targets.reserve(edges);
  for (std::size_t g = 0; g < alone.size(); ++g) {
    const node first = before.first_of(g);
    for (node n = 0; n < alone[g].size(); ++n) {
      for (const node to : alone[g].successors(n)) targets.push_back(entry[first + to]);
      for (; next != more.end() && next->first == first + n; ++next) targets.push_back(entry[next->second]);
      rows.push_back(static_cast<std::uint32_t>(targets.size()));
    }
  }
  for (const std::vector<node>& set : together) {
    targets.insert(targets.end(), set.begin(), set.end());
    rows.push_back(static_cast<std::uint32_t>(targets.size()));
  }

  const std::vector<node> order = detail::topological_order(rows, targets);
  if (order.size() != all) return detail::rows_in_different_orders();
  std::vector<node> place(all);
  for (node n = 0; n < order.size(); ++n) place[order[n]] = n;
  tasks_.clear(), tasks_.reserve(all);
  rows_.assign(1, 0), rows_.reserve(all + 1);
  targets_.clear(), targets_.reserve(edges);
  for (const node n : order) {
    const bool is_gate = n >= before.size();
    const node like = is_gate ? together[n - before.size()].front() : n;
    task& made = tasks_.emplace_back(before[like]);
    made.replica = static_cast<std::uint32_t>(before.graph_of(like));
    made.is_gate = is_gate;
    if (is_gate)
      made.duration = {};
    else if (entry[n] != n)
      made.duration = longest[entry[n] - before.size()];
    for (std::uint32_t e = rows[n]; e < rows[n + 1]; ++e) targets_.push_back(place[targets[e]]);
    rows_.push_back(static_cast<std::uint32_t>(targets_.size()));
  }
  return success();
}

SLIMPACK_DECL result<seconds> task_graph::joint_makespan(std::span<const task_graph> alone,
                                                         std::span<const std::vector<node>> together,
                                                         std::span<const std::pair<node, node>> between) {
  const detail::counted_graphs before(alone);
  const std::vector<node> entry = before.entries(together);
  std::vector<std::pair<node, node>> more(between.begin(), between.end());
  std::sort(more.begin(), more.end());
  // A set runs as one, when all that leads to one of it has ended.
  const std::size_t all = before.size() + together.size();
  std::vector<std::uint32_t> missing(all);  // by entry: edges whose task has not ended
  for (std::size_t g = 0; g < alone.size(); ++g)
    for (const node to : alone[g].targets()) ++missing[entry[before.first_of(g) + to]];
  for (const auto& [from, to] : more) ++missing[entry[to]];
  std::vector<seconds> start(all);
  std::vector<node> ready;
  seconds makespan{};
  const auto arrive = [&](node to, seconds at) {
    start[to] = std::max(start[to], at);
    if (--missing[to] == 0) ready.push_back(to);
  };
  const auto end = [&](std::size_t g, node n, seconds at) {
    const node first = before.first_of(g);
    makespan = std::max(makespan, at);
    for (const node to : alone[g].successors(n)) arrive(entry[first + to], at);
    for (auto next = std::lower_bound(more.begin(), more.end(), std::pair{first + n, node{0}});
         next != more.end() && next->first == first + n; ++next)
      arrive(entry[next->second], at);
  };
  std::size_t left = 0;
  for (node n = 0; n < all; ++n) {
    if (n < before.size() && entry[n] != n) continue;  // runs with its set
    ++left;
    if (missing[n] == 0) ready.push_back(n);
  }
  for (; !ready.empty(); --left) {
    const node n = ready.back();
    ready.pop_back();
    if (n < before.size()) {
      const std::size_t g = before.graph_of(n);
      end(g, n - before.first_of(g), start[n] + before[n].duration);
    } else {
      const std::vector<node>& set = together[n - before.size()];
      const seconds at = start[n] + before.longest_of(set);
      for (const node one : set) end(before.graph_of(one), one - before.first_of(before.graph_of(one)), at);
    }
  }
  if (left > 0) return detail::rows_in_different_orders();
  return makespan;
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
