#ifndef SLIMPACK_TESTS_TRAIN_ORACLE_SAMPLES_HPP
#define SLIMPACK_TESTS_TRAIN_ORACLE_SAMPLES_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/forests/from_tokens.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// The samples of oracle.json that share beginnings, and the text of each path of their forest.
struct oracle_samples {
  forests::token_forest batch;
  std::vector<std::vector<std::uint8_t>> paths{};  ///< of each sequence, from the root on

  /// Shapes    read: the whole file
  [[nodiscard]] static oracle_samples of(const nlohmann::json& read) {
    std::vector<std::vector<std::int32_t>> ids;
    std::vector<std::vector<forests::trained_run>> targets;
    for (const auto& one : read.at("samples").at("all")) {
      ids.push_back(one.at("tokens").get<std::vector<std::int32_t>>());
      for (auto& runs = targets.emplace_back(); const auto& run : one.at("targets"))
        runs.push_back(
            {{run.at(0)}, {run.at(1).get<std::int64_t>() - run.at(0).get<std::int64_t>()}, one.at("weight")});
    }
    std::vector<forests::token_sample> all;
    for (std::size_t i = 0; i < ids.size(); ++i) all.push_back({ids[i], targets[i]});
    oracle_samples made{forests::from_tokens(all).value()};
    for (const sequence& s : batch_view(made.batch.all).sequences()) {
      const std::vector<std::int32_t>& text = ids[made.batch.text[s.id.value]];
      made.paths.emplace_back(text.begin(), text.begin() + s.end().value);
    }
    return made;
  }
};

}  // namespace slimpack::tests

#endif
