#ifndef SLIMPACK_TESTS_SOLVERS_MOVE_SITES_HPP
#define SLIMPACK_TESTS_SOLVERS_MOVE_SITES_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/solvers/improve/sites.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

/// Sites at which tests try one move of the search alone.
namespace slimpack::tests {

/// The packs of a pass after a move at one of them.
template <class Move>
[[nodiscard]] std::vector<double> moved_pack(std::vector<double> times, std::size_t pack, double share) {
  detail::splitmix random;
  const solvers::search_options options;
  solvers::improve::pack_site at{times, pack, share, random, options};
  Move{}(at);
  return times;
}

/// Some packs and those that follow in their pass, and what a move wants of them.
struct window {
  std::vector<double> ahead;
  std::vector<double> times{};
  bool wanted{};

  template <class Move>
  static window after(std::vector<double> given, pass p, detail::splitmix& random,
                      const solvers::search_options& options = {}) {
    window w{std::move(given)};
    const auto look = [](void* walk, std::size_t packs, std::vector<double>& seen) {
      const std::vector<double>& all = static_cast<window*>(walk)->ahead;
      seen.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(packs, all.size())));
    };
    solvers::improve::window_site at(p, random, options, &w, look, w.times);
    w.wanted = Move{}(at);
    return w;
  }
};

}  // namespace slimpack::tests

#endif
