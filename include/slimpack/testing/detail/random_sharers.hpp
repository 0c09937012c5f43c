#ifndef SLIMPACK_TESTING_DETAIL_RANDOM_SHARERS_HPP
#define SLIMPACK_TESTING_DETAIL_RANDOM_SHARERS_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::testing {

namespace detail {

/// A sequence with the replicas that run it, and what each runs of it in each row; a row of one replica is a slice.
struct dealt_sequence {
  using row = std::vector<std::vector<slice>>;  // per sharer

  sequence_id id;
  std::vector<std::uint32_t> replicas;  // ascending
  by_pass<std::vector<row>> rows;       // in run order

  enum class rows_have { all_sharers, some, all_tokens };

  /// Random owners, in runs of uneven lengths, and random rows: each has something of every sharer, or of some, or all.
  /// Requires  as many quanta as replicas
  static dealt_sequence any(sequence_id id, tokens length, tokens quantum, std::vector<std::uint32_t> among,
                            rows_have what, generator& random) {
    dealt_sequence made{id, std::move(among), {}};
    const std::int64_t quanta = (length.value + quantum.value - 1) / quantum.value;
    const auto sharers = static_cast<std::int64_t>(made.replicas.size());
    std::vector<std::size_t> owner(static_cast<std::size_t>(quanta));
    for (std::size_t at = 0; at < owner.size();) {
      const auto who = static_cast<std::size_t>(random.between(0, sharers - 1));
      for (std::int64_t n = random.between(1, std::max<std::int64_t>(1, quanta / 2)); n > 0 && at < owner.size(); --n)
        owner[at++] = who;
    }
    std::vector<std::size_t> places(owner.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    random.shuffle(places);
    for (std::size_t who = 0; who < made.replicas.size(); ++who) owner[places[who]] = who;
    for (const pass p : both_passes) {
      std::vector<std::size_t> begins{0};  // of rows, in quanta in run order
      std::vector<std::uint8_t> seen(made.replicas.size());
      for (std::size_t i = 0; i < owner.size(); ++i) {
        seen[owner[nth_place(p, i, owner.size())]] = 1;
        const bool whole = what == rows_have::some || std::find(seen.begin(), seen.end(), 0) == seen.end();
        if (what != rows_have::all_tokens && whole && random.once_in(what == rows_have::some ? 3 : 2))
          begins.push_back(i + 1), seen.assign(seen.size(), 0);
      }
      if (begins.size() > 1 && (what != rows_have::some || begins.back() == owner.size()))
        begins.pop_back();  // the last row takes in what may lack a sharer
      begins.push_back(owner.size());
      for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
        row& one = made.rows[p].emplace_back(made.replicas.size());
        for (std::size_t i = begins[r]; i < begins[r + 1]; ++i) {
          const std::size_t at = nth_place(p, i, owner.size());
          const tokens begin = quantum * static_cast<std::int64_t>(at);
          one[owner[at]].push_back({id, begin, std::min(quantum, length - begin)});
        }
      }
    }
    return made;
  }
};

/// Columns of packs: what the replicas of a batch run side by side, in each pass, as (sequence, row).
using column_rows = by_pass<std::vector<std::vector<std::pair<std::size_t, std::size_t>>>>;

/// Those of a batch, in which a sequence's rows are in columns one after the other, several sequences in one or not.
[[nodiscard]] inline column_rows random_columns(std::span<const dealt_sequence> all, generator& random) {
  column_rows columns;
  for (const pass p : both_passes) {
    std::vector<std::size_t> next(all.size());
    for (bool left = true; left;) {
      std::vector<std::pair<std::size_t, std::size_t>> column;
      left = false;
      for (std::size_t s = 0; s < all.size(); ++s) {
        if (next[s] < all[s].rows[p].size() && random.once_in(3)) column.push_back({s, next[s]++});
        left = left || next[s] < all[s].rows[p].size();
      }
      random.shuffle(column);
      if (!column.empty()) columns[p].push_back(std::move(column));
    }
  }
  return columns;
}

/// Each sequence of a batch with random sharers and rows; `how` says which rows an exchange can have. The first that
/// has enough quanta is shared by all replicas.
[[nodiscard]] inline std::vector<dealt_sequence> random_deal(std::span<const tokens> lengths, const shape& on,
                                                             generator& random, exchange how) {
  using rows_have = dealt_sequence::rows_have;
  const auto replicas = static_cast<std::size_t>(on.replicas);
  std::vector<dealt_sequence> all;
  bool by_all = false;
  for (std::uint32_t i = 0; i < lengths.size(); ++i) {
    const auto quanta = static_cast<std::size_t>((lengths[i].value + on.quantum.value - 1) / on.quantum.value);
    std::vector<std::uint32_t> among(replicas);
    std::iota(among.begin(), among.end(), 0u);
    random.shuffle(among);
    const bool first = !by_all && quanta >= replicas;
    by_all = by_all || first;
    if (!first)
      among.resize(static_cast<std::size_t>(random.between(1, static_cast<std::int64_t>(std::min(quanta, replicas)))));
    std::sort(among.begin(), among.end());
    const rows_have rows = how == exchange::ring                        ? rows_have::all_tokens
                           : how == exchange::keep && random.once_in(2) ? rows_have::some
                                                                        : rows_have::all_sharers;
    all.push_back(dealt_sequence::any({i}, lengths[i], on.quantum, std::move(among), rows, random));
  }
  return all;
}

/// A solution that is made column by column.
class column_solution {
 public:
  column_solution(std::span<const dealt_sequence> all, const column_rows& columns, const shape& on)
      : all_(all),
        columns_(columns),
        on_(on),
        made_{std::vector<replica_solution>(static_cast<std::size_t>(on.replicas)), {}},
        number_(made_.replicas.size()) {}

  /// Of each column the pack of each replica that has something in it.
  void add_packs() {
    for (std::uint32_t r = 0; r < made_.replicas.size(); ++r)
      for (const pass p : both_passes)
        for (const auto& column : columns_[p]) {
          micropacks& packs = made_.replicas[r].partition.of(p);
          const auto pack = static_cast<std::uint32_t>(packs.size());
          for (const auto& [s, row] : column) {
            const auto self = std::lower_bound(all_[s].replicas.begin(), all_[s].replicas.end(), r);
            if (self == all_[s].replicas.end() || *self != r) continue;
            for (const slice& one : all_[s].rows[p][row][static_cast<std::size_t>(self - all_[s].replicas.begin())])
              packs.push(one);
          }
          packs.close();
          number_[r][p].push_back(packs.size() > pack ? pack : none);
        }
  }

  /// Of each sequence who runs it, and its rows where there are several.            Requires  add_packs
  void add_sequences(exchange how) {
    for (std::size_t s = 0; s < all_.size(); ++s) {
      for (const std::uint32_t r : all_[s].replicas) made_.replicas[r].sequences.push_back(all_[s].id);
      if (all_[s].replicas.size() < 2) continue;
      merge& m = made_.merges.emplace_back();
      m.sequence = all_[s].id;
      m.replicas = all_[s].replicas;
      m.exchange = how;
      for (const pass p : both_passes)
        for (std::size_t c = 0; c < columns_[p].size(); ++c)
          for (const auto& [of, row] : columns_[p][c])
            if (of == s) m.of(p).push_back(row_of(m, p, c, all_[s].rows[p][row]));
    }
  }

  /// All replicas run columns in one order, each without those where it has nothing. A stage is as many forwards ahead
  /// of its backwards as stages follow it, and `ahead` more.            Requires  add_packs
  void add_programs(std::size_t ahead) {
    std::vector<std::size_t> ends(all_.size());  // one past the last forward column of each sequence
    for (std::size_t c = 0; c < columns_.forward.size(); ++c)
      for (const auto& [s, row] : columns_.forward[c]) ends[s] = c + 1;
    for (std::size_t stage = 0; stage < static_cast<std::size_t>(on_.stages); ++stage) {
      for (replica_solution& r : made_.replicas) r.programs.emplace_back();
      const std::size_t lead = ahead + static_cast<std::size_t>(on_.stages) - 1 - stage;
      std::size_t done = 0, needed = 0;
      for (std::size_t c = 0; c < columns_.backward.size(); ++c) {
        for (const auto& [s, row] : columns_.backward[c]) needed = std::max(needed, ends[s]);
        for (; done < std::min(columns_.forward.size(), needed + lead); ++done) run(stage, pass::forward, done);
        run(stage, pass::backward, c);
      }
    }
  }

  [[nodiscard]] solution take() && { return std::move(made_); }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] std::vector<pack_id> row_of(const merge& m, pass p, std::size_t column,
                                            const dealt_sequence::row& row) const {
    std::vector<pack_id> packs;
    for (std::size_t k = 0; k < m.replicas.size(); ++k)
      packs.push_back(row.at(k).empty() ? merge::none : pack_id{number_[m.replicas[k]][p][column]});
    return packs;
  }
  void run(std::size_t stage, pass p, std::size_t column) {
    for (std::size_t r = 0; r < made_.replicas.size(); ++r)
      if (number_[r][p][column] != none)
        made_.replicas[r].programs[stage].push_back({pass_kind(p), {number_[r][p][column]}});
  }

  std::span<const dealt_sequence> all_;
  const column_rows& columns_;
  const shape& on_;
  solution made_;
  std::vector<by_pass<std::vector<std::uint32_t>>> number_;  // per replica, of the pack of each column
};

}  // namespace detail

/// Random packs of a batch whose replicas share sequences, and programs that run them: rows of any number of tokens, of
/// which sharers have uneven runs here and there; replicas that also run sequences of their own; packs with rows of
/// several sequences; sequences shared by different replicas, all by one exchange; where keys and values are kept, half
/// of the sequences with rows of which some sharers have nothing. The first that has enough quanta is
/// shared by all.
/// Law       a right answer to the problem (solver_for), and free of deadlock: all replicas run columns of packs in one
///           order, each without those where it has nothing
/// Requires  shape.chunks is 1
/// Errors    none            Complexity  O(quanta * replicas)
[[nodiscard]] inline solution random_sharers(std::span<const tokens> lengths, const shape& on, generator& random,
                                             exchange how = exchange::keep) {
  const std::vector<detail::dealt_sequence> all = detail::random_deal(lengths, on, random, how);
  const detail::column_rows columns = detail::random_columns(all, random);
  detail::column_solution made(all, columns, on);
  made.add_packs();
  made.add_sequences(how);
  made.add_programs(static_cast<std::size_t>(random.between(0, 2)));
  return std::move(made).take();
}

}  // namespace slimpack::testing

#endif
