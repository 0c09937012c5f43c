#ifndef SLIMPACK_COSTS_NETWORK_MOVED_ROWS_HPP
#define SLIMPACK_COSTS_NETWORK_MOVED_ROWS_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// Rows that replicas send each other so that all have as many tokens in modules that work token by token
/// (pricing/remap/remapping.hpp): what they have, and what they take.
/// In each layer queries, keys and values go from the layout balanced for tokens to the one balanced for attention, and
/// outputs go back; backward their gradients, the other way round. Everything else of a layer works token by token,
/// hidden rows included.
/// Formula   bytes of a token in a layer and pass: 2 (q + k + o), of q query, k key and value and o output elements of
///           a rank. Seconds of a replica that sends or gets i tokens inside its node and x between nodes, whichever
///           way is more, in a pass: layers (2 latency + bytes i / bandwidth) for each of the two kinds of links that
///           carry any, one after the other
/// Source    Zeppelin (arXiv:2509.21841) moves rows before and behind linear modules; which rows, and the formula, are
///           derived
/// Units     tokens in, bytes and seconds out            Errors    none            Complexity  O(1)
class moved_rows {
 public:
  /// layers: on each part; exposed: by how much communication that is waited for slows down in a step (costs::slowdown)
  moved_rows(const model_shape& model, gpu device, const shape& on, std::span<const int> layers, double exposed = 1)
      : device_(std::move(device)), exposed_(exposed) {
    int next = 0;
    for (const int count : layers) {
      double token = 0;
      for (const int end = next + count; next < end; ++next) {
        const layer l = layer::of(model, model.kind(next), on.tensor);
        token += 2.0 / on.context * (l.query + l.kv_elements + l.output);
      }
      parts_.push_back({static_cast<double>(count), token});
    }
  }

  /// Of a token in all layers of a part, in one pass.
  [[nodiscard]] bytes token(int part) const { return {parts_[static_cast<std::size_t>(part)].second}; }

  /// What a replica waits for in one pass of a part.
  [[nodiscard]] seconds time(tokens inside, tokens between, int part) const {
    const auto& [layers, of_token] = parts_[static_cast<std::size_t>(part)];
    seconds sum{};
    for (const auto& [count, wire] : {std::pair(inside, &device_.inside), std::pair(between, &device_.between)})
      if (count > tokens{})
        sum += wire->latency * (2 * layers) + seconds{of_token * static_cast<double>(count.value) / wire->bandwidth};
    return sum * exposed_;
  }

 private:
  gpu device_;
  double exposed_;
  std::vector<std::pair<double, double>> parts_;  // layers, and bytes of a token in all of them
};

}  // namespace slimpack::costs

#endif
