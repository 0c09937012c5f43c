#include <slimpack/io/stage_profile.hpp>

#include <slimpack/profiling/fit.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace slimpack::stage_profile_test {
namespace {

profiling::stage_profile fitted_profile() {
  std::vector<profiling::observation> seen;
  for (const int part : {0, 1})
    for (const pass p : {pass::forward, pass::backward})
      for (const std::int64_t n : {16, 64, 100, 256, 1000})
        for (const std::int64_t prefix : {0, 512}) {
          const double time = (p == pass::forward ? 1 : 2.1) *
                              (1e-5 / 3 + 1e-6 * static_cast<double>(n) + 1e-9 * static_cast<double>(n * prefix));
          seen.push_back({p, part, false, {{{0}, {prefix}, {n}}}, {time}});
          if (p == pass::backward) seen.push_back({p, part, true, {{{0}, {prefix}, {n}}}, {time / 3}});
        }
  profiling::stage_profile made = profiling::fit(seen, 2).value();
  made.message = {1.0 / 3e5}, made.message_token = {1e-9 / 7}, made.reduce = {0.1};
  return made;
}

TEST(StageProfile, ReadsBackExactly) {
  const profiling::stage_profile p = fitted_profile();
  EXPECT_GT(p.check.kinds, 0u);
  std::stringstream file;
  ASSERT_TRUE(io::write_stage_profile(file, p));
  const result<profiling::stage_profile> read = io::read_stage_profile(file);
  ASSERT_TRUE(read) << read.error().detail;
  const profiling::stage_profile& back = read.value();
  EXPECT_EQ(back.forward, p.forward);
  EXPECT_EQ(back.backward, p.backward);
  EXPECT_EQ(back.weight_token, p.weight_token);
  EXPECT_EQ(back.message, p.message);
  EXPECT_EQ(back.message_token, p.message_token);
  EXPECT_EQ(back.reduce, p.reduce);
  EXPECT_EQ(back.check, p.check);
  ASSERT_EQ(back.samples.size(), p.samples.size());
  const costs::profiled before = p.cost().value(), after = back.cost().value();
  for (const int part : {0, 1})
    for (const pass way : {pass::forward, pass::backward})
      for (const std::int64_t n : {1, 33, 700, 5000}) {
        const slice s{{0}, {300}, {n}};
        EXPECT_EQ(after.time(s, way, part), before.time(s, way, part));
        EXPECT_EQ(after.weight_time(s, part), before.weight_time(s, part));
        EXPECT_EQ(after.overhead(way, part), before.overhead(way, part));
      }
}

TEST(StageProfile, NamesThePlaceThatIsWrong) {
  std::stringstream written;
  ASSERT_TRUE(io::write_stage_profile(written, fitted_profile()));
  const std::string good = written.str();
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& says) {
    std::string bad = good;
    const std::size_t at = bad.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    std::istringstream in(bad.replace(at, from.size(), to));
    const auto read = io::read_stage_profile(in);
    ASSERT_FALSE(read) << to;
    EXPECT_EQ(read.error().code, errc::invalid_input);
    EXPECT_NE(read.error().detail.find(says), std::string::npos) << read.error().detail;
  };
  refused("slimpack-stage-profile/1", "slimpack-stage-profile/9", "format is");
  refused("\"message\":", "\"massage\":", "massage is not a known key");
  refused("[\"F\",0", "[\"G\",0", "expected \"F\" or \"B\"");
  refused("[\"F\",0", "[\"F\",2", "a whole number from 0 to 1");
  refused("\"reduce\":0.1", "\"reduce\":-0.1", "reduce is");
  EXPECT_EQ(io::read_stage_profile(std::filesystem::path("/nowhere/profile.json")).error().code, errc::unreadable);
  std::ostringstream broken;
  broken.setstate(std::ios::badbit);
  EXPECT_EQ(io::write_stage_profile(broken, fitted_profile()).error().code, errc::unwritable);
}

}  // namespace
}  // namespace slimpack::stage_profile_test
