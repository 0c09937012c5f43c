#ifndef SLIMPACK_SOLVERS_DETAIL_DIVISION_HPP
#define SLIMPACK_SOLVERS_DETAIL_DIVISION_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/solvers/balance.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// Shares what weighs more than `share` of a replica's mean work, each among so many replicas that no more than that is
/// one's part, and balances the rest. Where replicas run out, the lightest group takes what is left.
/// Shapes    work, sharers: one per sequence
/// Requires  least <= most <= replicas            Complexity  O(n log n + shared * groups)
[[nodiscard]] inline division divided(std::span<const sequence> batch, std::span<const double> work,
                                      std::span<const sharers_range> sharers, std::size_t replicas, double share) {
  double part = 0;  // of one replica, at most
  for (const double w : work) part += share * w / static_cast<double>(replicas);
  std::vector<std::size_t> heavy;
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < batch.size(); ++i)
    (sharers[i].least > 1 || (sharers[i].most > 1 && work[i] > part) ? heavy : rest).push_back(i);
  // Who needs the most replicas comes first, and leaves a group that is large enough for those after it.
  std::stable_sort(heavy.begin(), heavy.end(), [&](std::size_t a, std::size_t b) {
    return sharers[a].least != sharers[b].least ? sharers[a].least > sharers[b].least : work[a] > work[b];
  });

  struct group {
    std::size_t lanes{};
    double load{};  // of each
    std::vector<sequence> shared{};
  };
  std::vector<group> groups;
  std::size_t free = replicas;
  for (const std::size_t i : heavy) {
    const double parts = part > 0 ? std::min<double>(std::ceil(work[i] / part), sharers[i].most) : 1;
    const std::size_t wanted = std::max<std::size_t>({2, sharers[i].least, static_cast<std::size_t>(parts)});
    group* into = nullptr;
    if (wanted <= free) {
      free -= wanted;
      into = &groups.emplace_back(group{wanted});
    } else {
      for (group& g : groups)
        if (g.lanes >= sharers[i].least && g.lanes <= sharers[i].most && (!into || g.load < into->load)) into = &g;
    }
    if (!into) {
      rest.push_back(i);  // too few quanta for any group: a replica may hold it, or phase 2 tells what is missing
      continue;
    }
    into->shared.push_back(batch[i]);
    into->load += work[i] / static_cast<double>(into->lanes);
  }

  std::sort(rest.begin(), rest.end());

  std::vector<double> loads;
  division units;
  std::vector<std::size_t> unit_of;  // by replica
  const auto add = [&](const group& g) {
    planning_unit& unit = units.emplace_back(planning_unit{{}, g.shared, {}});
    for (std::size_t lane = 0; lane < g.lanes; ++lane) {
      unit.replicas.push_back(static_cast<std::uint32_t>(loads.size()));
      loads.push_back(g.load);
      unit_of.push_back(units.size() - 1);
    }
  };
  for (const group& g : groups) add(g);
  while (loads.size() < replicas) add({1});
  std::vector<double> weight;
  for (const std::size_t i : rest) weight.push_back(work[i]);
  const std::vector<std::uint32_t> replica_of = solvers::balance(weight, loads);
  for (std::size_t k = 0; k < rest.size(); ++k) units[unit_of[replica_of[k]]].own.push_back(batch[rest[k]]);
  return units;
}

}  // namespace slimpack::detail

#endif
