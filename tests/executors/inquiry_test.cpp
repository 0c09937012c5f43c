#include <slimpack/executors/detail/inquiry.hpp>

#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::inquiry_test {
namespace {

using detail::rank_sign;
using detail::suspects;

constexpr std::uint64_t seed = 51;

std::vector<rank_sign> drawn_signs(testing::generator& random) {
  std::vector<rank_sign> signs(static_cast<std::size_t>(random.between(1, 12)));
  const auto worst = random.between(rank_sign::waits, rank_sign::deaf);
  for (rank_sign& s : signs) {
    s.what = static_cast<std::int32_t>(random.once_in(8) ? 0 : random.between(rank_sign::waits, worst));
    s.ms = static_cast<std::int32_t>(s.what == rank_sign::waits ? random.between(0, 1) : random.between(0, 3));
  }
  return signs;
}

std::string sentence_of(const std::vector<rank_sign>& signs) {
  const auto number = [](int r) { return std::to_string(10 + r); };
  const auto name = [](int r) { return "rank " + std::to_string(10 + r) + ", F0"; };
  return suspects::of(signs).sentence(signs, name, number, "is silent");
}

// The order of kinds, written down again.
TEST(Inquiry, NamesTheWorstKindAloneAndLongestCallsFirst) {
  testing::generator random(seed);
  for (int n = 0; n < 2000; ++n) {
    const std::vector<rank_sign> signs = drawn_signs(random);
    const suspects found = suspects::of(signs);
    const auto has = [&](rank_sign::kind k) {
      return std::count_if(signs.begin(), signs.end(), [&](const rank_sign& s) { return s.what == k; });
    };
    const rank_sign::kind expected = has(rank_sign::silent) > 0        ? rank_sign::silent
                                     : has(rank_sign::deaf) > 0        ? rank_sign::deaf
                                     : has(rank_sign::without_end) > 0 ? rank_sign::without_end
                                     : has(rank_sign::returned) > 0    ? rank_sign::returned
                                                                       : rank_sign::waits;
    EXPECT_EQ(found.what, expected) << "seed " << seed << ", case " << n;
    EXPECT_EQ(found.ranks.size(), expected == rank_sign::waits ? 0U : static_cast<std::size_t>(has(expected)));
    const auto at = [&](std::size_t k) { return signs[static_cast<std::size_t>(found.ranks[k])]; };
    for (std::size_t k = 0; k < found.ranks.size(); ++k) {
      EXPECT_EQ(at(k).what, expected);
      if (k > 0) {
        EXPECT_GE(at(k - 1).ms, at(k).ms);
      }
    }
    // Somebody who lives tells the others: who is to blame, or who knows a reason.
    const int speaker = found.speaker(signs);
    if (has(rank_sign::silent) == static_cast<std::ptrdiff_t>(signs.size())) {
      EXPECT_EQ(speaker, -1);
      continue;
    }
    ASSERT_GE(speaker, 0);
    const rank_sign& said = signs[static_cast<std::size_t>(speaker)];
    EXPECT_NE(said.what, rank_sign::silent);
    if (found.ranks.size() == 1 && expected != rank_sign::silent) {
      EXPECT_EQ(speaker, found.ranks[0]);
    }
    if (found.ranks.empty() && std::any_of(signs.begin(), signs.end(), [](const rank_sign& s) { return s.ms > 0; })) {
      EXPECT_EQ(said.ms, 1);
    }
  }
}

// Ranks tell each other what they know in any order: all come to know the same.
TEST(Inquiry, SignsAreTakenInInAnyOrder) {
  testing::generator random(seed + 1);
  for (int n = 0; n < 500; ++n) {
    const std::vector<rank_sign> a = drawn_signs(random);
    std::vector<rank_sign> b = drawn_signs(random), c = drawn_signs(random);
    b.resize(a.size()), c.resize(a.size());
    std::vector<rank_sign> left = a, right = c;
    const bool news = take_in(left, b);
    EXPECT_EQ(news, left != a) << "seed " << seed + 1 << ", case " << n;
    take_in(left, c), take_in(right, b), take_in(right, a);
    EXPECT_EQ(left, right) << "seed " << seed + 1 << ", case " << n;
    EXPECT_FALSE(take_in(left, a));
  }
}

TEST(Inquiry, SaysWhoItIs) {
  using enum rank_sign::kind;
  EXPECT_EQ(sentence_of({{waits, 1}, {deaf, 5}, {returned, 9}}),
            "rank 11, F0: its compute has not returned for 5 ms and goes on after interrupt()");
  EXPECT_EQ(sentence_of({{waits, 0}, {without_end, 5}}),
            "rank 11, F0: its compute has not returned for 5 ms, and offers no interrupt()");
  EXPECT_EQ(sentence_of({{returned, 5}}),
            "rank 10, F0: its compute has not returned for 5 ms and was ended by interrupt()");
  EXPECT_EQ(sentence_of({{returned, 4}, {waits, 0}, {returned, 5}}),
            "one of ranks 12 and 10: their computes have not returned for 5 ms and 4 ms and were ended by interrupt()");
  EXPECT_EQ(sentence_of({{deaf, 4}, {deaf, 6}, {deaf, 5}}),
            "one of ranks 11, 12 and 10: their computes have not returned for 6 ms, 5 ms and 4 ms and go on after "
            "interrupt()");
  EXPECT_EQ(sentence_of({{without_end, 4}, {without_end, 6}}),
            "one of ranks 11 and 10: their computes have not returned for 6 ms and 4 ms and offer no interrupt()");
  EXPECT_EQ(sentence_of({{deaf, 4}, {}}), "rank 11 is silent");
  EXPECT_EQ(sentence_of({{}, {deaf, 4}, {}}), "each of ranks 10 and 12 is silent");
  const std::string many = sentence_of(std::vector<rank_sign>(20, {returned, 1}));
  EXPECT_NE(many.find("ranks 10, 11, 12, 13, 14, 15, 16, 17 and 12 more: "), std::string::npos) << many;
}

}  // namespace
}  // namespace slimpack::inquiry_test
