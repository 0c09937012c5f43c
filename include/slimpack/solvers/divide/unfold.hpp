#ifndef SLIMPACK_SOLVERS_DIVIDE_UNFOLD_HPP
#define SLIMPACK_SOLVERS_DIVIDE_UNFOLD_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/solvers/divide/sharing_group.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
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

/// The workload of packs that several sharers run alike: each pack takes as long as on its slowest sharer, waits for
/// the last forward that any needs, and after any number of packs as much is held as on the sharer that has taken in
/// most, and nothing more released than on the one that has released least.
/// Law       programs that suit it suit the workload of every sharer, the packs left out that a sharer has not
/// Complexity O(packs * parts) for each sharer
class most_of {
 public:
  most_of(const partition& packs, const shape& on, const std::vector<memory_rates>& rates) {
    work_.shape = on;
    work_.rates = rates;
    work_.turn.assign(packs.backward.size(), 0);
    work_.gradient_running.assign(packs.backward.size(), 0);
    work_.gradient_before.assign(packs.backward.size() + 1, 0);
    for (const pass p : both_passes) work_.pairs[p].assign(packs.of(p).size(), 0);
  }

  /// apart: tokens of the sharer in the packs before each that are counted apart, packs of stand-ins + 1; or empty
  void add(const workload& sharer, const sharer_packs& of, const by_pass<std::vector<std::int64_t>>& apart = {}) {
    const bool first = work_.times.before.forward.empty();
    for (const pass p : both_passes) {
      add(p, sharer.times, of.number[p], apart[p], first);
      for (std::size_t i = 0; i < of.number[p].size(); ++i)
        if (const std::uint32_t own = of.number[p][i]; own != sharer_packs::none)
          work_.pairs[p][i] = std::max(work_.pairs[p][i], sharer.pairs_of(p, own));
    }
    std::vector<std::uint32_t> forward;  // of the sharer: those of stand-ins
    for (std::uint32_t i = 0; i < of.number.forward.size(); ++i)
      if (of.number.forward[i] != sharer_packs::none) forward.push_back(i);
    std::uint32_t turn = 0;
    std::int64_t open = 0;
    for (std::size_t i = 0; i < of.number.backward.size(); ++i) {
      const std::uint32_t own = of.number.backward[i];
      if (own != sharer_packs::none) turn = forward[sharer.turn[own]];
      work_.turn[i] = std::max(work_.turn[i], turn);
      work_.gradient_running[i] =
          std::max(work_.gradient_running[i], own == sharer_packs::none ? open : sharer.gradient_running[own]);
      if (own != sharer_packs::none) open = sharer.gradient_before[own + 1];
      work_.gradient_before[i + 1] = std::max(work_.gradient_before[i + 1], open);
    }
    if (sharer.split.inputs.empty()) return;
    const auto parts = static_cast<std::size_t>(work_.shape.parts());
    work_.split.inputs.resize(of.number.backward.size() * parts);
    work_.split.weights.resize(of.number.backward.size() * parts);
    spread(work_.split.inputs, sharer.split.inputs, of.number.backward, parts);
    spread(work_.split.weights, sharer.split.weights, of.number.backward, parts);
  }

  /// apart: tokens that were counted apart, as they are held on the sharer that holds most
  [[nodiscard]] workload work(const by_pass<std::vector<std::int64_t>>& apart = {}) && {
    for (const pass p : both_passes)
      for (std::size_t i = 0; i < apart[p].size(); ++i) work_.times.before[p][i] += apart[p][i];
    return std::move(work_);
  }

 private:
  static void spread(std::vector<seconds>& to, const std::vector<seconds>& from, const std::vector<std::uint32_t>& of,
                     std::size_t parts) {
    for (std::size_t i = 0; i < of.size(); ++i)
      for (std::size_t part = 0; part < parts && of[i] != sharer_packs::none; ++part)
        to[i * parts + part] = std::max(to[i * parts + part], from[of[i] * parts + part]);
  }

  void add(pass p, const timings& from, const std::vector<std::uint32_t>& of, std::span<const std::int64_t> apart,
           bool first) {
    timings& to = work_.times;
    const bool most = p == pass::forward;
    const auto parts = static_cast<std::size_t>(work_.shape.parts());
    if (first) {
      to.calls[p].resize(of.size() * parts);
      to.messages[p].resize(of.size() * parts);
      to.before[p].resize(of.size() + 1);
    }
    spread(to.calls[p], from.calls[p], of, parts);
    spread(to.messages[p], from.messages[p], of, parts);
    sum_up(to.before[p].data(), from.before[p].data(), of, apart, first, most);
    if (from.kept[p].empty()) return;
    const auto stages = static_cast<std::size_t>(work_.shape.stages);
    if (to.kept[p].empty()) to.kept[p].resize(stages * (of.size() + 1));  // sharers before may keep nothing
    for (std::size_t r = 0; r < stages; ++r)
      sum_up(&to.kept[p][r * (of.size() + 1)], &from.kept[p][r * (from.packs(p) + 1)], of, {}, first, most);
  }

  /// Sums over packs run, of which the largest count, or the least, without what is counted apart.
  template <class Number>
  static void sum_up(Number* to, const Number* from, const std::vector<std::uint32_t>& of,
                     std::span<const std::int64_t> apart, bool first, bool most) {
    std::size_t run = 0;
    for (std::size_t i = 0; i <= of.size(); ++i) {
      const Number sum = apart.empty() ? from[run] : from[run] - static_cast<Number>(apart[i]);
      to[i] = first ? sum : most ? std::max(to[i], sum) : std::min(to[i], sum);
      if (i < of.size() && of[i] != sharer_packs::none) run = of[i] + std::size_t{1};
    }
  }

  workload work_;
};

}  // namespace slimpack::detail

#endif
