#ifndef SLIMPACK_PROFILING_PACK_SUMS_HPP
#define SLIMPACK_PROFILING_PACK_SUMS_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/profiling/observation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace slimpack::profiling {

/// Packs of a part in a pass, of few slices or of many, in sum: what a step takes. A median does not tell it, since it
/// counts a pack of a millisecond as one of a second. Planners choose between few slices and many, so a price that is
/// right in the sum of both may still mislead them.
struct pack_sum {
  static constexpr std::size_t few = 4;     ///< slices of a pack, at most; more are many
  static constexpr double tolerated = 0.1;  ///< off the price, as a ratio of it

  slimpack::pass pass{};
  int part{};
  bool many{};
  std::size_t packs{};
  seconds measured, priced;

  [[nodiscard]] double ratio() const noexcept { return measured / priced; }
  [[nodiscard]] bool is_off() const noexcept { return !(std::abs(ratio() - 1) <= tolerated); }

  friend bool operator==(const pack_sum&, const pack_sum&) = default;
};

/// Measured and priced times in sum, in the order pass, part, few before many; none of kinds without packs.
/// Weight gradients that ran apart are left out, as their time is in that of their backward.
/// Requires  observations of the model's parts, others are left out            Complexity  O(observations)
[[nodiscard]] inline std::vector<pack_sum> sums_of(const costs::profiled& cost, std::span<const observation> all) {
  std::map<std::tuple<pass, int, bool>, pack_sum> kinds;
  for (const observation& o : all) {
    if (o.weights || o.part < 0 || o.part >= cost.parts()) continue;
    const bool many = o.pack.size() > pack_sum::few;
    pack_sum& own = kinds.try_emplace({o.pass, o.part, many}, pack_sum{o.pass, o.part, many, 0, {}, {}}).first->second;
    ++own.packs;
    own.measured += o.time, own.priced += cost.time(o.pack, o.pass, o.part);
  }
  std::vector<pack_sum> sums;
  for (const auto& kind : kinds) sums.push_back(kind.second);
  return sums;
}

/// Adds sums of other packs to `all`, which keeps its order.            Complexity  O(sums^2)
inline void add(std::vector<pack_sum>& all, std::span<const pack_sum> more) {
  const auto key = [](const pack_sum& s) { return std::tuple(s.pass, s.part, s.many); };
  for (const pack_sum& s : more) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const pack_sum& one) { return !(key(one) < key(s)); });
    if (at == all.end() || key(*at) != key(s))
      all.insert(at, s);
    else
      at->packs += s.packs, at->measured += s.measured, at->priced += s.priced;
  }
}

/// The sum that is the furthest off its price, if one is by more than is tolerated; else none.
[[nodiscard]] inline const pack_sum* most_off(std::span<const pack_sum> sums) noexcept {
  const pack_sum* worst = nullptr;
  for (const pack_sum& s : sums)
    if (s.is_off() && (!worst || std::abs(s.ratio() - 1) > std::abs(worst->ratio() - 1))) worst = &s;
  return worst;
}

}  // namespace slimpack::profiling

#endif
