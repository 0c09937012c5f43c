// What does it change that layers are priced as they mix tokens, instead of as full attention?
//
// Models of several kinds of layers, analytically on H100s (costs::transformer): 8 stages of 4 tensor-parallel ranks,
// one replica, no memory limit, 128 sequences of each list with at most 131072 tokens. Each batch is planned with right
// prices, and with those of the same model whose mixers are all full attention. The packs and programs of the second
// plan are then simulated at right prices: what is lost by planning with wrong ones.
//
// step: of the first plan; efficiency: a proven least step time over it; promised: what the second plan says that it
// takes; run: what it takes at right prices; both over the first. operations: of a step, all as full attention, over
// right ones.
//
//   slimpack-bench-kinds_of_layers [MODEL.json ...]    default: those of tests/io/models, from the project's root
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/model/training_flops.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/io/lengths.hpp>
#include <slimpack/io/model_config.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace slimpack;
using costs::transformer;

costs::model_shape with_full_attention(costs::model_shape m) {
  for (costs::mixer& each : m.mixers) {
    if (each.has_state()) each = costs::model_shape::full_attention(m);
    if (each.attends()) each.span = {}, each.index_heads = 0, each.index_width = 0;
  }
  return m;
}

auto planner_of(const shape& on, const transformer& cost) {
  return planner{on, slicers::equal_cost{}, cost, solvers::two_phase{}};
}

/// What the packs and programs of a plan of one replica take at other prices.
result<seconds> run_at(const plan& p, const transformer& cost) {
  const replica_plan& only = p.replicas.front();
  const workload work = price(only.partition, cost, p.shape, only.rates);
  const result<simulators::timeline> run = simulators::simulate(work, only.programs);
  if (!run) return run.error();
  return run.value().makespan;
}

void print(const costs::model_shape& model, const std::string& list, const std::vector<tokens>& lengths) {
  const shape on{.stages = 8, .tensor = 4};
  const result<transformer> right = transformer::make(model, costs::gpus::h100(), on),
                            wrong = transformer::make(with_full_attention(model), costs::gpus::h100(), on);
  if (!right || !wrong) {
    std::printf("%-42s %s\n", model.name.c_str(), (right ? wrong : right).error().detail.c_str());
    return;
  }
  const result<plan> made = planner_of(on, right.value())(lengths), other = planner_of(on, wrong.value())(lengths);
  if (!made || !other) {
    std::printf("%-42s %-22s %s\n", model.name.c_str(), list.c_str(), (made ? other : made).error().detail.c_str());
    return;
  }
  const result<seconds> run = run_at(other.value(), right.value()), own = run_at(made.value(), right.value());
  if (!run || !own) {
    std::printf("%-42s %-22s %s\n", model.name.c_str(), list.c_str(), (run ? own : run).error().detail.c_str());
    return;
  }
  const seconds step = made.value().replicas.front().makespan;
  std::printf("%-42s %-22s %9.3f s %10.4f %10.3f %8.4f %10.3f\n", model.name.c_str(), list.c_str(), step.value,
              made.value().efficiency, other.value().replicas.front().makespan / step, run.value() / own.value(),
              costs::training_flops(with_full_attention(model), lengths) / costs::training_flops(model, lengths));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files(argv + 1, argv + argc);
  if (files.empty())
    for (const char* const name :
         {"openai--gpt-oss-120b", "gemma-3-27b-nested", "meta-llama--Llama-4-Scout-17B-16E-Instruct",
          "deepseek-ai--DeepSeek-V3.2", "Qwen--Qwen3.5-35B-A3B", "nvidia--Nemotron-H-56B-Base-8K",
          "granite-4.0-h-small", "minimax-m1", "jamba-v0.1"})
      files.push_back(std::filesystem::path("tests/io/models") / (std::string(name) + ".json"));
  std::printf("%-42s %-22s %11s %10s %10s %8s %10s\n", "model", "lengths", "step", "efficiency", "promised", "run",
              "operations");
  for (const std::filesystem::path& file : files) {
    const result<io::model_reading> read = io::read_model_config(file);
    if (!read) {
      std::fprintf(stderr, "%s\n", read.error().detail.c_str());
      continue;
    }
    if (read.value().shape.mixers.empty()) continue;  // all is full attention
    for (const char* const list : {"mooncake_conversation", "azure_code_2023", "arxiv_summarization", "linux_source"}) {
      constexpr std::size_t batch = 128;
      constexpr tokens longest{131072};
      const std::string name = std::string("examples/data/lengths/") + list + ".txt";
      result<std::vector<tokens>> lengths = io::read_lengths(std::filesystem::path(name));
      if (!lengths) {
        std::fprintf(stderr, "%s (run it from the project's root)\n", lengths.error().detail.c_str());
        return 1;
      }
      lengths.value().resize(std::min(batch, lengths.value().size()));
      for (tokens& each : lengths.value()) each = std::min(each, longest);
      print(read.value().shape, list, lengths.value());
    }
  }
  return 0;
}
