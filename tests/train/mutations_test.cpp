#include "../laws/cases.hpp"
#include "lending_plan.hpp"
#include "plan_mutations.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::mutations_test {
namespace {

using tests::exact_batch;
using tests::json;

/// A model as small as its parts let it be.
train::config tiny_model(const shape& on) {
  return {.layers = on.parts(), .hidden = 4, .heads = 2, .kv_heads = 1, .ffn = 4, .vocab = 16};
}

/// A plan, its file, and what it gives.
struct sample {
  std::string name;
  std::unique_ptr<exact_batch> batch;
  plan made;
  json file;
};

sample sample_of(std::string name, std::unique_ptr<exact_batch> batch, plan made) {
  std::stringstream text;
  io::write_plan(text, made).value();
  return {std::move(name), std::move(batch), std::move(made), json::parse(text.str())};
}

/// What has become of a plan on one rank.
struct ending {
  bool ran{};
  double error{};  // of the loss and of gradients
  errc code{};
  std::string detail;

  /// Whether the rank, or the one that it heard of, found fault with the plan before it ran an instruction.
  [[nodiscard]] bool is_refusal() const {
    return code == errc::disagreement || detail.find(", reading the plan: ") != std::string::npos ||
           detail.find(", agreeing on the plan: ") != std::string::npos;
  }
};

template <class Stage>
ending ended_on(const sample& of, const plan& p, transports::threads::port& endpoint) {
  const executors::packflow run{.rows = executors::row_calls::joined, .checksums = true};
  const shape& on = of.made.shape;
  const bool is_same = p.shape.stages == on.stages && p.shape.replicas == on.replicas && p.shape.chunks == on.chunks &&
                       p.shape.vocabulary == on.vocabulary;
  const auto told = [](const error& e) { return ending{false, 0, e.code, e.detail}; };
  if (is_same && !is_forward_only(of.made)) {
    const result<double> error = of.batch->error_of<Stage>(p, endpoint, run);
    return error ? ending{true, error.value(), {}, {}} : told(error.error());
  }
  Stage stage(of.batch->model, on, endpoint.rank() % on.stages, of.batch->documents(), 7);
  const result<step_report> report = is_same ? run.evaluate(p, stage, endpoint) : run.execute(p, stage, endpoint);
  return report ? ending{true, std::abs(report.value().loss_sum / of.batch->loss - 1), {}, {}} : told(report.error());
}

/// Runs a plan on threads. A step that hangs ends with the time-out of a message.
std::vector<ending> endings_of(const sample& of, const plan& p, bool in_whole_pieces) {
  const int ranks = tests::ranks_of(of.made);
  transports::threads world{ranks, {.time_out = {10}}};
  std::vector<ending> all(static_cast<std::size_t>(ranks));
  tests::on_every_rank(ranks, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    ending& own = all[static_cast<std::size_t>(rank)];
    try {
      own = in_whole_pieces ? ended_on<tests::whole_pieces>(of, p, endpoint)
                            : ended_on<train::model_stage<double>>(of, p, endpoint);
    } catch (const std::exception& e) {
      own = {false, 0, errc::compute_failed, std::string("threw ") + e.what()};
    }
  });
  return all;
}

struct tally {
  int by_reader{}, by_executor{}, exact{};
};

/// Why endings of a plan are none that it may have; empty where they are.
std::string fault_of(const std::vector<ending>& all, tally& seen) {
  bool ran = true, refused = true;
  for (const ending& one : all)
    ran = ran && one.ran && one.error < 1e-11, refused = refused && !one.ran && one.is_refusal() && !one.detail.empty();
  seen.exact += ran, seen.by_executor += refused;
  if (ran || refused) return "";
  std::ostringstream why;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    why << "\n  rank " << rank
        << (all[rank].ran ? ": ran, error " + std::to_string(all[rank].error) : ": " + all[rank].detail);
  return why.str();
}

/// That each of many changed plans is refused, or exact.
void try_all(const char* kind, const std::vector<sample>& samples, std::uint64_t first_seed) {
  const int full = std::getenv("SLIMPACK_FULL") != nullptr ? 5 : 1;
  const char* const only = std::getenv("SLIMPACK_MUTATION");  // a seed, to look into
  const int count = only != nullptr ? 1 : full * 2000 / (tests::under_sanitizer ? 10 : 1);
  const auto began = std::chrono::steady_clock::now();
  tally seen;
  int faults = 0;
  for (int k = 0; k < count; ++k) {
    const std::uint64_t seed =
        only != nullptr ? std::strtoull(only, nullptr, 10) : first_seed + static_cast<std::uint64_t>(k);
    testing::generator random(seed);
    const sample& of =
        samples[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(samples.size()) - 1))];
    json file = of.file;
    std::string changed = of.name;
    tests::plan_mutations mutations(random);
    for (std::int64_t left = random.between(0, 3) == 0 ? random.between(2, 3) : 1; left > 0; --left)
      changed += ", " + mutations.change(file);
    const bool in_whole_pieces = random.between(0, 1) == 0;
    const result<plan> read = tests::read_with_its_hash(file);
    if (only != nullptr)
      std::printf("seed %llu: %s: %s\n%s\n", static_cast<unsigned long long>(seed), changed.c_str(),
                  read ? "read" : read.error().detail.c_str(), file.dump().c_str());
    if (!read) {
      ++seen.by_reader;
      EXPECT_FALSE(read.error().detail.empty());
      continue;
    }
    const std::string fault = fault_of(endings_of(of, read.value(), in_whole_pieces), seen);
    if (fault.empty()) continue;
    if (++faults <= 10)
      ADD_FAILURE() << "seed " << seed << ": " << changed << (in_whole_pieces ? ", whole pieces" : "") << fault;
  }
  EXPECT_EQ(faults, 0);
  std::printf(
      "%s: %d changed plans of %zu, seeds %llu on: %d refused by the reader, %d by the executor's check, %d exact; "
      "%.1f s\n",
      kind, count, samples.size(), static_cast<unsigned long long>(first_seed), seen.by_reader, seen.by_executor,
      seen.exact, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  if (only != nullptr) return;
  // A reader asks all that an executor asks of a plan; what is left to it is what its compute and its ranks need.
  EXPECT_GT(std::min(seen.by_reader, seen.exact), count / 100) << "both must be seen for this to show anything";
}

/// Plans of a batch for each shape by each planner, but for those that have not what they are to show.
template <class Shows>
std::vector<sample> planned(const std::vector<tests::named_planner>& planners, const std::vector<shape>& shapes,
                            const Shows& shows) {
  std::vector<sample> all;
  std::uint64_t seed = 1;
  for (const tests::named_planner& planner : planners)
    for (const shape& on : shapes) {
      auto batch = std::make_unique<exact_batch>(seed++, tiny_model(on), on.quantum,
                                                 std::vector<tokens>{{9}, {4}, {30}, {3}, {16}, {1}, {44}, {12}});
      plan made = planner.make(on, batch->lengths).value();
      if (shows(made)) all.push_back(sample_of(planner.name, std::move(batch), std::move(made)));
    }
  EXPECT_GE(3 * all.size(), planners.size() * shapes.size()) << "most plans show what they are to show";
  return all;
}

/// Plans of every way of lending, on two to four stages.
std::vector<sample> lending() {
  std::vector<sample> samples;
  for (const vocabulary v : {vocabulary::last, vocabulary::spread})
    for (const int stages : {2, 3, 4})
      for (const int chunks : {1, 2})
        for (const attention_lending how : {attention_lending::pairs, attention_lending::level}) {
          const shape on{.stages = stages, .chunks = chunks, .quantum = {4}, .vocabulary = v};
          auto batch =
              std::make_unique<exact_batch>(1, tiny_model(on), on.quantum, std::vector<tokens>{{48}, {30}, {12}});
          plan made = tests::lending_plan(batch->lengths, on, 2 * stages, how);
          EXPECT_FALSE(made.replicas[0].loans.empty());
          samples.push_back(sample_of(std::string(name_of(how)) + " of " + std::to_string(stages) + " stages",
                                      std::move(batch), std::move(made)));
        }
  return samples;
}

TEST(Mutations, OfPlansThatLendAttentionAreRefusedOrExact) { try_all("lending", lending(), 100000); }

/// Changes the loans or a program of a plan that no reader sees.
void change_in_memory(plan& p, testing::generator& random) {
  const auto index = [&](std::size_t size) {
    return static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(size) - 1));
  };
  replica_plan& r = p.replicas[index(p.replicas.size())];
  program& code = r.programs[index(r.programs.size())];
  const std::size_t a = index(code.size()), b = index(code.size());
  const bool of_loans = !r.loans.empty() && random.between(0, 1) == 0;
  loan* const one = of_loans ? &r.loans[index(r.loans.size())] : nullptr;
  switch (of_loans ? random.between(0, 6) : random.between(7, 10)) {
    case 0:
      one->context.begin.value += random.between(1, 4);
      break;
    case 1:
      one->context.length.value += random.between(-4, 4);
      break;
    case 2:
      one->helper.what.pack.value ^= 1;
      break;
    case 3:
      one->helper.stage = static_cast<std::uint32_t>(random.between(0, p.shape.stages - 1));
      break;
    case 4:
      std::swap(one->helper, r.loans[index(r.loans.size())].helper);
      break;
    case 5:
      r.loans.push_back(*one);
      break;
    case 6:
      r.loans.erase(r.loans.begin() + (one - r.loans.data()));
      break;
    case 7:
      std::swap(code[a], code[b]);
      break;
    case 8:
      std::swap(code[a], code[a + 1 < code.size() ? a + 1 : 0]);
      break;
    case 9:
      code.erase(code.begin() + static_cast<std::ptrdiff_t>(a));
      break;
    default:
      std::rotate(code.begin() + static_cast<std::ptrdiff_t>(std::min(a, b)),
                  code.begin() + static_cast<std::ptrdiff_t>(std::max(a, b)), code.end());
  }
  p.hash = hash_of(p);
}

// Plans that are broadcast, or made by hand, come to the executor without a file.
TEST(Mutations, OfLoansAndProgramsInMemoryAreRefusedOrExact) {
  const std::vector<sample> samples = lending();
  const int count = 500 / (tests::under_sanitizer ? 10 : 1);
  tally seen;
  for (int k = 0; k < count; ++k) {
    testing::generator random(600000 + static_cast<std::uint64_t>(k));
    const sample& of =
        samples[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(samples.size()) - 1))];
    plan changed = of.made;
    change_in_memory(changed, random);
    const std::string fault = fault_of(endings_of(of, changed, random.between(0, 1) == 0), seen);
    EXPECT_EQ(fault, "") << "seed " << 600000 + k << ": " << of.name;
  }
  std::printf("in memory: %d changed plans, seeds 600000 on: %d refused by the executor's check, %d exact\n", count,
              seen.by_executor, seen.exact);
  EXPECT_GT(seen.by_executor, count / 2);
}

TEST(Mutations, OfPlansWhoseReplicasShareSequencesAreRefusedOrExact) {
  const std::vector<shape> shapes{{.replicas = 2, .quantum = {4}},
                                  {.stages = 2, .replicas = 2, .quantum = {4}},
                                  {.stages = 2, .replicas = 4, .quantum = {4}}};
  try_all("shared", planned(tests::sharing_planners(), shapes, [](const plan& p) { return !p.merges.empty(); }),
          200000);
}

TEST(Mutations, OfPlansThatSpreadTheVocabularyAreRefusedOrExact) {
  const std::vector<shape> shapes{{.stages = 2, .quantum = {4}},
                                  {.stages = 3, .replicas = 2, .quantum = {4}},
                                  {.stages = 4, .quantum = {4}},
                                  {.stages = 2, .chunks = 2, .quantum = {4}}};
  try_all("spread", planned(tests::spreading_planners(), shapes, [](const plan&) { return true; }), 300000);
}

TEST(Mutations, OfPlansWithWeightGradientsApartAndChunksAreRefusedOrExact) {
  const std::vector<shape> shapes{{.stages = 2, .quantum = {4}},
                                  {.stages = 2, .replicas = 2, .chunks = 2, .quantum = {4}},
                                  {.stages = 4, .quantum = {4}}};
  std::vector<sample> samples =
      planned(tests::splitting_planners(), shapes, [](const plan& p) { return tests::splits(p); });
  for (sample& one : planned(tests::splitting_and_sharing_planners(), {{.stages = 2, .replicas = 2, .quantum = {4}}},
                             [](const plan& p) { return tests::splits(p); }))
    samples.push_back(std::move(one));
  try_all("split", samples, 400000);
}

TEST(Mutations, OfPlansThatRunForwardAloneAreRefusedOrExact) {
  std::vector<sample> samples;
  for (const shape& on :
       {shape{.stages = 2, .quantum = {4}}, shape{.stages = 2, .replicas = 2, .chunks = 2, .quantum = {4}},
        shape{.replicas = 3, .quantum = {4}}}) {
    auto batch = std::make_unique<exact_batch>(5, tiny_model(on), on.quantum,
                                               std::vector<tokens>{{9}, {4}, {30}, {3}, {16}, {1}, {44}, {12}});
    const costs::quadratic cost{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
    const basic_planner plan_batch{
        on, slicers::equal_cost{}, cost, solvers::two_phase{}, schedules::list{}, simulators::sweep{}};
    plan made = plan_batch.plan_forward(batch->lengths).value();
    samples.push_back(sample_of("forward alone", std::move(batch), std::move(made)));
  }
  try_all("forward-only", samples, 500000);
}

}  // namespace
}  // namespace slimpack::mutations_test
