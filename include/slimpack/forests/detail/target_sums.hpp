#ifndef SLIMPACK_FORESTS_DETAIL_TARGET_SUMS_HPP
#define SLIMPACK_FORESTS_DETAIL_TARGET_SUMS_HPP

#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/forests/trained_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::forests::detail {

/// Adds a run of targets behind all others, to the last one where they are one run.
inline void add_run(std::vector<target_run>& to, const target_run& run) {
  if (!to.empty()) {
    target_run& last = to.back();
    if (last.sequence == run.sequence && last.begin + last.length == run.begin && last.count == run.count &&
        last.weight == run.weight) {
      last.length += run.length;
      return;
    }
  }
  to.push_back(run);
}

/// Puts ends of samples in order; those at one token become one.
inline void sort_ends(std::vector<sample_end>& all) {
  std::sort(all.begin(), all.end(), [](const sample_end& a, const sample_end& b) {
    return std::tie(a.sequence, a.at) < std::tie(b.sequence, b.at);
  });
  std::vector<sample_end> each;
  for (const sample_end& one : all)
    if (!each.empty() && each.back().sequence == one.sequence && each.back().at == one.at)
      each.back().count += one.count;
    else
      each.push_back(one);
  all = std::move(each);
}

/// What the samples of a forest train on, summed up on its sequences.
class target_sums {
 public:
  /// Requires  it outlives this one, by id, parents first
  explicit target_sums(std::span<const sequence> all) : all_(all), of_(all.size()) {}

  /// The runs of a sample that ends in a sequence.            Requires  no runs_fault()
  void add(sequence_id on, std::span<const trained_run> runs) {
    for (std::size_t k = runs.size(); k-- > 0;) {
      const tokens begin = runs[k].begin, end = begin + runs[k].length;
      for (;; on = all_[on.value].parent) {
        const sequence& s = all_[on.value];
        const tokens low = std::max(begin, s.begin), high = std::min(end, s.end());
        if (low < high) of_[on.value].push_back({low, high, runs[k].weight});
        if (begin >= s.begin) break;
      }
    }
  }

  [[nodiscard]] std::vector<target_run> runs() && {
    std::vector<target_run> made;
    std::vector<tokens> places;
    std::vector<std::pair<std::uint32_t, double>> sums;  // from each place to the next
    for (const sequence& s : all_) {
      places.clear();
      for (const piece& p : of_[s.id.value]) places.insert(places.end(), {p.begin, p.end});
      std::sort(places.begin(), places.end());
      places.erase(std::unique(places.begin(), places.end()), places.end());
      sums.assign(places.size(), {0, 0});
      const auto at = [&](tokens place) {
        return static_cast<std::size_t>(std::lower_bound(places.begin(), places.end(), place) - places.begin());
      };
      for (const piece& p : of_[s.id.value])
        for (std::size_t i = at(p.begin), end = at(p.end); i < end; ++i) ++sums[i].first, sums[i].second += p.weight;
      for (std::size_t i = 0; i + 1 < places.size(); ++i)
        if (sums[i].first > 0)
          add_run(made, {s.id, places[i], places[i + 1] - places[i], sums[i].first, sums[i].second});
    }
    return made;
  }

 private:
  struct piece {
    tokens begin, end;
    double weight;
  };
  std::span<const sequence> all_;
  std::vector<std::vector<piece>> of_;  ///< each sequence, in the order of samples
};

}  // namespace slimpack::forests::detail

#endif
