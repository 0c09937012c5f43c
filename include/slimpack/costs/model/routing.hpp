#ifndef SLIMPACK_COSTS_MODEL_ROUTING_HPP
#define SLIMPACK_COSTS_MODEL_ROUTING_HPP

#include <cstddef>
#include <vector>

namespace slimpack::costs {

/// How tokens find their experts where ranks divide these (shape::expert), and what of the way is waited for.
/// Source    imbalance: 1 + MaxVio_global of loss-free balancing, 0.04 at both sizes of table 2 of arXiv:2408.15664,
///           the method that trained DeepSeek-V3. That is of single experts; ranks with several are more even. With an
///           auxiliary loss the same table has 1.52 and 1.72. overlap: DualPipe (arXiv:2412.19437, section 3.2.1) hides
///           both all-to-alls under the pack that runs the other way; Megatron-LM's dispatcher without
///           --overlap-moe-expert-parallel-comm hides none. nodes: node-limited routing, section 2.1.2 there: at most 4
/// Requires  factors >= 1; 0 <= overlap <= 1
struct routing {
  double imbalance{1.04};            ///< rows of the busiest rank of a group over the mean: the others wait for it
  std::vector<double> imbalances{};  ///< of each mixture-of-experts layer, in order, as measured; empty: `imbalance` of
                                     ///< all
  double overlap{0};                 ///< share of all-to-alls that runs under a layer's own products, if these take as
                                     ///< long
  int nodes{0};  ///< a token goes to at most so many nodes, once to each, and is handed on inside; 0: once to each
                 ///< expert

  /// Of the `index`-th mixture-of-experts layer.
  [[nodiscard]] double of_layer(std::size_t index) const {
    return imbalances.empty() ? imbalance : imbalances.at(index);
  }
  friend bool operator==(const routing&, const routing&) = default;
};

}  // namespace slimpack::costs

#endif
