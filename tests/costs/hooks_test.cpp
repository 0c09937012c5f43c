#include <slimpack/costs/hooks.hpp>
#include <slimpack/costs/quadratic.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace slimpack::hooks_test {
namespace {

const slice ten{{0}, {0}, {10}};
const slice four{{1}, {0}, {4}};
const std::vector<slice> both{ten, four};

/// A second a token, two backward: the one question that a cost model must answer.
struct plain {
  [[nodiscard]] seconds time(const slice& s, pass p, int) const {
    return {static_cast<double>(s.length.value) * (p == pass::forward ? 1 : 2)};
  }
};

/// Answers them all.
struct full {
  [[nodiscard]] seconds time(const slice& s, pass, int part) const {
    return {static_cast<double>(s.length.value + part)};
  }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass, int) const {
    return {1000.0 * static_cast<double>(pack.size())};
  }
  [[nodiscard]] seconds overhead(pass p, int part) const { return {p == pass::forward ? 100.0 + part : 200.0 + part}; }
  [[nodiscard]] seconds useful(const slice&, pass, int part) const { return {0.5 + part}; }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const {
    return {static_cast<double>(size.value) + (p == pass::forward ? 0.25 : 0.5) + part};
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const { return memory_rates{.fixed = 7.0 + stage}; }
  [[nodiscard]] std::optional<memory_rates> evaluation_memory(int stage) const {
    return memory_rates{.fixed = 2.0 + stage};
  }
  [[nodiscard]] bytes kept(const slice&, int stage) const { return {3.0 + stage}; }
  [[nodiscard]] bytes evaluation_kept(const slice& piece, int stage, tokens first) const {
    return {static_cast<double>((piece.end() - first).value) + stage};
  }
  [[nodiscard]] bool has_borders() const { return true; }
  [[nodiscard]] seconds reduce_time() const { return {9}; }
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const {
    static constexpr gradient_bucket two[]{{0, {1}, {2}}, {0.5, {3}, {4}}};
    return std::span(two).first(static_cast<std::size_t>(part));
  }
  [[nodiscard]] int parts() const { return 12; }
  [[nodiscard]] int like(int part) const { return part / 2; }
  [[nodiscard]] seconds weight_time(const slice&, int part) const { return {3.0 + part}; }
  [[nodiscard]] seconds covers(const slice&, pass, int part) const { return {0.25 + part}; }
};

TEST(CostHooks, HaveThePlainPipelinesAnswersAsDefaults) {
  EXPECT_EQ(pack_overhead(plain{}, pass::forward, 0), seconds{0});
  EXPECT_EQ(call_overhead_of(plain{}, pass::forward, 0), seconds{0});
  EXPECT_EQ(pack_time(plain{}, std::span<const slice>(both), pass::backward, 0), seconds{28});
  EXPECT_EQ(useful_time(plain{}, ten, pass::backward, 0), seconds{20});
  EXPECT_EQ(message_time(plain{}, {10}, pass::forward, 0), seconds{0});
  EXPECT_FALSE(has_borders(plain{}));
  EXPECT_EQ(memory_of(plain{}, 0), std::nullopt);
  EXPECT_EQ(evaluation_memory_of(plain{}, 0), std::nullopt);
  EXPECT_EQ(kept_of(plain{}, ten, 0), bytes{0});
  EXPECT_EQ(evaluation_kept_of(plain{}, ten, 0, {}), bytes{0});
  EXPECT_EQ(reduce_time_of(plain{}), seconds{0});
  EXPECT_TRUE(gradient_buckets_of(plain{}, 0).empty());
  EXPECT_EQ(parts_of(plain{}), std::nullopt);
  EXPECT_EQ(like_of(plain{}, 5), 5);
  EXPECT_EQ(weight_time(plain{}, ten, 0), seconds{10});
  EXPECT_EQ(covered_time(plain{}, ten, pass::forward, 0), seconds{0});
}

// What a step keeps is no answer about evaluations that a model knows, and the only one about others.
TEST(CostHooks, KeepInEvaluationsWhatStepsDoUnlessTheseAreKnown) {
  struct of_steps : plain {
    [[nodiscard]] bytes kept(const slice&, int) const { return {5}; }
  };
  struct of_both : of_steps {
    [[nodiscard]] std::optional<memory_rates> evaluation_memory(int) const { return memory_rates{}; }
  };
  EXPECT_EQ(evaluation_kept_of(of_steps{}, ten, 0, {}), bytes{5});
  EXPECT_EQ(evaluation_kept_of(of_both{}, ten, 0, {}), bytes{0});
}

// Parts of the closed form are equal; those of a model that inherits from it may not be.
TEST(CostHooks, TakePartsForEqualWhereAModelSaysSoOfItself) {
  struct uneven : costs::quadratic {
    [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
      return quadratic::time(s, p, part) * (1 + part);
    }
  };
  struct own_word : costs::quadratic {
    [[nodiscard]] int like(int part) const { return part / 2; }
  };
  EXPECT_EQ(like_of(costs::quadratic{}, 5), 0);
  EXPECT_EQ(like_of(uneven{}, 5), 5);
  EXPECT_EQ(like_of(own_word{}, 5), 2);
}

TEST(CostHooks, AreReplacedByMembers) {
  EXPECT_EQ(pack_overhead(full{}, pass::backward, 2), seconds{202});
  EXPECT_EQ(pack_time(full{}, std::span<const slice>(both), pass::forward, 0), seconds{2000});
  EXPECT_EQ(useful_time(full{}, ten, pass::forward, 3), seconds{3.5});
  EXPECT_EQ(message_time(full{}, {10}, pass::backward, 1), seconds{11.5});
  EXPECT_TRUE(has_borders(full{}));
  EXPECT_EQ(memory_of(full{}, 1)->fixed, 8);
  EXPECT_EQ(evaluation_memory_of(full{}, 1)->fixed, 3);
  EXPECT_EQ(kept_of(full{}, ten, 1), bytes{4});
  EXPECT_EQ(evaluation_kept_of(full{}, {{}, {12}, {10}}, 1, {7}), bytes{16});
  EXPECT_EQ(reduce_time_of(full{}), seconds{9});
  ASSERT_EQ(gradient_buckets_of(full{}, 2).size(), 2u);
  EXPECT_EQ(gradient_buckets_of(full{}, 2)[1].gather, seconds{4});
  EXPECT_EQ(parts_of(full{}), 12);
  EXPECT_EQ(weight_time(full{}, ten, 2), seconds{5});
  EXPECT_EQ(covered_time(full{}, ten, pass::forward, 2), seconds{2.25});
}

struct with_overhead : plain {
  [[nodiscard]] seconds overhead(pass, int) const { return {100}; }
};

TEST(CostHooks, AddTheOverheadOncePerPack) {
  EXPECT_EQ(pack_time(with_overhead{}, std::span<const slice>(both), pass::forward, 0), seconds{114});
}

struct with_calls : with_overhead {
  [[nodiscard]] seconds call_overhead(pass p, int part) const { return {p == pass::forward ? 0.25 + part : 0.5}; }
};
struct of_packs_with_calls : full {
  [[nodiscard]] seconds call_overhead(pass, int) const { return {0.5}; }
};

TEST(CostHooks, AddTheOverheadOfACallOncePerSlice) {
  EXPECT_EQ(call_overhead_of(with_calls{}, pass::forward, 2), seconds{2.25});
  EXPECT_EQ(pack_time(with_calls{}, std::span<const slice>(both), pass::forward, 0), seconds{114.5});
  EXPECT_EQ(pack_time(with_calls{}, std::span<const slice>(both), pass::backward, 0), seconds{129});
  EXPECT_EQ(pack_time(of_packs_with_calls{}, std::span<const slice>(both), pass::forward, 0), seconds{2001})
      << "beside packs' own times";
}

}  // namespace
}  // namespace slimpack::hooks_test
