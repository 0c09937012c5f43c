#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/model/gpus.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace slimpack::costs::gpus_test {
namespace {

TEST(GpuFamily, IsTheFirstWordThatIsNoMaker) {
  EXPECT_EQ(gpu_words("NVIDIA H100 80GB HBM3"), (std::vector<std::string>{"h100", "80gb", "hbm3"}));
  EXPECT_EQ(gpu_family("NVIDIA GeForce RTX 4090"), "4090");
  EXPECT_EQ(gpu_family("amd_instinct-MI300X"), "mi300x");
  EXPECT_EQ(gpu_family("NVIDIA"), "nvidia") << "where no more follows, that is the name";
  EXPECT_EQ(gpu_family(" -_"), "");
}

TEST(GpuFamily, BringsNamesOfABoardIntoOneForm) {
  EXPECT_EQ(plain_gpu_name("NVIDIA H100-SXM5-80GB"), "h100 sxm5 80gb");
  EXPECT_EQ(plain_gpu_name("h100_sxm5_80gb"), "h100 sxm5 80gb");
}

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
