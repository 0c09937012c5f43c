#ifndef SLIMPACK_SOLVERS_DIVIDE_UNFOLD_HPP
#define SLIMPACK_SOLVERS_DIVIDE_UNFOLD_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/divide/sharing_group.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace slimpack::detail {

/// The packs of stand-ins as packs of one sharer.
struct sharer_packs {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  partition packs;
  by_pass<std::vector<std::uint32_t>> number;  ///< per pack of stand-ins: the sharer's, none where nothing of it is
                                               ///< there
};

/// Unfolds packs of stand-ins for one sharer. Runs of shared sequences between the cuts of both passes are split among
/// the sharers: a token runs backward where it ran forward.
/// cuts: of the packs            Complexity  O(slices * sharers)
[[nodiscard]] inline sharer_packs unfolded(const partition& packs, const common_cuts& cuts, const sharing_group& on,
                                           std::size_t sharer) {
  sharer_packs made;
  for (const pass p : both_passes) {
    micropacks& to = made.packs.of(p);
    const auto push = [&](const slice& s) {
      if (s.length > tokens{0}) to.push(s);
    };
    for (std::size_t i = 0; i < packs.of(p).size(); ++i) {
      for (const slice& s : packs.of(p)[i]) {
        if (!on.is_shared(s)) {
          push(on.fraction(s, sharer));
          continue;
        }
        cuts.each_piece(s, p, [&](const slice& run) {
          sharer_slices slices = on.slices(run, sharer);
          if (p == pass::backward) std::reverse(slices.begin(), slices.end());
          for (const slice& cut : slices) push(cut);
        });
      }
      const auto pack = static_cast<std::uint32_t>(to.size());
      to.close();
      made.number[p].push_back(to.size() > pack ? pack : sharer_packs::none);
    }
  }
  return made;
}

/// Programs of stand-ins' packs as those of one sharer: the same, without the packs that it has not.
[[nodiscard]] inline std::vector<program> programs_of_sharer(std::span<const program> programs,
                                                             const sharer_packs& of) {
  std::vector<program> made;
  for (const program& stage : programs) {
    program& code = made.emplace_back();
    for (instruction i : stage) {
      i.pack.value = of.number[i.pass()][i.pack.value];
      if (i.pack.value != sharer_packs::none) code.push_back(i);
    }
  }
  return made;
}

/// The merges of stand-ins' packs: every pack that holds a shared sequence is a row of it.
/// Shapes    of: one per sharer; replicas: those that the sharers are, ascending; exchanges: that they may use
[[nodiscard]] inline std::vector<merge> merges_of(const partition& packs, const sharing_group& on,
                                                  std::span<const sharer_packs> of,
                                                  std::span<const std::uint32_t> replicas,
                                                  const exchange_set& exchanges) {
  std::vector<merge> merges;
  for (const sequence& s : on.shared()) merges.push_back({s.id, {replicas.begin(), replicas.end()}, {}, {}});
  for (const pass p : both_passes) {
    for (std::size_t i = 0; i < packs.of(p).size(); ++i) {
      for (const slice& s : packs.of(p)[i]) {
        if (!on.is_shared(s)) continue;
        merge& m = merges[s.sequence.value];
        std::vector<pack_id>& row = m.of(p).emplace_back();
        for (const sharer_packs& sharer : of) row.push_back({sharer.number[p][i]});
      }
    }
  }
  for (merge& m : merges) m.exchange = exchanges.best(std::max(m.forward.size(), m.backward.size()));
  return merges;
}

}  // namespace slimpack::detail

#endif
