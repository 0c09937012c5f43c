#include <slimpack/core/plan_hash.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/refined.hpp>

#include "../costs/models.hpp"
#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

// The hashes of a fixed set of plans, equal with every compiler and build type. What changes plans on purpose changes
// them, too: then, from the project's root,
//
//   SLIMPACK_UPDATE_PLAN_HASHES=1 build/gcc-release/tests/slimpack-tests --gtest_filter='PlanHashes.*'
//
// writes plan_hashes.txt anew.

namespace slimpack::plan_hashes_test {
namespace {

/// Integers only, so that every library draws the same: lengths of 64 to 65,536 tokens, most of them short.
std::vector<tokens> long_tailed(std::size_t n) {
  std::vector<tokens> lengths;
  std::uint64_t state = 12345;
  for (std::size_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t draw = state >> 33;
    const auto doublings = static_cast<unsigned>(draw % 11 * (draw / 11 % 11) / 11);
    lengths.push_back({static_cast<std::int64_t>((64 + draw / 121 % 65) << doublings)});
  }
  return lengths;
}

const costs::quadratic closed_form{.linear = 1e-6, .attention = 4.069e-11, .per_pack = {6.4e-5}, .hop = {2.4e-5}};

costs::transformer llama(const shape& on) {
  return costs::transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), on).value();
}

/// Times of a closed form at powers of two, slower on later parts.
costs::profiled measured(int parts) {
  std::vector<costs::profiled::sample> samples;
  for (int part = 0; part < parts; ++part)
    for (const pass p : {pass::forward, pass::backward})
      for (std::int64_t q = 128; q <= 65536; q *= 4)
        for (std::int64_t k = q; k <= 65536; k *= 4)
          samples.push_back({p, part, {q}, {k}, closed_form.time({{}, {k - q}, {q}}, p, part) * (1 + 0.1 * part)});
  return costs::profiled::make(samples, {.message = {2e-5}, .message_token = {1e-9}}).value();
}

struct named_hash {
  std::string name;
  std::uint64_t hash;
};

/// Every shipped slicer, cost model, solver and schedule; one and several stages, replicas, chunks, tensor- and
/// context-parallel ranks; without a limit, in tokens and in bytes. Where a sanitizer looks, one in five.
std::vector<named_hash> hashes() {
  std::vector<named_hash> all;
  const std::vector<tokens> lengths = long_tailed(200);
  int k = 0;
  const auto add = [&](std::string name, const auto& plan_batch) {
    if (!tests::is_tried(k++)) return;
    const result<plan> made = plan_batch(lengths);
    EXPECT_TRUE(made) << name << ": " << made.error().detail;
    if (made) all.push_back({std::move(name), made.value().hash});
  };
  const slicers::equal_cost cut;
  const slicers::whole whole;
  const solvers::two_phase search{};
  const schedules::one_f_one_b classic{.lead = 1};
  const shape one{};
  const shape deep{.stages = 8};
  const shape wide{.stages = 2, .replicas = 8};
  shape tight = deep;
  tight.memory = memory_limit{memory_unit::token, 82000};
  shape chunked = deep;
  chunked.stages = 4, chunked.chunks = 2;

  add("one stage", planner{one, cut, closed_form, search});
  add("8 stages", planner{deep, cut, closed_form, search});
  add("8 stages, tight", planner{tight, cut, closed_form, search});
  add("8 stages, fast", planner{tight, cut, closed_form, solvers::two_phase{.effort = solvers::search_budget::fast()}});
  add("8 stages, once", planner{tight, cut, closed_form, solvers::two_phase{.effort = {1, 1}}});
  add("8 replicas", planner{wide, cut, closed_form, search});
  add("quantum 1", planner{shape{.stages = 3, .quantum = {1}}, cut, closed_form, search});
  add("uniform slices", planner{deep, slicers::uniform{{2048}}, closed_form, search});
  add("whole sequences", planner{deep, whole, closed_form, search});
  add("1F1B", planner{deep, cut, closed_form, search, schedules::one_f_one_b{}});
  add("virtual stages", planner{chunked, cut, closed_form, search, schedules::one_f_one_b{}});
  add("zero bubble", planner{tight, cut, closed_form, search, schedules::zero_bubble{}});
  add("refined", planner{deep, cut, closed_form, solvers::refined{search}});
  add("chunked", planner{wide, cut, closed_form, solvers::chunked{}, schedules::one_f_one_b{}});
  add("megatron", planner{wide, whole, closed_form, solvers::megatron{}, classic});
  add("dp_balanced", planner{wide, whole, closed_form, solvers::dp_balanced{}, classic});
  add("karmarkar_karp", planner{wide, whole, closed_form, solvers::karmarkar_karp{}, classic});

  add("profiled", planner{shape{.stages = 4, .replicas = 2}, cut, measured(4), search});
  const shape cluster{
      .stages = 4, .replicas = 4, .tensor = 2, .context = 2, .memory = memory_limit{memory_unit::byte, 8e10}};
  add("transformer", planner{cluster, cut, llama(cluster), search});
  add("transformer, zero bubble", planner{cluster, cut, llama(cluster), search, schedules::zero_bubble{}});
  shape virtually = cluster;
  virtually.chunks = 2;
  add("transformer, virtual stages", planner{virtually, cut, llama(virtually), search, schedules::one_f_one_b{}});
  return all;
}

std::string text_of(const std::vector<named_hash>& all) {
  std::string text;
  for (const named_hash& h : all) text += hash_text(h.hash) + "  " + h.name + '\n';
  return text;
}

TEST(PlanHashes, AreThoseOfOtherCompilersAndBuilds) {
  const std::filesystem::path stored = std::filesystem::path(__FILE__).parent_path() / "plan_hashes.txt";
  const std::string found = text_of(hashes());
  if (std::getenv("SLIMPACK_UPDATE_PLAN_HASHES") != nullptr) std::ofstream(stored) << found;
  std::ifstream file(stored);
  std::string expected, line;
  for (int k = 0; std::getline(file, line);)
    if (tests::is_tried(k++)) expected += line + '\n';
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace slimpack::plan_hashes_test
