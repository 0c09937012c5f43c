#ifndef SLIMPACK_PROFILING_CLOCKS_HPP
#define SLIMPACK_PROFILING_CLOCKS_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/profiling/observation.hpp>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace slimpack::profiling {

/// By which clock packs are fitted.
struct clocks {
  std::size_t by_processor{};      ///< packs whose time is their processor's
  std::size_t by_clock{};          ///< others: their calls wait, their work runs on a device, or only a clock is known
  std::size_t left_out{};          ///< packs that waited, though others of their part and pass do not
  double clock_over_processor{1};  ///< of the packs by processor: the sum of their clock's times over that of their
                                   ///< processor's. Above 1, other work had the processors for a part of the time

  friend bool operator==(const clocks&, const clocks&) = default;
};

/// Above it, other work has made packs slower than their prices say, and steps beside such work will be slower, too.
inline constexpr double most_clock_over_processor = 1.05;

/// Chooses the clock for each pass of a part, over the observations of all ranks (gather), before fit and drift_of see
/// them: `time` becomes `processor` where half of its packs or more know that. The others of such a pass have waited
/// for something that is no part of it, such as a lock of the system's, and are left out. In a pass of which fewer know
/// it, calls wait: all keep their time on the clock.
/// Law       equal observations in equal order give equal bits
/// Complexity O(observations log parts)
inline clocks choose_clocks(std::vector<observation>& all) {
  struct counts {
    std::size_t packs{}, known{};
  };
  std::map<std::pair<int, pass>, counts> passes;
  for (const observation& o : all) {
    counts& of = passes[{o.part, o.pass}];
    ++of.packs;
    if (o.processor > seconds{}) ++of.known;
  }
  clocks chosen;
  seconds by_clock{}, by_processor{};
  std::vector<observation> kept;
  kept.reserve(all.size());
  for (observation& o : all) {
    const counts& of = passes[{o.part, o.pass}];
    const bool is_known = o.processor > seconds{};
    if (2 * of.known < of.packs) {
      ++chosen.by_clock;
    } else if (is_known) {
      ++chosen.by_processor;
      by_clock += o.time, by_processor += o.processor;
      o.time = o.processor;
    } else {
      ++chosen.left_out;
      continue;
    }
    kept.push_back(std::move(o));
  }
  all = std::move(kept);
  if (by_processor > seconds{}) chosen.clock_over_processor = by_clock / by_processor;
  return chosen;
}

}  // namespace slimpack::profiling

#endif
