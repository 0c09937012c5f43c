#ifndef SLIMPACK_PROFILING_DETAIL_PACK_KINDS_HPP
#define SLIMPACK_PROFILING_DETAIL_PACK_KINDS_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/median.hpp>
#include <slimpack/profiling/observation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::profiling::detail {

/// Of a pack: what tells it from others.
using pack_kind = std::tuple<pass, int, bool, std::vector<std::pair<std::int64_t, std::int64_t>>>;
[[nodiscard]] inline pack_kind kind_of(const observation& o) {
  std::vector<std::pair<std::int64_t, std::int64_t>> slices;
  for (const slice& s : o.pack) slices.emplace_back(s.length.value, s.begin.value);
  std::sort(slices.begin(), slices.end());
  return {o.pass, o.part, o.weights, std::move(slices)};
}

/// Packs of one kind as one, with their median time. In order of kinds.
[[nodiscard]] inline std::vector<observation> medians(std::span<const observation> all) {
  std::map<pack_kind, std::pair<std::size_t, std::vector<double>>> kinds;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& [first, times] = kinds.try_emplace(kind_of(all[i]), i, std::vector<double>{}).first->second;
    times.push_back(all[i].time.value);
  }
  std::vector<observation> made;
  for (auto& [kind, seen] : kinds) {
    made.push_back(all[seen.first]);
    made.back().time = {slimpack::detail::median(std::move(seen.second))};
  }
  return made;
}

}  // namespace slimpack::profiling::detail

#endif
