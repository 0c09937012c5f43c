#include "../../examples/train/model/adamw.hpp"
#include "../../examples/train/model/model_stage.hpp"
#include "../../examples/train/path_texts.hpp"
#include "../executors/spread_plan.hpp"
#include "../laws/cases.hpp"
#include "oracle_samples.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/concepts.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/naive/memory.hpp>
#include <slimpack/transports/threads.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace train {
namespace model_test {
namespace {

using namespace slimpack;

static_assert(stage_compute<model_stage<float>>);
static_assert(stage_compute<model_stage<double>>);

using slimpack::testing::generator;
using texts = std::vector<std::vector<std::uint8_t>>;

documents source_of(const texts& all) {
  return [&all](sequence_id s) { return std::span<const std::uint8_t>(all[s.value]); };
}

std::vector<tokens> lengths_of(const texts& all) {
  std::vector<tokens> lengths;
  for (const auto& text : all) lengths.push_back({static_cast<std::int64_t>(text.size())});
  return lengths;
}

texts random_texts(generator& random, const std::vector<tokens>& lengths, int vocab) {
  texts all;
  for (const tokens length : lengths) {
    all.emplace_back();
    for (std::int64_t i = 0; i < length.value; ++i)
      all.back().push_back(static_cast<std::uint8_t>(random.between(0, vocab - 1)));
  }
  return all;
}

/// Loss and gradients of a batch, by name of the tensor.
struct outcome {
  double loss{};
  std::map<std::string, std::vector<double>> gradients{};

  /// Tensors of which a stage has some rows come together from all.
  template <class T>
  void take(parameters<T>& weights) {
    for (std::size_t t = 0; t < weights.tensors().size(); ++t) {
      const auto first = static_cast<std::size_t>(weights.tensors()[t].first * weights.tensors()[t].columns);
      std::vector<double>& whole = gradients[weights.tensors()[t].name];
      whole.resize(std::max(whole.size(), first + weights.gradients(t).size()));
      std::ranges::copy(weights.gradients(t), whole.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
};

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

/// The largest relative error of the loss and of any tensor's gradient, norm-wise.
double distance(const outcome& a, const outcome& b) {
  EXPECT_EQ(a.gradients.size(), b.gradients.size());
  double largest = std::abs(a.loss - b.loss) / b.loss;
  for (const auto& [name, gradient] : b.gradients)
    largest = std::max(largest, distance(a.gradients.at(name), gradient));
  return largest;
}

/// What fills a stage's weights before a step; nothing keeps the first values.
template <class T>
using fill = std::function<void(parameters<T>&)>;

/// Every sequence whole, one after the other, in one process and without the runtime: what slicing is held to.
template <class T>
outcome unsliced(model_stage<T>& model, const texts& all) {
  double valid = 0;
  for (const auto& text : all) valid += static_cast<double>(text.size()) - 1;
  model.begin_step({});
  model.weights().zero_gradients();
  for (std::uint32_t s = 0; s < all.size(); ++s) {
    const tokens length{static_cast<std::int64_t>(all[s].size())};
    const std::vector<piece> whole{{{{s}, {0}, length}, length, 0, static_cast<double>(length.value - 1) / valid}};
    outgoing nowhere;
    EXPECT_TRUE(model.forward(whole, {}, nowhere));
    EXPECT_TRUE(model.backward(whole, {}, nowhere));
  }
  outcome found{model.loss()};
  found.take(model.weights());
  return found;
}

/// Prices bytes as the model keeps them.
struct priced : costs::quadratic {
  std::vector<memory_rates> rates;
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const { return rates[static_cast<std::size_t>(stage)]; }
};

template <class T>
priced price_of(const config& c, const shape& on) {
  priced cost{{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}}, {}};
  for (int stage = 0; stage < on.stages; ++stage) cost.rates.push_back(model_stage<T>::rates(c, on, stage));
  return cost;
}

template <class Slicer, class Solver, class Schedule>
plan planned(const priced& cost, const shape& on, const texts& all, Slicer slicer, Solver solver, Schedule schedule) {
  return basic_planner(on, slicer, cost, solver, schedule, simulators::sweep{})(lengths_of(all)).value();
}

/// A plan with its vocabulary spread over the stages, with the bytes that these then keep.
plan spread(const plan& layers, const config& c, std::vector<std::int64_t> words = {}) {
  shape on = layers.shape;
  on.words = std::move(words);
  on.vocabulary = vocabulary::spread;
  solution given{{}, layers.merges};
  for (const replica_plan& r : layers.replicas) given.replicas.push_back({r.sequences, r.partition, r.programs});
  const costs::with_vocabulary<priced> cost{price_of<double>(c, on),
                                            {.output = {.token = 1e-6}, .output_weights = {.token = 1e-6}}};
  return basic_planner(on, slicers::equal_cost{}, cost, slimpack::testing::detail::solution_as_given{&given},
                       tests::splitting_schedule{}, simulators::sweep{})(layers.lengths)
      .value();
}

/// Some shipped planner that runs the shape's chunks.
plan planned_somehow(generator& random, const priced& cost, const shape& on, const texts& all) {
  const schedules::one_f_one_b classic;
  if (random.once_in(3))
    return planned(cost, on, all, slicers::equal_cost{}, solvers::two_phase{.most_sharers = 1},
                   schedules::zero_bubble{.order = schedules::zero_bubble_order::h1});
  if (on.chunks > 1)
    return planned(cost, on, all, slicers::equal_cost{}, solvers::two_phase{.most_sharers = 1}, classic);
  switch (random.between(1, 6)) {
    case 1:
      return planned(cost, on, all, slicers::uniform{on.quantum * 2}, solvers::chunked{}, classic);
    case 2:
      return planned(cost, on, all, slicers::whole{}, solvers::megatron{}, classic);
    default:
      return planned(cost, on, all, slicers::equal_cost{}, solvers::two_phase{.most_sharers = 1}, schedules::list{});
  }
}

/// A step of a plan, each rank on a thread. Holds every stage's measured peak to the planned one.
template <class T>
outcome run(const plan& p, const config& c, const texts& all, const fill<T>& start = {}) {
  const int ranks = p.shape.stages * p.shape.replicas;
  std::vector<std::unique_ptr<model_stage<T>>> stages;
  for (int rank = 0; rank < ranks; ++rank) {
    stages.push_back(std::make_unique<model_stage<T>>(c, p.shape, rank % p.shape.stages, source_of(all), 1));
    if (start) start(stages.back()->weights());
  }
  transports::threads world(ranks, {.time_out = {60}});
  outcome found;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        auto port = world.endpoint(rank);
        const auto step = executors::packflow{}.execute(p, *stages[static_cast<std::size_t>(rank)], port);
        EXPECT_TRUE(step) << step.error().detail;
        if (step && rank == 0) found.loss = step.value().loss_sum;
      });
  }
  for (int rank = 0; rank < ranks; ++rank) {
    model_stage<T>& stage = *stages[static_cast<std::size_t>(rank)];
    const replica_plan& own = p.replicas[static_cast<std::size_t>(rank / p.shape.stages)];
    if (rank < p.shape.stages) found.take(stage.weights());
    EXPECT_EQ(stage.held(), bytes{0});
    if (own.sequences.empty()) continue;  // it ran a piece of weight 0 that no plan has
    EXPECT_EQ(stage.peak(), bytes{own.peak_memory[static_cast<std::size_t>(rank % p.shape.stages)]});
  }
  return found;
}

/// What PyTorch found; see model_oracle.py.
struct oracle {
  oracle() {
    std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "oracle.json");
    file >> read;
    const auto& c = read.at("config");
    model = {c.at("layers"), c.at("hidden"), c.at("heads"),      c.at("kv_heads"),
             c.at("ffn"),    c.at("vocab"),  c.at("rope_theta"), c.at("eps")};
    all = read.at("sequences").get<texts>();
    found.loss = read.at("loss");
    for (const auto& t : read.at("tensors")) {
      values[t.at("name")] = t.at("value").get<std::vector<double>>();
      found.gradients[t.at("name")] = t.at("gradient").get<std::vector<double>>();
    }
  }

  [[nodiscard]] fill<double> start() const {
    return [this](parameters<double>& weights) {
      for (std::size_t t = 0; t < weights.tensors().size(); ++t) {
        const tensor& own = weights.tensors()[t];
        const std::vector<double>& from = values.at(own.name);
        ASSERT_LE(static_cast<std::size_t>(own.first * own.columns + own.size()), from.size());
        std::copy_n(from.begin() + own.first * own.columns, own.size(), weights.values(t).begin());
      }
    };
  }

  nlohmann::json read;
  config model;
  texts all;
  outcome found;
  std::map<std::string, std::vector<double>> values;
};

TEST(Model, LossAndEveryGradientAreThoseOfPyTorch) {
  const oracle torch;
  model_stage<double> model(torch.model, {}, 0, source_of(torch.all), 1);
  torch.start()(model.weights());
  const double error = distance(unsliced(model, torch.all), torch.found);
  EXPECT_LT(error, 1e-9);
  RecordProperty("error", std::to_string(error * 1e15) + "e-15");
}

TEST(Model, SlicedOverStagesLossAndEveryGradientAreThoseOfPyTorch) {
  const oracle torch;
  const shape on{.stages = 2, .quantum = {8}};
  const plan p = planned(price_of<double>(torch.model, on), on, torch.all, slicers::equal_cost{},
                         solvers::two_phase{.most_sharers = 1}, schedules::list{});
  ASSERT_GT(p.replicas[0].partition.forward.size(), 2);
  const double error = distance(run<double>(p, torch.model, torch.all, torch.start()), torch.found);
  EXPECT_LT(error, 1e-9);
  RecordProperty("error", std::to_string(error * 1e15) + "e-15");
}

TEST(Model, WithASequenceThatReplicasShareLossAndEveryGradientAreThoseOfPyTorch) {
  const oracle torch;
  double worst = 0;
  int shared = 0;
  for (const exchange how : {exchange::keep, exchange::queries, exchange::ring}) {
    for (const shape& on : {shape{.replicas = 2, .quantum = {8}}, shape{.replicas = 3, .quantum = {8}},
                            shape{.stages = 2, .replicas = 2, .quantum = {8}}}) {
      const plan p = planned(price_of<double>(torch.model, on), on, torch.all, slicers::equal_cost{},
                             solvers::two_phase{.exchanges = exchange_set::only(how)}, schedules::list{});
      shared += !p.merges.empty();
      worst = std::max(worst, distance(run<double>(p, torch.model, torch.all, torch.start()), torch.found));
    }
  }
  EXPECT_EQ(shared, 9);
  EXPECT_LT(worst, 1e-9);
  std::cout << shared << " shared plans, worst error " << worst << '\n';
}

TEST(Model, WithASpreadVocabularyLossAndEveryGradientAreThoseOfPyTorch) {
  const oracle torch;
  double worst = 0;
  int plans = 0;
  for (const shape& on : {shape{.stages = 2, .quantum = {8}}, shape{.stages = 2, .replicas = 2, .quantum = {8}}})
    for (const std::uint32_t sharers : {1u, 2u})
      for (const std::int64_t first : {0, 1, torch.model.vocab - 3}) {  // 0: even shares
        const std::vector<std::int64_t> words{first, torch.model.vocab - first};
        const plan p = spread(planned(price_of<double>(torch.model, on), on, torch.all, slicers::equal_cost{},
                                      solvers::two_phase{.most_sharers = sharers}, schedules::list{}),
                              torch.model, first == 0 ? std::vector<std::int64_t>{} : words);
        worst = std::max(worst, distance(run<double>(p, torch.model, torch.all, torch.start()), torch.found));
        ++plans;
      }
  EXPECT_LT(worst, 1e-9);
  std::cout << plans << " plans with a spread vocabulary, worst error " << worst << '\n';
}

TEST(Model, WithSamplesThatShareBeginningsLossAndEveryGradientAreThoseOfPyTorch) {
  const oracle torch;
  const auto& samples = torch.read.at("samples");
  outcome expected{samples.at("loss")};
  for (const auto& [name, gradient] : samples.at("gradients").items())
    expected.gradients[name] = gradient.get<std::vector<double>>();
  const auto [batch, paths] = slimpack::tests::oracle_samples::of(torch.read);
  double worst = 0;
  int forks = 0, copies = 0;
  for (const int stages : {1, 2})
    for (const int replicas : {1, 2, 3}) {
      const shape on{.stages = stages, .replicas = replicas, .quantum = {4}};
      const plan p = basic_planner(on, slicers::equal_cost{}, price_of<double>(torch.model, on), solvers::two_phase{},
                                   schedules::list{}, simulators::sweep{})(batch.all)
                         .value();
      texts of_plan;
      for (const std::span<const std::uint8_t> text : path_texts(p, {paths.begin(), paths.end()}))
        of_plan.emplace_back(text.begin(), text.end());
      worst = std::max(worst, distance(run<double>(p, torch.model, of_plan, torch.start()), expected));
      forks += !p.parents.empty(), copies += !p.copies.empty();
    }
  EXPECT_EQ(forks, 6);
  EXPECT_GT(copies, 1);
  EXPECT_LT(worst, 1e-9);
  std::cout << forks << " plans, " << copies << " with copied paths, worst error " << worst << '\n';
}

TEST(AdamW, ThreeStepsEndWherePyTorchEnds) {
  const oracle torch;
  const auto& steps = torch.read.at("adamw");
  model_stage<double> model(torch.model, {}, 0, source_of(torch.all), 1);
  torch.start()(model.weights());
  adamw<double> optimizer(model.weights(),
                          {steps.at("rate"), steps.at("beta1"), steps.at("beta2"), steps.at("eps"), steps.at("decay")});
  unsliced(model, torch.all);
  for (const double loss : steps.at("losses")) {
    optimizer.step();
    EXPECT_NEAR(unsliced(model, torch.all).loss, loss, 1e-9 * loss);
  }
}

constexpr config tiny{.layers = 2, .hidden = 8, .heads = 2, .kv_heads = 1, .ffn = 12, .vocab = 11};

// Central differences: their error is of the order of step^2 = 1e-10 relative, and rounding 1e-16 / 1e-5. Every 7th
// weight is tried, which meets every tensor, since none has fewer than 8.
TEST(Model, GradientsAreFiniteDifferencesOfTheLoss) {
  constexpr std::uint64_t seed = 3;
  generator random(seed);
  const texts all = random_texts(random, {{1}, {5}, {11}}, tiny.vocab);
  model_stage<double> model(tiny, {.quantum = {4}}, 0, source_of(all), seed);
  for (double& w : model.weights().values()) w += 0.3 * (random.ratio() - 0.5);  // gains too
  unsliced(model, all);
  const std::vector<double> gradients(model.weights().gradients().begin(), model.weights().gradients().end());
  constexpr double step = 1e-5;
  std::vector<double> computed;
  std::vector<double> differences;
  for (std::size_t i = 0; i < gradients.size(); i += 7) {
    double& w = model.weights().values()[i];
    const double before = w;
    w = before + step;
    const double above = unsliced(model, all).loss;
    w = before - step;
    differences.push_back((above - unsliced(model, all).loss) / (2 * step));
    w = before;
    computed.push_back(gradients[i]);
  }
  EXPECT_LT(distance(computed, differences), 1e-7);
}

/// One batch with lengths around the quantum and one sequence longer than all others together.
texts awkward(generator& random, std::int64_t quantum, int vocab) {
  std::vector<tokens> lengths{{1}, {std::max<std::int64_t>(quantum - 1, 1)}, {quantum}, {quantum + 1}};
  for (std::int64_t n = random.between(0, 4); n > 0; --n) lengths.push_back(random.length({4 * quantum}));
  tokens sum{};
  for (const tokens length : lengths) sum += length;
  lengths.push_back(sum + tokens{random.between(1, quantum)});
  random.shuffle(lengths);
  return random_texts(random, lengths, vocab);
}

bool differ(const partition& packs) {
  const auto slices = [](const micropacks& m) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> begins;
    for (const slice& s : m.slices()) begins.emplace_back(s.sequence.value, s.begin.value);
    std::ranges::sort(begins);
    return begins;
  };
  return slices(packs.forward) != slices(packs.backward);
}

/// The largest distance between sliced and unsliced over random batches, shapes and planners; every peak as planned.
template <class T>
double largest_distance(std::uint64_t seed, int cases, int& asymmetric) {
  generator random(seed);
  double largest = 0;
  for (int i = cases; i > 0; --i) {
    config c = tiny;
    shape on{.stages = static_cast<int>(random.between(1, 4)),
             .replicas = static_cast<int>(random.between(1, 3)),
             .chunks = static_cast<int>(random.between(1, 2)),
             .quantum = {random.between(1, 40)}};
    c.layers = on.parts() * static_cast<int>(random.between(1, 2));
    if (i % 2 == 0) c.recompute = slimpack::costs::recompute::none;
    const texts all = awkward(random, on.quantum.value, c.vocab);
    const plan p = planned_somehow(random, price_of<T>(c, on), on, all);
    for (const replica_plan& r : p.replicas) asymmetric += differ(r.partition);
    model_stage<T> reference(c, {}, 0, source_of(all), 1);
    const double error = distance(run<T>(p, c, all), unsliced(reference, all));
    largest = std::max(largest, error);
    EXPECT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", " << i << " cases before the last";
  }
  return largest;
}

TEST(Model, SlicedEqualsUnslicedAndPeaksAreThePlannedOnes) {
  int asymmetric = 0;
  const double error = largest_distance<double>(7, tests::cases(30), asymmetric);
  EXPECT_LT(error, 1e-11);
  EXPECT_GT(asymmetric, 5);
  RecordProperty("error", std::to_string(error * 1e15) + "e-15");
  RecordProperty("asymmetric", asymmetric);
}

TEST(Model, SlicedEqualsUnslicedInSinglePrecision) {
  int asymmetric = 0;
  const double error = largest_distance<float>(8, tests::cases(10), asymmetric);
  EXPECT_LT(error, 1e-4);
  RecordProperty("error", std::to_string(error * 1e7) + "e-7");
}

// In random plans, with weight gradients apart or not, what is computed again has the bits of what is kept, and either
// way a stage holds what its plan says.
TEST(Model, ComputedAgainHasTheBitsOfWhatIsKept) {
  generator random(9);
  int less = 0;
  for (int i = tests::cases(20); i > 0; --i) {
    config light = tiny;
    shape on{.stages = static_cast<int>(random.between(1, 4)),
             .replicas = static_cast<int>(random.between(1, 2)),
             .chunks = static_cast<int>(random.between(1, 2)),
             .quantum = {random.between(1, 40)}};
    light.layers = on.parts();
    config keeps = light;
    keeps.recompute = slimpack::costs::recompute::none;
    const texts all = awkward(random, on.quantum.value, light.vocab);
    const plan planned_light = planned_somehow(random, price_of<double>(light, on), on, all);
    plan planned_keeps = planned_light;  // the same packs, and the bytes of the other model
    for (replica_plan& r : planned_keeps.replicas)
      for (std::size_t stage = 0; stage < r.rates.size(); ++stage)
        r.rates[stage] = model_stage<double>::rates(keeps, on, static_cast<int>(stage));
    for (std::size_t r = 0; r < planned_keeps.replicas.size(); ++r) {
      replica_plan& own = planned_keeps.replicas[r];
      for (std::size_t stage = 0; stage < own.peak_memory.size(); ++stage) {
        own.peak_memory[stage] =
            slimpack::testing::naive::peak_memory(own.partition, own.programs[stage], own.rates[stage], on,
                                                  static_cast<int>(stage), {}, own.times.apart.flags);
        less += planned_light.replicas[r].peak_memory[stage] < own.peak_memory[stage];
      }
    }
    const outcome again = run<double>(planned_light, light, all), kept = run<double>(planned_keeps, keeps, all);
    EXPECT_EQ(again.loss, kept.loss) << "seed 9, " << i << " cases before the last";
    EXPECT_EQ(again.gradients, kept.gradients) << "seed 9, " << i << " cases before the last";
  }
  EXPECT_GT(less, 0);
}

// h bytes each of both norm outputs, and f of the product, are what light does not keep.
TEST(Model, KeepsNormOutputsAndTheProductWhereNothingIsComputedAgain) {
  config keeps = tiny;
  keeps.recompute = slimpack::costs::recompute::none;
  const shape on{.quantum = {4}};
  const memory_rates light = model_stage<float>::rates(tiny, on, 0), none = model_stage<float>::rates(keeps, on, 0);
  EXPECT_EQ(none.live_token - light.live_token, 4.0 * tiny.layers * (2 * tiny.hidden + tiny.ffn));
  EXPECT_EQ(light.weight_token - none.weight_token, 4.0 * tiny.layers * tiny.ffn) << "the product, once";
  keeps.recompute = slimpack::costs::recompute::selective;
  EXPECT_EQ(keeps.check().error().detail, "the model has no recomputation selective, only none and light");
}

// A sequence in two pieces, the second in two packs with another: backward leaves every weight gradient alone, whatever
// of, and the calls for weights give what the whole backward does.
TEST(Model, BackwardLeavesAllWeightGradientsToTheCallForThem) {
  generator random(6);
  const texts all = random_texts(random, {{11}, {3}}, tiny.vocab);
  model_stage<double> reference(tiny, {}, 0, source_of(all), 1);
  const outcome expected = unsliced(reference, all);
  model_stage<double> model(tiny, {.quantum = {4}}, 0, source_of(all), 1);
  model.begin_step({});
  const auto part = [](std::uint32_t sequence, std::int64_t begin, std::int64_t end, std::int64_t length, bool apart) {
    const std::int64_t valid = end - begin - (end == length);
    return piece{{{sequence}, {begin}, {end - begin}}, {length}, 0, static_cast<double>(valid) / 12, apart};
  };
  const auto packs = [&](bool apart) {
    return std::vector<std::vector<piece>>{{part(0, 0, 8, 11, apart)},
                                           {part(0, 8, 11, 11, apart), part(1, 0, 3, 3, apart)}};
  };
  outgoing nowhere;
  for (const auto& pack : packs(false)) ASSERT_TRUE(model.forward(pack, {}, nowhere));
  const std::vector<std::vector<piece>> apart = packs(true);
  for (const std::size_t k : {1u, 0u}) ASSERT_TRUE(model.backward(apart[k], {}, nowhere));
  EXPECT_TRUE(std::ranges::all_of(model.weights().gradients(), [](double g) { return g == 0; }));
  EXPECT_GT(model.held(), bytes{0});
  for (const std::size_t k : {1u, 0u}) ASSERT_TRUE(model.weights(apart[k]));
  EXPECT_EQ(model.held(), bytes{0});
  outcome found{model.loss()};
  found.take(model.weights());
  EXPECT_LT(distance(found, expected), 1e-13);
  EXPECT_EQ(model.weights(apart[0]).error().code, errc::out_of_order);
}

// Two replicas and one sequence: the second replica runs a piece of weight 0, here the sequence's first 4 tokens.
TEST(Model, AReplicaWithoutSequencesAddsNothing) {
  generator random(4);
  const texts all = random_texts(random, {{9}}, tiny.vocab);
  const shape on{.stages = 2, .replicas = 2, .quantum = {4}};
  const plan p = planned(price_of<double>(tiny, on), on, all, slicers::equal_cost{},
                         solvers::two_phase{.most_sharers = 1}, schedules::list{});
  ASSERT_TRUE(p.replicas[0].sequences.empty() || p.replicas[1].sequences.empty());
  model_stage<double> reference(tiny, {}, 0, source_of(all), 1);
  EXPECT_LT(distance(run<double>(p, tiny, all), unsliced(reference, all)), 1e-11);
}

TEST(Model, BeginsAlikeHoweverItIsCut) {
  const texts none;
  config c = tiny;
  c.layers = 5;
  model_stage<float> whole(c, {}, 0, source_of(none), 9);
  std::map<std::string, std::vector<float>> values;
  for (std::size_t t = 0; t < whole.weights().tensors().size(); ++t)
    std::ranges::copy(whole.weights().values(t), std::back_inserter(values[whole.weights().tensors()[t].name]));
  std::size_t seen = 0;
  for (int stage = 0; stage < 2; ++stage) {
    model_stage<float> part(c, {.stages = 2, .chunks = 2}, stage, source_of(none), 9);
    for (std::size_t t = 0; t < part.weights().tensors().size(); ++t, ++seen)
      EXPECT_TRUE(std::ranges::equal(part.weights().values(t), values.at(part.weights().tensors()[t].name)));
  }
  EXPECT_EQ(seen, values.size());
  for (int stage = 0; stage < 3; ++stage) {
    model_stage<float> part(c, {.stages = 3, .vocabulary = vocabulary::spread}, stage, source_of(none), 9);
    for (std::size_t t = 0; t < part.weights().tensors().size(); ++t) {
      const tensor& own = part.weights().tensors()[t];
      EXPECT_TRUE(std::ranges::equal(
          part.weights().values(t),
          std::span(values.at(own.name))
              .subspan(static_cast<std::size_t>(own.first * own.columns), static_cast<std::size_t>(own.size()))));
    }
  }
  EXPECT_NE(values.at("layers.0.query"), values.at("layers.1.query"));
}

TEST(Model, RefusesADocumentThatIsNotThePlans) {
  const texts all{{1, 2, 3}, {1, 2, 99}};
  model_stage<float> model(tiny, {.quantum = {4}}, 0, source_of(all), 1);
  outgoing nowhere;
  const auto said = [&](const piece& p) {
    const result<void> done = model.forward(std::vector{p}, {}, nowhere);
    return done ? "accepted" : done.error().detail;
  };
  EXPECT_EQ(said({{{0}, {0}, {2}}, {2}, 0, 0.5}), "document of sequence 0 has 3 bytes, the plan has 2");
  EXPECT_EQ(said({{{1}, {0}, {3}}, {3}, 0, 0.5}), "document of sequence 1 has byte 99, the vocabulary 11");
}

TEST(Model, HoldsNothingAfterADiscardOrAnAbort) {
  const texts all{{1, 2, 3}};
  model_stage<float> model(tiny, {.quantum = {4}}, 0, source_of(all), 1);
  outgoing nowhere;
  const std::vector<piece> whole{{{{0}, {0}, {3}}, {3}, 0, 1.0}};
  ASSERT_TRUE(model.forward(whole, {}, nowhere));
  EXPECT_GT(model.held(), bytes{0});
  model.discard(whole[0]);
  EXPECT_EQ(model.held(), bytes{0});
  ASSERT_TRUE(model.forward(whole, {}, nowhere));
  ASSERT_TRUE(model.backward(whole, {}, nowhere));
  ASSERT_TRUE(model.forward(whole, {}, nowhere));
  model.abort_step();
  EXPECT_EQ(model.held(), bytes{0});
  EXPECT_TRUE(std::ranges::all_of(model.weights().gradients(), [](float g) { return g == 0; }));
}

}  // namespace
}  // namespace model_test
}  // namespace train
