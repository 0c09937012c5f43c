#ifndef SLIMPACK_EXECUTORS_DETAIL_INQUIRY_HPP
#define SLIMPACK_EXECUTORS_DETAIL_INQUIRY_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace slimpack::detail {

/// What a rank of a job says of itself when one of them is late and all are asked. Where two are known of a rank, the
/// greater is the newer.
struct rank_sign {
  enum kind : std::int32_t {
    silent,       ///< nothing so far
    waits,        ///< no call of its compute runs; ms: 1 where it can say for whom it has waited too long, else 0
    returned,     ///< its call had run for so many ms, and failed when it was interrupted
    without_end,  ///< its call had run for so many ms, goes on, and offers no interrupt()
    deaf          ///< the same, and goes on after interrupt()
  };
  std::int32_t what{};
  std::int32_t ms{};

  friend bool operator<(const rank_sign& a, const rank_sign& b) {
    return std::tie(a.what, a.ms) < std::tie(b.what, b.ms);
  }
  friend bool operator==(const rank_sign&, const rank_sign&) = default;
};

/// Takes in what another rank knows. True where that is more.            Requires   equal sizes
inline bool take_in(std::vector<rank_sign>& into, const std::vector<rank_sign>& from) {
  bool more = false;
  for (std::size_t r = 0; r < into.size(); ++r)
    if (into[r] < from[r]) into[r] = from[r], more = true;
  return more;
}

/// Whom signs name, the worst kind alone: who is silent, since all others may wait for it; else whose call goes on
/// after interrupt(); else whose call cannot be ended; else whose call was ended. Longest calls come first. The last
/// three may also be of ranks that wait for the one that is to blame: where there are several, it is one of them.
struct suspects {
  rank_sign::kind what{rank_sign::waits};
  std::vector<int> ranks;  ///< none: all wait, and no call runs

  [[nodiscard]] static suspects of(const std::vector<rank_sign>& signs) {
    suspects found;
    for (const rank_sign::kind kind :
         {rank_sign::silent, rank_sign::deaf, rank_sign::without_end, rank_sign::returned}) {
      for (std::size_t r = 0; r < signs.size(); ++r)
        if (signs[r].what == kind) found.ranks.push_back(static_cast<int>(r));
      if (found.ranks.empty()) continue;
      found.what = kind;
      std::stable_sort(found.ranks.begin(), found.ranks.end(), [&](int a, int b) {
        return signs[static_cast<std::size_t>(a)].ms > signs[static_cast<std::size_t>(b)].ms;
      });
      break;
    }
    return found;
  }

  /// The rank that tells all others, so that they say the same: the one that is named, if it is alive and alone; else
  /// the first that is alive and, where nobody is named, knows for whom it has waited.
  [[nodiscard]] int speaker(const std::vector<rank_sign>& signs) const {
    if (ranks.size() == 1 && what != rank_sign::silent) return ranks.front();
    int first = -1;
    for (std::size_t r = 0; r < signs.size(); ++r) {
      if (signs[r].what == rank_sign::silent) continue;
      if (first < 0) first = static_cast<int>(r);
      if (ranks.empty() && signs[r].ms == 0) continue;
      return static_cast<int>(r);
    }
    return first;
  }

  /// What they are told.
  /// name      of a rank, "rank 3" or, of this rank, more
  /// number    of a rank, "3"
  /// silence   what is said of one that is silent: "has given no sign of life in 250 ms"
  /// Requires  ranks
  [[nodiscard]] std::string sentence(const std::vector<rank_sign>& signs, const std::function<std::string(int)>& name,
                                     const std::function<std::string(int)>& number, const std::string& silence) const {
    const auto ms = [&](int r) { return std::to_string(signs[static_cast<std::size_t>(r)].ms) + " ms"; };
    if (what == rank_sign::silent)
      return (ranks.size() > 1 ? "each of ranks " : "rank ") + listed(number) + ' ' + silence;
    if (ranks.size() == 1) {
      const std::string its = name(ranks[0]) + ": its compute has not returned for " + ms(ranks[0]);
      return what == rank_sign::deaf       ? its + " and goes on after interrupt()"
             : what == rank_sign::returned ? its + " and was ended by interrupt()"
                                           : its + ", and offers no interrupt()";
    }
    return "one of ranks " + listed(number) + ": their computes have not returned for " + listed(ms) + " and " +
           (what == rank_sign::deaf       ? "go on after interrupt()"
            : what == rank_sign::returned ? "were ended by interrupt()"
                                          : "offer no interrupt()");
  }

 private:
  static constexpr std::size_t most = 8;

  [[nodiscard]] std::string listed(const std::function<std::string(int)>& text) const {
    std::string all;
    for (std::size_t k = 0; k < std::min(most, ranks.size()); ++k)
      all += (k == 0 ? "" : k + 1 == ranks.size() ? " and " : ", ") + text(ranks[k]);
    if (ranks.size() > most) all += " and " + std::to_string(ranks.size() - most) + " more";
    return all;
  }
};

}  // namespace slimpack::detail

#endif
