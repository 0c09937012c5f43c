#ifndef SLIMPACK_SHAPES_LAYOUT_HPP
#define SLIMPACK_SHAPES_LAYOUT_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace slimpack::shapes {

/// One way to lay a model over GPUs: a shape, which layers stand where, and what backward computes again.
struct layout {
  slimpack::shape shape{};
  costs::recompute recompute{costs::recompute::none};
  std::vector<int> layers{};  ///< on each part; empty: as the cost model spreads them

  [[nodiscard]] std::int64_t gpus() const noexcept {
    return std::int64_t{shape.replicas} * shape.stages * shape.tensor * shape.context;
  }
  /// How many of dp, pp, tp, cp, ep, vpp, vocabulary (its words among it) and recompute are not those of `other`.
  [[nodiscard]] int changes(const layout& other) const noexcept {
    const bool same_words = shape.vocabulary == other.shape.vocabulary && shape.words == other.shape.words;
    int n = (recompute != other.recompute ? 1 : 0) + (same_words ? 0 : 1);
    using of = slimpack::shape;
    for (int of::*degree : {&of::replicas, &of::stages, &of::tensor, &of::context, &of::expert, &of::chunks})
      n += shape.*degree != other.shape.*degree ? 1 : 0;
    return n;
  }
  friend bool operator==(const layout&, const layout&) = default;
};

/// The layouts that may be chosen from: every factoring of the GPUs into dp x pp x tp x cp that a trainer could launch.
///  - tp divides the heads, and its groups stay inside a node, whose links alone are fast enough for them
///  - ep, of models with experts, divides the experts and the ranks of a stage, dp x cp x tp
///  - pp x vpp is at most the layers; a pipeline of one stage has no virtual ones
///  - a vocabulary is spread over two stages or more
///  - a degree that is given is taken as it is
struct space {
  int gpus{1};
  int gpus_per_node{8};
  int layers{1};
  int heads{1};
  int experts{0};                   ///< of a layer; 0: the model has none
  std::optional<tokens> quantum{};  ///< none: default_quantum of each layout's cp
  std::optional<memory_limit> memory{};
  std::optional<int> replicas{};  ///< degrees that are given
  std::optional<int> stages{};
  std::optional<int> tensor{};
  std::optional<int> context{};
  std::optional<int> expert{};
  std::vector<int> chunks{1, 2, 4};
  std::vector<vocabulary> vocabularies{vocabulary::last};
  std::vector<costs::recompute> recompute{costs::recompute::none, costs::recompute::light, costs::recompute::selective,
                                          costs::recompute::full};

  /// Each layout once: by tp, pp, cp, ep, vpp, each rising, vocabulary and recompute, each as given.
  /// Errors    none: empty where the given degrees do not factor the GPUs            Complexity  O(layouts + gpus)
  [[nodiscard]] std::vector<layout> layouts() const {
    std::vector<layout> all;
    for (const int t : divisors(gpus, tensor)) {
      if (!tensor && (heads % t != 0 || (t > 1 && gpus_per_node % t != 0))) continue;
      for (const int p : divisors(gpus / t, stages)) {
        for (const int c : divisors(gpus / t / p, context)) {
          const int d = gpus / t / p / c;
          if (replicas && *replicas != d) continue;
          for (const int e : divisors(d * c * t, expert)) {
            if (e > 1 && (experts == 0 || experts % e != 0)) continue;
            for (const int v : chunks) {
              if (p > layers / v || (p == 1 && v > 1)) continue;
              for (const vocabulary words : vocabularies) {
                if (p == 1 && words == vocabulary::spread) continue;
                for (const costs::recompute again : recompute)
                  all.push_back({{.stages = p,
                                  .replicas = d,
                                  .tensor = t,
                                  .context = c,
                                  .chunks = v,
                                  .expert = e,
                                  .quantum = quantum.value_or(default_quantum(c)),
                                  .memory = memory,
                                  .vocabulary = words},
                                 again});
              }
            }
          }
        }
      }
    }
    return all;
  }

 private:
  /// Divisors of n, rising; only the given one where there is one.
  static std::vector<int> divisors(int n, std::optional<int> given) {
    std::vector<int> found;
    for (int i = given.value_or(1); i <= given.value_or(n); ++i)
      if (i > 0 && n % i == 0) found.push_back(i);
    return found;
  }
};

}  // namespace slimpack::shapes

#endif
