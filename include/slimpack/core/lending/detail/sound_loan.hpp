#ifndef SLIMPACK_CORE_LENDING_DETAIL_SOUND_LOAN_HPP
#define SLIMPACK_CORE_LENDING_DETAIL_SOUND_LOAN_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/partition.hpp>
#include <slimpack/core/shape.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace slimpack::detail {

/// Whether a loan is between instructions that there are, on two stages and of one pass, for queries of the lender's pack, of keys that
/// these all see.            Complexity  O(slices of the pack)
[[nodiscard]] inline bool is_sound(const loan& l, const partition& packs, const shape& on) {
  for (const loan::side& s : {l.lender, l.helper})
    if (s.stage >= static_cast<std::uint32_t>(on.stages) || !s.what.is_pass() || s.what.pass != l.pass() ||
        s.what.chunk >= static_cast<std::uint32_t>(on.chunks) || s.what.pack.value >= packs.of(l.pass()).size())
      return false;
  const std::span<const slice> pack = packs.of(l.pass())[l.lender.what.pack.value];
  return l.lender.stage != l.helper.stage && std::find(pack.begin(), pack.end(), l.queries) != pack.end() &&
         l.context.sequence == l.queries.sequence && l.context.begin >= tokens{} && l.context.length >= tokens{1} &&
         l.context.begin <= l.queries.begin && l.context.length <= l.queries.begin - l.context.begin;
}

}  // namespace slimpack::detail

#endif
