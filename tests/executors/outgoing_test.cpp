#include <slimpack/executors/outgoing.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace trainer {
/// A tensor that is no range: it joins in by as_span in its own namespace.
struct tensor {
  std::array<float, 4> data;
  friend std::span<const std::byte> as_span(const tensor& t) { return std::as_bytes(std::span(t.data)); }
};

/// A tensor that counts how often it is looked at. A null one of a trainer would crash.
struct looked_at {
  int* looks;
  friend std::span<const std::byte> as_span(const looked_at& t) {
    ++*t.looks;
    return {};
  }
};
}  // namespace trainer

namespace slimpack::outgoing_test {
namespace {

struct Outgoing : ::testing::Test {
  alignas(64) std::array<std::byte, 16> message{};
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

/// What a compute is told that sees a message as other elements than it has.
template <class T>
std::string complaint(std::span<std::byte> message) {
  std::string told[2];
  for (const bool reads : {true, false}) {
    try {
      outgoing out{message};
      if (reads)
        (void)as<T>(message);
      else
        (void)out.as<T>();
    } catch (const plan_error& e) {
      EXPECT_EQ(e.code(), errc::wrong_message);
      told[reads] = e.what();
    }
  }
  EXPECT_EQ(told[0], told[1]);
  return told[0];
}

TEST_F(Outgoing, DropsNoBytesThatAreNoWholeElement) {
  EXPECT_EQ(complaint<double>(std::span(message).first(12)),
            "12 bytes of a message are no whole number of elements of 8 bytes");
  EXPECT_EQ(complaint<double>(message), "");
}

TEST_F(Outgoing, SeesNoElementsWhereNoneMayLie) {
  EXPECT_EQ(
      complaint<float>(std::span(message).subspan(2, 8)),
      "8 bytes of a message do not begin at a multiple of 4 bytes, where elements of this type must lie: copy them");
  EXPECT_EQ(complaint<char>(std::span(message).subspan(2, 8)), "");
}

TEST_F(Outgoing, SeesElementsThatAskForMoreThanTheirSizeWhereTheyMayLie) {
  struct alignas(64) row {
    float values[16];
  };
  alignas(64) std::array<std::byte, 256> rows{};
  EXPECT_EQ(complaint<row>(rows), "");
  EXPECT_EQ(as<row>(rows).size(), 4u);
  EXPECT_NE(complaint<row>(std::span(rows).subspan(32, 128)), "");
}

TEST(OutgoingAtTheEndOfThePipeline, WantsNothingAndTakesAnything) {
  outgoing nowhere;
  EXPECT_FALSE(nowhere.wanted());
  EXPECT_TRUE(nowhere.put(std::vector<float>{1, 2, 3}));
  EXPECT_TRUE(nowhere.bytes().empty());
  EXPECT_TRUE(nowhere.as<double>().empty());
  EXPECT_TRUE(as<double>({}).empty());
}

TEST(OutgoingAtTheEndOfThePipeline, DoesNotLookAtATensor) {
  int looks = 0;
  EXPECT_TRUE(outgoing{}.put(trainer::looked_at{&looks}));
  EXPECT_EQ(looks, 0) << "the first stage may have no gradient of its input";
}

}  // namespace
}  // namespace slimpack::outgoing_test
