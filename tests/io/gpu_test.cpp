#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/io/gpu.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace gpu_test {
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
  for (const std::string name : {"a100", "h100", "h200", "b200"}) {
    slimpack::costs::gpu file = read_gpu(data("gpus/" + name + ".json")).value();
    const slimpack::costs::gpu constants = gpus::named(name).value();
    file.source = constants.source;  // the file says it of each figure
    EXPECT_EQ(file, constants) << name;
  }
}

TEST(GpuFile, SaysWhereEachFigureComesFromOrAllOfThem) {
  const std::string each = read_gpu(data("gpus/h200.json")).value().source;
  EXPECT_EQ(each.substr(0, 111),
            "layer_efficiency: assumed from the H100, not measured; memory_bytes: NVIDIA H200 data sheet, SXM: 141 GB "
            "HBM3e;");
  EXPECT_NE(each.find("; inside: assumed from the H100, not measured: the same NVLink; between: "), std::string::npos);
  const scratch s;
  auto whole = nlohmann::json::parse(content_of(data("gpus/h100.json")));
  whole["source"] = "a data sheet";
  EXPECT_EQ(read_gpu(s.file("gpu.json", whole.dump())).value().source, "a data sheet");
}

TEST(GpuFile, MustGiveTheSourceOfEveryFigure) {
  EXPECT_EQ(refusal("\"gpus_per_node\": \"DGX", "\"gpus_a_node\": \"DGX"), "source.gpus_a_node is not a known key");
  EXPECT_EQ(refusal("\"gpus_per_node\": \"DGX", "\"adapters_per_node\": \"DGX"),
            "source lacks the key \"gpus_per_node\"");
  EXPECT_EQ(refusal("\"gpus_per_node\": \"DGX H100 and HGX H100 8-GPU boards\"", "\"gpus_per_node\": 8"),
            "source.gpus_per_node is 8, expected a string");
}

TEST(GpuFile, MustHaveEveryKey) {
  const scratch s;
  const auto whole = nlohmann::json::parse(content_of(data("gpus/h100.json")));
  ASSERT_EQ(whole.size(), 13u);
  for (const auto& member : whole.items()) {
    if (member.key() == "layer_efficiency") continue;  // see below
    nlohmann::json less = whole;
    less.erase(member.key());
    const auto file = s.file("gpu.json", less.dump());
    EXPECT_EQ(complaint(read_gpu(file), file, errc::invalid_input), "lacks the key \"" + member.key() + "\"");
  }
  EXPECT_EQ(refusal("\"latency_s\": 1.0e-5, ", ""), "inside lacks the key \"latency_s\"");
}

TEST(GpuFile, MayKnowNothingOfLayers) {
  const scratch s;
  auto less = nlohmann::json::parse(content_of(data("gpus/h100.json")));
  less.erase("layer_efficiency");
  less["source"].erase("layer_efficiency");
  const slimpack::costs::gpu read = read_gpu(s.file("gpu.json", less.dump())).value();
  EXPECT_EQ(read.layer_efficiency, 0);
  EXPECT_DOUBLE_EQ(read.in_layers(), 0.9 * 0.79);
  EXPECT_DOUBLE_EQ(gpus::h100().in_layers(), 0.72);
  EXPECT_EQ(refusal("\"layer_efficiency\": 0.72", "\"layer_efficiency\": 1.5"),
            "layer_efficiency is 1.5, expected a number above 0 and at most 1");
}

TEST(GpuFile, MayHaveFewerAdaptersThanGpus) {
  const scratch s;
  auto fewer = nlohmann::json::parse(content_of(data("gpus/h100.json")));
  const auto adapters = [&](int count) {
    fewer["adapters_per_node"] = count;
    const auto file = s.file("gpu.json", fewer.dump());
    return read_gpu(file);
  };
  EXPECT_EQ(gpus::h100().adapters(), 8);
  EXPECT_EQ(adapters(4).value().adapters(), 4);
  std::stringstream file;
  ASSERT_TRUE(slimpack::io::write_gpu(file, adapters(4).value()));
  EXPECT_TRUE(slimpack::io::read_gpu(file, "gpu").value() == adapters(4).value());
  for (const int wrong : {3, 16})
    EXPECT_EQ(complaint(adapters(wrong), s.file("gpu.json", fewer.dump()), errc::invalid_input),
              "adapters_per_node is " + std::to_string(wrong) +
                  ", expected a divisor of gpus_per_node, 8, since neighbouring GPUs share an adapter");
}

TEST(GpuFile, ThatIsWrittenReadsBackTheSame) {
  for (slimpack::costs::gpu g : {gpus::a100(), gpus::h100(), gpus::h200(), gpus::b200()})
    for (const double layers : {g.layer_efficiency, 0.0}) {
      g.layer_efficiency = layers;
      std::stringstream file;
      ASSERT_TRUE(slimpack::io::write_gpu(file, g));
      EXPECT_TRUE(slimpack::io::read_gpu(file, "gpu").value() == g) << g.name;
    }
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

TEST(GpuFile, ThatIsMissingIsUnreadable) { EXPECT_EQ(read_gpu(data("gpus/none.json")).error().code, errc::unreadable); }

}  // namespace
}  // namespace gpu_test
