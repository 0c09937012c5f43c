#ifndef SLIMPACK_COSTS_NETWORK_ROW_EXCHANGE_HPP
#define SLIMPACK_COSTS_NETWORK_ROW_EXCHANGE_HPP

#include <slimpack/core/by_pass.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/shared_row.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/rank_group.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// What replicas that share a row of a sequence wait for: keys and values of the row and of what lies before it, or the
/// sharers' queries and outputs, whichever are fewer, go round them as they do round context-parallel ranks, over the
/// slowest link between two of them.
/// Formula   (m - 1) exposed (layers latency + max(0, layers (hop - latency) - attention / m)) for m sharers; in a hop
///           2 e k / m bytes of e key and value elements for k keys up to the row's end, or 2 (q + o) n of q query and o
///           output elements for the replica's own n tokens. Backward keys and values with their gradients, queries with
///           theirs and outputs' gradients; where attention is computed again, the forward's hops again, too
/// Source    ring attention (arXiv:2310.01889), which covers a hop by the attention to what the last one brought; queries
///           that travel instead of a long prefix, Yang et al. (arXiv:2411.01783)
/// Units     tokens in, seconds out            Errors    none            Complexity  that of network
class row_exchange {
 public:
  /// layers: on each part; exposed: by how much communication that is waited for slows down in a step (costs::slowdown)
  row_exchange(const model_shape& model, const shape& on, std::span<const int> layers, recompute what, network net,
               double exposed = 1)
      : net_(std::move(net)), shape_(on), exposed_(exposed) {
    const double ratio = net_.device().backward_attention_ratio;
    const bool again = what == recompute::attention || what == recompute::full;
    int next = 0;
    for (const int count : layers) {
      double keys = 0, queries = 0, outputs = 0;
      for (const int end = next + count; next < end; ++next) {
        const layer l = layer::of(model, model.is_moe(next), on.tensor);
        keys += l.kv_elements, queries += l.query, outputs += l.output;
      }
      const double bytes_of_one = 2.0 / on.context / std::max(count, 1);  // of a layer, for one GPU
      const round forward{bytes_of_one * keys, bytes_of_one * (queries + outputs), 1};
      const round backward{bytes_of_one * 2 * keys, bytes_of_one * (2 * queries + outputs), 1};
      layers_of_part made{static_cast<double>(count), {{forward}, {backward}}};
      if (again) {
        made.rounds.backward.push_back(forward);
        made.rounds.backward[0].attention = ratio / (ratio + 1);
        made.rounds.backward[1].attention = 1 / (ratio + 1);
      }
      parts_.push_back(std::move(made));
    }
  }

  /// attention: what the replica's own slices of the row take for it in this pass
  [[nodiscard]] seconds operator()(const shared_row& row, std::span<const slice> mine, seconds attention, pass p,
                                   int part) const {
    double own = 0;
    for (const slice& s : mine) own += static_cast<double>(s.length.value);
    const auto sharers = static_cast<double>(row.sharers.size());
    const double keys = static_cast<double>(row.end.value) / sharers;
    const rank_group between = net_.place().between(shape_, row.sharers, part % shape_.stages);
    const seconds latency = net_.send_receive(between, {});
    const auto& [layers, rounds] = parts_[static_cast<std::size_t>(part)];
    seconds each{};
    for (const round& r : rounds[p]) {
      const seconds flow = net_.send_receive(between, {std::min(r.key * keys, r.query * own)}) - latency;
      each += latency * layers + std::max(seconds{}, flow * layers - attention * (r.attention / sharers));
    }
    return each * ((sharers - 1) * exposed_);
  }

 private:
  struct round {
    double key{};        // bytes of a token's keys and values in a layer
    double query{};      // of its queries and what comes back
    double attention{};  // that runs with it, of the pass's
  };
  struct layers_of_part {
    double layers{};
    by_pass<std::vector<round>> rounds;
  };

  network net_;
  shape shape_;
  double exposed_;
  std::vector<layers_of_part> parts_;
};

}  // namespace slimpack::costs

#endif
