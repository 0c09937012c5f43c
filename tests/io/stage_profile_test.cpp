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
                              (1e-5 / 3 + 1e-6 * static_cast<double>(n) + 1e-9 * static_cast<double>(n * prefix)) *
                              (n % 3 == 0 ? 1.02 : 1);  // fits are off, and spreads something
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
  EXPECT_FALSE(p.check.sums.empty());
  EXPECT_EQ(back.spread, p.spread);
  EXPECT_EQ(p.spread.forward.size(), 2u);
  EXPECT_GT(p.spread.backward.at(1).error_of(1), seconds{});
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
  refused("slimpack-stage-profile/2", "slimpack-stage-profile/9",
          "format is \"slimpack-stage-profile/9\", expected \"slimpack-stage-profile/2\", or /1");
  refused("slimpack-stage-profile/2", "slimpack-stage-profile/1", "forward_spread is not a known key");
  refused("\"forward_spread\":[[", "\"forward_spread\":[[0,", "forward_spread[0] has size 23, expected 22");
  refused("\"forward\":[[", "\"forward\":[[0,", "pack, slice, token, pair, own and prefix");
  refused("\"forward\":[[", "\"forward\":[[1e300,0,0,0,0,0],[", "at most 1e12");
  refused("\"few\"", "\"a few\"", "expected \"few\" or \"many\"");
  refused("\"message\":", "\"massage\":", "massage is not a known key");
  refused("[\"F\",0", "[\"G\",0", "expected \"F\" or \"B\"");
  refused("[\"F\",0", "[\"F\",2", "a whole number from 0 to 1");
  refused("\"reduce\":0.1", "\"reduce\":-0.1", "reduce is");
  EXPECT_EQ(io::read_stage_profile(std::filesystem::path("/nowhere/profile.json")).error().code, errc::unreadable);
  std::ostringstream broken;
  broken.setstate(std::ios::badbit);
  EXPECT_EQ(io::write_stage_profile(broken, fitted_profile()).error().code, errc::unwritable);
}

// Pairs of format 1 are n b + n (n + 1) / 2.
TEST(StageProfile, OfTheFirstFormatIsReadAndPricesAsThen) {
  const auto old_time = [](double n, double b) { return 1e-5 + 2e-6 * n + 3e-9 * (n * b + n * (n + 1) / 2); };
  std::stringstream file;
  file.precision(17);
  file
      << R"({"format":"slimpack-stage-profile/1","forward":[[4e-5,1e-5,2e-6,3e-9]],"backward":[[5e-5,2e-5,4e-6,6e-9]],)"
      << R"("weight_token":[],"message":1e-6,"message_token":0,"reduce":0,)"
      << R"("check":{"kinds":3,"median":0.1,"worst":0.2},)"
      << R"("samples":[)";
  const char* between = "";
  for (const std::int64_t n : {16, 256, 1024})
    for (const std::int64_t b : {0, 512}) {
      const double t = old_time(static_cast<double>(n), static_cast<double>(b));
      file << between << "[\"F\",0," << n << ',' << n + b << ',' << t << "],[\"B\",0," << n << ',' << n + b << ','
           << 2 * t << ']';
      between = ",";
    }
  file << "]}";
  const result<profiling::stage_profile> read = io::read_stage_profile(file);
  ASSERT_TRUE(read) << read.error().detail;
  const profiling::stage_profile& p = read.value();
  const profiling::pack_rates& r = p.forward.at(0);
  EXPECT_EQ(r.pack, seconds{4e-5});
  EXPECT_EQ(r.pair, seconds{3e-9});
  EXPECT_EQ(r.own, seconds{1.5e-9});
  EXPECT_EQ(r.prefix, seconds{});
  for (const double n : {1.0, 100.0, 5000.0})
    for (const double b : {0.0, 333.0}) EXPECT_NEAR(r.growth()(n, b) / old_time(n, b), 1, 1e-12);
  EXPECT_EQ(p.check, (profiling::fit_check{3, 0.1, 0.2, {}}));
  EXPECT_TRUE(p.spread.forward.empty());
  EXPECT_FALSE(p.uncertainty(std::vector<slice>{{{0}, {0}, {8}}}, pass::forward, 0));
  const costs::profiled cost = p.cost().value();
  for (const std::int64_t n : {1, 100, 5000})
    for (const std::int64_t b : {0, 333})
      EXPECT_NEAR(cost.time(slice{{0}, {b}, {n}}, pass::backward, 0).value /
                      (2 * old_time(static_cast<double>(n), static_cast<double>(b))),
                  1, 1e-9);
}

}  // namespace
}  // namespace slimpack::stage_profile_test
