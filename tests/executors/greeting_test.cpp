#include <slimpack/executors/detail/greeting.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace slimpack::greeting_test {
namespace {

using detail::greeting;

constexpr std::size_t stages = 2;

/// What ranks of 2 stages and 2 replicas say that have one plan.
std::vector<greeting> alike() {
  greeting one;
  one.hash = 7, one.stages = 2, one.replicas = 2, one.width = 8, one.valid_tokens = 100;
  return std::vector<greeting>(4, one);
}

std::optional<error> difference(const std::vector<greeting>& all) {
  return detail::difference(all, stages, [](std::size_t a, std::size_t b) {
    return "ranks " + std::to_string(a) + " and " + std::to_string(b);
  });
}

TEST(Greeting, OfRanksThatAgreeCountsTheTokensOfEachReplicaOnce) {
  EXPECT_FALSE(difference(alike()));
  EXPECT_EQ(detail::batch_tokens_of(alike(), stages), tokens{200});
}

// Whatever else another rank says: it is told as a disagreement of these ranks, and nothing beyond the greetings is
// read.
TEST(Greeting, NamesTheRankThatSaysSomethingElse) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (std::size_t rank = 1; rank < 4; ++rank) {
    for (std::int64_t greeting::*field :
         {&greeting::stages, &greeting::replicas, &greeting::width, &greeting::element, &greeting::step,
          &greeting::cuts, &greeting::together, &greeting::forward_only, &greeting::joins, &greeting::checksums,
          &greeting::valid_tokens}) {
      for (const std::int64_t value : {most, -1L - most, std::int64_t{-1}, most / 2 + 1}) {
        std::vector<greeting> all = alike();
        all[rank].*field = value;
        const std::optional<error> differs = difference(all);
        ASSERT_TRUE(differs) << rank << " says " << value;
        EXPECT_EQ(differs->code, errc::disagreement);
        EXPECT_EQ(differs->detail.find("ranks 0 and " + std::to_string(rank)), 0u) << differs->detail;
      }
    }
    for (const std::uint64_t group : {std::uint64_t{2}, std::uint64_t{1} << 63}) {  // of replicas that there are not
      std::vector<greeting> all = alike();
      all[rank].group = group;
      EXPECT_EQ(difference(all)->detail.find("ranks 0 and " + std::to_string(rank)), 0u);
    }
  }
}

TEST(Greeting, OfReplicasThatRunTogetherComparesTheirTransfers) {
  std::vector<greeting> all = alike();
  all[2].together = all[3].together = 1;
  all[2].transfers = all[3].transfers = 5;
  EXPECT_FALSE(difference(all));
  all[3].transfers = 6;
  EXPECT_NE(difference(all)->detail.find("ranks 2 and 3 order the plan's transfers differently"), std::string::npos);
}

}  // namespace
}  // namespace slimpack::greeting_test
