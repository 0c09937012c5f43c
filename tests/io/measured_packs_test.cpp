#include <slimpack/core/units.hpp>
#include <slimpack/costs/kernels/attention_table.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/profile.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::measured_packs_test {
namespace {

/// Packs of two plans, run on a GPU after its kernels had been measured at powers of two. In a pack of one slice the
/// time of attention is that of a slice between these points.
void holds(const costs::gpu& device, const std::filesystem::path& tables, const std::string& packs_of) {
  const std::filesystem::path folder = std::filesystem::path(SLIMPACK_TEST_DATA) / "../../benchmarks";
  const io::profile profile = io::read_profile(folder / tables).value();
  const auto table = costs::attention_table::make(costs::wave_model(device), profile.attention).value();
  std::map<std::pair<std::string, bool>, std::vector<double>> off;  // by pass, and whether it has a prefix
  for (const auto& [name, recomputes] : {std::pair{"azure_" + packs_of, false}, {"mooncake_" + packs_of, true}}) {
    const io::csv_table packs = io::csv_table::read(folder / "measured_packs" / (name + ".csv")).value();
    const auto number = [&](std::size_t row, const char* column) { return packs.number(row, column).value(); };
    for (std::size_t row = 0; row < packs.rows(); ++row) {
      if (number(row, "slices") != 1) continue;
      const auto queries = static_cast<std::int64_t>(number(row, "tokens"));
      const double pairs = number(row, "pairs");  // queries (2 prefix + queries + 1) / 2
      const auto keys = static_cast<std::int64_t>(
          std::llround(pairs / static_cast<double>(queries) + static_cast<double>(queries - 1) / 2));
      const std::string which(packs.text(row, "pass").value());
      const auto time = [&](pass p) { return table(p, {queries}, {keys}, 32, 8, 128).time.value; };
      double told = time(which == "forward" ? pass::forward : pass::backward);
      if (recomputes && which == "backward") told += time(pass::forward);
      off[{which, keys > queries}].push_back(number(row, "attention_s") / told - 1);
    }
  }
  ASSERT_EQ(off.size(), 4u);
  for (const auto& [what, all] : off) {
    double sum = 0, worst = 0;
    for (const double one : all) sum += std::abs(one), worst = std::max(worst, std::abs(one));
    const double mean = sum / static_cast<double>(all.size());
    std::printf("%s %s: %zu packs, off by %.1f %% on average, %.1f %% at worst\n", what.first.c_str(),
                what.second ? "slices" : "whole sequences", all.size(), 100 * mean, 100 * worst);
    EXPECT_LT(mean, .06);
    EXPECT_LT(worst, .35);
  }
}

TEST(MeasuredPacks, HoldSlicesThatAnH100sTableTellsWithinAFewPerCent) {
  holds(costs::gpus::h100(), "measured_packs/tables", "own");
}
TEST(MeasuredPacks, HoldSlicesThatAnH200sTableTellsWithinAFewPerCent) {
  holds(costs::gpus::h200(), "measured_h200", "h200");
}

}  // namespace
}  // namespace slimpack::measured_packs_test
