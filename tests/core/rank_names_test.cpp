#include <slimpack/core/rank_names.hpp>

#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

namespace slimpack::rank_names_test {
namespace {

TEST(RankNames, AreTheTransportsWhereTheTrainerHasNoOthers) {
  const error e = error_of_ranks(errc::timed_out, "no message from rank ", own_rank{12}, " on channel 3");
  EXPECT_EQ(e.code, errc::timed_out);
  EXPECT_EQ(e.detail, "no message from rank 12 on channel 3");
  EXPECT_EQ(in_trainer_numbers(e, std::function<int(int)>{}).detail, e.detail);
}

// Sentences of up to two ranks among other numbers, which stay.
TEST(RankNames, BecomeTheTrainersAndNothingElseDoes) {
  constexpr std::uint64_t seed = 50;
  testing::generator random(seed);
  for (int n = 0; n < 300; ++n) {
    const auto number = [&] { return static_cast<int>(random.between(0, 2000)); };
    const auto shift = random.between(-1500, 100'000);
    const std::function<int(int)> of_trainer = [&](int r) { return static_cast<int>(r * 7 + shift); };
    const int a = number(), b = number(), c = number(), d = number(), e = number();
    const auto text = [&](int first, int second) {
      return std::to_string(c) + " bytes of rank " + std::to_string(first) + " to " + std::to_string(second) + " in " +
             std::to_string(d) + " ms, " + std::to_string(e);
    };
    const error own = error_of_ranks(errc::wrong_message, std::to_string(c) + " bytes of rank ", own_rank{a}, " to ",
                                     own_rank{b}, " in " + std::to_string(d), std::string(" ms, ") + std::to_string(e));
    EXPECT_EQ(own.detail, text(a, b)) << "seed " << seed;
    const error told = in_trainer_numbers(own, of_trainer);
    EXPECT_EQ(told.detail, text(of_trainer(a), of_trainer(b))) << "seed " << seed;
    EXPECT_EQ(told.code, errc::wrong_message);
    EXPECT_EQ(in_trainer_numbers(told, of_trainer).detail, told.detail) << "numbers are the trainer's once";
  }
}

TEST(RankNames, OfOneRankLeaveTheOtherNumbers) {
  const auto next = [](int r) { return r + 1; };
  EXPECT_EQ(in_trainer_numbers(error_of_ranks(errc::transport_failed, "rank ", own_rank{9}, " is gone"), next).detail,
            "rank 10 is gone");
  EXPECT_EQ(in_trainer_numbers({errc::transport_failed, "rank 9 is gone"}, next).detail, "rank 9 is gone");
}

}  // namespace
}  // namespace slimpack::rank_names_test
