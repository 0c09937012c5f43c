#ifndef SLIMPACK_PROFILING_DETAIL_KIND_TIMES_HPP
#define SLIMPACK_PROFILING_DETAIL_KIND_TIMES_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/detail/median.hpp>
#include <slimpack/profiling/detail/pack_kinds.hpp>
#include <slimpack/profiling/observation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::profiling::detail {

/// Times of packs on one rank, by kind.
class kind_times {
 public:
  void add(const observation& o) {
    times& of = kinds_.try_emplace(kind_of(o), times{o, {}, {}}).first->second;
    of.clock.push_back(o.time.value);
    if (o.processor > seconds{}) of.processor.push_back(o.processor.value);
  }

  /// One for each kind, of medians, in order of kinds. The processor's time is known where most of its packs know it.
  [[nodiscard]] std::vector<observation> medians() const {
    std::vector<observation> all;
    for (const auto& kind : kinds_) {
      const times& of = kind.second;
      observation& made = all.emplace_back(of.first);
      made.time = {slimpack::detail::median(of.clock)};
      made.processor = {of.knows_processor() ? slimpack::detail::median(of.processor) : 0};
    }
    return all;
  }

  /// The largest error of a kind's median, relative: infinite below five packs.
  /// Formula   0.93 (third quartile - first) / (sqrt(n) median), as of a normal distribution, whose median is
  ///           sqrt(pi / 2) sd / sqrt(n) off and whose quartiles are 1.349 sd apart
  [[nodiscard]] double error() const {
    double most = 0;
    for (const auto& kind : kinds_) {
      const times& of = kind.second;
      std::vector<double> all = of.knows_processor() ? of.processor : of.clock;
      const std::size_t n = all.size();
      if (n < 5) return std::numeric_limits<double>::infinity();
      std::sort(all.begin(), all.end());
      const double apart = all[n - 1 - n / 4] - all[n / 4];
      most = std::max(most, 0.93 * apart / (std::sqrt(static_cast<double>(n)) * slimpack::detail::median(all)));
    }
    return most;
  }

 private:
  struct times {
    observation first;
    std::vector<double> clock, processor;
    [[nodiscard]] bool knows_processor() const { return 2 * processor.size() > clock.size(); }
  };
  std::map<pack_kind, times> kinds_;
};

/// Of ranks that make the same calls at the same time, one: of equal kinds the slowest rank's times count. The
/// processor's are known where all know them.
/// Requires  each rank's kinds once, in their order            Complexity  O(kinds * ranks)
[[nodiscard]] inline std::vector<observation> slowest_of(std::span<const std::vector<observation>* const> ranks) {
  std::map<pack_kind, observation> kinds;
  for (const std::vector<observation>* own : ranks)
    for (const observation& o : *own) {
      const auto found = kinds.try_emplace(kind_of(o), o);
      observation& most = found.first->second;
      const bool are_known = most.processor > seconds{} && o.processor > seconds{};
      most.time = std::max(most.time, o.time);
      most.processor = are_known ? std::max(most.processor, o.processor) : seconds{};
    }
  std::vector<observation> all;
  for (auto& kind : kinds) all.push_back(std::move(kind.second));
  return all;
}

}  // namespace slimpack::profiling::detail

#endif
