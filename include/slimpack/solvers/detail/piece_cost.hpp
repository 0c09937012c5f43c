#ifndef SLIMPACK_SOLVERS_DETAIL_PIECE_COST_HPP
#define SLIMPACK_SOLVERS_DETAIL_PIECE_COST_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace slimpack::detail {

/// What a search for common cuts (problem::common_cuts) prices with: packs as the pieces of their common refinement.
/// Who names no overhead, neither of packs nor of calls, would get a plan of as many pieces as there are places to cut:
/// each cut gains a little in theory, and a call is never free. A piece then counts as some part of a quantum more.
/// Law       with an overhead, a partition takes what the model says that its refinement takes, to the bit
class piece_cost final : public any_cost {
 public:
  /// quanta: what a piece counts as besides, where the model has no overhead
  /// Requires  the model outlives it
  piece_cost(const any_cost& cost, const shape& on, double quanta)
      : cost_(&cost), parts_(static_cast<std::size_t>(on.parts())) {
    for (const pass p : both_passes)
      for (int part = 0; part < on.parts(); ++part)
        if (cost.overhead(p, part) > seconds{} || cost.call_overhead(p, part) > seconds{}) return;
    const slice quantum{{}, {0}, on.quantum};
    for (const pass p : both_passes)
      for (int part = 0; part < on.parts(); ++part)
        assumed_[p].push_back(cost.of_pack(std::span(&quantum, 1), p, part) * quanta);
  }

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const override { return cost_->time(s, p, part); }
  [[nodiscard]] seconds of_pack(std::span<const slice> pack, pass p, int part) const override {
    return cost_->of_pack(pack, p, part) + assumed(p, part) * static_cast<double>(pack.size());
  }
  [[nodiscard]] seconds overhead(pass p, int part) const override { return cost_->overhead(p, part); }
  [[nodiscard]] seconds call_overhead(pass p, int part) const override {
    return cost_->call_overhead(p, part) + assumed(p, part);
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const override { return cost_->least(s, p, part); }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const override { return cost_->weight_time(s, part); }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const override { return cost_->message(size, p, part); }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const override {
    return cost_->exchange(row, mine, p, part);
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const override { return cost_->memory(stage); }
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const override {
    return cost_->gradient_buckets(part);
  }

  /// Of packs that are in pieces already.
  void layers(const micropacks& packs, pass p, int parts, timings& times) const override {
    cost_->layers(packs, p, parts, times);
    count_calls(packs, p, times.calls[p]);
  }
  [[nodiscard]] workload priced(const partition& packs, const shape& on, const std::vector<memory_rates>& rates,
                                weight_gradients weights, std::span<const shared_row> shared,
                                std::span<const sequence_id> parents) const override {
    const partition alike = common_refinement(packs);
    workload w = cost_->priced(alike, on, rates, weights, shared, parents);
    count_calls(alike.forward, pass::forward, w.times.calls[pass::forward]);
    for (std::vector<seconds>* const times : {&w.times.calls[pass::backward], &w.split.inputs, &w.split.weights})
      if (!times->empty()) count_calls(alike.backward, pass::backward, *times);
    return w;
  }
  [[nodiscard]] bool has_pack_times() const noexcept override { return cost_->has_pack_times(); }
  [[nodiscard]] std::size_t sharers() const noexcept override { return cost_->sharers(); }

 private:
  [[nodiscard]] seconds assumed(pass p, int part) const noexcept {
    return assumed_[p].empty() ? seconds{} : assumed_[p][static_cast<std::size_t>(part)];
  }
  void count_calls(const micropacks& packs, pass p, std::vector<seconds>& times) const {
    if (assumed_[p].empty()) return;
    for (std::size_t cell = 0; cell < times.size(); ++cell)
      times[cell] += assumed_[p][cell % parts_] * static_cast<double>(packs[cell / parts_].size());
  }

  const any_cost* cost_;
  std::size_t parts_;
  by_pass<std::vector<seconds>> assumed_;  // of a call, by part; empty: nothing
};

}  // namespace slimpack::detail

#endif
