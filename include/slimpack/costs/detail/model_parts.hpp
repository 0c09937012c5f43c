#ifndef SLIMPACK_COSTS_DETAIL_MODEL_PARTS_HPP
#define SLIMPACK_COSTS_DETAIL_MODEL_PARTS_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/costs/detail/layer_pricing.hpp>
#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/detail/part_times.hpp>
#include <slimpack/costs/detail/rank_kernels.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/stage_options.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The parts of a model, each with what one rank takes for it. Layers with experts that ranks divide are of as many
/// kinds as they have factors of imbalance (costs::routing).
/// Requires  all that it is made from outlives it            Errors    none            Complexity  O(layers)
class model_parts {
 public:
  struct part {
    part_times::contents holds{};
    std::span<const costs::layer> layers{};  ///< of the model, as one rank has them
    double weights{};                        ///< parameters of a rank, embedding and head among them
  };

  /// `layers`: of each part, from layers_on_parts; `measured`: of this GPU
  model_parts(const costs::model_shape& model, const shape& on, std::span<const int> layers,
              const costs::kernel_times& kernels, const costs::network& net, const costs::stage_options& with,
              std::span<const costs::layer_sample> measured = {})
      : model_(model),
        shape_(on),
        with_(with),
        wires_(net, on, with.slowdown),
        kernels_(net.device(), kernels, with),
        layers_(layers_of(model, on, with.routing)) {
    std::map<std::pair<costs::layer_kind, double>, std::size_t> kind_of;  // with the imbalance of its experts
    std::vector<std::size_t> kind_at;                                     // by layer
    std::size_t moe = 0;
    for (int i = 0; i < model.layers; ++i) {
      const costs::layer_kind kind = model.kind(i);
      const double imbalance = kind.moe ? with.routing.of_layer(moe++) : 1;
      const auto [known, is_new] = kind_of.try_emplace({kind, imbalance}, kinds_.size());
      if (is_new) kinds_.emplace_back(model, kind, imbalance, on, kernels_, measured, wires_, with);
      kind_at.push_back(known->second);
    }
    const bool spread = on.vocabulary == vocabulary::spread;
    std::size_t next = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const bool last = i + 1 == layers.size();
      part& own = parts_.emplace_back();
      own.holds = {.layers = std::vector<double>(kinds_.size()),
                   .embedding = i == 0 && !spread,
                   .head = last && !spread,
                   .norm = last && spread};
      own.weights =
          (own.holds.embedding + own.holds.head) * static_cast<double>(model.vocabulary * model.hidden) / on.tensor;
      const auto count = static_cast<std::size_t>(layers[i]);
      own.layers = std::span(layers_).subspan(next, count);
      for (const std::size_t end = next + count; next < end; ++next) {
        ++own.holds.layers[kind_at[next]];
        own.weights += layers_[next].weights + layers_[next].expert_weights;
      }
    }
  }
  model_parts(const model_parts&) = delete;  // its parts refer to it
  model_parts& operator=(const model_parts&) = delete;

  [[nodiscard]] std::span<const part> parts() const noexcept { return parts_; }
  [[nodiscard]] part_times times(const part& of) const {
    return part_times(model_, shape_, kinds_, kernels_, wires_, with_, of.holds);
  }
  [[nodiscard]] const rank_kernels& kernels() const noexcept { return kernels_; }
  [[nodiscard]] const costs::traffic& wires() const noexcept { return wires_; }

  /// What adds a backward pack's gradients to those of the step, where a kernel of its own does.
  [[nodiscard]] known_time added_gradients(const part& of) const noexcept {
    return kernels_.moved(with_.accumulation_traffic * of.weights);
  }

 private:
  const costs::model_shape& model_;
  const shape& shape_;
  const costs::stage_options& with_;
  costs::traffic wires_;
  rank_kernels kernels_;
  std::vector<costs::layer> layers_;
  std::vector<layer_pricing> kinds_;
  std::vector<part> parts_;
};

}  // namespace slimpack::detail

#endif
