// Run by mpirun: steps of the transformer over MPI give the loss and gradients of uncut sequences, for every planner
// and schedule, every p x dp that makes as many ranks as there are, and both kinds of backward cuts; also where
// replicas share sequences, where weight gradients run apart, and both; where the vocabulary is spread over the stages;
// where stages lend each other attention; where samples share beginnings; where layers mix tokens in several ways; and
// where the ranks are split into two groups. An evaluation by each plan, but for those with a spread vocabulary, has
// the bits of the step's loss.
#include <slimpack/basic_planner.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>
#include <slimpack/testing/detail/random_sharers.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/transports/mpi.hpp>
#include <slimpack/transports/threads.hpp>

#include "../executors/spread_plan.hpp"
#include "../laws/cases.hpp"
#include "../train/exact_forest.hpp"
#include "../train/exact_step.hpp"
#include "../train/lending_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace slimpack;

constexpr double most = 1e-11;

struct tally {
  double worst{};
  int steps{};
  int uneven{};
  int shared{};
  int apart{};
  int absent{};              // sharers without tokens of a row
  int spread{};              // steps with a vocabulary over the stages
  int forests{};             // of samples that share beginnings
  int copies{};              // of these, those that compute paths again
  int mixers{};              // of models whose layers mix tokens in several ways
  std::size_t lock_steps{};  // of plans whose stages lend each other attention
  std::size_t lending{};     // those that lend
};

/// Steps of plans by each of some planners, on every shape of at most so many replicas.
void run_all(const tests::exact_batch& batch, const std::vector<tests::named_planner>& planners, int replicas, int seed,
             transports::mpi& transport, tally& seen) {
  int k = 0;  // the same on all ranks of the transport
  for (const tests::named_planner& planner : planners) {
    for (int stages = 1; stages <= std::min(transport.size(), 4); ++stages) {
      if (transport.size() % stages != 0 || transport.size() / stages > replicas) continue;
      for (const int chunks : {1, 2}) {
        const shape on{
            .stages = stages, .replicas = transport.size() / stages, .chunks = chunks, .quantum = batch.quantum};
        if (on.parts() > batch.model.layers) continue;
        const result<plan> made = planner.make(on, batch.lengths);
        if (chunks > 1 && !made) continue;  // list is for one chunk
        for (const bool whole : {false, true}) {
          if (!tests::is_tried(k++, 3)) continue;
          const plan p = whole ? tests::sums_beside(made.value()) : made.value();
          const double error = (whole ? batch.error_of<tests::whole_pieces>(p, transport)
                                      : batch.error_of<train::model_stage<double>>(p, transport))
                                   .value();
          if (!(error < most))
            std::printf("rank %d: error %g, %s, p %d, v %d, seed %d\n", transport.rank(), error, planner.name, stages,
                        chunks, seed);
          seen.worst = std::max(seen.worst, error);
          seen.uneven += tests::asymmetric(p);
          seen.shared += !p.merges.empty();
          seen.apart += tests::splits(p);
          ++seen.steps;
        }
      }
    }
  }
}

/// Runs steps whose vocabulary is spread over the stages, half of them in unequal shares. Each rank has the same bits
/// as on threads.
void run_spread(const tests::exact_batch& batch, const std::vector<tests::named_planner>& planners, int replicas,
                int seed, transports::mpi& transport, tally& seen) {
  for (const tests::named_planner& planner : planners)
    for (int stages = 2; stages <= std::min(transport.size(), 4); ++stages)
      for (const int chunks : {1, 2}) {
        if (transport.size() % stages != 0 || transport.size() / stages > replicas) continue;
        const shape on{
            .stages = stages, .replicas = transport.size() / stages, .chunks = chunks, .quantum = batch.quantum};
        const result<plan> layers = planner.make(on, batch.lengths);
        if (chunks > 1 && !layers) continue;  // list is for one chunk
        testing::generator random(static_cast<std::uint64_t>(seed + stages + chunks));
        const plan p =
            tests::spread(layers.value(), seen.spread % 2 == 0 ? std::vector<std::int64_t>{}
                                                               : tests::random_words(random, batch.model.vocab, stages))
                .value();
        double error = batch.error_of<train::model_stage<double>>(p, transport).value();
        const std::vector<double> found =
            tests::outcome_of<train::model_stage<double>>(batch, tests::sums_beside(p), transport).value();
        transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
        if (found !=
            tests::outcomes_of<train::model_stage<double>>(batch, p, world)[static_cast<std::size_t>(transport.rank())])
          error = 1;
        if (!(error < most))
          std::printf("rank %d: error %g, %s with a spread vocabulary, p %d, v %d, seed %d\n", transport.rank(), error,
                      planner.name, stages, chunks, seed);
        seen.worst = std::max(seen.worst, error);
        seen.uneven += tests::asymmetric(p);
        seen.shared += !p.merges.empty();
        seen.apart += tests::splits(p);
        ++seen.spread;
        ++seen.steps;
      }
}

/// Random packs whose replicas share sequences, half of these with rows of which some sharers have nothing.
void run_random(const tests::exact_batch& batch, int seed, transports::mpi& transport, tally& seen) {
  for (int stages = 1; stages <= std::min(transport.size() / 2, 4); ++stages) {
    if (transport.size() % stages != 0) continue;
    const shape on{.stages = stages, .replicas = transport.size() / stages, .quantum = batch.quantum};
    testing::generator random(static_cast<std::uint64_t>(seed));
    const solution given = testing::random_sharers(batch.lengths, on, random);
    const plan p =
        basic_planner(on, slicers::equal_cost{}, costs::quadratic{}, testing::detail::solution_as_given{&given},
                      schedules::list{}, simulators::sweep{})(batch.lengths)
            .value();
    double error = batch.error_of<train::model_stage<double>>(p, transport).value();
    // The same bits as on threads, sums beside the work or after it.
    const std::vector<double> found =
        tests::outcome_of<train::model_stage<double>>(batch, tests::sums_beside(p), transport).value();
    transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
    const auto expected = tests::outcomes_of<train::model_stage<double>>(batch, p, world);
    if (found != expected[static_cast<std::size_t>(transport.rank())]) error = 1;
    if (!(error < most))
      std::printf("rank %d: error %g, random packs, p %d, seed %d\n", transport.rank(), error, stages, seed);
    seen.worst = std::max(seen.worst, error);
    seen.uneven += tests::asymmetric(p);
    seen.shared += !p.merges.empty();
    for (const merge& m : p.merges)
      for (const std::vector<pack_id>& row : m.forward)
        seen.absent += static_cast<int>(std::count(row.begin(), row.end(), merge::none));
    ++seen.steps;
  }
}

/// Stages lend each other attention. Of each rank the same bits as on threads.
void run_lending(int seed, transports::mpi& transport, tally& seen) {
  for (int stages = 2; stages <= std::min(transport.size(), 4); ++stages)
    for (const int chunks : {1, 2})
      for (const attention_lending lending : {attention_lending::pairs, attention_lending::level})
        for (const vocabulary where : {vocabulary::last, vocabulary::spread}) {
          if (transport.size() % stages != 0) continue;
          const shape on{.stages = stages,
                         .replicas = transport.size() / stages,
                         .chunks = chunks,
                         .quantum = {4},
                         .vocabulary = where};
          const tests::exact_batch batch = tests::batch_to_lend(static_cast<std::uint64_t>(seed), on, 1);
          const plan p = tests::lending_plan(batch.lengths, on, 2 * stages, lending);
          double error = batch.error_of<train::model_stage<double>>(p, transport).value();
          const std::vector<double> found = tests::outcome_of<train::model_stage<double>>(batch, p, transport).value();
          transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
          if (found != tests::outcomes_of<train::model_stage<double>>(
                           batch, p, world)[static_cast<std::size_t>(transport.rank())])
            error = 1;
          if (!(error < most))
            std::printf("rank %d: error %g, lending %s, p %d, v %d\n", transport.rank(), error, name_of(lending),
                        stages, chunks);
          seen.worst = std::max(seen.worst, error);
          const tests::lock_step_count steps = tests::lock_steps_of(p);
          seen.lock_steps += steps.all, seen.lending += steps.lending;
          ++seen.steps;
        }
}

/// Samples that share beginnings, on plans that compute paths again or do not. Of each rank the same bits as on
/// threads.
void run_forests(int seed, transports::mpi& transport, tally& seen) {
  const tests::exact_forest batch(static_cast<std::uint64_t>(seed), tests::deep_model);
  std::vector<tests::forest_planner> planners = tests::forest_planners();
  for (const tests::forest_planner& one : tests::cut_planners()) planners.push_back(one);
  int k = 0;  // the same on all ranks of the transport
  for (const tests::forest_planner& planner : planners)
    for (int stages = 1; stages <= std::min(transport.size(), 4); ++stages)
      for (const int chunks : {1, 2}) {
        if (transport.size() % stages != 0 || transport.size() / stages > 4 || !tests::is_tried(k++, 2)) continue;
        const shape on{
            .stages = stages, .replicas = transport.size() / stages, .chunks = chunks, .quantum = batch.quantum};
        const plan layers = planner.make(on, batch.samples.batch).value();
        const bool spreads = stages > 1 && k % 4 == 1 && planner.cuts == backward_cuts::any;
        const plan p = spreads ? tests::spread(layers).value() : tests::sums_beside(layers);
        double error = (planner.cuts == backward_cuts::any ? batch.error_of<train::model_stage<double>>(p, transport)
                                                           : batch.error_of<tests::whole_pieces>(p, transport))
                           .value();
        const std::vector<double> found = tests::outcome_of<train::model_stage<double>>(batch, p, transport).value();
        transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
        if (found !=
            tests::outcomes_of<train::model_stage<double>>(batch, p, world)[static_cast<std::size_t>(transport.rank())])
          error = 1;
        if (!(error < most))
          std::printf("rank %d: error %g, forest, %s, p %d, v %d, seed %d\n", transport.rank(), error, planner.name,
                      stages, chunks, seed);
        seen.worst = std::max(seen.worst, error);
        seen.apart += tests::splits(p);
        seen.spread += spreads;
        seen.forests += 1;
        seen.copies += !p.copies.empty();
        ++seen.steps;
      }
}

/// Layers of full attention, windows and linear ones: a few steps of batches and of samples that share beginnings. Of
/// each rank the same bits as on threads.
void run_mixers(int seed, transports::mpi& transport, tally& seen) {
  train::config model = tests::deep_model;
  using enum train::mixer_kind;
  model.mixers = {{}, {window, 5}, {linear}};
  const tests::exact_batch batch(static_cast<std::uint64_t>(seed), model);
  const tests::exact_forest samples(static_cast<std::uint64_t>(seed), model);
  const auto run = [&](const auto& of, const plan& p, const std::string& named) {
    double error = std::max(of.template error_of<train::model_stage<double>>(p, transport).value(),
                            of.template error_of<tests::whole_pieces>(p, transport).value());
    const std::vector<double> found = tests::outcome_of<train::model_stage<double>>(of, p, transport).value();
    transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
    if (found !=
        tests::outcomes_of<train::model_stage<double>>(of, p, world)[static_cast<std::size_t>(transport.rank())])
      error = 1;
    if (!(error < most))
      std::printf("rank %d: error %g, mixers, %s, seed %d\n", transport.rank(), error, named.c_str(), seed);
    seen.worst = std::max(seen.worst, error);
    seen.uneven += tests::asymmetric(p), seen.apart += tests::splits(p);
    ++seen.mixers, ++seen.steps;
  };
  for (int stages = 1; stages <= std::min(transport.size(), 4); ++stages)
    for (const int chunks : {1, 2}) {
      if (transport.size() % stages != 0 || transport.size() / stages > 3) continue;
      const shape on{
          .stages = stages, .replicas = transport.size() / stages, .chunks = chunks, .quantum = batch.quantum};
      const std::string where = ", p " + std::to_string(stages) + ", v " + std::to_string(chunks);
      for (const tests::named_planner& planner : tests::splitting_planners())
        if (const result<plan> made = planner.make(on, batch.lengths)) run(batch, made.value(), planner.name + where);
      shape trees = on;
      trees.quantum = samples.quantum;
      run(samples, tests::forest_planners()[0].make(trees, samples.samples.batch).value(), "a forest" + where);
    }
}

/// The ranks in two groups, as tensor parallelism divides them, each of which runs steps of its own.
void run_split(const tests::exact_batch& batch, int seed, tally& seen) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  {
    transports::mpi transport{half};
    run_all(batch, tests::every_planner(), 3, seed, transport, seen);
  }
  MPI_Comm_free(&half);
}

int run() {
  transports::mpi transport{MPI_COMM_WORLD};
  tally seen;
  run_split(tests::exact_batch(1), 1, seen);
  const int seeds = tests::cases(1);
  for (int seed = 1; seed <= seeds; ++seed) {
    const tests::exact_batch batch(static_cast<std::uint64_t>(seed));
    run_all(batch, tests::every_planner(), 3, seed, transport, seen);
    run_all(batch, tests::sharing_planners(), 4, seed, transport, seen);
    run_random(batch, seed, transport, seen);
    const tests::exact_batch deep(static_cast<std::uint64_t>(seed), tests::deep_model);
    run_all(deep, tests::splitting_planners(), 3, seed, transport, seen);
    run_all(deep, tests::splitting_and_sharing_planners(), 4, seed, transport, seen);
    run_spread(deep, {tests::every_planner()[1]}, 4, seed, transport, seen);
    run_spread(deep, tests::splitting_and_sharing_planners(), 4, seed, transport, seen);
    run_forests(seed, transport, seen);
    run_mixers(seed, transport, seen);
  }
  run_lending(1, transport, seen);
  double all = 0;
  MPI_Allreduce(&seen.worst, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (transport.rank() == 0)
    std::printf(
        "%d ranks, %d steps, %d of asymmetric plans, %d with weight gradients apart, %d with a spread vocabulary, %d "
        "of "
        "several mixers, sharers without tokens of a row %d times, %d shared, %d of forests, of which %d compute paths "
        "again, %zu of %zu lock "
        "steps lend, largest relative error %.2g, seeds 1 "
        "to %d\n",
        transport.size(), seen.steps, seen.uneven, seen.apart, seen.spread, seen.mixers, seen.absent, seen.shared,
        seen.forests, seen.copies, seen.lending, seen.lock_steps, all, seeds);
  const bool tried = seen.copies > 0 && seen.mixers > 0 && seen.uneven > seen.steps / 8 && seen.apart > 0 &&
                     (transport.size() == 1 || (seen.shared > 0 && seen.spread > 0)) &&
                     2 * seen.lending >= seen.lock_steps;
  return all > 0 && all < most && tried ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = run();
  MPI_Finalize();
  return status;
}
