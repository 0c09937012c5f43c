#ifndef SLIMPACK_SIMULATOR_GRAPH_HPP
#define SLIMPACK_SIMULATOR_GRAPH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/workload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace slimpack::simulator {

/// A node of the task graph: an instruction, the message that carries its output to the next part, or the gate that
/// packs of a row wait at, which takes no time.
struct task {
  instruction what;
  std::uint32_t stage{};  ///< that runs it; of a message, the sender
  bool is_message{};
  seconds duration;
  std::uint32_t replica{};  ///< that runs it, where several run together (simulator/joint.hpp); of a gate, one of them
  bool is_gate{};

  [[nodiscard]] bool is_instruction() const noexcept { return !is_message && !is_gate; }
};

/// What one step of a replica does, as a directed acyclic graph in compressed rows, numbered topologically.
///
/// Nodes     each instruction of each stage, each message between parts; a gate for each set of tasks joined
/// Edges     program order on a stage; instruction -> its message -> the instruction that waits for it.
///           A backward on the last part also waits for all forwards of its sequences; program order
///           implies it, since a program that runs them later would wait for itself and is rejected. Weight
///           gradients (W) come after their backward by program order too, and nothing waits for them.
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
  /// Edges     those of `alone`, but who leads to one of a set leads to its gate, and the gate to all of it; all of it
  ///           take the longest duration
  /// Requires  sets without a common node
  /// Errors    cyclic_schedule: tasks wait for each other through a set
  /// Complexity O(nodes + edges)
  result<void> join(std::span<const task_graph> alone, std::span<const std::vector<node>> together);

  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
  [[nodiscard]] std::span<const task> tasks() const noexcept { return tasks_; }
  [[nodiscard]] std::span<const node> successors(node n) const noexcept {
    return {targets_.data() + rows_[n], targets_.data() + rows_[n + 1]};
  }
  [[nodiscard]] std::size_t edges() const noexcept { return targets_.size(); }

  /// Start of each task when every task starts as soon as its predecessors end.
  /// Shapes    start: one per node, resized            Complexity  O(nodes + edges)
  /// Returns   the makespan: the latest end
  seconds sweep(std::vector<seconds>& start) const;

 private:
  static constexpr node unknown = std::numeric_limits<node>::max();

  [[nodiscard]] error stuck(std::span<const program> programs, int chunks) const;

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
  std::vector<std::uint32_t> next_;                       // per stage, position in its program
  std::vector<std::uint32_t> previous_;                   // per stage, slot in targets_ that waits for its next node
  std::vector<std::uint32_t> done_[2];                    // per part, packs run, by pass
  std::vector<std::uint32_t> weights_;                    // per part, the pack whose weight gradients are next
  std::vector<std::uint32_t> inbox_[2];                   // per pack and part, slot that the consumer fills, by pass
  std::vector<std::uint32_t> ready_;
};

inline error task_graph::stuck(std::span<const program> programs, int chunks) const {
  std::string detail = "the programs wait for each other; stuck:";
  for (std::size_t r = 0; r < programs.size(); ++r) {
    if (next_[r] == programs[r].size()) continue;
    const instruction& i = programs[r][next_[r]];
    detail += " stage " + std::to_string(r) + " at " + name_of(i, chunks) + ",";
  }
  detail.back() = '.';
  return {errc::cyclic_schedule, detail};
}

inline result<void> task_graph::assign(const workload& work, std::span<const program> programs) {
  const auto stages = static_cast<std::uint32_t>(work.shape.stages);
  const auto parts = static_cast<std::uint32_t>(work.shape.parts());
  const std::size_t packs[2] = {work.forward.size(), work.backward.size()};
  if (programs.size() != stages)
    return error{errc::invalid_input, std::to_string(programs.size()) + " programs for " + std::to_string(stages) + " stages"};
  const std::size_t of_stage = (packs[0] + packs[1] + work.weight.count()) * static_cast<std::size_t>(work.shape.chunks);
  std::size_t instructions = 0;
  for (std::size_t r = 0; r < stages; ++r) {
    instructions += programs[r].size();
    if (programs[r].size() != of_stage)
      return error{errc::invalid_input, "stage " + std::to_string(r) + " runs " + std::to_string(programs[r].size()) +
                                            " instructions, its packs need " + std::to_string(of_stage)};
  }
  tasks_.clear();
  rows_.clear();
  targets_.clear();
  tasks_.reserve(2 * instructions);
  rows_.reserve(2 * instructions + 1);
  targets_.reserve(3 * instructions);
  next_.assign(stages, 0);
  previous_.assign(stages, unknown);
  for (const int p : {0, 1}) {
    done_[p].assign(parts, 0);
    inbox_[p].assign(packs[p] * parts, unknown);
  }

  weights_.assign(parts, static_cast<std::uint32_t>(work.weight.next(0)));

  ready_.clear();
  for (std::uint32_t r = stages; r-- > 0;) ready_.push_back(r);
  while (!ready_.empty()) {
    const std::uint32_t stage = ready_.back();
    ready_.pop_back();
    const program& code = programs[stage];
    for (std::uint32_t& at = next_[stage]; at < code.size(); ++at) {
      const instruction& i = code[at];
      const int p = i.pass == pass::forward ? 0 : 1;
      const std::uint32_t part = i.chunk * stages + stage;
      if (i.weights_only) {
        if (p == 0 || part >= parts || i.pack.value != weights_[part] || i.pack.value >= done_[1][part] ||
            !work.weight.splits(i.pack.value))
          return error{errc::invalid_input, "stage " + std::to_string(stage) + ", instruction " + std::to_string(at) +
                                                ": weight gradients must run once, in order, after their backward"};
        weights_[part] = static_cast<std::uint32_t>(work.weight.next(weights_[part] + 1));
        append(i, stage, work.weight.time[std::size_t{i.pack.value} * parts + part], at + 1 < code.size());
        continue;
      }
      if (part >= parts || i.pack.value != done_[p][part] || i.pack.value >= packs[p])
        return error{errc::invalid_input, "stage " + std::to_string(stage) + ", instruction " + std::to_string(at) +
                                              ": packs must run once and in order"};
      const bool first = p == 0 ? part == 0 : part == parts - 1;
      const bool last = p == 0 ? part == parts - 1 : part == 0;
      const std::size_t cell = std::size_t{i.pack.value} * parts + part;
      if (first && p == 1 && done_[0][part] <= work.turn[i.pack.value]) break;  // waits for its own stage: never
      if (!first && inbox_[p][cell] == unknown) break;
      const pass_timing& timing = work.of(i.pass);
      const node self = append(i, stage, timing.time[cell], at + 1 < code.size());
      if (!first) targets_[inbox_[p][cell]] = self;
      ++done_[p][part];
      if (!last) {
        targets_.push_back(self + 1);
        tasks_.push_back({i, stage, true, timing.message[cell]});
        rows_.push_back(static_cast<std::uint32_t>(targets_.size()));
        const std::uint32_t to = p == 0 ? part + 1 : part - 1;
        inbox_[p][std::size_t{i.pack.value} * parts + to] = static_cast<std::uint32_t>(targets_.size());
        targets_.push_back(unknown);
        const std::uint32_t receiver = to % stages;
        // The receiver resumes only if this is the very message it waits for.
        if (next_[receiver] < programs[receiver].size() && receiver != stage) {
          const instruction& waiting = programs[receiver][next_[receiver]];
          if (waiting == instruction{i.pass, i.pack, to / stages})
            ready_.push_back(receiver);
        }
      }
    }
  }
  rows_.push_back(static_cast<std::uint32_t>(targets_.size()));
  for (std::size_t r = 0; r < stages; ++r)
    if (next_[r] != programs[r].size()) return stuck(programs, work.shape.chunks);
  return success();
}

inline result<void> task_graph::join(std::span<const task_graph> alone, std::span<const std::vector<node>> together) {
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
  std::vector<std::uint32_t> rows{0};  // before nodes are numbered anew
  std::vector<node> targets;
  for (const task_graph& g : alone) {
    const auto first = static_cast<node>(rows.size() - 1);
    for (node n = 0; n < g.size(); ++n) {
      for (const node to : g.successors(n)) targets.push_back(entry[first + to]);
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

}  // namespace slimpack::simulator

#endif
