#ifndef SLIMPACK_TESTS_TRANSPORTS_ON_RANKS_HPP
#define SLIMPACK_TESTS_TRANSPORTS_ON_RANKS_HPP

#include "law_limits.hpp"

#include <slimpack/testing/report.hpp>
#include <slimpack/testing/transport_laws.hpp>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack {

/// Runs f(endpoint) for every rank of a world, each in a thread of its own, and returns when all have returned.
template <class World, class F>
void on_ranks(World& world, const F& f) {
  std::vector<std::thread> ranks;
  for (int r = 0; r < world.size(); ++r)
    ranks.emplace_back([&world, &f, r] {
      auto&& endpoint = world.endpoint(r);
      f(endpoint);
    });
  for (std::thread& t : ranks) t.join();
}

/// The reports of all ranks, with messages no longer than law_largest where a sanitizer looks.
template <class World>
std::vector<testing::report> laws_on_ranks(World& world, testing::transport_options o) {
  if (tests::under_sanitizer) o.largest = std::min(o.largest, law_largest);
  std::vector<std::optional<testing::report>> found(static_cast<std::size_t>(world.size()));
  on_ranks(world, [&](auto& endpoint) {
    found[static_cast<std::size_t>(endpoint.rank())].emplace(testing::transport_laws(endpoint, o));
  });
  std::vector<testing::report> reports;
  for (auto& r : found) reports.push_back(std::move(*r));
  return reports;
}

}  // namespace slimpack

#endif
