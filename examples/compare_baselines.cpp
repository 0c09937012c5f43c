// Plans one batch by slimpack and by two baselines at their best setting, and says how long steps take.
#include <slimpack/io/text_lengths.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/baselines/pack_lengths.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>

#include <algorithm>
#include <cstdio>

int main() {
  auto lengths = slimpack::io::read_text_lengths("data/lengths/mooncake_conversation.txt").value();
  lengths.resize(256);
  const slimpack::shape shape{.stages = 4, .replicas = 2};
  const slimpack::costs::quadratic cost{.linear = 1e-6, .attention = 4.069e-11, .per_pack = {6.4e-5}};

  // A baseline is a slicer, a solver and a schedule that belong together. Each is tuned as its user would: the fastest
  // of all pack lengths counts. With a memory limit in the shape, some have no plan: their error is out_of_memory.
  const auto fastest = [&](const auto& recipe_of) {
    double best = 1e300;
    const auto rates = slimpack::rates_of(cost, shape).value();
    for (const slimpack::tokens context : slimpack::baselines::pack_lengths(lengths, shape, rates)) {
      const auto recipe = recipe_of(context);
      const slimpack::planner rival{shape, recipe.slicer, cost, recipe.solver, recipe.schedule};
      if (const slimpack::result<slimpack::plan> plan = rival(lengths))
        best = std::min(best, plan.value().step_time.value);
    }
    return best;
  };
  const double own = slimpack::planner{shape, slimpack::slicers::equal_cost{}, cost}(lengths).value().step_time.value;
  const double megatron = fastest([&](auto context) { return slimpack::baselines::megatron(shape, context); });
  const double slimpipe = fastest([&](auto context) { return slimpack::baselines::slimpipe(shape, context); });
  std::printf("slimpack %.2f s, megatron %.2f s, slimpipe %.2f s\n", own, megatron, slimpipe);
}
