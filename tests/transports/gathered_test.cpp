#include <slimpack/transports/gathered.hpp>
#include <slimpack/transports/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace slimpack {
namespace {

/// Its gather fails, and goes on until it is aborted: the last bytes come with abort.
struct late {
  std::span<std::byte> under_way;
  std::string reason;

  [[nodiscard]] static int size() { return 3; }
  [[nodiscard]] result<void> all_gather(std::span<const std::byte>, std::span<std::byte> all) {
    under_way = all;
    return error{errc::aborted, "rank 2 has ended"};
  }
  void abort(std::string_view why) {
    std::fill(under_way.begin(), under_way.end(), std::byte{1});
    under_way = {};
    reason = why;
  }
};

TEST(Gathered, HoldsItsMemoryUntilAGatherThatFailedIsAborted) {
  late t;
  const result<std::vector<int>> told = gathered(t, 7);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, errc::aborted);
  EXPECT_EQ(t.reason, "rank 2 has ended");
  EXPECT_TRUE(t.under_way.empty());
}

TEST(Gathered, GivesTheValuesOfAllRanksInOrder) {
  transports::threads world(3);
  std::vector<std::vector<int>> seen(3);
  std::vector<std::thread> ranks;
  for (int r = 0; r < 3; ++r)
    ranks.emplace_back([&world, &seen, r] {
      auto t = world.endpoint(r);
      const std::vector<int> own{r, 10 * r};
      seen[static_cast<std::size_t>(r)] = gathered(t, std::span<const int>(own)).value();
    });
  for (std::thread& r : ranks) r.join();
  for (const std::vector<int>& s : seen) EXPECT_EQ(s, (std::vector<int>{0, 0, 1, 10, 2, 20}));
}

}  // namespace
}  // namespace slimpack
