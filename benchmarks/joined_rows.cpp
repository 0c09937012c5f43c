// What do joined calls gain? Two ranks on threads, replicas that share a sequence and have one of their own each, in
// one pack: once row after row, where each waits for keys and values as soon as it has posted its own; once in one
// call, in which attention to its own sequence runs meanwhile. What they exchange goes over a wire paced to a stated
// bandwidth (paced.hpp), chosen so that the longest message of a layer takes a quarter to four times the local
// attention of a layer forward. Beside it the closed form, by which local attention covers min(exchange, attention) in
// each layer and pass, and the simulator, whose cost model has the measured times. Medians of 9 steps, in turn, in one
// run; the documents are random bytes of seed 1. Freed memory stays with the process: given back and asked for again,
// it costs a larger pack more than a smaller one.
#include "../examples/train/model/model_stage.hpp"

#include "median_time.hpp"
#include "paced.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/detail/median.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/executors/row_traffic.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/context_parallel.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/transports/hooks.hpp>

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace slimpack;
using executors::row_calls;

constexpr int repetitions = 9;
constexpr train::config model{.layers = 2, .hidden = 128, .heads = 4, .kv_heads = 4, .ffn = 256};
constexpr tokens shared{1152}, own{512};
const shape on{.replicas = 2, .quantum = {64}};

/// Keys and values are kept, so that all that a layer exchanges is posted at once.
plan planned(const costs::quadratic& cost) {
  auto recipe = baselines::zeppelin(on, {shared.value / 2 + own.value});  // one micro-step: the long sequence is above
                                                                          // the cap alone
  recipe.solver.exchange = exchange::keep;
  const std::vector<tokens> lengths{shared, own, own};
  return basic_planner{on, recipe.slicer, cost, recipe.solver, recipe.schedule, simulators::sweep{}}(lengths).value();
}

/// Seconds of attention to a whole sequence in one layer, forward and backward, while another thread does the same.
std::array<double, 2> attention_times() {
  std::array<std::array<double, 2>, 2> times{};
  std::vector<std::jthread> both;
  for (std::array<double, 2>& of_thread : times)
    both.emplace_back([&of_thread] {
      train::attention<float> attend(model);
      const train::Index n = own.value, w = model.hidden;
      train::matrix<float> q = train::matrix<float>::Random(n, w), k = q, v = q, o(n, w), lse(n, model.heads), dk = q,
                           dv = q, dq(n, w);
      const train::key_value_block<float> all{0, n, k.data(), v.data(), dk.data(), dv.data()};
      of_thread[0] = median_time(repetitions, [&] { attend.forward(q, 0, {&all, 1}, o, lse); });
      const train::matrix<float> products = attend.products(o, q);
      of_thread[1] = median_time(repetitions, [&] { attend.backward(q, 0, {&all, 1}, lse, products, q, dq); });
    });
  both.clear();
  return {(times[0][0] + times[1][0]) / 2, (times[0][1] + times[1][1]) / 2};
}

class bench {
 public:
  explicit bench(const plan& p) : plan_(p) {
    testing::generator random(1);
    for (const tokens length : p.lengths) {
      texts_.emplace_back();
      for (std::int64_t i = 0; i < length.value; ++i)
        texts_.back().push_back(static_cast<std::uint8_t>(random.between(0, 255)));
    }
    for (int rank = 0; rank < 2; ++rank)
      stages_.push_back(std::make_unique<train::model_stage<float>>(
          model, on, 0, [this](sequence_id s) { return std::span<const std::uint8_t>(texts_[s.value]); }, 1));
  }

  /// Seconds of a step's program on the slower rank, apart and joined: medians of steps in turn, by threads that have
  /// run a step of each.
  std::pair<double, double> steps(double bandwidth) {
    paced world(2, channel_of(traffic::rows, 0), bandwidth);
    std::array<std::array<std::vector<double>, 2>, 2> took;  // by row_calls and rank
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < 2; ++rank)
      ranks.emplace_back([&, rank] {
        auto port = world.endpoint(rank);
        const auto at = static_cast<std::size_t>(rank);
        for (int i = -1; i < repetitions; ++i)
          for (const row_calls how : {row_calls::apart, row_calls::joined}) {
            const seconds elapsed =
                executors::packflow{.step = i, .rows = how}.execute(plan_, *stages_[at], port).value().elapsed;
            if (i >= 0) took[how == row_calls::joined][at].push_back(elapsed.value);
          }
      });
    ranks.clear();
    std::array<double, 2> found{};
    for (std::size_t how = 0; how < 2; ++how) {
      std::vector<double> slower;
      for (std::size_t i = 0; i < took[how][0].size(); ++i)
        slower.push_back(std::max(took[how][0][i], took[how][1][i]));
      found[how] = slimpack::detail::median(std::move(slower));
    }
    return {found[0], found[1]};
  }

 private:
  const plan& plan_;
  std::vector<std::vector<std::uint8_t>> texts_;
  std::vector<std::unique_ptr<train::model_stage<float>>> stages_;
};

}  // namespace

int main() {
  for (const int threshold : {M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_TOP_PAD}) mallopt(threshold, 1 << 28);
  const plan p = planned({});
  const row_format format = train::model_stage<float>::rows(model, on, 0).front();
  std::int64_t longest = 0;  // bytes of a message of a layer: the first sharer needs all of the second's tokens
  for (int rank = 0; rank < 2; ++rank)
    longest = std::max(longest, executors::row_traffic_of(p, rank, {&format, 1}).value().bytes.forward / format.layers);
  std::printf(
      "a sequence of %d tokens shared by 2 ranks, %d tokens of each rank's own, in %zu pack; %zu merge; %d layers, "
      "width %d, keys kept\n",
      static_cast<int>(shared.value), static_cast<int>(own.value), p.replicas[0].partition.forward.size(),
      p.merges.size(), model.layers, static_cast<int>(model.hidden));
  const auto [forward, backward] = attention_times();
  bench run(p);
  const auto [free, free_joined] = run.steps(0);
  std::printf(
      "local attention of a layer: %.1f ms forward, %.1f ms backward; longest message of a layer: %.2f MB\n"
      "without a wire: %.1f ms apart, %.1f ms joined, %.3f x\n",
      1e3 * forward, 1e3 * backward, 1e-6 * static_cast<double>(longest), 1e3 * free, 1e3 * free_joined,
      free / free_joined);
  std::printf("exchange/attention  bandwidth  exchange   apart      joined     gain     closed form  simulated\n");
  for (const double ratio : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    const double exchange = ratio * forward;
    const auto [apart, joined] = run.steps(static_cast<double>(longest) / exchange);
    const double hidden = model.layers * (std::min(exchange, forward) + std::min(exchange, backward));
    // What a whole stage takes: attention as measured, all else by the token, an exchange of all layers as a hop.
    const double pairs = (slice{{0}, {0}, own}).pairs();
    costs::quadratic cost{.attention = model.layers * forward / pairs,
                          .backward_linear = 2,
                          .backward_attention = backward / forward,
                          .hop = {model.layers * exchange}};
    const double attended =
        cost.attention * (1 + cost.backward_attention) * (pairs + (slice{{0}, {0}, shared}).pairs() / 2);
    cost.linear = std::max(0.0, free - attended) / 3 / static_cast<double>(own.value + shared.value / 2);
    const plan one_by_one = planned(cost);
    cost.joins_rows = true;
    std::printf("%18.2f  %6.1f MB/s  %5.1f ms  %6.1f ms  %6.1f ms  %5.3f x  %9.3f x  %7.3f x\n", ratio,
                1e-6 * static_cast<double>(longest) / exchange, 1e3 * exchange, 1e3 * apart, 1e3 * joined,
                apart / joined, apart / (apart - hidden), one_by_one.step_time / planned(cost).step_time);
  }
}
