#ifndef SLIMPACK_TESTS_TRAIN_EXACT_FOREST_HPP
#define SLIMPACK_TESTS_TRAIN_EXACT_FOREST_HPP

#include "../../examples/train/path_texts.hpp"
#include "../executors/forests.hpp"
#include "exact_step.hpp"

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/testing/generator.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::tests {

/// Samples that share beginnings, and what the uncut model makes of flat copies of them.
struct exact_forest : exact_answer {
  tokens quantum;
  random_forest samples;
  std::vector<std::vector<std::uint8_t>> paths;  ///< bytes of each sequence's path

  explicit exact_forest(std::uint64_t seed, const train::config& of = small_model) : exact_answer(of) {
    testing::generator random(seed);
    quantum = {random.between(1, 6)};
    while (samples.count() < 20 || !batch_view(samples.batch).shares_prefixes())
      samples = forest_maker(random, quantum * 6, 20).make();
    for (const sequence& s : samples.sequences) {
      std::vector<std::uint8_t>& path = paths.emplace_back();
      if (!s.is_root()) path = std::vector<std::uint8_t>(paths[s.parent.value]);
      for (std::int64_t t = 0; t < s.length.value; ++t)
        path.push_back(static_cast<std::uint8_t>(random.between(0, 15)));
    }
    run_flat();
  }
  exact_forest(const exact_forest&) = delete;  // documents refer to it

  /// Of the sequences of a plan, which may have copied paths.
  [[nodiscard]] train::documents documents(const plan& p) const {
    std::vector<std::span<const std::uint8_t>> all;
    for (const std::vector<std::uint8_t>& path : paths) all.emplace_back(path);
    return [texts = train::path_texts(p, std::move(all))](sequence_id s) { return texts[s.value]; };
  }

  template <class Stage, class Transport>
  result<double> error_of(const plan& p, Transport& transport) const {
    return error_by<Stage>(documents(p), p, transport);
  }

 private:
  /// Each sample by itself, whole.
  void run_flat() {
    std::span<const std::uint8_t> text;
    train::model_stage<double> uncut(
        model, {.quantum = quantum}, 0, [&](sequence_id) { return text; }, 7);
    uncut.begin_step({});
    for (const one_sample& s : samples.samples) {
      std::vector<target_run> edges;
      for (std::int64_t t = 0; t < s.at.value; ++t)
        if (s.is_target[static_cast<std::size_t>(t)]) edges.push_back({{0}, {t}, {1}, 1, s.weight});
      if (edges.empty()) continue;
      text = std::span(paths[s.sequence.value]).first(static_cast<std::size_t>(s.at.value));
      piece whole{{{0}, {0}, s.at}, s.at, 0, static_cast<double>(edges.size()) / samples.count()};
      whole.edges = edges;
      outgoing nowhere;
      const double before = uncut.loss();
      uncut.forward({&whole, 1}, {}, nowhere).value();
      uncut.backward({&whole, 1}, {}, nowhere).value();
      size += std::abs(uncut.loss() - before);
    }
    take(uncut);
  }
};

}  // namespace slimpack::tests

#endif
