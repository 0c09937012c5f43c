#include <slimpack/executors/step_report.hpp>

#include <gtest/gtest.h>

namespace slimpack::step_report_test {
namespace {

TEST(StepReport, AddsUpFromNothing) {
  const step_report r;
  EXPECT_EQ(r.loss_sum, 0);
  for (const tokens t : {r.valid_tokens, r.processed, r.peak_tokens}) EXPECT_EQ(t, tokens{});
  for (const seconds t : {r.elapsed, r.reduce, r.step}) EXPECT_EQ(t, seconds{});
  EXPECT_EQ(r.exchanged, bytes{});
  EXPECT_TRUE(r.timeline.empty());
}

}  // namespace
}  // namespace slimpack::step_report_test
