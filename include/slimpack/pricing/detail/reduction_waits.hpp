#ifndef SLIMPACK_PRICING_DETAIL_REDUCTION_WAITS_HPP
#define SLIMPACK_PRICING_DETAIL_REDUCTION_WAITS_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What the begin of a step waits for where weights are gathered beside its work (core/gradient_reduction.hpp).
class reduction_waits {
 public:
  /// Requires  the model outlives it            Complexity  O(parts)
  template <class Cost>
  reduction_waits(const Cost& cost, const shape& on) : stages_(static_cast<std::size_t>(on.stages)) {
    for (int part = 0; part < on.parts(); ++part) {
      parts_.push_back(gradient_buckets_of(cost, part));
      empty_ = empty_ && parts_.back().empty();
    }
  }

  [[nodiscard]] bool empty() const noexcept { return empty_; }

  /// Adds to the first forward pack of each part what it waits there for weights that are still being gathered, and to
  /// `waits`.
  ///
  /// The first pack is the first that each part runs. With G_k the end of the gather of bucket k on the stage's stream, a_k the
  /// share of the pack's time t before it, and s the pack's start, the pack ends at max(s + t, max_k G_k + (1 - a_k) t), so that
  /// it takes max(0, max_k (G_k - a_k t) - s) longer.
  /// s is the earliest that the chain of parts before allows. The stage may come to the pack later, for the work of other
  /// packs between two chunks: then less is waited than is counted here.
  /// Shapes    time, message: of the pack by part; gathered: by stage, what its stream carries before; start: of part 0
  /// Complexity O(buckets)
  void wait_for_weights(std::span<seconds> time, std::span<const seconds> message, std::vector<seconds> gathered, seconds start,
                        seconds& waits) const {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      seconds ready{};
      for (const gradient_bucket& b : parts_[part]) {
        gathered[part % stages_] += b.gather;
        ready = std::max(ready, gathered[part % stages_] - time[part] * b.at);
      }
      const seconds wait = std::max(seconds{}, ready - start);
      time[part] += wait, waits += wait;
      start += time[part] + message[part];
    }
  }
  /// The same of a pass whose step begins with part 0, and whose streams carry nothing before.
  void wait_for_weights(pass_timing& forward) const {
    seconds waits{};
    wait_for_weights(forward.time, forward.message, std::vector<seconds>(stages_), {}, waits);
  }

 private:
  std::size_t stages_;
  std::vector<std::span<const gradient_bucket>> parts_;
  bool empty_{true};
};

/// Adds to the first forward pack of each part, and of a spread vocabulary to the first call of each stage, what they wait for:
/// that call waits for all of its stage's share, which is gathered before layers.
template <class Cost>
void wait_for_weights(const Cost& cost, workload& w) {
  const reduction_waits waits(cost, w.shape);
  if (w.forward.time.empty()) return;
  std::vector<seconds> gathered(static_cast<std::size_t>(w.shape.stages));
  seconds start{};
  if (w.shape.vocabulary == vocabulary::spread)
    for (std::size_t stage = 0; stage < gathered.size(); ++stage) {
      for (const gradient_bucket& b : gradient_buckets_of(cost, w.shape.parts() + static_cast<int>(stage))) gathered[stage] += b.gather;
      seconds& time = w.vocabulary.embed[stage];
      const seconds wait = std::max(seconds{}, gathered[stage] - start);
      time += wait;
      w.communication += wait;
      start += time + w.vocabulary.embedded[stage];
    }
  if (!waits.empty()) waits.wait_for_weights(w.forward.time, w.forward.message, std::move(gathered), start, w.communication);
}

}  // namespace slimpack::detail

#endif
