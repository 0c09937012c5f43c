#ifndef SLIMPACK_SOLVERS_BASELINES_DETAIL_SHARED_COLUMNS_HPP
#define SLIMPACK_SOLVERS_BASELINES_DETAIL_SHARED_COLUMNS_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/divide/sharer_slices.hpp>
#include <slimpack/solvers/divide/unfold.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A micro-step of context parallelism: sequences that replicas run side by side, each whole, by those that share it.
struct shared_column {
  struct entry {
    sequence of;
    std::uint32_t first{};  ///< replica of its sharers, which are neighbours
    std::uint32_t sharers{};
  };
  std::vector<entry> entries;
};

/// Tokens that one of so many sharers has of a sequence, at most.
[[nodiscard]] constexpr tokens share_of(tokens length, std::uint32_t sharers, tokens quantum) noexcept {
  const std::int64_t quanta = (length.value + quantum.value - 1) / quantum.value;
  return std::min(length, quantum * ((quanta + sharers - 1) / sharers));
}

/// No more sharers than a sequence has quanta.
[[nodiscard]] constexpr std::uint32_t sharers_within(tokens length, std::uint32_t sharers, tokens quantum) noexcept {
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(sharers, (length.value + quantum.value - 1) / quantum.value));
}

/// Next-fit: each sequence on all replicas, and in the last micro-step, or in a new one where a replica would get more
/// than the limit. Short ones that some replicas have nothing of begin in turn on each.
/// Requires  a limit that lets each sequence in alone
[[nodiscard]] inline std::vector<shared_column> in_arrival_order(std::span<const sequence> batch,
                                                                 std::uint32_t replicas, tokens limit, tokens quantum) {
  std::vector<shared_column> columns;
  tokens held{};
  for (const sequence& s : batch) {
    const std::uint32_t sharers = sharers_within(s.length, replicas, quantum);
    const tokens share = share_of(s.length, sharers, quantum);
    if (columns.empty() || held + share > limit) columns.emplace_back(), held = {};
    const std::uint32_t ways = replicas - sharers + 1;
    columns.back().entries.push_back({s, static_cast<std::uint32_t>(columns.back().entries.size()) % ways, sharers});
    held += share;
  }
  return columns;
}

/// Longest first: each sequence on as many neighbouring replicas as `sharers_for(sequence)` says, in the first
/// micro-step that has room for its share; there on the group that has the least load so far, as `load(sequence)`
/// counts it. A group of so many may begin where `begins(replica, sharers)`.
/// Requires  shares within the limit
template <class SharersFor, class Begins, class Load>
[[nodiscard]] std::vector<shared_column> longest_first(std::span<const sequence> batch, const shape& on, tokens limit,
                                                       const SharersFor& sharers_for, const Begins& begins,
                                                       const Load& load) {
  const auto replicas = static_cast<std::uint32_t>(on.replicas);
  std::vector<sequence> order(batch.begin(), batch.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const sequence& a, const sequence& b) { return a.length > b.length; });
  struct column_state {
    std::vector<tokens> held;  // of each replica
    std::vector<double> load;
  };
  std::vector<shared_column> columns;
  std::vector<column_state> states;
  for (const sequence& s : order) {
    const std::uint32_t group = sharers_for(s);
    const std::uint32_t sharers = sharers_within(s.length, group, on.quantum);
    const tokens share = share_of(s.length, sharers, on.quantum);
    const double load_each = load(s) / sharers;
    for (std::size_t c = 0;; ++c) {
      if (c == columns.size())
        columns.emplace_back(), states.push_back({std::vector<tokens>(replicas), std::vector<double>(replicas)});
      column_state& now = states[c];
      const auto most = [&](const auto& of, std::uint32_t first) {
        return *std::max_element(of.begin() + first, of.begin() + first + sharers);
      };
      std::optional<std::uint32_t> best;
      for (std::uint32_t first = 0; first + group <= replicas; ++first) {
        if (!begins(first, group) || most(now.held, first) + share > limit) continue;
        if (!best || most(now.load, first) < most(now.load, *best)) best = first;
      }
      if (!best) continue;
      columns[c].entries.push_back({s, *best, sharers});
      for (std::uint32_t r = *best; r < *best + sharers; ++r) now.held[r] += share, now.load[r] += load_each;
      break;
    }
  }
  return columns;
}

/// Columns as packs: each replica's pack of a column has its slices of the column's sequences.
struct column_packs {
  partition columns;             ///< whole sequences, a pack a column
  std::vector<sharer_packs> of;  ///< per replica; number: of a column, its pack there
  std::vector<std::vector<sequence_id>> sequences;
  std::vector<merge> merges;
};

[[nodiscard]] inline column_packs packs_of(std::span<const shared_column> columns, const problem& batch, exchange how) {
  const auto replicas = static_cast<std::size_t>(batch.shape.replicas);
  column_packs made{{}, std::vector<sharer_packs>(replicas), std::vector<std::vector<sequence_id>>(replicas), {}};
  for (const shared_column& column : columns) {
    for (const pass p : both_passes) {
      for (const shared_column::entry& e : column.entries) made.columns.of(p).push(e.of.whole());
      made.columns.of(p).close();
      for (std::uint32_t r = 0; r < replicas; ++r) {
        micropacks& packs = made.of[r].packs.of(p);
        const auto pack = static_cast<std::uint32_t>(packs.size());
        for (const shared_column::entry& e : column.entries) {
          if (r < e.first || r >= e.first + e.sharers) continue;
          if (p == pass::forward) made.sequences[r].push_back(e.of.id);
          sharer_slices slices = slices_of_sharer(e.of.whole(), r - e.first, e.sharers, batch.shape.quantum);
          if (p == pass::backward) std::reverse(slices.begin(), slices.end());
          for (const slice& one : slices)
            if (one.length > tokens{0}) packs.push(one);
        }
        packs.close();
        made.of[r].number[p].push_back(packs.size() > pack ? pack : sharer_packs::none);
      }
    }
    for (const shared_column::entry& e : column.entries) {
      if (e.sharers < 2) continue;
      merge& m = made.merges.emplace_back(merge{e.of.id, std::vector<std::uint32_t>(e.sharers), {}, {}, how});
      std::iota(m.replicas.begin(), m.replicas.end(), e.first);
      for (const pass p : both_passes)
        for (std::vector<pack_id>& row = m.of(p).emplace_back(); const std::uint32_t r : m.replicas)
          row.push_back({made.of[r].number[p].back()});
    }
  }
  return made;
}

/// Programs of columns as those of each replica, without the packs that it has not.
[[nodiscard]] inline solution solution_of(column_packs&& packed, std::span<const program> programs) {
  solution made{{}, std::move(packed.merges)};
  for (std::size_t r = 0; r < packed.of.size(); ++r) {
    replica_solution& own = made.replicas.emplace_back();
    own.sequences = std::move(packed.sequences[r]);
    own.partition = std::move(packed.of[r].packs);
    own.programs = programs_of_sharer(programs, packed.of[r]);
  }
  return made;
}

}  // namespace slimpack::detail

#endif
