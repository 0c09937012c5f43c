#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/model/gpus.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace slimpack::kernel_times_test {
namespace {

using costs::attention_sample;
using costs::kernel_times;
using costs::origin;
using costs::product_sample;

const costs::wave_model model{costs::gpus::h100()};
const attention_sample attention{.gpu = "H100",
                                 .kernel = "flash",
                                 .queries = {1024},
                                 .keys = {4096},
                                 .heads = 8,
                                 .kv_heads = 1,
                                 .head_dim = 128,
                                 .forward = {1}};
const product_sample product{"H100", 1024, 4096, 4096, {2}};

TEST(KernelTimes, AreModelledWhereNothingWasMeasured) {
  const kernel_times times(model);
  for (const pass p : {pass::forward, pass::backward}) {
    EXPECT_EQ(times.attention(p, {1024}, {4096}, 8, 1, 128), model.attention(p, {1024}, {4096}, 8, 1, 128));
    EXPECT_EQ(times.attention_source(p, {1024}, {4096}, 8, 1, 128), origin::modelled);
  }
  EXPECT_EQ(times.product(1024, 4096, 4096), model.product(1024, 4096, 4096));
  EXPECT_EQ(times.product_source(1024, 4096, 4096), origin::modelled);
}

TEST(KernelTimes, ComeFromTheTableThatThereIs) {
  const kernel_times attends = kernel_times::make(model, std::vector{attention}, {}).value();
  EXPECT_NEAR(attends.attention(pass::forward, {1024}, {4096}, 8, 1, 128).value, 1, 1e-12);
  EXPECT_EQ(attends.attention_source(pass::forward, {1024}, {4096}, 8, 1, 128), origin::measured);
  EXPECT_EQ(attends.attention_source(pass::backward, {1024}, {4096}, 8, 1, 128), origin::derived);
  EXPECT_EQ(attends.product_source(1024, 4096, 4096), origin::modelled);
  const kernel_times multiplies = kernel_times::make(model, {}, std::vector{product}).value();
  EXPECT_NEAR(multiplies.product(1024, 4096, 4096).value, 2, 1e-12);
  EXPECT_EQ(multiplies.product_source(1024, 4096, 4096), origin::measured);
  EXPECT_EQ(multiplies.attention_source(pass::forward, {1024}, {4096}, 8, 1, 128), origin::modelled);
}

TEST(KernelTimes, PassOnWhatIsWrongWithATable) {
  attention_sample late = attention;
  late.forward = {-1};
  EXPECT_EQ(kernel_times::make(model, std::vector{late}, {}).error().code, errc::invalid_input);
  product_sample empty = product;
  empty.n = 0;
  EXPECT_EQ(kernel_times::make(model, {}, std::vector{empty}).error().code, errc::invalid_input);
}

// 8 tiles keep 8 of 132 multiprocessors busy, 8 x 16 nearly all of them: 16 times the work in little more time.
TEST(KernelTimes, KnowThatThinSlicesWithFewHeadsLeaveMultiprocessorsIdle) {
  const kernel_times times(model);
  const seconds thin = times.attention(pass::forward, {128}, {65536}, 8, 1, 128);
  const seconds thick = times.attention(pass::forward, {2048}, {65536}, 8, 1, 128);
  EXPECT_LT(thick / thin, 1.5);
}

}  // namespace
}  // namespace slimpack::kernel_times_test
