#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_ADAMW_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_ADAMW_HPP

#include "parameters.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace train {

/// Adam with decoupled weight decay, on matrices only; gains do not decay.
/// Source    D. Kingma, J. Ba, arXiv:1412.6980; I. Loshchilov, F. Hutter, arXiv:1711.05101
/// Formula   m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2,
///           w = w - rate (decay w + (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps))
template <class T>
class adamw {
 public:
  struct settings {
    double rate{3e-3};
    double beta1{0.9};
    double beta2{0.95};
    double eps{1e-8};
    double decay{0.1};
  };

  adamw(parameters<T>& weights, settings s)
      : weights_(weights), settings_(s), mean_(weights.values().size()), square_(weights.values().size()) {}

  /// Of the steps to come: a schedule sets it before each.
  void set_rate(double rate) noexcept { settings_.rate = rate; }

  /// One step with the gradients as they are, times `scale`: below 1 where the trainer clips them by their norm, which
  /// goes over all stages. Leaves them as they are.
  void step(double scale = 1) {
    ++steps_;
    const auto b1 = static_cast<T>(settings_.beta1);
    const auto b2 = static_cast<T>(settings_.beta2);
    const auto rate = static_cast<T>(settings_.rate / (1 - std::pow(settings_.beta1, steps_)));
    const auto eps = static_cast<T>(settings_.eps);
    const auto root = static_cast<T>(1 / std::sqrt(1 - std::pow(settings_.beta2, steps_)));
    std::size_t at = 0;  // in the moments, which lie as the weights do
    for (std::size_t t = 0; t < weights_.tensors().size(); ++t) {
      const auto kept = static_cast<T>(1 - (weights_.tensors()[t].is_gain() ? 0 : settings_.rate * settings_.decay));
      const std::span<T> values = weights_.values(t);
      const std::span<const T> gradients = weights_.gradients(t);
      for (std::size_t i = 0; i < values.size(); ++i, ++at) {
        const T g = static_cast<T>(scale) * gradients[i];
        mean_[at] = b1 * mean_[at] + (1 - b1) * g;
        square_[at] = b2 * square_[at] + (1 - b2) * g * g;
        values[i] = kept * values[i] - rate * mean_[at] / (root * std::sqrt(square_[at]) + eps);
      }
    }
  }

 private:
  parameters<T>& weights_;
  settings settings_;
  std::vector<T> mean_;
  std::vector<T> square_;
  int steps_{};
};

}  // namespace train

#endif
