#ifndef SLIMPACK_COSTS_KERNELS_WAVE_MODEL_HPP
#define SLIMPACK_COSTS_KERNELS_WAVE_MODEL_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/gpu.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace slimpack::costs {

/// Times of attention and of matrix products from a GPU's data sheet: a roofline that knows that work comes in tiles
/// and multiprocessors take whole ones. costs::calibrated fits its constants to measurements.
///
/// With S multiprocessors, n equal tiles take ceil(n / S) rounds where they start together, and n / S where something
/// else fills the gaps. Tiles of causal attention differ, so with tiles in order of falling work w_0 >= w_1 >= ...,
///   rounds(w) = (1 - waves) sum(w_i) / S + waves (w_0 + w_S + w_2S + ...),
/// and `waves` tells how much of the gaps a kernel leaves open: 1 static order, 0 perfectly filled.
///   attention forward   a tile is 128 queries of a head, its work prefix + diagonal (keys of the slice up to it) +
///                       tile_keys; t = launch + rounds(w) 4 x 128 head_dim S / (peak share)
///                           + 4 head_dim (key_passes keys kv_heads + head_passes keys heads) / memory bandwidth
///   attention backward  a tile is 128 keys of a head, its work the queries that attend to them + backward_tile; beside
///                       tiles, backward_tile for every 128 queries of a head, whose gradients are gathered and stored;
///                       all times backward_cost. So a thin slice after a long prefix is many short tiles backward
///                       where it is few long ones forward. Only whole sequences were measured: they cannot tell what a
///                       tile of keys costs from what its queries cost, so both cost the same
///   ... of a window     of W keys, derived: no key counts that is before the window of the first query; a tile's work
///                       is at most W + 128, of a query and the window of the first in its tile, and backward likewise
///   product             a tile is 128 x 128 of m x n, its work k + tile_depth; c = rounds(w) 2 x 128 x 128 S / (peak
///                       share), b = passes 2 (m k + n k + m n) / memory bandwidth; t = launch + (c^4 + b^4)^(1/4): one
///                       hides the other but where they are alike
/// Source    derived; wave quantisation as in NVIDIA's matrix multiplication guide. 5 kernels of 4 GPUs in the
///           published tables follow the forward formula to 1 % to 6 % on average once its constants are fitted,
///           products to 6 %
/// Units     tokens, heads, matrix sizes in; seconds out; bf16
/// Law       time does not fall when queries, keys, heads, the window, m, n or k grow; nor when queries grow and keys
///           with them
/// Errors    none            Complexity  attention O(queries / 128), of long slices O(log queries); products O(1)
class wave_model {
 public:
  struct attention_constants {
    seconds launch{1e-5};
    double share{0.7};        ///< of the peak that a tile's inner loop reaches on its multiprocessor
    double tile_keys{70};     ///< what starting and ending a tile costs, in keys
    double waves{0.73};       ///< 0 to 1
    double diagonal{1.1};     ///< cost of a slice's own keys over that of its prefix: masks; 1 or more
    double key_passes{0.6};   ///< how often keys and values of every key/value head cross the memory bus
    double head_passes{0.5};  ///< the same for every query head
    seconds backward_launch{1.5e-5};
    double backward_cost{3.1};  ///< of a (query, key) pair, over forward
    double backward_tile{
        110};  ///< what starting and ending a tile costs, in queries; also, what 128 queries cost alone
    friend bool operator==(const attention_constants&, const attention_constants&) = default;
  };
  struct product_constants {
    seconds launch{4.5e-6};
    double share{0.82};
    double tile_depth{140};  ///< what starting and ending a tile costs, in k
    double waves{0.12};
    double passes{1.25};  ///< how often the matrices cross the memory bus
    friend bool operator==(const product_constants&, const product_constants&) = default;
  };

  /// Constants as fitted to published times, their rates scaled to what the data sheet of this GPU says it sustains:
  /// attention_efficiency and gemm_efficiency are those of large kernels, tiles and launches included.
  /// Attention: six kernels of equal weight, each with a launch and a share of its own: FlashAttention-2, two of cuDNN
  /// and SGLang's on A100, FlashAttention-3 and vLLM's on H100. The two of inference engines write a cache as well;
  /// fitted apart, they have key_passes of 3.5. Products: between what A100 and H100 come to.
  explicit wave_model(costs::gpu device) : device_(std::move(device)) {
    attention_.share = std::min(1.0, 1.18 * device_.attention_efficiency);
    attention_.backward_cost = device_.backward_attention_ratio;
    product_.share = std::min(1.0, 1.03 * device_.gemm_efficiency);
  }
  wave_model(costs::gpu device, attention_constants attention, product_constants product)
      : device_(std::move(device)), attention_(attention), product_(product) {}

  /// Causal attention of a slice: its last query is the last key. `window`: keys that a query attends to at most; 0:
  /// all.
  /// Requires  1 <= queries <= keys, heads >= 1, kv_heads >= 1, head_dim >= 1, window >= 0
  [[nodiscard]] seconds attention(pass p, tokens queries, tokens keys, std::int64_t heads, std::int64_t kv_heads,
                                  std::int64_t head_dim, tokens window = {}) const noexcept {
    const bool limited = window > tokens{} && window < keys;
    if (limited) keys = std::min(keys, queries + window - tokens{1});
    const double most = limited ? static_cast<double>(window.value + tile) : std::numeric_limits<double>::infinity();
    const auto q = static_cast<double>(queries.value);
    const auto k = static_cast<double>(keys.value);
    const auto width = 4 * static_cast<double>(head_dim);  // flops of a pair; bytes of a key and its value
    const double pair = width * tile / (device_.peak_bf16_flops * attention_.share) * device_.multiprocessors;
    /// Of tiles 0 <= i < n of falling work, how many have the most.
    const auto alike_of = [](std::int64_t n, double largest, const auto& uncut) {
      std::int64_t first = 0, end = n;  // uncut(i) >= largest before `first`
      while (first < end) {
        const std::int64_t middle = first + (end - first) / 2;
        if (uncut(middle) >= largest)
          first = middle + 1;
        else
          end = middle;
      }
      return first;
    };
    if (p == pass::forward) {
      const auto uncut = [&](std::int64_t row) {
        return k - q + attention_.diagonal * (q - static_cast<double>(tile * row));
      };
      const auto work = [&](std::int64_t row) { return std::min(uncut(row), most) + attention_.tile_keys; };
      const double traffic = k * (attention_.key_passes * static_cast<double>(kv_heads) +
                                  attention_.head_passes * static_cast<double>(heads));
      const std::int64_t rows = tiles(queries.value);
      const std::int64_t alike = limited ? std::max<std::int64_t>(1, alike_of(rows, most, uncut)) : 1;
      return attention_.launch +
             seconds{rounds(alike, rows, heads, work) * pair + width * traffic / device_.memory_bandwidth};
    }
    const auto uncut = [&](std::int64_t column) { return std::min(q, k - static_cast<double>(tile * column)); };
    const auto work = [&](std::int64_t column) { return std::min(uncut(column), most) + attention_.backward_tile; };
    const std::int64_t columns = tiles(keys.value);
    std::int64_t seen_by_all = std::min(columns, (keys.value - queries.value) / tile + 1);
    if (most < q) seen_by_all = std::max<std::int64_t>(1, alike_of(columns, most, uncut));
    const double alone = q / tile * attention_.backward_tile * static_cast<double>(heads) / device_.multiprocessors;
    return attention_.backward_launch +
           seconds{(rounds(seen_by_all, columns, heads, work) + alone) * pair * attention_.backward_cost};
  }

  /// Requires  m, n, k >= 1
  [[nodiscard]] seconds product(std::int64_t m, std::int64_t n, std::int64_t k) const noexcept {
    const auto count = static_cast<double>(tiles(m)) * static_cast<double>(tiles(n)) / device_.multiprocessors;
    const double waves = count + product_.waves * (std::ceil(count) - count);
    const double depth = static_cast<double>(k) + product_.tile_depth;
    const double rate = device_.peak_bf16_flops * product_.share / device_.multiprocessors;
    const auto rows = static_cast<double>(m), columns = static_cast<double>(n), inner = static_cast<double>(k);
    const double compute = waves * 2 * tile * tile * depth / rate;
    const double traffic =
        product_.passes * 2 * (rows * inner + columns * inner + rows * columns) / device_.memory_bandwidth;
    const double c2 = compute * compute, b2 = traffic * traffic;
    return product_.launch + seconds{std::sqrt(std::sqrt(c2 * c2 + b2 * b2))};
  }

  [[nodiscard]] const costs::gpu& device() const noexcept { return device_; }
  [[nodiscard]] const attention_constants& attention() const noexcept { return attention_; }
  [[nodiscard]] const product_constants& product() const noexcept { return product_; }

  friend bool operator==(const wave_model&, const wave_model&) = default;

 private:
  static constexpr std::int64_t tile = 128;  // rows of queries, of keys, rows and columns of products

  static constexpr std::int64_t tiles(std::int64_t size) noexcept { return (size + tile - 1) / tile; }

  /// Kinds of tiles that are summed one by one: those of 262,144 tokens. Tables of longer sequences, which may have
  /// many rows, would be fitted for minutes.
  static constexpr std::int64_t most_summed = 2048;

  /// Sum of floor((a i + b) / m) over 0 <= i < n.
  /// Source    Euclid's algorithm on a and m, as in AtCoder Library's floor_sum            Complexity  O(log m)
  [[nodiscard]] static double floor_sum(std::int64_t n, std::int64_t m, std::int64_t a, std::int64_t b) noexcept {
    double sum = 0;
    for (;;) {
      const auto count = static_cast<double>(n);
      sum += (count - 1) * count / 2 * static_cast<double>(a / m) + count * static_cast<double>(b / m);
      a %= m, b %= m;
      const std::int64_t end = a * n + b;
      if (end < m) return sum;
      n = end / m, b = end % m;
      std::swap(m, a);
    }
  }

  /// Work that the busiest multiprocessor does, of `heads` tiles of each kind 0 <= i < kinds whose work falls with i;
  /// the first `alike` kinds are of equal work, and from kind `alike` on it falls by as much from each to the next.
  /// Rounds that begin in a kind last as long as its tiles.
  template <class Work>
  [[nodiscard]] double rounds(std::int64_t alike, std::int64_t kinds, std::int64_t heads, Work&& work) const noexcept {
    const std::int64_t processors = device_.multiprocessors;
    std::int64_t begun = (alike * heads + processors - 1) / processors;
    double all = static_cast<double>(alike) * work(0);
    double whole = static_cast<double>(begun) * work(0);
    if (const std::int64_t rest = kinds - alike; rest > most_summed) {
      // With b_i rounds begun before kind i, the sum of (b_{i+1} - b_i) work(i) by parts.
      const double first = work(alike), last = work(kinds - 1);
      const std::int64_t end = (kinds * heads + processors - 1) / processors;
      const double between = floor_sum(rest - 1, processors, heads, (alike + 1) * heads + processors - 1);
      all += static_cast<double>(rest) * (first + last) / 2;
      whole += static_cast<double>(end) * last - static_cast<double>(begun) * first +
               between * (first - last) / static_cast<double>(rest - 1);
      alike = kinds;
    }
    for (std::int64_t i = alike; i < kinds; ++i) {
      const std::int64_t before = std::exchange(begun, ((i + 1) * heads + processors - 1) / processors);
      all += work(i);
      whole += static_cast<double>(begun - before) * work(i);
    }
    const double even = all * static_cast<double>(heads) / static_cast<double>(processors);
    return even + attention_.waves * (whole - even);
  }

  costs::gpu device_;
  attention_constants attention_;
  product_constants product_;
};

}  // namespace slimpack::costs

#endif
