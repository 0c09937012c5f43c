// Plans one training step of real sequence lengths on a pipeline of 8 stages, and says how good the plan is.
#include <slimpack/io/text_lengths.hpp>
#include <slimpack/planner.hpp>

#include <cstdio>

int main() {
  auto lengths = slimpack::io::read_text_lengths("data/lengths/mooncake_conversation.txt").value();
  lengths.resize(512);

  slimpack::shape shape{.stages = 8, .memory = slimpack::memory_limit{slimpack::memory_unit::token, 160000}};
  slimpack::costs::quadratic cost{.linear = 1e-6, .attention = 4.069e-11, .per_pack = {6.4e-5}, .hop = {2.4e-5}};
  slimpack::planner plan_batch{shape, slimpack::slicers::equal_cost{}, cost};
  slimpack::plan plan = plan_batch(lengths).value();

  std::printf("%zu sequences in %zu forward and %zu backward packs\n", lengths.size(),
              plan.replicas[0].partition.forward.size(), plan.replicas[0].partition.backward.size());
  std::printf("step %.3f s, %.1f %% of it useful, at least %.1f %% of the best possible\n", plan.step_time.value,
              100 * (1 - plan.bubble), 100 * plan.efficiency);
}
