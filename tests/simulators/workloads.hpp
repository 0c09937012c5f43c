#ifndef SLIMPACK_TESTS_SIMULATOR_WORKLOADS_HPP
#define SLIMPACK_TESTS_SIMULATOR_WORKLOADS_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>

#include <cstdint>
#include <vector>

/// Workloads whose step time and memory are known by hand.
namespace slimpack::tests {

inline constexpr tokens slice_tokens{128};

/// Every slice takes the same time, wherever it lies.
struct per_slice {
  seconds forward{1};
  seconds backward{2};
  seconds hop{};

  [[nodiscard]] constexpr seconds time(const slice&, pass p, int) const {
    return p == pass::forward ? forward : backward;
  }
  [[nodiscard]] constexpr seconds message(tokens, pass, int) const { return hop; }
};

/// m sequences of n slices, each slice a pack: forward in order, backward sequence by sequence from its last slice.
[[nodiscard]] inline partition sliced(std::uint32_t m, std::int64_t n) {
  partition packs;
  for (std::uint32_t s = 0; s < m; ++s)
    for (std::int64_t k = 0; k < n; ++k) {
      packs.forward.push({{s}, slice_tokens * k, slice_tokens});
      packs.forward.close();
      packs.backward.push({{s}, slice_tokens * (n - 1 - k), slice_tokens});
      packs.backward.close();
    }
  return packs;
}

[[nodiscard]] inline shape pipeline(int stages, int chunks = 1) {
  shape on;
  on.stages = stages;
  on.chunks = chunks;
  return on;
}

/// `sliced` on a pipeline, memory counted in tokens.
[[nodiscard]] inline workload sliced_work(int stages, std::uint32_t m, std::int64_t n, const per_slice& cost,
                                          int chunks = 1) {
  return price(sliced(m, n), cost, pipeline(stages, chunks),
               std::vector<memory_rates>(static_cast<std::size_t>(stages)));
}

/// m sequences of one slice each: what closed forms of pipelines are about.
[[nodiscard]] inline workload uniform_work(int stages, std::uint32_t m, const per_slice& cost, int chunks = 1) {
  return sliced_work(stages, m, 1, cost, chunks);
}

}  // namespace slimpack::tests

#endif
