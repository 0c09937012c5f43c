#ifndef SLIMPACK_TESTS_SUPPORT_EVERY_MERGE_HPP
#define SLIMPACK_TESTS_SUPPORT_EVERY_MERGE_HPP

#include "every_plan.hpp"

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

/// The shortest step of a very small batch on two replicas that share one of its sequences, by trying every plan: which
/// sequence, whose each quantum is, rows of both passes, what else runs where, and programs. The exchange of a merge
/// takes no time and weight gradients stay with inputs.
namespace slimpack::tests {

namespace detail {

/// One pack of a replica: its time and message on each stage, and the row it belongs to.
struct shared_pack {
  std::vector<double> time;
  std::vector<double> message;
  int row{-1};
  std::size_t need{};  // forward packs that must have run before, of a backward pack
};

/// Two replicas' packs by pass, each in run order; their programs are tried one after the other.
class merged_replicas {
 public:
  explicit merged_replicas(std::size_t stages) : stages_(stages) {}

  std::array<std::array<std::vector<shared_pack>, 2>, 2> packs;  // [replica][pass]

  /// Lowers `best` to the shortest step of any programs.
  void improve(double& best) {
    backward_.assign(2 * stages_, {});
    choose(0, best);
  }

 private:
  /// Sets, stage by stage, which instructions are backward ones.
  void choose(std::size_t place, double& best) {
    if (place == 2 * stages_) return void(best = std::min(best, makespan()));
    const auto& own = packs[place / stages_];
    std::vector<bool> order(own[0].size() + own[1].size(), false);
    std::fill(order.end() - static_cast<std::ptrdiff_t>(own[1].size()), order.end(), true);
    do {
      backward_[place] = order;
      choose(place + 1, best);
    } while (std::next_permutation(order.begin(), order.end()));
  }

  /// Infinite when the programs wait for each other.
  double makespan() const {
    std::vector<std::array<std::size_t, 2>> next(2 * stages_, {0, 0});
    std::vector<double> free(2 * stages_, 0);
    std::array<std::array<std::vector<double>, 2>, 2> at;  // [replica][pass][stage * packs + pack], of the input
    for (const std::size_t d : both)
      for (const std::size_t p : both) at[d][p].assign(stages_ * packs[d][p].size(), never);
    for (const std::size_t d : both) {
      std::fill_n(at[d][0].begin(), packs[d][0].size(), 0.0);
      std::fill_n(at[d][1].end() - static_cast<std::ptrdiff_t>(packs[d][1].size()), packs[d][1].size(), 0.0);
    }
    const auto pass_of = [&](std::size_t place) -> std::size_t {
      return backward_[place][next[place][0] + next[place][1]] ? 1 : 0;
    };
    // When a replica's next instruction on a stage may start: never, where it does not.
    const auto ready = [&](std::size_t d, std::size_t r) {
      const std::size_t place = d * stages_ + r;
      if (next[place][0] + next[place][1] == backward_[place].size()) return never;
      const std::size_t p = pass_of(place);
      const std::size_t i = next[place][p];
      if (p == 1 && r + 1 == stages_ && next[place][0] < packs[d][1][i].need) return never;
      return std::max(free[place], at[d][p][r * packs[d][p].size() + i]);
    };
    const auto run = [&](std::size_t d, std::size_t r, double end) {
      const std::size_t place = d * stages_ + r;
      const std::size_t p = pass_of(place);
      const std::size_t i = next[place][p]++;
      free[place] = end;
      const double arrival = end + packs[d][p][i].message[r];
      if (p == 0 && r + 1 < stages_) at[d][p][(r + 1) * packs[d][p].size() + i] = arrival;
      if (p == 1 && r > 0) at[d][p][(r - 1) * packs[d][p].size() + i] = arrival;
    };
    double end = 0;
    std::size_t left = 0;
    for (const std::vector<bool>& order : backward_) left += order.size();
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < stages_; ++r) {
        for (const std::size_t d : both) {
          const double start = ready(d, r);
          if (start == never) continue;
          const std::size_t p = pass_of(d * stages_ + r);
          const shared_pack& mine = packs[d][p][next[d * stages_ + r][p]];
          if (mine.row < 0) {
            end = std::max(end, start + mine.time[r]);
            run(d, r, start + mine.time[r]);
            --left;
          } else {
            const std::size_t e = 1 - d;
            const double other = ready(e, r);
            if (other == never || pass_of(e * stages_ + r) != p) continue;
            const shared_pack& theirs = packs[e][p][next[e * stages_ + r][p]];
            if (theirs.row != mine.row) continue;
            const double both_end = std::max(start, other) + std::max(mine.time[r], theirs.time[r]);
            end = std::max(end, both_end);
            run(d, r, both_end);
            run(e, r, both_end);
            left -= 2;
          }
          moved = true;
        }
      }
    }
    return left == 0 ? end : never;
  }

  static constexpr std::array<std::size_t, 2> both{0, 1};
  static constexpr double never = std::numeric_limits<double>::infinity();
  std::size_t stages_;
  std::vector<std::vector<bool>> backward_;  // [replica * stages + stage][instruction]
};

template <class Cost>
class every_merge {
 public:
  every_merge(const Cost& cost, const shape& on, std::span<const sequence> batch)
      : cost_(cost), on_(on), batch_(batch) {}

  seconds shortest() {
    for (const sequence& shared : batch_) {
      const auto quanta = static_cast<std::uint32_t>((shared.length.value - 1) / on_.quantum.value + 1);
      const std::uint32_t others = 1u << (batch_.size() - 1);
      // Replica 0 has the first quantum: the other way round is the same plan with the replicas' names swapped.
      for (std::uint32_t owner = 1; owner < 1u << quanta; owner += 2)
        for (std::uint32_t where = 0; where < others; ++where)
          if (quanta == 1 || owner + 1 != 1u << quanta) try_all(shared, quanta, owner, where);
    }
    return {best_};
  }

 private:
  /// Rows as a bit per quantum that starts one, from the front of the sequence.
  void try_all(const sequence& shared, std::uint32_t quanta, std::uint32_t owner, std::uint32_t where) {
    std::array<std::vector<sequence>, 2> own;
    std::size_t other = 0;
    for (const sequence& s : batch_)
      if (s.id != shared.id) own[where >> other++ & 1].push_back(s);
    for (std::uint32_t forward = 1; forward < 1u << quanta; forward += 2) {
      for (std::uint32_t backward = 1; backward < 1u << quanta; backward += 2) {
        const std::array rows{rows_of(shared, quanta, forward), rows_of(shared, quanta, backward)};
        std::array<std::array<std::vector<micropacks>, 2>, 2> orders;
        for (const std::size_t d : {0u, 1u})
          for (const std::size_t p : {0u, 1u})
            orders[d][p] = every_order(own[d], p == 0 ? pass::forward : pass::backward, on_.quantum);
        choose(orders, rows, owner, 0);
      }
    }
  }

  using row = std::vector<slice>;  // its quanta
  [[nodiscard]] std::vector<row> rows_of(const sequence& shared, std::uint32_t quanta, std::uint32_t starts) const {
    std::vector<row> rows;
    for (std::uint32_t q = 0; q < quanta; ++q) {
      if ((starts >> q & 1) != 0) rows.emplace_back();
      const tokens begin = on_.quantum * q;
      rows.back().push_back({shared.id, begin, std::min(on_.quantum, shared.length - begin)});
    }
    return rows;
  }

  /// Sets, by replica and pass, the packs of other sequences and where the rows run among them.
  void choose(const std::array<std::array<std::vector<micropacks>, 2>, 2>& orders,
              const std::array<std::vector<row>, 2>& rows, std::uint32_t owner, std::size_t at) {
    const std::size_t d = at / 2;
    const std::size_t p = at % 2;
    if (at == 4) {
      for (const std::size_t e : {0u, 1u}) find_needs(e);
      return replicas_.improve(best_);
    }
    for (const micropacks& others : orders[d][p]) {
      std::vector<bool> is_row(rows[p].size() + others.size(), false);
      std::fill(is_row.end() - static_cast<std::ptrdiff_t>(rows[p].size()), is_row.end(), true);
      do {
        std::vector<shared_pack> packs;
        std::vector<std::vector<slice>> slices;
        std::size_t next_row = 0;
        std::size_t next = 0;
        for (const bool each : is_row) {
          std::vector<slice> pack;
          const std::size_t r = p == 0 ? next_row : rows[p].size() - 1 - next_row;
          if (each) {
            for (const slice& s : rows[p][r])
              if ((owner >> (s.begin.value / on_.quantum.value) & 1) == (d == 0 ? 1u : 0u)) pack.push_back(s);
          } else {
            pack.assign(others[next].begin(), others[next].end());
          }
          packs.push_back(priced(pack, p == 0 ? pass::forward : pass::backward));
          packs.back().row = each ? static_cast<int>(next_row) : -1;
          slices.push_back(pack);
          ++(each ? next_row : next);
        }
        replicas_.packs[d][p] = packs;
        slices_[d][p] = slices;
        choose(orders, rows, owner, at + 1);
      } while (std::next_permutation(is_row.begin(), is_row.end()));
    }
  }

  [[nodiscard]] shared_pack priced(const std::vector<slice>& pack, pass p) const {
    shared_pack made;
    tokens size{};
    for (const slice& s : pack) size += s.length;
    for (int part = 0; part < on_.stages; ++part) {
      made.time.push_back(pack_time(cost_, std::span<const slice>(pack), p, part).value);
      made.message.push_back(message_time(cost_, size, p, part).value);
    }
    return made;
  }

  /// All forwards of a backward pack's sequences; of a shared one all rows, also those without tokens here.
  void find_needs(std::size_t d) {
    std::size_t need = 0;
    for (std::size_t i = 0; i < slices_[d][1].size(); ++i) {
      for (std::size_t j = 0; j < slices_[d][0].size(); ++j) {
        bool needed = replicas_.packs[d][1][i].row >= 0 && replicas_.packs[d][0][j].row >= 0;
        for (const slice& mine : slices_[d][1][i])
          for (const slice& theirs : slices_[d][0][j]) needed = needed || mine.sequence == theirs.sequence;
        if (needed) need = std::max(need, j + 1);
      }
      replicas_.packs[d][1][i].need = need;
    }
  }

  const Cost& cost_;
  shape on_;
  std::span<const sequence> batch_;
  merged_replicas replicas_{static_cast<std::size_t>(on_.stages)};
  std::array<std::array<std::vector<std::vector<slice>>, 2>, 2> slices_;  // [replica][pass][pack]
  double best_{std::numeric_limits<double>::infinity()};
};

}  // namespace detail

/// The shortest step of a batch on two replicas that share one of its sequences. Requires  two replicas, one chunk
template <class Cost>
[[nodiscard]] seconds shortest_shared_step(const Cost& cost, const shape& on, std::span<const sequence> batch) {
  return detail::every_merge<Cost>(cost, on, batch).shortest();
}

}  // namespace slimpack::tests

#endif
