#ifndef SLIMPACK_COSTS_DETAIL_PART_SAMPLES_HPP
#define SLIMPACK_COSTS_DETAIL_PART_SAMPLES_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/costs/detail/part_times.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/provenance.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace slimpack::detail {

/// The times of a part, as a table holds them.
/// Source    grid: queries double from 64 on, prefixes grow fourfold from 256, packs by 3/2 and 4/3 in turn; between
///           such points tables are off by less than measurements are
struct part_samples {
  std::vector<costs::profiled::sample> slices{};
  std::vector<costs::profiled::pack_sample> packs{};
  seconds weight_token{};  ///< weight gradients, of the pack size where they are cheapest

  /// `longest`: up to where, at least. `full`: how many tiles of 128 queries and a head, of slices that run together,
  /// leave no multiprocessor idle.
  [[nodiscard]] static part_samples of(const part_times& part, tokens longest, std::int64_t full, std::int64_t heads) {
    part_samples made;
    costs::provenance unused;
    tokens top{64};  // the first power of two that is not below the longest
    while (top < longest && top < tokens{1 << 30}) top += top;
    for (const pass p : {pass::forward, pass::backward}) {
      for (tokens q{64}; q <= top; q += q) {
        const std::int64_t tiles = (q.value + 127) / 128 * heads;
        const auto copies = static_cast<int>((full + tiles - 1) / tiles);
        for (tokens prefix{}; prefix + q <= top; prefix = std::max(tokens{256}, prefix * 4)) {
          const seconds together = part.attention(q, prefix, p, copies, unused);
          const seconds alone = copies > 1 ? part.attention(q, prefix, p, 1, unused) : together;
          made.slices.push_back({p, 0, q, prefix + q, together, alone});
        }
      }
      for (tokens size{64}; size <= top; size += size)
        for (const tokens each : {size, {size.value / 2 * 3}})
          made.packs.push_back({p, 0, each, part.tokens_time(each, p, unused)});
    }
    made.weight_token = {std::numeric_limits<double>::infinity()};
    for (const costs::profiled::pack_sample& s : made.packs)
      if (s.pass == pass::backward)
        made.weight_token =
            std::min(made.weight_token, part.weight_gradients(s.size) * (1 / static_cast<double>(s.size.value)));
    return made;
  }
};

}  // namespace slimpack::detail

#endif
