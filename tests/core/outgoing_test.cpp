#include <slimpack/executors/outgoing.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace trainer {
/// A tensor that is no range: it joins in by as_span in its own namespace.
struct tensor {
  std::array<float, 4> data;
  friend std::span<const std::byte> as_span(const tensor& t) { return std::as_bytes(std::span(t.data)); }
};
}  // namespace trainer

namespace slimpack::outgoing_test {
namespace {

struct Outgoing : ::testing::Test {
  std::array<std::byte, 16> message{};
  outgoing out{message};
};

TEST_F(Outgoing, CopiesATensorOfTheRightSize) {
  ASSERT_TRUE(out.put(std::vector<float>{1, 2, 3, 4}));
  EXPECT_TRUE(out.written());
  EXPECT_EQ(out.given(), 16u);
  EXPECT_EQ(as<float>(message)[3], 4);
}

TEST_F(Outgoing, TakesATrainersOwnTensor) {
  ASSERT_TRUE(out.put(trainer::tensor{{5, 6, 7, 8}}));
  EXPECT_EQ(as<float>(message)[0], 5);
}

TEST_F(Outgoing, RefusesAnotherSizeAndRemembersIt) {
  const result<void> put = out.put(std::vector<float>{1, 2, 3});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, errc::wrong_message);
  EXPECT_EQ(put.error().detail, "a message of 12 bytes where the plan has 16");
  EXPECT_EQ(out.given(), 12u);
  EXPECT_EQ(message, (std::array<std::byte, 16>{})) << "nothing is copied";
}

TEST_F(Outgoing, IsWrittenOnceItsBytesWereAskedFor) {
  EXPECT_FALSE(out.written());
  out.as<float>()[1] = 9;
  EXPECT_TRUE(out.written());
  EXPECT_EQ(out.given(), out.size());
  EXPECT_EQ(as<float>(message)[1], 9);
}

TEST(OutgoingAtTheEndOfThePipeline, WantsNothingAndTakesAnything) {
  outgoing nowhere;
  EXPECT_FALSE(nowhere.wanted());
  EXPECT_TRUE(nowhere.put(std::vector<float>{1, 2, 3}));
  EXPECT_TRUE(nowhere.bytes().empty());
}

}  // namespace
}  // namespace slimpack::outgoing_test
