#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/model_config.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

// benchmarks/measured_vocabulary: shares of the words of Llama 3.1 8B, run on GPUs by
// examples/profile/measure_vocabulary.py.
namespace slimpack::measured_vocabulary_test {
namespace {

constexpr std::array calls{std::pair{instruction_kind::embed, "embed_ms"},
                           std::pair{instruction_kind::output, "output_ms"},
                           std::pair{instruction_kind::output_weights, "output_weights_ms"},
                           std::pair{instruction_kind::embed_gradients, "embed_gradients_ms"}};

struct measured {
  bool compiled{};
  int tensor{};
  int stages{};
  tokens pack;
  std::array<double, calls.size()> times{};  // seconds of each call

  [[nodiscard]] double all() const { return times[0] + times[1] + times[2] + times[3]; }
};

std::vector<measured> rows(const std::string& gpu) {
  const io::csv_table table = io::csv_table::read(std::filesystem::path(SLIMPACK_TEST_DATA) /
                                                  "../../benchmarks/measured_vocabulary" / (gpu + ".csv"))
                                  .value();
  std::vector<measured> found;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto number = [&](const char* column) { return table.number(row, column).value(); };
    measured& m = found.emplace_back();
    m.compiled = std::string(table.text(row, "kernels").value()).ends_with("compiled");
    m.tensor = static_cast<int>(number("tp")), m.stages = static_cast<int>(number("stages"));
    m.pack = {static_cast<std::int64_t>(number("tokens"))};
    for (std::size_t i = 0; i < calls.size(); ++i) m.times[i] = 1e-3 * number(calls[i].second);
  }
  return found;
}

class MeasuredVocabulary : public ::testing::TestWithParam<const char*> {};

// What spreading rests on: with a p-th of the words, V and U take a p-th of the time, as far as packs are not small.
TEST_P(MeasuredVocabulary, APthOfTheWordsTakesAboutAPthOfTheTime) {
  std::map<std::pair<int, std::int64_t>, double> whole;  // V and U of all words of a rank, by its degree and the pack
  for (const measured& m : rows(GetParam()))
    if (m.compiled && m.stages == 1) whole[{m.tensor, m.pack.value}] = m.all();
  std::size_t compared = 0;
  for (const measured& m : rows(GetParam())) {
    if (!m.compiled || m.stages == 1) continue;
    const double share = whole.at({m.tensor, m.pack.value}) / (m.all() * m.stages);
    std::printf("tp %d, %2d stages, packs of %5lld tokens: %.3f of a fair share's speed\n", m.tensor, m.stages,
                static_cast<long long>(m.pack.value), share);
    EXPECT_GT(share, .5);
    if (m.pack < tokens{2048} || m.stages * m.tensor > 8) continue;
    EXPECT_GT(share, .9);
    ++compared;
  }
  EXPECT_EQ(compared, 10u);
}

// Prices of a sheet are what single large kernels sustain: compiled kernels take a little longer.
TEST_P(MeasuredVocabulary, PricesAreWithinAFewPerCentOfCompiledKernels) {
  const costs::model_shape model =
      io::read_model(std::filesystem::path(SLIMPACK_TEST_DATA) / "models/llama-3.1-8b.json").value();
  std::map<std::string, std::vector<double>> ratio;  // measured over price
  for (const measured& m : rows(GetParam())) {
    if (!m.compiled || m.stages == 1 || m.tensor != 1 || m.pack < tokens{2048})
      continue;  // prices of --tp have its
                 // collectives in them
    const shape on{.stages = m.stages, .vocabulary = vocabulary::spread};
    const costs::transformer cost = costs::transformer::sheet(model, *costs::gpus::named(GetParam()), on).value();
    double told = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const double price = cost.vocabulary_time(m.pack, calls[i].first, 0).value;
      ratio[calls[i].second].push_back(m.times[i] / price);
      told += price;
    }
    std::printf("%2d stages, packs of %4lld tokens: V %.3f, U %.3f, all %.3f of the price\n", m.stages,
                static_cast<long long>(m.pack.value), ratio["output_ms"].back(), ratio["output_weights_ms"].back(),
                m.all() / told);
    ratio["all"].push_back(m.all() / told);
  }
  for (auto& [what, all] : ratio) {
    std::sort(all.begin(), all.end());
    std::printf("%s: median %.3f, %.3f to %.3f of the price\n", what.c_str(), all[all.size() / 2], all.front(),
                all.back());
  }
  const std::vector<double>& all = ratio["all"];
  ASSERT_EQ(all.size(), 8u);
  EXPECT_GT(all.front(), .98);
  EXPECT_LT(all[all.size() / 2], 1.06);
  EXPECT_LT(all.back(), 1.2);
}

INSTANTIATE_TEST_SUITE_P(Of, MeasuredVocabulary, ::testing::Values("h100", "h200"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace slimpack::measured_vocabulary_test
