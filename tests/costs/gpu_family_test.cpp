#include <slimpack/costs/model/gpu_family.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace slimpack::costs::gpu_family_test {
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

}  // namespace
}  // namespace slimpack::costs::gpu_family_test
