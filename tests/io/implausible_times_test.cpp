#include <slimpack/io/implausible_times.hpp>

#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/io/profile_table.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace implausible_times_test {
namespace {

using namespace slimpack;
using io::implausible_times;
using io::profile_table;
using io::read_profile_tables;

std::vector<std::string> said_of(std::vector<profile_table> tables, double times) {
  std::vector<std::string> said;
  for (profile_table& t : tables) {
    for (costs::attention_sample& s : t.attention) {
      s.forward = s.forward * times;
      if (s.backward) s.backward = *s.backward * times;
    }
    for (costs::product_sample& s : t.products) s.time = s.time * times;
    for (costs::collective_sample& s : t.collectives) s.time = s.time * times;
    for (costs::layer_sample& s : t.layers)
      for (auto member : {&costs::layer_sample::attn_pre_proj, &costs::layer_sample::mlp_up_proj})
        if (s.*member) s.*member = *(s.*member) * times;
    for (const io::profile_note& note : implausible_times(t, costs::gpus::h100())) said.push_back(note.text);
  }
  return said;
}

TEST(ImplausibleTimes, AreNoneInTheShippedTables) {
  EXPECT_EQ(said_of(read_profile_tables(data("profiles")).value(), 1), std::vector<std::string>{});
}

TEST(ImplausibleTimes, NameEveryTableAThousandTimesTooFastOrSlow) {
  std::vector<profile_table> tables = read_profile_tables(data("profiles")).value();
  std::erase_if(tables, [](const profile_table& t) {
    const auto h100 = [](const auto& rows) {
      return std::any_of(rows.begin(), rows.end(), [](const auto& s) { return costs::gpu_family(s.gpu) == "h100"; });
    };
    return !h100(t.attention) && !h100(t.products) && !h100(t.layers) && !h100(t.collectives);
  });
  ASSERT_EQ(tables.size(), 7u);
  for (const double times : {1e-3, 1e3}) {
    const std::vector<std::string> said = said_of(tables, times);
    for (const profile_table& t : tables) {
      const auto of_file = [&](const std::string& note) { return note.find(t.file + ":") == 0; };
      EXPECT_EQ(std::count_if(said.begin(), said.end(), of_file), 1) << t.file << " times " << times;
    }
  }
}

// 2 x 4096^3 = 1.374e11 operations: 0.139 ms at the peak of 989 TFLOP/s, so 0.1 ms is impossible (1374 TFLOP/s) and
// 20 ms slower than a hundredth of it (6.87 TFLOP/s). Other GPUs' rows are theirs.
TEST(ImplausibleTimes, NameTheFirstLineAndHowManyThereAre) {
  const scratch s;
  const auto file = s.file("p.csv",
                           "gpu,m,n,k,ms\nA100,4096,4096,4096,0.1\nH100,4096,4096,4096,0.2\nH100,4096,4096,4096,0.1\n"
                           "H100,4096,4096,4096,20\nNVIDIA H100,4096,4096,4096,0.01\n");
  const profile_table table = read_profile_tables(file).value().front();
  const auto notes = implausible_times(table, costs::gpus::h100());
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].text, file.string() + ":4: product: 1.37e+03 TFLOP/s, faster than the peak of H100-SXM5-80GB, " +
                               "989 TFLOP/s; is the unit right? Such times in all: 2");
  EXPECT_EQ(notes[1].text, file.string() + ":5: product: 6.87 TFLOP/s, slower than a hundredth of the peak of " +
                               "H100-SXM5-80GB, 989 TFLOP/s; is the unit right? Such times in all: 1");
}

}  // namespace
}  // namespace implausible_times_test
