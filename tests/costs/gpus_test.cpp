#include <slimpack/costs/model/gpus.hpp>

#include <gtest/gtest.h>

namespace slimpack::costs::gpus_test {
namespace {

TEST(Gpus, AreKnownWithoutTheirMakerAndCase) {
  for (const char* name : {"h100", "H100", "NVIDIA H100 80GB HBM3", "nvidia_h100", "H100-SXM5-80GB", "H100-SXM"})
    EXPECT_EQ(gpus::named(name), gpus::h100()) << name;
  EXPECT_EQ(gpus::named("NVIDIA A100-SXM4-80GB"), gpus::a100());
  EXPECT_EQ(gpus::named("NVIDIA H200"), gpus::h200());
}

TEST(Gpus, OfUnknownNameAreNone) {
  for (const char* name : {"", "NVIDIA", "H100 PCIe", "NVIDIA H100 NVL", "NVIDIA A100-SXM4-40GB", "h100.json", "V100"})
    EXPECT_FALSE(gpus::named(name)) << name;
}

}  // namespace
}  // namespace slimpack::costs::gpus_test
