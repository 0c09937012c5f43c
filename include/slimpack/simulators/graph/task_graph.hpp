#ifndef SLIMPACK_SIMULATORS_GRAPH_TASK_GRAPH_HPP
#define SLIMPACK_SIMULATORS_GRAPH_TASK_GRAPH_HPP

#include <slimpack/core/detail/flow.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/detail/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace slimpack::simulators {

/// A node of the task graph: an instruction, the message that carries its output to the next part, or the gate that
/// packs of a row wait at, which takes no time.
struct task {
  instruction what;
  std::uint32_t stage{};  ///< that runs it; of a message, the sender
  bool is_message{};
  seconds duration;
  std::uint32_t replica{};  ///< that runs it, where several run together (simulators/graph/joint.hpp); of a gate, one of them
  bool is_gate{};
  std::uint32_t receiver{};  ///< of a message: the stage

  [[nodiscard]] bool is_instruction() const noexcept { return !is_message && !is_gate; }
};

/// What one step of a replica does, as a directed acyclic graph in compressed rows, numbered topologically.
///
/// Nodes     each instruction of each stage, each message between parts; a gate for each set of tasks joined
/// Edges     program order on a stage; instruction -> its message -> the instruction that waits for it.
///           A backward on the last part also waits for all forwards of its sequences; program order
///           implies it, since a program that runs them later would wait for itself and is rejected. Weight
///           gradients (W) come after their backward by program order too, and nothing waits for them. The ends of a
///           model whose vocabulary is spread are flows of their own (core/vocabulary.hpp); a backward on the last
///           part then waits, by program order, for the output layer's last call (V) of its sequences there.
/// Source    derived; SlimPack (arXiv:2509.26246) describes its simulator as a DAG solved by its critical path
/// Messages neither occupy a stage nor delay each other.
class task_graph {
 public:
  using node = std::uint32_t;

  /// Builds the graph of `programs` (one per stage) over the packs of `work`. Reuses this object's storage.
  /// Errors    invalid_input: a pack is missing, repeated or out of run order on a stage, or weight gradients come
  ///           before their backward
  ///           cyclic_schedule: the programs wait for each other; the detail names the instructions that are stuck
  /// Complexity O(instructions)
  result<void> assign(const workload& work, std::span<const program> programs);

  /// Becomes the graph of several, each task with the number of its graph as replica, in which the tasks of each set of
  /// `together` start together, when the last is ready, and end together with the longest: rows of merges.
  /// Nodes     those of `alone`, one graph after the other, and a gate per set, numbered anew; `together` counts those of
  ///           `alone` so before
  /// Edges     those of `alone` and `between`, but who leads to one of a set leads to its gate, and the gate to all of it;
  ///           all of it take the longest duration
  /// Requires  sets without a common node
  /// Errors    cyclic_schedule: tasks wait for each other through a set
  /// Complexity O(nodes + edges)
  result<void> join(std::span<const task_graph> alone, std::span<const std::vector<node>> together,
                    std::span<const std::pair<node, node>> between = {});

  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
  [[nodiscard]] std::span<const task> tasks() const noexcept { return tasks_; }
  [[nodiscard]] std::span<const node> successors(node n) const noexcept {
    return {targets_.data() + rows_[n], targets_.data() + rows_[n + 1]};
  }
  [[nodiscard]] std::size_t edges() const noexcept { return targets_.size(); }

  /// All successors in compressed rows: those of n are targets()[rows()[n]] to targets()[rows()[n + 1] - 1].
  [[nodiscard]] std::span<const std::uint32_t> rows() const noexcept { return rows_; }
  [[nodiscard]] std::span<const node> targets() const noexcept { return targets_; }

  /// Start of each task when every task starts as soon as its predecessors end.
  /// Shapes    start: one per node, resized            Complexity  O(nodes + edges)
  /// Returns   the makespan: the latest end
  seconds sweep(std::vector<seconds>& start) const;

 private:
  static constexpr node unknown = std::numeric_limits<node>::max();

  /// Adds an instruction after the last of its stage, with a slot for the one that follows.
  node append(const instruction& i, std::uint32_t stage, seconds duration, bool followed) {
    const auto self = static_cast<node>(tasks_.size());
    if (previous_[stage] != unknown) targets_[previous_[stage]] = self;
    tasks_.push_back({i, stage, false, duration});
    rows_.push_back(static_cast<std::uint32_t>(targets_.size()));
    previous_[stage] = followed ? static_cast<std::uint32_t>(targets_.size()) : unknown;
    if (followed) targets_.push_back(unknown);
    return self;
  }

  std::vector<task> tasks_;
  std::vector<std::uint32_t> rows_;
  std::vector<node> targets_;
  // Scratch of assign, kept for its capacity.
  std::vector<std::uint32_t> previous_;  // per stage, slot in targets_ that waits for its next node
  std::vector<std::uint32_t> inbox_;     // per message, slot that the consumer fills
};

inline result<void> task_graph::assign(const workload& work, std::span<const program> programs) {
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

inline result<void> task_graph::join(std::span<const task_graph> alone, std::span<const std::vector<node>> together,
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

inline seconds task_graph::sweep(std::vector<seconds>& start) const {
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
