// The core of slimpack-check-device over stand-in devices.
#include "../../examples/check_device/check.hpp"
#include "../transports/nccl_world.hpp"
#include "../transports/on_ranks.hpp"
#include "scratch.hpp"

#include <slimpack/costs/network/collective_table.hpp>
#include <slimpack/io/profile.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace slimpack::check_device_test {
namespace {

struct checked {
  std::array<std::optional<result<std::string>>, 3> tables;
  std::array<std::ostringstream, 3> said;
};

/// Three ranks, of which the first two share a node.
checked check(const check_device::options& o) {
  nccl_world world(3, {.delay = {0}}, {1});
  checked all;
  on_ranks(world, [&](nccl_world::end& t) {
    const auto at = static_cast<std::size_t>(t.rank());
    all.tables[at].emplace(check_device::check(t, t.rank() / 2, o, all.said[at]));
  });
  return all;
}

const check_device::options few{.gpu = "H100-test", .largest = 5000, .cases = 1, .time_out = 1};

const checked& once() {
  static const checked all = check(few);
  return all;
}

TEST(CheckDevice, FindsThatLawsHoldAndMeasuresEachLinkOnce) {
  for (const auto& table : once().tables) {
    ASSERT_TRUE(*table) << table->error().detail;
    EXPECT_EQ(table->value(), once().tables[0]->value());
  }
  const std::string said = once().said[0].str();
  EXPECT_NE(said.find("laws of the transport hold on all 3 ranks"), std::string::npos) << said;
  EXPECT_NE(said.find("ranks   0 and   1, one node : latency"), std::string::npos) << said;
  EXPECT_NE(said.find("ranks   0 and   2, two nodes: latency"), std::string::npos) << said;
  EXPECT_NE(said.find("ranks   1 and   2, two nodes: latency"), std::string::npos) << said;
  EXPECT_EQ(once().said[1].str() + once().said[2].str(), "");
}

TEST(CheckDevice, WritesATableThatIsReadAsTimesOfMessages) {
  const scratch folder;
  const io::profile read = io::read_profile(folder.file("links.csv", once().tables[0]->value())).value();
  ASSERT_EQ(read.collectives.size(), 9u);  // three links, of 1, 1024 and 4096 bytes
  for (const costs::collective_sample& s : read.collectives) {
    EXPECT_EQ(s.gpu, "H100-test");
    EXPECT_EQ(s.op, costs::collective::send_receive);
    EXPECT_EQ(s.ranks, 2);
    EXPECT_GT(s.time, seconds{});
  }
  EXPECT_EQ(read.collectives[0].ranks_per_node, 2);
  EXPECT_EQ(read.collectives[8].ranks_per_node, 1);
  const costs::collective_table table = costs::collective_table::make(read.collectives).value();
  EXPECT_TRUE(table(costs::collective::send_receive, {.ranks = 2, .nodes = 1}, {2048}));
  EXPECT_TRUE(table(costs::collective::send_receive, {.ranks = 2, .nodes = 2}, {2048}));
}

/// What a rank is told wrongly shows in its laws: here, to wait for a message longer than its transport does.
TEST(CheckDevice, SaysOnAllRanksThatLawsAreBroken) {
  check_device::options o = few;
  o.time_out = 4;
  const checked all = check(o);
  for (const auto& table : all.tables) {
    ASSERT_FALSE(*table);
    EXPECT_NE(table->error().detail.find("laws of the transport are broken on"), std::string::npos)
        << table->error().detail;
  }
  std::string said;
  for (const auto& one : all.said) said += one.str();
  EXPECT_NE(said.find("a wait lasts as long as the time-out"), std::string::npos) << said;
}

std::string refusal(std::vector<const char*> arguments) {
  const auto found = check_device::parse(arguments);
  return found ? "no error" : found.error().detail;
}

TEST(CheckDevice, AnswersWrongArgumentsWithASentence) {
  EXPECT_EQ(refusal({"--larg", "3"}), "--larg is no option; --help lists the options");
  EXPECT_EQ(refusal({"--out"}), "--out lacks its value; --help lists the options");
  EXPECT_EQ(refusal({"--largest", "3 MB"}),
            "--largest is a number of bytes from 1024 to 1 TiB, not '3 MB'; --help lists the options");
  EXPECT_EQ(refusal({"--cases", "0"}), "--cases is a number from 1 to 1000000, not '0'; --help lists the options");
  EXPECT_EQ(refusal({"--name", "a,b"}), "--name is a text without commas, not 'a,b'; --help lists the options");
  EXPECT_TRUE(check_device::parse(std::vector<const char*>{"--help"}).value().help);
  EXPECT_EQ(check_device::parse(std::vector<const char*>{"--largest", "4096"}).value().largest, 4096u);
}

}  // namespace
}  // namespace slimpack::check_device_test
