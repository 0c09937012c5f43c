#ifndef SLIMPACK_PRICING_DETAIL_WAIT_FOR_WEIGHTS_HPP
#define SLIMPACK_PRICING_DETAIL_WAIT_FOR_WEIGHTS_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace slimpack::detail {

/// Adds to the first forward pack of each part what it waits there for weights that are still being gathered.
///
/// The first pack is the first that each part runs. With G_k the end of the gather of bucket k on the stage's stream
/// (core/gradient_reduction.hpp), a_k the share of the pack's time t before it, and s the pack's start, the pack ends at
/// max(s + t, max_k G_k + (1 - a_k) t), so that it takes max(0, max_k (G_k - a_k t) - s) longer.
/// Of a spread vocabulary, the first call of each stage (E) waits for all of its share.
/// s is the earliest that the chain of parts before allows. The stage may come to the pack later, for the work of other
/// packs between two chunks: then less is waited than is counted here.
/// Complexity O(buckets)
template <class Cost>
void wait_for_weights(const Cost& cost, workload& w) {
  if (w.forward.time.empty()) return;
  const auto stages = static_cast<std::size_t>(w.shape.stages);
  std::vector<seconds> gathered(stages);
  seconds start{};
  if (w.shape.vocabulary == vocabulary::spread)
    for (std::size_t stage = 0; stage < stages; ++stage) {
      for (const gradient_bucket& b : gradient_buckets_of(cost, w.shape.parts() + static_cast<int>(stage))) gathered[stage] += b.gather;
      seconds& time = w.vocabulary.embed[stage];
      const seconds wait = std::max(seconds{}, gathered[stage] - start);
      time += wait;
      w.communication += wait;
      start += time + w.vocabulary.embedded[stage];
    }
  for (std::size_t part = 0; part < static_cast<std::size_t>(w.shape.parts()); ++part) {
    seconds& time = w.forward.time[part];
    seconds ready{};
    for (const gradient_bucket& b : gradient_buckets_of(cost, static_cast<int>(part))) {
      gathered[part % stages] += b.gather;
      ready = std::max(ready, gathered[part % stages] - time * b.at);
    }
    const seconds wait = std::max(seconds{}, ready - start);
    time += wait;
    w.communication += wait;
    start += time + w.forward.message[part];
  }
}

}  // namespace slimpack::detail

#endif
