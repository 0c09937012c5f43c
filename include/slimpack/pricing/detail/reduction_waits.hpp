#ifndef SLIMPACK_PRICING_DETAIL_REDUCTION_WAITS_HPP
#define SLIMPACK_PRICING_DETAIL_REDUCTION_WAITS_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What a step waits for at its begin, where weights are gathered beside its work, and at its end, where gradients are
/// summed beside it (core/gradient_reduction.hpp). Where there is one copy of the weights nothing is reduced, whatever
/// the model's buckets.
class reduction_waits {
 public:
  /// Requires  the model outlives it            Complexity  O(parts)
  template <class Cost>
  reduction_waits(const Cost& cost, const shape& on) : stages_(static_cast<std::size_t>(on.stages)) {
    for (int part = 0; part < on.parts(); ++part) {
      parts_.push_back(on.has_copies() ? gradient_buckets_of(cost, part) : std::span<const gradient_bucket>{});
      empty_ = empty_ && parts_.back().empty();
    }
  }

  [[nodiscard]] bool empty() const noexcept { return empty_; }

  /// Adds to the first forward pack of each part what it waits there for weights that are still being gathered, and to
  /// the `waits` of its stage.
  ///
  /// The first pack is the first that each part runs. With G_k the end of the gather of bucket k on the stage's stream,
  /// a_k the share of the pack's time t before it, and s the pack's start, the pack ends at max(s + t, max_k G_k + (1 -
  /// a_k) t), so that it takes max(0, max_k (G_k - a_k t) - s) longer.
  /// s is the earliest that the chain of parts before allows. The stage may come to the pack later, for the work of
  /// other packs between two chunks: then less is waited than is counted here.
  /// Shapes    time, message: of the pack by part; gathered: by stage, what its stream carries before; start: of part
  ///           0; waits: by stage
  /// Complexity O(buckets)
  void wait_for_weights(std::span<seconds> time, std::span<const seconds> message, std::vector<seconds> gathered,
                        seconds start, std::span<seconds> waits) const {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      seconds ready{};
      for (const gradient_bucket& b : parts_[part]) {
        gathered[part % stages_] += b.gather;
        ready = std::max(ready, gathered[part % stages_] - time[part] * b.at);
      }
      const seconds wait = std::max(seconds{}, ready - start);
      time[part] += wait, waits[part % stages_] += wait;
      start += time[part] + message[part];
    }
  }
  /// The same of a pass whose step begins with part 0, and whose streams carry nothing before.
  void wait_for_weights(timings& t) const {
    std::vector<seconds> waits(stages_);
    wait_for_weights(t.calls[pass::forward], t.messages[pass::forward], std::vector<seconds>(stages_), {}, waits);
  }

  /// How much later than its last backward pack stage 0 ends for the sums of its gradients. That pack is the last of
  /// the step to end, on any stage.
  ///
  /// With t the time that the pack takes on the part, a_k of which is left when bucket k is final, and s_k the time of
  /// the bucket's sum, the sums end at E_k = max(E_{k+1}, (1 - a_k) t) + s_k from the pack's begin, and E_0 - t of them
  /// is late. The larger the pack, the more it hides. Replicas may be asked one by one: a sum begins when the last of
  /// them has its gradients, so that the sums of all end when those of the replica do for which they would end last.
  /// Complexity O(buckets)
  [[nodiscard]] seconds late_sums(seconds last) const {
    seconds end{};
    const std::span<const gradient_bucket> buckets = parts_.front();
    for (auto b = buckets.rbegin(); b != buckets.rend(); ++b) end = std::max(end, last * (1 - b->at)) + b->scatter;
    return std::max(seconds{}, end - last);
  }

  /// No step waits longer, at both ends together, whatever its packs are: gathers of a stage are one after the other,
  /// and a pack of no time hides nothing.
  [[nodiscard]] seconds most() const {
    std::vector<seconds> gathered(stages_);
    for (std::size_t part = 0; part < parts_.size(); ++part)
      for (const gradient_bucket& b : parts_[part]) gathered[part % stages_] += b.gather;
    return *std::max_element(gathered.begin(), gathered.end()) + late_sums({});
  }

 private:
  std::size_t stages_;
  std::vector<std::span<const gradient_bucket>> parts_;
  bool empty_{true};
};

/// Adds to the first forward pack of each part, and to the first E of each stage, what they
/// wait for: that E waits for all of its stage's share of the words, which is gathered before layers.
template <class Cost>
void wait_for_weights(const Cost& cost, workload& w) {
  const reduction_waits waits(cost, w.shape);
  if (w.times.calls[pass::forward].empty() || !w.shape.has_copies()) return;
  std::vector<seconds> gathered(static_cast<std::size_t>(w.shape.stages));
  std::vector<seconds> all(gathered.size());
  seconds start{};
  if (has(w.shape, instruction_kind::embed))
    for (std::size_t stage = 0; stage < gathered.size(); ++stage) {
      for (const gradient_bucket& b : gradient_buckets_of(cost, w.shape.parts() + static_cast<int>(stage)))
        gathered[stage] += b.gather;
      seconds& time = w.times.calls[instruction_kind::embed][stage];
      const seconds wait = std::max(seconds{}, gathered[stage] - start);
      time += wait, all[stage] += wait;
      start += time + w.times.messages[message_kind::embedded][stage];
    }
  if (!waits.empty())
    waits.wait_for_weights(w.times.calls[pass::forward], w.times.messages[pass::forward], std::move(gathered), start,
                           all);
  seconds sum{};
  for (const seconds wait : all) sum += wait;
  w.times.communication += sum;
  if (sum > seconds{}) w.times.weight_waits = std::move(all);
}

/// Counts the sums that are late to the last backward pack, so that a search, which compares replicas' makespans, sees
/// them (reduction_waits::late_sums). Not for the price of a plan: there sums are on streams of their own
/// (simulators/reduction_stream.hpp).
template <class Cost>
void count_late_sums(const Cost& cost, workload& w) {
  std::vector<seconds>& times = w.times.calls[pass::backward];
  if (times.empty()) return;
  const reduction_waits waits(cost, w.shape);
  const std::size_t last = times.size() - static_cast<std::size_t>(w.shape.parts());
  times[last] += waits.late_sums(times[last]);
  if (!w.split.weights.empty()) w.split.weights[last] += waits.late_sums(w.split.weights[last]);
}

}  // namespace slimpack::detail

#endif
