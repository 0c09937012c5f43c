#ifndef SLIMPACK_SOLVERS_DIVIDE_DIVISION_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DIVISION_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/divide/balance.hpp>
#include <slimpack/solvers/divide/detail/lightest_first.hpp>
#include <slimpack/solvers/divide/rebalance.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::divide {

/// Replicas that phase 2 plans as one, and what they run: a replica with its sequences, or several that share some.
struct planning_unit {
  std::vector<std::uint32_t> replicas;  ///< ascending
  std::vector<sequence> shared;         ///< by all of them; empty where there is one replica
  std::vector<sequence> own;            ///< of any of them, in batch order
  std::optional<exchange_set> exchanges{};  ///< that may carry what is shared; all that are allowed, if it says none

  friend bool operator==(const planning_unit&, const planning_unit&) = default;
};

/// How many replicas may share a sequence.
struct sharers_range {
  std::uint32_t least{1};     ///< memory needs so many
  std::uint32_t most{1};      ///< it has so many quanta, or the shape so many replicas
  std::uint32_t of_parts{1};  ///< for their parts alone; where they keep what others hold, `least` may be more
};

/// A batch's sequences divided among replicas.
using division = std::vector<planning_unit>;

}  // namespace slimpack::divide

namespace slimpack::detail {

using divide::division;
using divide::planning_unit;
using divide::sharers_range;

/// Groups for what weighs more than `share` of a replica's mean work (`light` of it can be balanced whole), or more than any replica has room for, each
/// sequence among so many replicas that no more than that share is one's part. Where replicas run out, it goes to the
/// group that it fills best, and to the lightest where it fits nowhere. A group opens only where those that memory forces
/// to be shared keep replicas enough for what no group there is suits.
/// Shapes    work, sharers: one per sequence
/// Returns   units of all replicas, groups first, that have their shared sequences only
/// Requires  least <= most <= replicas            Complexity  O(n log n + heavy * (log replicas + groups))
[[nodiscard]] inline division grouped(std::span<const sequence> batch, std::span<const double> work,
                                      std::span<const sharers_range> sharers, std::size_t replicas, double share,
                                      double light = solvers::default_search_options.light) {
  double mean = 0;  // work of a replica
  for (const double w : work) mean += w / static_cast<double>(replicas);
  const double part = share * mean;  // of one replica, at most
  std::vector<std::size_t> heavy;
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (sharers[i].least > 1 || work[i] > light * mean) heavy.push_back(i);
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

  std::vector<double> load(replicas, 0.0);
  // Loads only grow: of those noted here, the least that still holds is the lightest replica's, the first of equal ones.
  slimpack::detail::lightest_first light_first(load);
  const auto lightest_of_all = [&] {
    for (;;) {
      const auto [then, r] = light_first.top();
      if (then == load[r]) return load.begin() + r;
      light_first.reload(load[r]);
    }
  };
  division units;
  std::uint32_t taken = 0;
  std::size_t narrowest = replicas + 1;  // group
  for (std::size_t h = 0; h < heavy.size(); ++h) {
    const std::size_t i = heavy[h];
    const auto lightest = lightest_of_all();
    const bool is_whole = sharers[i].least == 1 && work[i] <= part && *lightest + work[i] <= (std::max(1.0, share) + light) * mean;
    if (is_whole || sharers[i].most == 1) {
      *lightest += work[i];
      continue;
    }
    const double parts = part > 0 ? std::min<double>(std::ceil(work[i] / part), sharers[i].most) : 1;
    const std::size_t wanted = std::max<std::size_t>({2, sharers[i].least, static_cast<std::size_t>(parts)});
    const auto fullest = [&](const planning_unit& u) {
      return *std::max_element(load.begin() + u.replicas.front(), load.begin() + u.replicas.back() + 1);
    };
    planning_unit* into = nullptr;
    planning_unit next;
    if (taken + wanted + reserved(h, std::min(narrowest, wanted)) <= replicas)
      for (std::size_t k = 0; k < wanted; ++k) next.replicas.push_back(taken + static_cast<std::uint32_t>(k));
    const double whole = next.replicas.empty() ? 0 : fullest(next);  // what its replicas may run beside
    if (!next.replicas.empty() && (whole <= 0 || whole + work[i] / static_cast<double>(wanted) <= mean)) {
      taken += static_cast<std::uint32_t>(wanted);
      narrowest = std::min(narrowest, wanted);
      into = &units.emplace_back(std::move(next));
    } else {
      double best = 0;  // work that is left to the group, or by how much it is over
      for (planning_unit& u : units) {
        const std::size_t members = u.replicas.size();
        if (members < sharers[i].least || members > sharers[i].most) continue;
        const double left = mean - fullest(u) - work[i] / static_cast<double>(members);
        const double rank = left >= 0 ? -left * static_cast<double>(members) : left - static_cast<double>(replicas) * mean;
        if (!into || rank > best) into = &u, best = rank;
      }
    }
    if (!into) continue;  // too few quanta for any group: a replica may hold it, or phase 2 tells what is missing
    into->shared.push_back(batch[i]);
    for (const std::uint32_t r : into->replicas) load[r] += work[i] / static_cast<double>(into->replicas.size());
  }
  while (taken < replicas) units.push_back({{taken++}, {}, {}, {}});
  return units;
}

/// Lets groups share all that is not light among their own sequences: whole ones of unlike work leave sharers waiting.
/// Shapes    work, sharers: one per sequence of the batch
/// Returns   whether there are such; they are still among the own ones, until share_out
[[nodiscard]] inline bool share_more(division& units, std::span<const double> work,
                                     std::span<const sharers_range> sharers,
                                     double light = solvers::default_search_options.light) {
  std::size_t replicas = 0;
  for (const planning_unit& u : units) replicas += u.replicas.size();
  double all = 0;
  for (const double w : work) all += w;
  const double least = light * all / static_cast<double>(replicas);
  bool any = false;
  for (planning_unit& u : units) {
    if (u.shared.empty()) continue;
    for (const sequence& s : u.own) {
      if (work[s.id.value] <= least || sharers[s.id.value].most < u.replicas.size()) continue;
      u.shared.push_back(s);
      any = true;
    }
  }
  return any;
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

/// Lets who ends last hand own sequences, one or one against one, to who ends first, a few times, as long as the last of
/// the two ends sooner: what is planned already changes by little.
/// Shapes    work: one per sequence of the batch; ends: of each unit, as planned
/// Complexity O(units * n)
inline void level(division& units, std::span<const sequence> batch, std::span<const double> work,
                  std::span<const seconds> ends) {
  std::vector<std::vector<std::uint32_t>> own;
  std::vector<double> loads, share;
  for (std::size_t u = 0; u < units.size(); ++u) {
    own.emplace_back();
    for (const sequence& s : units[u].own) own[u].push_back(s.id.value);
    std::stable_sort(own[u].begin(), own[u].end(), [&](std::uint32_t a, std::uint32_t b) { return work[a] > work[b]; });
    loads.push_back(ends[u].value);
    share.push_back(1.0 / static_cast<double>(units[u].replicas.size()));
  }
  rebalance(work, own, loads, units.size(), 0, share);
  for (std::size_t u = 0; u < units.size(); ++u) {
    std::sort(own[u].begin(), own[u].end());
    units[u].own.clear();
    for (const std::uint32_t i : own[u]) units[u].own.push_back(batch[i]);
  }
}

}  // namespace slimpack::detail

#endif
