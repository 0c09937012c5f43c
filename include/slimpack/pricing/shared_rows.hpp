#ifndef SLIMPACK_PRICING_SHARED_ROWS_HPP
#define SLIMPACK_PRICING_SHARED_ROWS_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::simulators {

/// The rows of merges, as each replica takes part in them.
class rows_of_merges {
 public:
  /// packs_of(replica): its partition; members: replicas that will be asked about
  /// Requires  merges that name replicas and packs there are, and outlive this and its answers
  /// Errors    none            Complexity  O(rows * sharers * slices of a pack)
  template <class PacksOf>
  rows_of_merges(std::span<const merge> merges, const PacksOf& packs_of, std::span<const std::uint32_t> members) {
    for (const merge& m : merges) {
      if (std::find_first_of(m.replicas.begin(), m.replicas.end(), members.begin(), members.end()) == m.replicas.end())
        continue;
      merges_.push_back(&m);
      slimpack::by_pass<row_slices>& slices = slices_.emplace_back();
      for (const pass p : both_passes) {
        row_slices& to = slices[p];
        for (const std::vector<pack_id>& packs : m.of(p)) {
          row_sum& sum = to.sums.emplace_back();
          for (std::uint32_t k = 0; k < packs.size(); ++k) {
            if (packs[k] == merge::none) continue;
            for (const slice& s : packs_of(m.replicas[k]).of(p)[packs[k].value])
              if (s.sequence == m.sequence) to.all.push_back({k, s}), sum.add(s);
          }
          to.ends.push_back(to.all.size());
        }
      }
      std::vector<tokens>& last = last_.emplace_back(m.replicas.size());
      for (const auto& [k, s] : slices.forward.all) last[k] = std::max(last[k], s.end());
    }
  }

  /// Those of a member, merge by merge.
  /// Complexity O(rows log(sharers)), and O(sharers) besides for each row that ends behind its own last token, and for
  /// each of its
  ///            slices that ends behind some sharer's
  [[nodiscard]] std::vector<shared_row> of(std::uint32_t replica) const {
    std::vector<shared_row> rows;
    for (std::size_t i = 0; i < merges_.size(); ++i) {
      const merge& m = *merges_[i];
      const auto own = std::find(m.replicas.begin(), m.replicas.end(), replica);
      if (own == m.replicas.end()) continue;
      const auto place = static_cast<std::size_t>(own - m.replicas.begin());
      const std::vector<tokens>& last = last_[i];
      const tokens all_need = *std::min_element(last.begin(), last.end());  // what comes before it
      for (const pass p : both_passes) {
        const std::size_t first = rows.size();
        tokens waiting{};  // of the others in rows without own tokens, until the next own row forward
        for (std::size_t r = 0; r < m.of(p).size(); ++r) {
          shared_row row = shared_row::of(m, p, m.of(p)[r][place]);
          const row_sum& sum = slices_[i][p].sums[r];
          row.begin = sum.begin;
          row.end = sum.end;
          if (m.exchange == exchange::keep) {
            const std::span<const row_slice> all = slices_[i][p].of(r);
            const auto needed = [&last](const slice& one, std::size_t by) {
              return std::max(tokens{}, std::min(one.end(), last[by]) - one.begin);
            };
            if (sum.end <= last[place])
              row.others = sum.length;
            else
              for (const row_slice& s : all) row.others += needed(s.what, place);
            for (auto s = std::ranges::lower_bound(all, place, {}, &row_slice::sharer);
                 s != all.end() && s->sharer == place; ++s) {
              row.others -= needed(s->what, place);
              if (s->what.end() <= all_need)
                row.sent += s->what.length * static_cast<std::int64_t>(last.size() - 1);
              else
                for (std::size_t to = 0; to < last.size(); ++to)
                  if (to != place) row.sent += needed(s->what, to);
            }
          }
          if (row.pack == merge::none) {
            // Backward they are owed with the own row before; where there is none, the row has no token that is needed.
            if (p == pass::forward)
              waiting += row.others;
            else if (rows.size() > first)
              rows.back().others += row.others;
            continue;
          }
          row.others += std::exchange(waiting, tokens{});
          rows.push_back(row);
        }
      }
    }
    return rows;
  }

 private:
  struct row_slice {
    std::uint32_t sharer{};  // its place among the merge's replicas
    slice what;
  };
  /// Of all slices of a row.
  struct row_sum {
    tokens begin{};
    tokens end{};
    tokens length{};

    void add(const slice& s) {
      begin = end > tokens{} ? std::min(begin, s.begin) : s.begin;
      end = std::max(end, s.end());
      length += s.length;
    }
  };
  /// Of a pass of a merge, row by row, and within a row by sharer.
  struct row_slices {
    std::vector<row_slice> all{};
    std::vector<std::size_t> ends{};
    std::vector<row_sum> sums{};
    [[nodiscard]] std::span<const row_slice> of(std::size_t row) const {
      const std::size_t begin = row > 0 ? ends[row - 1] : 0;
      return std::span(all).subspan(begin, ends[row] - begin);
    }
  };

  std::vector<const merge*> merges_;
  std::vector<slimpack::by_pass<row_slices>> slices_;
  std::vector<std::vector<tokens>> last_;  // where each sharer's last token forward ends, by merge
};

/// Those of one replica.
template <class PacksOf>
[[nodiscard]] std::vector<shared_row> shared_rows(std::span<const merge> merges, const PacksOf& packs_of,
                                                  std::uint32_t replica) {
  return rows_of_merges(merges, packs_of, std::span(&replica, 1)).of(replica);
}

}  // namespace slimpack::simulators

#endif
