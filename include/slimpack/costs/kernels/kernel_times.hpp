#ifndef SLIMPACK_COSTS_KERNELS_KERNEL_TIMES_HPP
#define SLIMPACK_COSTS_KERNELS_KERNEL_TIMES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/kernels/attention_table.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/origin.hpp>
#include <slimpack/costs/kernels/product_table.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace slimpack::costs {

/// Times of attention and of matrix products on one GPU: from tables where there are any, from the wave model
/// elsewhere.
/// Source    costs::attention_table, costs::product_table, costs::wave_model
/// Units     tokens, heads, matrix sizes in; seconds out; bf16
/// Errors    none once made            Complexity  O(log points) a question, most often
class kernel_times {
 public:
  /// Nothing measured.
  explicit kernel_times(wave_model model) : model_(std::move(model)) {}

  /// Samples are all of this kind of GPU; either list may be empty.
  /// Errors    those of attention_table::make and product_table::make            Complexity  O(samples log samples)
  [[nodiscard]] static result<kernel_times> make(wave_model model, std::span<const attention_sample> attention,
                                                 std::span<const product_sample> products) {
    kernel_times made(std::move(model));
    if (!attention.empty()) {
      result<attention_table> table = attention_table::make(made.model_, attention);
      if (!table) return std::move(table).error();
      made.attention_ = std::move(table).value();
    }
    if (!products.empty()) {
      result<product_table> table = product_table::make(made.model_, products);
      if (!table) return std::move(table).error();
      made.products_ = std::move(table).value();
    }
    return made;
  }

  /// Causal attention of a slice of one sequence: its last query is the last key. `window`: keys that a query attends
  /// to at most; 0: all.
  /// Requires  1 <= queries <= keys, heads >= 1, kv_heads >= 1, head_dim >= 1, window >= 0
  [[nodiscard]] seconds attention(pass p, tokens queries, tokens keys, int heads, int kv_heads, int head_dim,
                                  tokens window = {}) const noexcept {
    return attention_ ? (*attention_)(p, queries, keys, heads, kv_heads, head_dim, 1, window).time
                      : model_.attention(p, queries, keys, heads, kv_heads, head_dim, window);
  }
  [[nodiscard]] origin attention_source(pass p, tokens queries, tokens keys, int heads, int kv_heads, int head_dim,
                                        tokens window = {}) const noexcept {
    return attention_ ? (*attention_)(p, queries, keys, heads, kv_heads, head_dim, 1, window).source : origin::modelled;
  }

  /// An m x k matrix times a k x n matrix; m counts tokens.
  /// Requires  m, n, k >= 1
  [[nodiscard]] seconds product(std::int64_t m, std::int64_t n, std::int64_t k) const noexcept {
    return products_ ? (*products_)(m, n, k).time : model_.product(m, n, k);
  }
  [[nodiscard]] origin product_source(std::int64_t m, std::int64_t n, std::int64_t k) const noexcept {
    return products_ ? (*products_)(m, n, k).source : origin::modelled;
  }

  [[nodiscard]] const wave_model& model() const noexcept { return model_; }
  [[nodiscard]] const std::optional<attention_table>& attention_measured() const noexcept { return attention_; }
  [[nodiscard]] const std::optional<product_table>& products_measured() const noexcept { return products_; }

 private:
  wave_model model_;
  std::optional<attention_table> attention_;
  std::optional<product_table> products_;
};

}  // namespace slimpack::costs

#endif
