#ifndef SLIMPACK_SOLVERS_DETAIL_DIVISION_HPP
#define SLIMPACK_SOLVERS_DETAIL_DIVISION_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/solvers/balance.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Replicas that phase 2 plans as one, and what they run: a replica with its sequences, or several that share some.
struct planning_unit {
  std::vector<std::uint32_t> replicas;  ///< ascending
  std::vector<sequence> shared;         ///< by all of them; empty where there is one replica
  std::vector<sequence> own;            ///< of any of them, in batch order

  friend bool operator==(const planning_unit&, const planning_unit&) = default;
};

/// How many replicas may share a sequence.
struct sharers_range {
  std::uint32_t least{1};  ///< memory needs so many
  std::uint32_t most{1};   ///< it has so many quanta, or the shape so many replicas
};

/// A batch's sequences divided among replicas.
using division = std::vector<planning_unit>;

/// Groups for what weighs more than `share` of a replica's mean work, each sequence among so many replicas that no more
/// than that is one's part. Where replicas run out, the lightest group takes what is left. A group opens only where those
/// that memory forces to be shared keep replicas enough for what no group there is suits.
/// Shapes    work, sharers: one per sequence
/// Returns   units of all replicas, groups first, that have their shared sequences only
/// Requires  least <= most <= replicas            Complexity  O(n log n + shared * groups)
[[nodiscard]] inline division grouped(std::span<const sequence> batch, std::span<const double> work,
                                      std::span<const sharers_range> sharers, std::size_t replicas, double share) {
  double part = 0;  // of one replica, at most
  for (const double w : work) part += share * w / static_cast<double>(replicas);
  std::vector<std::size_t> heavy;
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (sharers[i].least > 1 || (sharers[i].most > 1 && work[i] > part)) heavy.push_back(i);
  // Who needs the most replicas comes first, and leaves a group that is large enough for those after it.
  std::stable_sort(heavy.begin(), heavy.end(), [&](std::size_t a, std::size_t b) {
    return sharers[a].least != sharers[b].least ? sharers[a].least > sharers[b].least : work[a] > work[b];
  });

  // The fewest replicas that suit the forced ones after `from`, beside groups of which `narrowest` is the smallest: each
  // that they are all too large for opens one of as few as it can have, which suits most of those after it.
  const auto reserved = [&](std::size_t from, std::size_t narrowest) {
    std::size_t needed = 0;
    for (std::size_t j = from + 1; j < heavy.size() && sharers[heavy[j]].least > 1; ++j) {
      if (sharers[heavy[j]].most >= narrowest) continue;
      narrowest = sharers[heavy[j]].least;
      needed += narrowest;
    }
    return needed;
  };

  struct group {
    planning_unit unit{};
    double load{};  // of each replica
  };
  std::vector<group> groups;
  std::uint32_t taken = 0;
  std::size_t narrowest = replicas + 1;  // group
  for (std::size_t h = 0; h < heavy.size(); ++h) {
    const std::size_t i = heavy[h];
    const double parts = part > 0 ? std::min<double>(std::ceil(work[i] / part), sharers[i].most) : 1;
    const std::size_t wanted = std::max<std::size_t>({2, sharers[i].least, static_cast<std::size_t>(parts)});
    group* into = nullptr;
    if (taken + wanted <= replicas && taken + wanted + reserved(h, std::min(narrowest, wanted)) <= replicas) {
      narrowest = std::min(narrowest, wanted);
      into = &groups.emplace_back();
      for (std::size_t k = 0; k < wanted; ++k) into->unit.replicas.push_back(taken++);
    } else {
      for (group& g : groups) {
        const std::size_t lanes = g.unit.replicas.size();
        if (lanes >= sharers[i].least && lanes <= sharers[i].most && (!into || g.load < into->load)) into = &g;
      }
    }
    if (!into) continue;  // too few quanta for any group: a replica may hold it, or phase 2 tells what is missing
    into->unit.shared.push_back(batch[i]);
    into->load += work[i] / static_cast<double>(into->unit.replicas.size());
  }
  division units;
  for (group& g : groups) units.push_back(std::move(g.unit));
  while (taken < replicas) units.push_back({{taken++}, {}, {}});
  return units;
}

/// Gives every sequence that is not shared to a replica, by balance.
/// Shapes    work: one per sequence; beside: what each replica does beside sequences of its own and its parts of shared ones
/// Complexity that of solvers::balance
inline void share_out(division& units, std::span<const sequence> batch, std::span<const double> work,
                      std::vector<double> beside) {
  std::vector<bool> is_shared(batch.size(), false);
  std::vector<std::size_t> unit_of(beside.size());  // by replica
  for (std::size_t u = 0; u < units.size(); ++u) {
    double part = 0;
    for (const sequence& s : units[u].shared) {
      is_shared[s.id.value] = true;
      part += work[s.id.value] / static_cast<double>(units[u].replicas.size());
    }
    for (const std::uint32_t r : units[u].replicas) {
      unit_of[r] = u;
      beside[r] += part;
    }
    units[u].own.clear();
  }
  std::vector<double> weight;
  for (const sequence& s : batch)
    if (!is_shared[s.id.value]) weight.push_back(work[s.id.value]);
  const std::vector<std::uint32_t> replica_of = solvers::balance(weight, std::move(beside));
  std::size_t next = 0;
  for (const sequence& s : batch)
    if (!is_shared[s.id.value]) units[unit_of[replica_of[next++]]].own.push_back(s);
}

}  // namespace slimpack::detail

#endif
