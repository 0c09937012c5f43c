#ifndef SLIMPACK_COSTS_MODEL_DETAIL_LAYER_PRODUCTS_HPP
#define SLIMPACK_COSTS_MODEL_DETAIL_LAYER_PRODUCTS_HPP

#include <slimpack/costs/model/model_shape.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace slimpack::detail {

/// A matrix product of a layer's forward: (rows tokens x k) (k x n), on one tensor-parallel rank.
struct layer_product {
  double rows{1};  ///< of the product, for each token of the pack
  std::int64_t n{};
  std::int64_t k{};
  double grouped{};  ///< elements of all matrices where experts' rows run as one grouped product
  bool up{};         ///< gate and up projections: what selective recompute repeats
};

/// The products of one layer; their flops are those of costs::layer. Where `expert` ranks divide the routed experts, a
/// rank gets as many rows as it sends, times `imbalance`, for fewer experts, which tensor-parallel ranks do not divide.
/// Limits    the router, n = experts, is counted on its share of the tokens; the rows of a rank's experts are even
[[nodiscard]] inline std::vector<layer_product> products_of(const costs::model_shape& m, costs::layer_kind kind,
                                                            int tensor, int expert = 1, double imbalance = 1) {
  const std::int64_t t = tensor;
  const costs::mixer by = m.mixer(kind);
  const std::int64_t heads = by.heads / t;
  const auto part = [t](std::int64_t width) { return std::max<std::int64_t>(1, (width + t - 1) / t); };
  const std::int64_t h = m.hidden;
  std::vector<layer_product> all;
  if (kind.further) all.push_back({.n = part(m.hidden), .k = 2 * h});
  if (by.has_state()) {
    all.push_back({.n = part(by.in), .k = h});
    if (by.inner > 0) all.push_back({.n = part(by.inner / by.out), .k = by.out});
    all.push_back({.n = h, .k = part(by.out)});
  } else if (by.attends()) {
    if (m.kv_rank > 0) {
      if (m.query_rank > 0) {
        all.push_back({.n = part(m.query_rank), .k = h});
        all.push_back({.n = heads * by.head_dim, .k = m.query_rank});
      } else {
        all.push_back({.n = heads * by.head_dim, .k = h});
      }
      all.push_back({.n = part(m.kv_rank + m.rope_dim), .k = h});
      all.push_back({.n = heads * (by.head_dim - m.rope_dim + by.value_dim), .k = m.kv_rank});
    } else {
      all.push_back({.n = heads * by.head_dim + part(by.kv_heads) * (by.head_dim + by.value_dim), .k = h});
    }
    if (by.output_gate) all.push_back({.n = heads * by.value_dim, .k = h});
    if (by.index_heads > 0) {
      all.push_back({.n = part(by.index_heads * by.index_width), .k = m.query_rank > 0 ? m.query_rank : h});
      all.push_back({.n = part(by.index_width + by.index_heads), .k = h});
    }
    all.push_back({.n = h, .k = heads * by.value_dim});
  }
  if (!kind.has_mlp()) return all;
  const auto mlp = [&](double rows, std::int64_t f, int experts) {
    const std::int64_t into = (m.gated ? 2 : 1) * f;
    const double each = static_cast<double>(experts) * static_cast<double>(h);
    all.push_back({.rows = rows, .n = into, .k = h, .grouped = each * static_cast<double>(into), .up = true});
    all.push_back({.rows = rows, .n = h, .k = f, .grouped = each * static_cast<double>(f)});
  };
  if (!kind.moe) {
    mlp(1, part(m.mlp_width(kind)), 0);
    return all;
  }
  all.push_back({.rows = 1.0 / tensor, .n = m.experts, .k = h});
  if (expert > 1)
    mlp(imbalance * m.experts_per_token / tensor, m.expert_intermediate, m.experts / expert);
  else
    mlp(m.experts_per_token, part(m.expert_intermediate), m.experts);
  if (m.shared_width() > 0) mlp(1, part(m.shared_width()), 0);
  return all;
}

}  // namespace slimpack::detail

#endif
