#ifndef SLIMPACK_EXAMPLES_DEVICE_WHOLE_BATCH_HPP
#define SLIMPACK_EXAMPLES_DEVICE_WHOLE_BATCH_HPP

#include "layer_stage.hpp"
#include "texts.hpp"

#include <slimpack/core/units.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace device_trainer {

/// The same layers on whole texts, in plain loops of the host: what a step of the plan is checked against.
class whole_batch {
 public:
  double loss{};
  std::vector<std::vector<double>> gradients;  ///< by stage, as initial_weights has the weights

  /// A weight that is not as it is at first.
  struct change {
    std::size_t stage, number;
    double by;
  };

  whole_batch(std::span<const slimpack::tokens> lengths, int stages, std::optional<change> other = {})
      : batch_(lengths) {
    for (int s = 0; s < stages; ++s)
      weights_.push_back(initial_weights(s)), gradients.emplace_back(weights_.back().size());
    if (other) weights_[other->stage][other->number] += other->by;
    for (const slimpack::tokens length : lengths) tokens_ += static_cast<double>(length.value);
    for (std::uint32_t s = 0; s < lengths.size(); ++s) add({s}, static_cast<std::size_t>(lengths[s].value));
  }

 private:
  using row = std::array<double, width>;
  using rows = std::vector<row>;
  struct layer {
    rows x, mixed;
    std::array<rows, 3> qkv;
    std::vector<std::vector<double>> shares;
  };

  static double dot(const row& a, const row& b) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += a[i] * b[i];
    return sum;
  }
  static void add_to(row& to, double factor, const row& a) {
    for (std::size_t i = 0; i < width; ++i) to[i] += factor * a[i];
  }
  /// to += a W, or a W transposed
  static void add_product(row& to, const row& a, const double* w, bool transposed) {
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j)
        transposed ? to[i] += a[j] * w[i * width + j] : to[j] += a[i] * w[i * width + j];
  }
  static void add_outer(double* dw, const row& a, const row& b) {
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j) dw[i * width + j] += a[i] * b[j];
  }
  [[nodiscard]] const double* weight(std::size_t stage, std::size_t m) const {
    return weights_[stage].data() + m * width * width;
  }
  [[nodiscard]] double* gradient(std::size_t stage, std::size_t m) {
    return gradients[stage].data() + m * width * width;
  }
  static double scale() { return 1 / std::sqrt(static_cast<double>(width)); }

  rows forward(std::size_t stage, layer& l, const rows& x) const {
    const std::size_t n = x.size();
    l.x = x, l.mixed.assign(n, row{}), l.shares.assign(n, {});
    for (std::size_t m = 0; m < 3; ++m) {
      l.qkv[m].assign(n, row{});
      for (std::size_t t = 0; t < n; ++t) add_product(l.qkv[m][t], x[t], weight(stage, m), false);
    }
    rows y = x;
    for (std::size_t t = 0; t < n; ++t) {
      double total = 0;
      for (std::size_t s = 0; s <= t; ++s)
        total += l.shares[t].emplace_back(std::exp(scale() * dot(l.qkv[0][t], l.qkv[1][s])));
      for (std::size_t s = 0; s <= t; ++s) add_to(l.mixed[t], l.shares[t][s] /= total, l.qkv[2][s]);
      add_product(y[t], l.mixed[t], weight(stage, 3), false);
    }
    return y;
  }

  rows backward(std::size_t stage, const layer& l, const rows& dy) {
    std::array<rows, 3> d{rows(dy.size()), rows(dy.size()), rows(dy.size())};
    for (std::size_t t = 0; t < dy.size(); ++t) {
      row dmixed{};
      add_product(dmixed, dy[t], weight(stage, 3), true);
      add_outer(gradient(stage, 3), l.mixed[t], dy[t]);
      for (std::size_t s = 0; s <= t; ++s) {
        const double dscore = l.shares[t][s] * scale() * (dot(dmixed, l.qkv[2][s]) - dot(dmixed, l.mixed[t]));
        add_to(d[0][t], dscore, l.qkv[1][s]);
        add_to(d[1][s], dscore, l.qkv[0][t]);
        add_to(d[2][s], l.shares[t][s], dmixed);
      }
    }
    rows dx = dy;
    for (std::size_t t = 0; t < dy.size(); ++t)
      for (std::size_t m = 0; m < 3; ++m) {
        add_product(dx[t], d[m][t], weight(stage, m), true);
        add_outer(gradient(stage, m), l.x[t], d[m][t]);
      }
    return dx;
  }

  void add(slimpack::sequence_id s, std::size_t length) {
    const auto text = [&](std::size_t t) {
      row one;
      std::copy_n(batch_.rows(batch_.numbers().data(), s, t, 1).at, width, one.begin());
      return one;
    };
    rows x;
    for (std::size_t t = 0; t < length; ++t) x.push_back(text(t));
    std::vector<layer> layers(weights_.size());
    for (std::size_t r = 0; r < layers.size(); ++r) x = forward(r, layers[r], x);
    for (std::size_t t = 0; t < length; ++t) {
      add_to(x[t], -1, text(t + 1));
      loss += dot(x[t], x[t]) / 2 / tokens_;
      for (double& one : x[t]) one /= tokens_;
    }
    for (std::size_t r = layers.size(); r-- > 0;) x = backward(r, layers[r], x);
  }

  texts batch_;
  double tokens_{};
  std::vector<std::vector<double>> weights_;
};

}  // namespace device_trainer

#endif
