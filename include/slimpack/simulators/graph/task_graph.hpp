#ifndef SLIMPACK_SIMULATORS_GRAPH_TASK_GRAPH_HPP
#define SLIMPACK_SIMULATORS_GRAPH_TASK_GRAPH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::simulators {

/// A node of the task graph: an instruction, the message that carries its output to the next part, or the gate that
/// packs of a row wait at, which takes no time.
struct task {
  instruction what;
  std::uint32_t stage{};  ///< that runs it; of a message, the sender
  bool is_message{};
  seconds duration;
  std::uint32_t replica{};  ///< that runs it, where several run together (simulators/graph/joint.hpp); of a gate, one
                            ///< of them
  bool is_gate{};
  std::uint32_t receiver{};  ///< of a message: the stage

  [[nodiscard]] bool is_instruction() const noexcept { return !is_message && !is_gate; }
};

/// What one step of a replica does, as a directed acyclic graph in compressed rows, numbered topologically.
///
/// Nodes     each instruction of each stage, each message between parts; a gate for each set of tasks joined
/// Edges     program order on a stage; instruction -> its message -> the instruction that waits for it, along the
///           wires of core/wiring/wiring.hpp. What an instruction waits for on its own stage comes before it by program
///           order, since a program that runs it later would wait for itself and is rejected.
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
  /// Nodes     those of `alone`, one graph after the other, and a gate per set, numbered anew; `together` counts those
  ///           of `alone` so before
  /// Edges     those of `alone` and `between`, but who leads to one of a set leads to its gate, and the gate to all of
  ///           it; all of it take the longest duration
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

  /// The makespan of what join would make of them, without making it, to the same bit.
  /// Requires  sets without a common node
  /// Errors    those of join            Complexity  O(nodes + edges)
  [[nodiscard]] static result<seconds> joint_makespan(std::span<const task_graph> alone,
                                                      std::span<const std::vector<node>> together,
                                                      std::span<const std::pair<node, node>> between = {});

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

}  // namespace slimpack::simulators

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/simulators/graph/impl/task_graph.ipp>
#endif

#endif
