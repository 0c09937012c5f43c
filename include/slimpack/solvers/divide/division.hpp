#ifndef SLIMPACK_SOLVERS_DIVIDE_DIVISION_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DIVISION_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/divide/balance.hpp>
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
  std::vector<std::uint32_t> replicas;      ///< ascending
  std::vector<sequence> shared;             ///< by all of them; empty where there is one replica
  std::vector<sequence> own;                ///< of any of them, in batch order
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

/// Gives the heavy sequences of a batch to groups, one after the other (grouped).
class group_filling {
 public:
  /// Requires  lists that outlive it
  group_filling(std::span<const sequence> batch, std::span<const double> work, std::span<const sharers_range> sharers,
                std::size_t replicas, double share, double light)
      : batch_(batch),
        work_(work),
        sharers_(sharers),
        share_(share),
        light_(light),
        load_(replicas, 0.0),
        narrowest_(replicas + 1),
        light_first_(load_) {
    for (const double w : work) mean_ += w / static_cast<double>(replicas);
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (sharers[i].least > 1 || work[i] > light * mean_) heavy_.push_back(i);
    // Who needs the most replicas comes first, and leaves a group that is large enough for those after it.
    std::stable_sort(heavy_.begin(), heavy_.end(), [&](std::size_t a, std::size_t b) {
      return sharers[a].least != sharers[b].least ? sharers[a].least > sharers[b].least : work[a] > work[b];
    });
  }

  [[nodiscard]] division run() && {
    for (std::size_t h = 0; h < heavy_.size(); ++h) {
      const std::size_t i = heavy_[h];
      if (stays_whole(i)) continue;
      planning_unit* into = new_group(h);
      if (!into) into = best_group(i);
      if (!into) continue;  // too few quanta for any group: a replica may hold it, or phase 2 tells what is missing
      into->shared.push_back(batch_[i]);
      for (const std::uint32_t r : into->replicas) load_[r] += work_[i] / static_cast<double>(into->replicas.size());
    }
    while (taken_ < load_.size()) units_.push_back({{taken_++}, {}, {}, {}});
    return std::move(units_);
  }

 private:
  /// What fits whole beside what the lightest replica has is that replica's.
  bool stays_whole(std::size_t i) {
    double& lightest = lightest_load();
    const bool is_whole = sharers_[i].least == 1 && work_[i] <= share_ * mean_ &&
                          lightest + work_[i] <= (std::max(1.0, share_) + light_) * mean_;
    if (!is_whole && sharers_[i].most != 1) return false;
    lightest += work_[i];
    return true;
  }

  /// Loads only grow: of those noted in light_first_, the least that still holds is the lightest replica's, the first
  /// of equal ones.
  double& lightest_load() {
    for (;;) {
      const auto [then, r] = light_first_.top();
      if (then == load_[r]) return load_[r];
      light_first_.reload(load_[r]);
    }
  }

  /// A group of replicas that are in none yet, where enough are left, and where they have room for the sequence; or
  /// null.
  planning_unit* new_group(std::size_t h) {
    const std::size_t i = heavy_[h];
    const double part = share_ * mean_;  // of one replica, at most
    const double parts = part > 0 ? std::min<double>(std::ceil(work_[i] / part), sharers_[i].most) : 1;
    const std::size_t wanted = std::max<std::size_t>({2, sharers_[i].least, static_cast<std::size_t>(parts)});
    if (taken_ + wanted + reserved(h, std::min(narrowest_, wanted)) > load_.size()) return nullptr;
    planning_unit next;
    for (std::size_t k = 0; k < wanted; ++k) next.replicas.push_back(taken_ + static_cast<std::uint32_t>(k));
    const double whole = fullest(next);  // what its replicas may run beside
    if (whole > 0 && whole + work_[i] / static_cast<double>(wanted) > mean_) return nullptr;
    taken_ += static_cast<std::uint32_t>(wanted);
    narrowest_ = std::min(narrowest_, wanted);
    return &units_.emplace_back(std::move(next));
  }

  /// The fewest replicas that suit the forced ones after `from`, beside groups of which `narrowest` is the smallest:
  /// each that they are all too large for opens one of as few as it can have, which suits most of those after it.
  [[nodiscard]] std::size_t reserved(std::size_t from, std::size_t narrowest) const {
    std::size_t needed = 0;
    for (std::size_t j = from + 1; j < heavy_.size() && sharers_[heavy_[j]].least > 1; ++j) {
      if (sharers_[heavy_[j]].most >= narrowest) continue;
      narrowest = sharers_[heavy_[j]].least;
      needed += narrowest;
    }
    return needed;
  }

  /// The group that suits the sequence and has most room for it, or is least over where none has any; or null.
  planning_unit* best_group(std::size_t i) {
    planning_unit* into = nullptr;
    double best = 0;  // work that is left to the group, or by how much it is over
    for (planning_unit& u : units_) {
      const std::size_t members = u.replicas.size();
      if (members < sharers_[i].least || members > sharers_[i].most) continue;
      const double left = mean_ - fullest(u) - work_[i] / static_cast<double>(members);
      const double room =
          left >= 0 ? -left * static_cast<double>(members) : left - static_cast<double>(load_.size()) * mean_;
      if (!into || room > best) into = &u, best = room;
    }
    return into;
  }

  [[nodiscard]] double fullest(const planning_unit& u) const {
    return *std::max_element(load_.begin() + u.replicas.front(), load_.begin() + u.replicas.back() + 1);
  }

  std::span<const sequence> batch_;
  std::span<const double> work_;
  std::span<const sharers_range> sharers_;
  double share_;
  double light_;
  double mean_{};                   // work of a replica
  std::vector<std::size_t> heavy_;  // sequences, in the order of giving
  std::vector<double> load_;        // of each replica
  std::size_t narrowest_;           // group
  std::uint32_t taken_{};           // replicas that are in groups: the first
  division units_;
  slimpack::detail::lightest_first light_first_;
};

/// Groups for what weighs more than `share` of a replica's mean work (`light` of it can be balanced whole), or more
/// than any replica has room for, each sequence among so many replicas that no more than that share is one's part.
/// Where replicas run out, it goes to the group that it fills best, and to the lightest where it fits nowhere. A group
/// opens only where those that memory forces to be shared keep replicas enough for what no group there is suits.
/// Shapes    work, sharers: one per sequence
/// Returns   units of all replicas, groups first, that have their shared sequences only
/// Requires  least <= most <= replicas            Complexity  O(n log n + heavy * (log replicas + groups))
[[nodiscard]] inline division grouped(std::span<const sequence> batch, std::span<const double> work,
                                      std::span<const sharers_range> sharers, std::size_t replicas, double share,
                                      double light = solvers::default_search_options.light) {
  return group_filling(batch, work, sharers, replicas, share, light).run();
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
/// Shapes    work: one per sequence; beside: what each replica does beside sequences of its own and its parts of shared
///           ones
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

/// Lets who ends last hand own sequences, one or one against one, to who ends first, a few times, as long as the last
/// of the two ends sooner: what is planned already changes by little.
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
