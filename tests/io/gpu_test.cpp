#include <slimpack/costs/gpus.hpp>
#include <slimpack/io/gpu.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <string>

namespace {

using slimpack::errc;
using slimpack::io::read_gpu;
namespace gpus = slimpack::costs::gpus;

/// The shipped H100 with one piece of its text replaced.
std::string refusal(const std::string& before, const std::string& after) {
  const scratch s;
  std::string text = content_of(data("gpus/h100.json"));
  EXPECT_NE(text.find(before), std::string::npos);
  const auto file = s.file("gpu.json", text.replace(text.find(before), before.size(), after));
  return complaint(read_gpu(file), file, errc::invalid_input);
}

TEST(GpuFile, OfEveryShippedGpuEqualsItsConstants) {
  for (const std::string name : {"a100", "h100", "h200"})
    EXPECT_EQ(read_gpu(data("gpus/" + name + ".json")).value(), gpus::named(name).value()) << name;
}

TEST(GpuFile, MustHaveEveryKey) {
  const scratch s;
  const auto whole = nlohmann::json::parse(content_of(data("gpus/h100.json")));
  ASSERT_EQ(whole.size(), 12u);
  for (const auto& member : whole.items()) {
    nlohmann::json less = whole;
    less.erase(member.key());
    const auto file = s.file("gpu.json", less.dump());
    EXPECT_EQ(complaint(read_gpu(file), file, errc::invalid_input), "lacks the key \"" + member.key() + "\"");
  }
  EXPECT_EQ(refusal("\"latency_s\": 1.0e-5, ", ""), "inside lacks the key \"latency_s\"");
}

TEST(GpuFile, MayHaveNoOtherKey) {
  EXPECT_EQ(refusal("\"between\": {", "\"between\": {\"bandwith\": 1, "), "between.bandwith is not a known key");
}

TEST(GpuFile, IsRefusedForNonsense) {
  EXPECT_EQ(refusal("80e9", "-80e9"), "memory_bytes is -80000000000.0, expected a number above 0 and at most 1e+15");
  EXPECT_EQ(refusal("0.79", "1.2"), "gemm_efficiency is 1.2, expected a number above 0 and at most 1");
  EXPECT_EQ(refusal("132", "13.2"), "multiprocessors is 13.2, expected a whole number from 1 to 1000000");
  EXPECT_EQ(refusal("36e9", "\"36e9\""), "between.bandwidth is \"36e9\", expected a number above 0 and at most 1e+15");
  EXPECT_EQ(refusal("1.0e-5", "-1"), "inside.latency_s is -1, expected a number of at least 0");
  EXPECT_EQ(refusal("{\"latency_s\": 1.0e-5, \"bandwidth\": 335e9}", "[]"), "inside is an array, expected an object");
  EXPECT_EQ(refusal("989e12", "1e999"), "holds a number too large for a double");
  EXPECT_EQ(refusal("989e12", "989e12 tera").substr(0, 42), "not JSON, or cut short: syntax error at by");
}

TEST(GpuFile, ThatIsMissingIsUnreadable) {
  EXPECT_EQ(read_gpu(data("gpus/none.json")).error().code, errc::unreadable);
}

TEST(Gpus, OfUnknownNameAreNone) {
  EXPECT_FALSE(gpus::named("H100 "));
}

}  // namespace
