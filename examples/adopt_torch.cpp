// A trainer on libtorch adopts slimpack: a GPT with rotary positions, whose queries share keys and values in groups.
//
//   example-adopt_torch                      exactness: 20 steps of AdamW by slices, over two stages and two replicas
//                                            that share a long sequence, against steps by whole sequences
//   mpirun -np 2 example-adopt_torch times   speed: measures the stages, plans by what it has measured, and runs steps
//                                            by slimpack's plan and by the best one of Megatron's packs
#include <slimpack/adapters/torch.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/profiling/driver.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/baselines/pack_lengths.hpp>
#include <slimpack/transports/mpi.hpp>
#include <slimpack/transports/threads.hpp>

#include "adopt_torch/gpt.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdio>
#include <future>
#include <memory>
#include <string_view>
#include <vector>

using gpt::gpt_part, gpt::text, slimpack::libtorch::slice_call, torch::Tensor;

// What adopts slimpack.
struct chunk {
  static constexpr bool shares_rows = true, shares_prefixes = true;
  std::shared_ptr<gpt_part> part;
  std::vector<Tensor> parameters() const { return part->parameters(); }
  Tensor forward(slice_call& call, Tensor x) {
    if (!x.defined()) x = part->embedding(call.of_pieces(text));
    return part->forward(x, call.positions(), &call);
  }
  Tensor loss(slice_call& call, const Tensor& y) { return call.loss(part->logits(y), text); }
};
using gpt_stage = slimpack::libtorch::stage<chunk>;
gpt_stage stage_of(int stage, int stages, gpt::sizes g = {}) {
  const slimpack::message_format rows{g.hidden, slimpack::libtorch::element_of_scalar(g.type)};
  return {{rows, g.depth / stages, gpt::key_heads, g.hidden / gpt::heads},
          {{std::make_shared<gpt_part>(stage, stages, g)}}};
}
// End of what adopts slimpack.

/// Steps by slices against steps by whole sequences.
int exact() {
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {120}, {1}, {21}, {14}, {9}, {22}};
  const slimpack::plan plan =
      slimpack::planner_for<gpt_stage>({.stages = 2, .replicas = 2, .quantum = {4}})(lengths).value();
  slimpack::transports::threads world{4};
  std::vector<gpt_stage> stages;
  std::vector<std::unique_ptr<torch::optim::AdamW>> optimizers;
  for (int rank = 0; rank < 4; ++rank) {
    stages.push_back(stage_of(rank % 2, 2));
    optimizers.push_back(std::make_unique<torch::optim::AdamW>(stages.back().chunk_of(0).parameters(), 1e-2));
  }
  const auto run = [&](std::size_t rank, bool evaluates) {
    auto port = world.endpoint(static_cast<int>(rank));
    const slimpack::executors::packflow flow{};
    const auto report = evaluates ? flow.evaluate(plan, stages[rank], port) : flow.execute(plan, stages[rank], port);
    return report.value().loss_sum;
  };
  const auto loss_of_all = [&](bool evaluates) {
    std::vector<std::future<double>> losses;
    for (std::size_t rank = 0; rank < 4; ++rank) losses.push_back(std::async(std::launch::async, run, rank, evaluates));
    double loss = 0;
    for (auto& one : losses) loss = one.get();
    return loss;
  };

  gpt_part whole(0, 1);
  torch::optim::AdamW whole_optimizer(whole.parameters(), 1e-2);
  double worst = 0;
  bool same = true;
  for (int step = 0; step < 20; ++step) {
    for (auto& o : optimizers) o->zero_grad();
    const double evaluated = loss_of_all(true), loss = loss_of_all(false);
    same = same && evaluated == loss;
    whole_optimizer.zero_grad();
    double expected = 0;
    for (slimpack::sequence_id s{}; s.value < lengths.size(); ++s.value) {  // the step as it was
      const slimpack::slice all{s, {0}, lengths[s.value]}, next{s, {1}, lengths[s.value]};
      const Tensor y = whole.logits(whole.forward(whole.embedding(text(all)), torch::arange(all.length.value)));
      const Tensor l = -y.log_softmax(-1).gather(1, text(next).unsqueeze(1)).sum() / 230;
      l.backward(), expected += l.item<double>();
    }
    worst = std::max(worst, std::abs(loss / expected - 1));
    const auto named = whole.named_parameters();
    for (const gpt_stage& s : stages)
      for (const auto& p : s.chunk_of(0).part->named_parameters()) {
        const Tensor& right = named[p.key()].grad();
        worst = std::max(worst, ((p.value().grad() - right).norm() / right.norm()).item<double>());
      }
    for (auto& o : optimizers) o->step();
    whole_optimizer.step();
    if (step % 5 == 4) std::printf("step %2d, loss %.4f\n", step, loss);
  }
  std::printf(
      "%zu sequences, %zu of them on two replicas: evaluations have %s of steps, losses and gradients are %sthose"
      " of whole sequences, to 1e-11\n",
      lengths.size(), plan.merges.size(), same ? "the bits" : "other bits", worst < 1e-11 ? "" : "not ");
  return same && worst < 1e-11 ? 0 : 1;
}

/// Steps as predicted and as measured, by slimpack's plan and by the best one of Megatron's packs.
int timed() {
  slimpack::transports::mpi world(MPI_COMM_WORLD);
  std::vector<slimpack::tokens> lengths;  // 12 from 2,000 down to 16, each shorter than the one before by one ratio
  for (int i = 0; i < 12; ++i) lengths.push_back({std::llround(2000 * std::pow(16. / 2000, i / 11.))});
  const slimpack::shape shape{.stages = world.size()};
  gpt_stage own = stage_of(world.rank(), shape.stages, {.hidden = 128, .type = torch::kFloat});
  const auto forget = [&] {
    for (Tensor& p : own.chunk_of(0).parameters()) p.mutable_grad().reset();
  };
  slimpack::profiling::driver drive{own, shape, lengths.front(), world};
  drive.budget = slimpack::seconds{20};
  const slimpack::profiling::stage_profile profile = drive.measure().value();
  const auto cost = profile.cost().value();
  forget();
  const slimpack::plan plan = slimpack::planner_for<gpt_stage>(shape, {}, cost)(lengths).value();
  slimpack::plan megatron;
  for (const slimpack::tokens context :
       slimpack::baselines::pack_lengths(lengths, shape, slimpack::rates_of(cost, shape).value())) {
    const auto recipe = slimpack::baselines::megatron(shape, context);
    const slimpack::planner rival{shape, recipe.slicer, cost, recipe.solver, recipe.schedule};
    const auto made = rival(lengths);
    if (made && (megatron.replicas.empty() || made.value().step_time < megatron.step_time)) megatron = made.value();
  }
  const auto median_of = [&](const slimpack::plan& p) {
    std::vector<double> seconds;
    for (int step = 0; step < 9; ++step) {
      const auto begin = std::chrono::steady_clock::now();
      (void)slimpack::executors::packflow{}.execute(p, own, world).value();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      forget();
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  };
  const double ours = median_of(plan), theirs = median_of(megatron);
  if (world.rank() != 0) return 0;
  const auto print = [](const char* name, const slimpack::plan& p, double measured) {
    std::printf("%-9s predicted %6.1f ms, measured %6.1f ms (%+.1f %%), %zu forward packs\n", name,
                p.step_time.value * 1e3, measured * 1e3, 100 * (measured / p.step_time.value - 1),
                p.replicas[0].partition.forward.size());
  };
  print("slimpack", plan, ours), print("megatron", megatron, theirs);
  std::printf("%.2f x as fast; clock over processor in trials %.2f\n", theirs / ours,
              drive.seen.by.clock_over_processor);
  return 0;
}

int main(int arguments, char** argument) {
#ifdef __GLIBC__  // malloc keeps what is freed: else large tensors are mapped, and filled with zeros, in every call
  mallopt(M_MMAP_THRESHOLD, 1 << 30), mallopt(M_TRIM_THRESHOLD, INT_MAX), mallopt(M_ARENA_MAX, 1);
#endif
  at::set_num_threads(1);
  if (arguments == 1) return exact();
  if (arguments != 2 || std::string_view(argument[1]) != "times") {
    std::fprintf(stderr, "usage: example-adopt_torch, or mpirun -np 2 example-adopt_torch times\n");
    return 2;
  }
  MPI_Init(&arguments, &argument);
  const int failed = timed();
  MPI_Finalize();
  return failed;
}
