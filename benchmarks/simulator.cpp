// How many task-graph nodes a second does the simulator build and sweep on one core, beside Boost.Graph on the same
// graph? And how many small changes of that order can it time?
//
// 512 sequences of 16384 tokens, forward packs of 2048 tokens and backward packs of 1024, 1F1B with a lead of 2,
// 8 stages; no randomness. The items of a row are graph nodes (instructions and messages), of the last swaps tried.
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/boost_graph.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/order/changing_order.hpp>
#include <slimpack/simulators/sweep.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using namespace slimpack;

struct uniform_step {
  workload work;
  std::vector<program> programs;

  uniform_step() {
    partition packs;
    constexpr std::int64_t length = 16384;
    for (std::uint32_t s = 0; s < 512; ++s) {
      for (std::int64_t at = 0; at < length; at += 2048) packs.forward.push({{s}, {at}, {2048}}), packs.forward.close();
      for (std::int64_t at = length; at > 0; at -= 1024)
        packs.backward.push({{s}, {at - 1024}, {1024}}), packs.backward.close();
    }
    const shape on{.stages = 8};
    const costs::quadratic cost{.per_pack = {6.4e-5}, .hop = {2.4e-5}};
    work = price(packs, cost, on, rates_of(cost, on).value());
    programs = schedules::one_f_one_b{}.programs(work).value();
  }
};

const uniform_step& step() {
  static const uniform_step one;
  return one;
}

void count(benchmark::State& state, const simulators::task_graph& graph) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(graph.size()));
  state.counters["nodes"] = static_cast<double>(graph.size());
}

void build_and_sweep(benchmark::State& state) {
  simulators::task_graph graph;
  std::vector<seconds> start;
  for (auto _ : state) {
    graph.assign(step().work, step().programs).value();
    benchmark::DoNotOptimize(graph.sweep(start));
  }
  count(state, graph);
}
BENCHMARK(build_and_sweep)->Unit(benchmark::kMillisecond);

template <class Simulator>
void starts(benchmark::State& state) {
  simulators::task_graph graph;
  graph.assign(step().work, step().programs).value();
  for (auto _ : state) benchmark::DoNotOptimize(Simulator{}.starts(graph).value());
  count(state, graph);
}
BENCHMARK(starts<simulators::sweep>)->Unit(benchmark::kMillisecond);
BENCHMARK(starts<simulators::boost_graph>)->Unit(benchmark::kMillisecond);

void try_swaps(benchmark::State& state) {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> needs;
  const std::vector<std::int64_t>& before = step().work.times.before.forward;
  for (std::size_t i = 1; i < before.size(); ++i) tokens.push_back(before[i] - before[i - 1]);
  for (const std::uint32_t turn : step().work.turn) needs.push_back(before[turn + 1]);
  simulators::changing_order order(step().work, step().programs, tokens, needs);
  for (auto _ : state) {
    for (std::size_t rank = 0; rank < order.size(); ++rank) order.swap(rank);
    order.begin();
  }
  benchmark::DoNotOptimize(order.makespan());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(order.size()));
  state.counters["instructions"] = static_cast<double>(order.size());
}
BENCHMARK(try_swaps)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
