// Plans batch n + 1 while batch n trains, and plans no batch twice: an async_planner around a plan_cache.

#include <slimpack/planner.hpp>
#include <slimpack/service/async_planner.hpp>
#include <slimpack/service/plan_cache.hpp>

#include <cstddef>
#include <functional>
#include <iostream>
#include <span>
#include <stop_token>
#include <vector>

namespace {

/// Stands for the trainer's step; slimpack::executors::packflow would run it (adopt.cpp).
void train(int step, const slimpack::plan& p) {
  slimpack::tokens sum{};
  for (const slimpack::tokens length : p.lengths) sum += length;
  std::cout << "step " << step << ": " << p.lengths.size() << " sequences, " << sum.value << " tokens\n";
}

}  // namespace

int main() {
  const std::vector<std::vector<slimpack::tokens>> epoch{
      {{32768}, {900}, {120}}, {{4000}, {4000}, {250}, {250}}, {{100}, {70000}}};
  constexpr int steps = 6;  // two epochs

  const slimpack::planner plan_batch{{.stages = 4}};
  int planned = 0;
  slimpack::plan_cache cached{[&](std::span<const slimpack::tokens> lengths, std::stop_token stop) {
    ++planned;
    return plan_batch(lengths, stop);
  }};
  slimpack::async_planner ahead{std::ref(cached)};

  slimpack::plan_ticket next = ahead.submit(epoch[0]);
  for (int step = 0; step < steps; ++step) {
    const slimpack::plan now = next.get().value();
    if (step + 1 < steps) next = ahead.submit(epoch[static_cast<std::size_t>(step + 1) % epoch.size()]);
    train(step, now);  // the next batch is planned meanwhile
  }
  std::cout << steps << " batches trained, " << planned << " planned\n";
}
