#ifndef SLIMPACK_EXECUTORS_EDGE_VALUES_HPP
#define SLIMPACK_EXECUTORS_EDGE_VALUES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace slimpack {

/// A number of an edge. An edge goes from a token to a token that the model predicts from it, its target. No token is
/// the target of two edges, so an edge is named by its target.
struct edge_value {
  sequence_id sequence;  ///< of the target
  tokens target;         ///< its place in the sequence: 1 is that of the edge from token 0; the sequence's length, if
                         ///< the trainer knows a token behind the last one
  double value{};        ///< any float as it is
};

/// Numbers of edges: log-probabilities, as a compute gives them (log_probabilities, executors/hooks.hpp) and a report
/// has them (step_report). They remember the plan by which they were computed, since other packs give other last bits.
///
///   const slimpack::edge_values old = run.evaluate(plan, stage, transport).value().log_probabilities;
///   stage.clips_by = old.of_step(plan).value();    // an error, if they came by any other plan than the step's
///   run.execute(plan, stage, transport);           // while weights are the same, it has each of them, bit for bit
class edge_values {
 public:
  edge_values() = default;
  /// None yet, computed by a plan; of ranks that plan their own groups, by the rank's part.
  explicit edge_values(const plan& by) : plan_(hash_of(by)), by_forward_plan_(is_forward_only(by)) {}

  void add(sequence_id sequence, tokens target, double value) { all_.push_back({sequence, target, value}); }
  /// Of edges whose targets follow each other, from `first` on.
  template <std::floating_point T>
  void add(sequence_id sequence, tokens first, std::span<const T> values) {
    for (const T value : values) add(sequence, first, static_cast<double>(value)), first += tokens{1};
  }

  /// Those of another, whatever plan it remembers.
  void add(const edge_values& more) { all_.insert(all_.end(), more.all_.begin(), more.all_.end()); }

  /// Ends the additions: puts edges in order of sequence and target.
  /// Errors    compute_failed: an edge twice            Complexity  O(edges log edges)
  [[nodiscard]] result<void> close() {
    const auto place = [](const edge_value& e) { return std::tuple(e.sequence, e.target); };
    std::sort(all_.begin(), all_.end(), [&](const edge_value& a, const edge_value& b) { return place(a) < place(b); });
    const auto twice = std::adjacent_find(
        all_.begin(), all_.end(), [&](const edge_value& a, const edge_value& b) { return place(a) == place(b); });
    if (twice == all_.end()) return success();
    return error{errc::compute_failed, "the edge to token " + std::to_string(twice->target.value) + " of sequence " +
                                           std::to_string(twice->sequence.value) + " has two log-probabilities"};
  }

  /// In order of sequence and target.            Requires  closed
  [[nodiscard]] std::span<const edge_value> all() const noexcept { return all_; }
  /// Of edges from tokens of a sequence in [begin, end) to their next ones, in order.            Requires  closed
  /// Complexity O(log edges)
  [[nodiscard]] std::span<const edge_value> from(sequence_id sequence, tokens begin, tokens end) const {
    const auto before = [&](tokens target) {
      return std::partition_point(all_.begin(), all_.end(), [&](const edge_value& e) {
        return std::tuple(e.sequence, e.target) < std::tuple(sequence, target);
      });
    };
    return {before(begin + tokens{1}), before(end + tokens{1})};
  }
  /// Requires  closed            Complexity  O(log edges)
  [[nodiscard]] std::optional<double> at(sequence_id sequence, tokens target) const {
    const std::span<const edge_value> one = from(sequence, target - tokens{1}, target);
    return one.empty() ? std::nullopt : std::optional(one.front().value);
  }

  /// These, where a step by the plan computes the same bits while its weights are the same (packflow::evaluate).
  /// Errors    invalid_input: they were computed by another plan, or by one of plan_forward; there are none, since the
  ///           compute does not offer them            Complexity  O(size of the plan)
  [[nodiscard]] result<const edge_values*> of_step(const plan& step) const& {
    const auto refused = [](const std::string& why) { return error{errc::invalid_input, why}; };
    if (!plan_) return refused("there are no log-probabilities: the compute does not offer them (executors/hooks.hpp)");
    const std::string advice = ", so their last bits are not the step's: evaluate by the plan of the step";
    if (by_forward_plan_)
      return refused("the log-probabilities were computed by a plan of plan_forward, which has other packs" + advice);
    if (const std::uint64_t asked = hash_of(step); asked != *plan_)
      return refused("the log-probabilities were computed by plan " + hash_text(*plan_) + ", the step's is plan " +
                     hash_text(asked) + advice);
    return this;
  }
  result<const edge_values*> of_step(const plan&) const&& = delete;

 private:
  std::vector<edge_value> all_;
  std::optional<std::uint64_t> plan_;  // its hash
  bool by_forward_plan_{};
};

}  // namespace slimpack

#endif
