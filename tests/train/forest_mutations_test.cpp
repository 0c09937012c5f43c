#include "../executors/everywhere.hpp"
#include "../executors/forests.hpp"
#include "../executors/path_stage.hpp"
#include "../laws/cases.hpp"
#include "plan_mutations.hpp"

#include <slimpack/executors/packflow.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/transports/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// Changed plans of samples that share beginnings are refused, or have the loss and the gradients of flat samples.
namespace slimpack::forest_mutations_test {
namespace {

using tests::json;
using tests::path_model;
using stage = tests::path_packs<backward_cuts::any>;

struct sample {
  std::string name;
  tests::random_forest batch;
  plan made;
  json file;
};

std::vector<sample> samples_of(int seeds) {
  std::vector<sample> all;
  int k = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tests::random_forest f = tests::forest_maker(random, {12}, 10).make();
    for (const tests::forest_planner& planner : tests::forest_planners()) {
      if (planner.cuts != backward_cuts::any) continue;
      const shape on{.stages = 1 + k % 3, .chunks = 1 + k % 2, .quantum = {4}};
      ++k;
      plan made = planner.make(on, f.batch).value();
      std::stringstream text;
      io::write_plan(text, made).value();
      all.push_back({planner.name, f, std::move(made), json::parse(text.str())});
    }
  }
  return all;
}

/// What has become of a plan: how many ranks ran it, how many found fault with it before they did, and what they say.
struct ending {
  std::size_t ran{}, refused{};
  std::string said;
};

ending run(const plan& p, std::vector<stage>& stages) {
  transports::threads world{static_cast<int>(stages.size()), {.time_out = {10}}};
  std::vector<result<step_report>> reports(stages.size(), error{errc::compute_failed, "threw"});
  tests::on_every_rank(static_cast<int>(stages.size()), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    const auto at = static_cast<std::size_t>(rank);
    try {
      reports[at] = executors::packflow{.checksums = true}.execute(p, stages[at], endpoint);
    } catch (const std::exception& e) {
      reports[at] = error{errc::compute_failed, std::string("threw ") + e.what()};
    }
  });
  ending found;
  for (const result<step_report>& one : reports) {
    if (one) {
      ++found.ran;
      continue;
    }
    const error& e = one.error();
    found.refused += e.code == errc::disagreement || e.detail.find(", reading the plan: ") != std::string::npos ||
                     e.detail.find(", agreeing on the plan: ") != std::string::npos;
    found.said += "\n  " + e.detail;
  }
  return found;
}

/// How far a step is from flat samples, of the norm of their gradients.
double error_of(const sample& of, const std::vector<stage>& stages) {
  const path_model::gradients expected = path_model::flat(of.batch, of.made.shape.parts());
  std::vector<double> found;
  for (int c = 0; c < of.made.shape.chunks; ++c)
    for (const stage& s : stages) path_model::append(s.gradients_of(c), found);
  path_model::append(stages.front().embedding_gradients(), found);
  path_model::append(stages.back().output_gradients(), found);
  if (found.size() != expected.all.size()) return 1e300;
  double difference = std::pow(stages.back().loss() - expected.loss, 2), norm = std::pow(expected.size, 2);
  for (std::size_t i = 0; i < found.size(); ++i)
    difference += std::pow(found[i] - expected.all[i], 2), norm += std::pow(expected.all[i], 2);
  return std::sqrt(difference / norm);
}

TEST(ForestMutations, AreRefusedOrExact) {
  const std::vector<sample> samples = samples_of(6);
  const int count = tests::cases(1500);
  int by_reader = 0, by_executor = 0, exact = 0, faults = 0;
  for (int k = 0; k < count && faults < 10; ++k) {
    const std::uint64_t seed = 700000 + static_cast<std::uint64_t>(k);
    testing::generator random(seed);
    const sample& of =
        samples[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(samples.size()) - 1))];
    json file = of.file;
    std::string changed = of.name;
    tests::plan_mutations mutations(random);
    for (std::int64_t left = random.once_in(4) ? 2 : 1; left > 0; --left) changed += ", " + mutations.change(file);
    result<plan> read = tests::read_with_its_hash(file);
    if (!read) {
      ++by_reader;
      EXPECT_FALSE(read.error().detail.empty());
      continue;
    }
    read.value().targets = of.made.targets;  // the trainer has their weights
    std::vector<stage> stages;
    for (int rank = 0; rank < of.made.shape.stages; ++rank)
      stages.emplace_back(rank, of.made.shape.stages, of.made.shape.chunks, of.made.shape.quantum);
    const ending found = run(read.value(), stages);
    const bool ran = found.ran == stages.size() && error_of(of, stages) < 1e-11;
    const bool refused = found.refused == stages.size();
    exact += ran, by_executor += refused;
    if (ran || refused) continue;
    ++faults;
    ADD_FAILURE() << "seed " << seed << ": " << changed << ", ran on " << found.ran << " of " << stages.size()
                  << found.said;
  }
  std::printf("forests: %d changed plans, seeds 700000 on: %d refused by the reader, %d by the executor, %d exact\n",
              count, by_reader, by_executor, exact);
  EXPECT_GT(std::min(by_reader, exact), count / 100) << "both must be seen for this to show anything";
}

}  // namespace
}  // namespace slimpack::forest_mutations_test
