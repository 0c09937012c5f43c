#include "../../examples/plan/planners.hpp"
#include "../costs/models.hpp"
#include "lending_stage.hpp"
#include "net_stage.hpp"
#include "plan_texts.hpp"
#include "recorded_step.hpp"
#include "stored_values.hpp"

#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/solvers/baselines/named.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Plans as slimpack-plan makes them, by planners that are compiled for it.

namespace slimpack::program_plans_test {
namespace {

using cli::any_cost;
using cli::request;

const std::string own = "slimpack";
const solvers::search_budget fast = solvers::search_budget::fast();

/// Lengths of 64 to 16,384 tokens, most of them short, and one giant.
std::vector<tokens> batch(std::size_t n, std::int64_t giant) {
  std::vector<tokens> lengths{{giant}};
  std::uint64_t state = 12345;
  while (lengths.size() < n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t draw = state >> 33;
    const auto doublings = static_cast<unsigned>(draw % 9 * (draw / 9 % 9) / 9);
    lengths.push_back({static_cast<std::int64_t>((64 + draw / 81 % 65) << doublings)});
  }
  return lengths;
}

const costs::quadratic closed_form{.linear = 1e-6, .attention = 4.069e-11, .per_pack = {6.4e-5}, .hop = {2.4e-5}};

any_cost llama(const shape& on, costs::stage_options with = {}) {
  return costs::transformer::make(tests::llama_3_1_8b(), costs::gpus::h100(), on, std::move(with)).value();
}
any_cost mixtral(const shape& on, costs::stage_options with = {}) {
  return costs::transformer::make(tests::mixtral_8x7b(), costs::gpus::h100(), on, std::move(with)).value();
}

class program_plans {
 public:
  explicit program_plans(const char* file) : net_(std::filesystem::path(__FILE__).parent_path() / file) {}

  void add(const std::string& name, const request& asked, const any_cost& cost, const std::vector<tokens>& lengths) {
    result<plan> made = cli::plan_named(asked, lengths, cost);
    ASSERT_TRUE(made) << name << ": " << made.error().detail;
    made.value().hash = hash_of(made.value());  // with the planner's name
    tests::add_plan(net_, name, made.value());
  }
  /// What each group of replicas plans for itself.
  void add_groups(const std::string& name, request asked, const any_cost& cost, const std::vector<tokens>& lengths) {
    asked.by_estimates = true;
    for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(asked.shape.replicas); ++r) {
      const result<rank_plan> made = cli::plan_of_replica(asked, lengths, cost, r);
      ASSERT_TRUE(made) << name << ": " << made.error().detail;
      if (made.value().group.front() == r)
        tests::add_plan(net_, name + ", group of replica " + std::to_string(r), made.value().part, true);
    }
  }
  /// With a step of it on threads.
  template <class Stage>
  void add_with_step(const std::string& name, const request& asked, const any_cost& cost,
                     const std::vector<tokens>& lengths) {
    add(name, asked, cost, lengths);
    tests::add_step<Stage>(net_, name, cli::plan_named(asked, lengths, cost).value());
  }
  void compare() const { net_.compare(); }

 private:
  tests::stored_values net_;
};

TEST(QuadraticPlans, StayTheSame) {
  program_plans net("quadratic_plans.txt");
  const shape on{.stages = 4, .replicas = 4}, pair{.stages = 4, .replicas = 2};
  shape tight = on;
  tight.memory = memory_limit{memory_unit::token, 40000};
  const std::vector<tokens> lengths = batch(60, 65536), short_ones = batch(40, 9000), few{{900}, {700}, {300}, {200}};
  const auto only = [](exchange e) { return exchange_set::only(e); };

  net.add("slimpack", {.planner = own, .shape = tight, .effort = fast, .exchanges = exchange_set::all()}, closed_form,
          lengths);
  for (const exchange e : {exchange::keep, exchange::queries, exchange::ring})
    net.add("slimpack, " + std::string(name_of(e)), {.planner = own, .shape = on, .effort = fast, .exchanges = only(e)},
            closed_form, lengths);
  net.add("estimated",
          {.planner = own, .shape = on, .effort = fast, .exchanges = only(exchange::keep), .by_estimates = true},
          closed_form, lengths);
  net.add("refined",
          {.planner = own,
           .shape = on,
           .effort = fast,
           .exchanges = only(exchange::keep),
           .cuts = backward_cuts::forward_cuts},
          closed_form, lengths);
  net.add("weights apart",
          {.planner = own,
           .shape = tight,
           .effort = fast,
           .exchanges = only(exchange::keep),
           .weights = weight_gradients::apart},
          closed_form, lengths);
  net.add("whole", {.planner = own, .shape = pair, .effort = fast, .may_cut = false}, closed_form, short_ones);
  net.add_groups("estimated", {.planner = own, .shape = on, .effort = fast, .exchanges = only(exchange::ring)},
                 closed_form, lengths);
  if (const std::vector<std::string>& known = cli::planner_names();
      std::find(known.begin(), known.end(), "milp") != known.end())
    net.add("milp", {.planner = "milp", .shape = {.stages = 2}, .effort = fast, .most_sharers = 1}, closed_form, few);
  net.add("forward", {.planner = own, .shape = on, .effort = fast, .forward_only = true}, closed_form, lengths);
  for (const std::string_view name : baselines::names)
    net.add(std::string(name), {.planner = std::string(name), .shape = on, .effort = fast}, closed_form, lengths);
  for (const std::string_view name : baselines::sharing_none)
    net.add("forward of " + std::string(name),
            {.planner = std::string(name), .shape = on, .effort = fast, .forward_only = true}, closed_form, lengths);
  for (const attention_lending lending : {attention_lending::pairs, attention_lending::level})
    net.add("slimpipe, " + std::string(name_of(lending)),
            {.planner = "slimpipe", .shape = pair, .context = {65536}, .slices = 8, .lending = lending, .effort = fast},
            closed_form, lengths);

  const shape small{.stages = 3, .replicas = 2, .quantum = {4}};
  const std::vector<tokens> rows{{96}, {96}, {50}, {30}, {96}, {70}, {26}, {96}, {16}, {90}};
  for (const attention_lending lending : all_attention_lending)
    net.add_with_step<tests::lending_stage>(
        "slimpipe of short rows, " + std::string(name_of(lending)),
        {.planner = "slimpipe", .shape = small, .context = {96}, .slices = 6, .lending = lending, .effort = fast},
        closed_form, rows);
  net.add_with_step<tests::net_stage<shared_prefix_stage<backward_cuts::any>>>(
      "forward of short rows", {.planner = own, .shape = small, .effort = fast, .forward_only = true}, closed_form,
      rows);
  net.compare();
}

TEST(TransformerPlans, StayTheSame) {
  program_plans net("transformer_plans.txt");
  const std::vector<tokens> lengths = batch(48, 131072), short_ones = batch(48, 16384);
  const shape on{.stages = 4, .replicas = 2, .tensor = 2, .memory = memory_limit{memory_unit::byte, 7e10}};
  shape spread = on, chunked = on, both = on;
  spread.vocabulary = both.vocabulary = vocabulary::spread;
  chunked.chunks = both.chunks = 2;
  const exchange_set keep = exchange_set::only(exchange::keep), all = exchange_set::all();

  net.add("slimpack", {.planner = own, .shape = on, .effort = fast, .exchanges = keep}, llama(on), lengths);
  net.add("chunks", {.planner = own, .shape = chunked, .effort = fast, .exchanges = keep}, llama(chunked), lengths);
  net.add("weights apart",
          {.planner = own, .shape = on, .effort = fast, .exchanges = keep, .weights = weight_gradients::apart},
          llama(on), lengths);
  net.add("reduced after", {.planner = own, .shape = on, .effort = fast, .exchanges = keep},
          llama(on, {.reduction = costs::reduction::exposed}), lengths);
  net.add("joined rows", {.planner = own, .shape = on, .effort = fast, .exchanges = all},
          llama(on, {.joins_rows = true}), lengths);
  net.add("spread", {.planner = own, .shape = spread, .effort = fast, .exchanges = keep}, llama(spread), lengths);
  net.add("spread, alone", {.planner = own, .shape = spread, .effort = fast, .most_sharers = 1, .exchanges = keep},
          llama(spread, {.reduction = costs::reduction::exposed}), short_ones);
  net.add("spread, ring",
          {.planner = own, .shape = spread, .effort = fast, .exchanges = exchange_set::only(exchange::ring)},
          llama(spread), lengths);
  net.add("spread, chunks", {.planner = own, .shape = both, .effort = fast, .exchanges = keep}, llama(both), lengths);
  net.add("spread, weights apart",
          {.planner = own, .shape = spread, .effort = fast, .exchanges = keep, .weights = weight_gradients::apart},
          llama(spread), lengths);
  net.add("spread, estimated",
          {.planner = own, .shape = spread, .effort = fast, .exchanges = keep, .by_estimates = true}, llama(spread),
          lengths);
  net.add_groups("spread", {.planner = own, .shape = spread, .effort = fast, .exchanges = keep}, llama(spread),
                 short_ones);
  net.add("forward", {.planner = own, .shape = chunked, .effort = fast, .forward_only = true}, llama(chunked),
          short_ones);
  const shape experts{.stages = 2, .replicas = 4, .tensor = 2, .expert = 4};
  net.add("experts", {.planner = own, .shape = experts, .effort = fast, .exchanges = keep}, mixtral(experts),
          short_ones);
  net.add("megatron, spread", {.planner = "megatron", .shape = spread, .effort = fast}, llama(spread), short_ones);
  for (const attention_lending lending : {attention_lending::pairs, attention_lending::level})
    net.add("slimpipe, " + std::string(name_of(lending)),
            {.planner = "slimpipe", .shape = spread, .slices = 8, .lending = lending, .effort = fast}, llama(spread),
            short_ones);
  const shape nodes{.stages = 2, .replicas = 8};
  for (const std::string_view name : {"te_cp", "hybrid_dp", "zeppelin"})
    net.add(std::string(name) + ", relays",
            {.planner = std::string(name),
             .shape = nodes,
             .effort = fast,
             .zone = solvers::sharing_zones::of(tests::llama_3_1_8b(), costs::gpus::h100(), nodes),
             .relays = solvers::relaying::of(costs::gpus::h100(), nodes, 2)},
            llama(nodes), lengths);
  net.compare();
}

}  // namespace
}  // namespace slimpack::program_plans_test
