#include <slimpack/shapes/detail/pack_room.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace slimpack::detail {
namespace {

TEST(PackRoom, PromisesTheBoundWhereMemoryForcesNothingAndLessWhereItIsTighter) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto up_to = [&](std::int64_t most) {
      return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    shape on{.stages = static_cast<int>(up_to(8)),
             .replicas = static_cast<int>(up_to(8)),
             .chunks = static_cast<int>(up_to(4))};
    const tokens longest{up_to(100'000)}, batch = longest * up_to(50);
    const seconds bound{static_cast<double>(up_to(1000))};
    std::vector<memory_rates> rates(static_cast<std::size_t>(on.stages));
    for (memory_rates& r : rates)
      r = {.fixed = static_cast<double>(up_to(1000)), .live_token = static_cast<double>(up_to(5))};
    EXPECT_EQ(pack_room(on, rates).promised(bound, longest), bound.value);  // without a limit
    EXPECT_EQ(pack_room(on, rates).tasks(batch), 0);
    double promised = 1e300, tasks = 1e300;
    for (double most = 100; most < 1e9; most *= 3) {
      double limit = 0, least = 1e300;
      for (const memory_rates& r : rates) limit = std::max(limit, r.fixed + r.live_token * most);
      for (const memory_rates& r : rates) least = std::min(least, (limit - r.fixed) / r.live_token);
      on.memory = memory_limit{memory_unit::byte, limit};
      const pack_room room(on, rates);
      const double now = room.promised(bound, longest);
      EXPECT_LE(now, promised);
      EXPECT_GE(now, bound.value);
      EXPECT_EQ(now == bound.value, least >= on.stages * static_cast<double>(longest.value));
      // Each stage has room for a pack of each stage, so a pass has that many times the tokens over the room.
      const double packs = on.stages * static_cast<double>(batch.value) / on.replicas / least;
      EXPECT_NEAR(room.tasks(batch) / (2 * 3 * packs * on.parts()), 1, 1e-12);
      EXPECT_LT(room.tasks(batch), tasks);
      promised = now, tasks = room.tasks(batch);
    }
    EXPECT_EQ(promised, bound.value);  // with room for all
  }
}

}  // namespace
}  // namespace slimpack::detail
