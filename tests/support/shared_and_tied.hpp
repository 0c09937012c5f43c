#ifndef SLIMPACK_TESTS_SUPPORT_SHARED_AND_TIED_HPP
#define SLIMPACK_TESTS_SUPPORT_SHARED_AND_TIED_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Plans whose stages lend each other attention, in which replicas share sequences, too.
namespace slimpack::tests {

/// The replica that runs a sequence, if it is of one.
[[nodiscard]] inline std::uint32_t owner_of(const plan& p, sequence_id s) {
  const auto has = [&](const replica_plan& r) {
    return std::find(r.sequences.begin(), r.sequences.end(), s) != r.sequences.end();
  };
  return static_cast<std::uint32_t>(std::find_if(p.replicas.begin(), p.replicas.end(), has) - p.replicas.begin());
}

/// Joins a sequence and the last one of the batch to one that their replicas share: where either replica had a slice of
/// its own, it has a part of a row. Nothing is lent of it, but packs that have it still help.
/// Requires  both whole, on two replicas, of one length, a multiple of the quantum, and of as many slices, in packs of
///           their own
inline void share(plan& p, sequence_id one) {
  const sequence_id last{static_cast<std::uint32_t>(p.lengths.size() - 1)};
  const std::uint32_t owner = owner_of(p, one), other = owner_of(p, last);
  merge shared{one, {std::min(owner, other), std::max(owner, other)}, {}, {}};
  for (std::size_t k = 0; k < 2; ++k) {
    replica_plan& r = p.replicas[shared.replicas[k]];
    const sequence_id own = shared.replicas[k] == owner ? one : last;
    std::replace(r.sequences.begin(), r.sequences.end(), last, one);
    std::sort(r.sequences.begin(), r.sequences.end());
    std::erase_if(r.loans, [&](const loan& l) { return l.queries.sequence == own; });
    for (const pass way : both_passes) {
      micropacks changed;
      std::size_t row = 0;
      for (std::uint32_t pack = 0; pack < r.partition.of(way).size(); ++pack) {
        for (slice s : r.partition.of(way)[pack]) {
          if (s.sequence == own) {
            s = {one, s.begin + s.begin + s.length * static_cast<std::int64_t>(k), s.length};
            if (k == 0) shared.of(way).push_back({{pack}, merge::none});
            if (k == 1) shared.of(way)[row][1] = {pack};
            ++row;
          }
          changed.append(s);
        }
        changed.close();
      }
      r.partition.of(way) = std::move(changed);
    }
  }
  p.lengths[one.value] += p.lengths.back();
  p.lengths.pop_back();
  p.merges.push_back(std::move(shared));
  p.hash = hash_of(p);
}

/// Leaves out what stages lend in or beside packs that have nothing but rows of shared sequences, which no step runs.
/// Returns how many packs are left that have such a row and lend, or help.
inline std::size_t lend_beside_rows(plan& p) {
  const auto is_shared = [&](const slice& s) {
    return std::any_of(p.merges.begin(), p.merges.end(), [&](const merge& m) { return m.sequence == s.sequence; });
  };
  std::size_t mixed = 0;
  for (replica_plan& r : p.replicas) {
    const auto pack_of = [&](const loan::side& s) { return r.partition.of(s.what.pass())[s.what.pack.value]; };
    const auto has_rows_alone = [&](const loan::side& s) {
      return std::all_of(pack_of(s).begin(), pack_of(s).end(), is_shared);
    };
    std::vector<loan::side> without;
    for (const loan& l : r.loans)
      if (has_rows_alone(l.lender) || has_rows_alone(l.helper)) without.push_back(l.lender);
    std::erase_if(r.loans,
                  [&](const loan& l) { return std::find(without.begin(), without.end(), l.lender) != without.end(); });
    for (const loan& l : r.loans)
      for (const loan::side* const side : {&l.lender, &l.helper})
        mixed += std::any_of(pack_of(*side).begin(), pack_of(*side).end(), is_shared);
  }
  p.hash = hash_of(p);
  return mixed;
}

}  // namespace slimpack::tests

#endif
