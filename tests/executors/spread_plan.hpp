#ifndef SLIMPACK_TESTS_EXECUTORS_SPREAD_PLAN_HPP
#define SLIMPACK_TESTS_EXECUTORS_SPREAD_PLAN_HPP

#include <slimpack/basic_planner.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>
#include <slimpack/testing/generator.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// Makes no programs: says that those there are may run weight gradients apart.
struct splitting_schedule {
  static constexpr bool splits_weight_gradients = true;
  [[nodiscard]] result<std::vector<program>> programs(const workload&) const { return std::vector<program>{}; }
};

/// That of planned.hpp, with times of a spread vocabulary.
[[nodiscard]] inline costs::with_vocabulary<costs::quadratic> vocabulary_cost() {
  return {{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}},
          {.embed = {1e-6, 1e-8},
           .output = {2e-6, 2e-7},
           .output_weights = {1e-6, 1e-7},
           .embed_gradients = {1e-6, 1e-8},
           .embedded = {1e-5, 1e-9},
           .hidden = {1e-5, 1e-9},
           .partial = {1e-5, 2e-9},
           .statistics = {1e-5},
           .gradients = {1e-5, 1e-9}}};
}

/// Unequal shares of so many words: each stage has one, and most of the others are on the first stages.
[[nodiscard]] inline std::vector<std::int64_t> random_words(testing::generator& random, std::int64_t all, int stages) {
  std::vector<std::int64_t> words(static_cast<std::size_t>(stages), 1);
  for (std::int64_t left = all - stages; left > 0; --left)
    ++words[static_cast<std::size_t>(random.between(0, random.between(0, stages - 1)))];
  return words;
}

/// The plan of a solution for a vocabulary that is spread over the stages: whatever programs of layers it has, the
/// calls of the vocabulary are put between them.
[[nodiscard]] inline result<plan> spread(shape on, const batch_view& batch, const solution& given) {
  on.vocabulary = vocabulary::spread;
  return basic_planner{on,
                       slicers::equal_cost{},
                       vocabulary_cost(),
                       testing::detail::solution_as_given{&given},
                       splitting_schedule{},
                       simulators::sweep{}}(batch);
}

/// The packs and the programs of a plan, with its vocabulary spread over the stages, in such shares (shape::words).
[[nodiscard]] inline result<plan> spread(const plan& p, std::vector<std::int64_t> words = {}) {
  solution given{{}, p.merges};
  for (const replica_plan& r : p.replicas) given.replicas.push_back({r.sequences, r.partition, r.programs});
  if (!p.copies.empty()) given.cut = forest_cut{p.lengths, p.parents, p.copies};
  const result<uncut_forest> batch = uncut(batch_of(p), p.copies);
  if (!batch) return batch.error();
  shape on = p.shape;
  on.words = std::move(words);
  return spread(std::move(on), batch_view(batch.value().lengths, batch.value().parents, p.samples, p.targets), given);
}

}  // namespace slimpack::tests

#endif
