#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>

#include "../costs/models.hpp"
#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

// More effort gives no slower plan, more memory none that is slower by more than chance, and neither refuses what less
// of it plans.
namespace slimpack::room_and_effort_test {
namespace {

const std::array<const char*, 7> lists{"mooncake_conversation", "arxiv_summarization", "azure_chat_2023",
                                       "azure_code_2023",       "gsm8k_sft",           "linux_source",
                                       "narrativeqa_stories"};

/// The first lengths of a shipped list.
std::vector<tokens> lengths_of(const std::string& list, std::size_t count) {
  std::ifstream in(std::filesystem::path(__FILE__).parent_path() / "../../examples/data/lengths" / (list + ".txt"));
  std::vector<tokens> lengths;
  for (std::string line; lengths.size() < count && std::getline(in, line);)
    if (!line.empty() && line.front() != '#') lengths.push_back({std::min(std::stoll(line), 131072LL)});
  EXPECT_EQ(lengths.size(), count) << list;
  return lengths;
}

/// A model on a shape, whose memory limits are multiples of what the longest sequence needs alone.
struct situation {
  const char* name;
  costs::model_shape model;
  shape on;
};

const std::array<situation, 3> situations{
    {{"llama-3.1-8b, 4 stages, 2 replicas, vocabulary spread",
      tests::llama_3_1_8b(),
      {.stages = 4, .replicas = 2, .vocabulary = vocabulary::spread}},
     {"mixtral-8x7b, 8 stages", tests::mixtral_8x7b(), {.stages = 8, .tensor = 2}},
     {"gpt-3-175b, 4 stages, 4 replicas", tests::gpt_3_175b(), {.stages = 4, .replicas = 4, .tensor = 8}}}};

constexpr std::array<double, 6> rooms{1.06, 1.2, 1.5, 2, 3, 6};  // of the longest sequence

const std::array<solvers::search_budget, 3> efforts{
    solvers::search_budget::fast(),
    solvers::search_budget::normal(),
    {2 * solvers::search_budget::normal().tasks, 2 * solvers::search_budget::normal().candidates}};

/// What each stage holds at most beside `room` times the longest sequence.
double limit_of(const costs::transformer& cost, const shape& on, std::span<const tokens> lengths, double room) {
  const std::vector<memory_rates> rates = rates_of(cost, on).value();
  const tokens longest = *std::max_element(lengths.begin(), lengths.end());
  double most = 0;
  for (const memory_rates& r : rates)
    most = std::max(most, r.fixed + room * (solvers::least_held(r, on, longest) - r.fixed));
  return most;
}

// A search within one limit knows nothing of those within others, so that chance tells which plan is faster where both
// are about as fast: within more memory a step may be longer by little, and is shown.
TEST(RoomAndEffort, MoreOfThemIsNoLoss) {
  const bool full = std::getenv("SLIMPACK_FULL") != nullptr;  // else some lists, half of the limits, two efforts
  int cell = 0, plans = 0, longer = 0;
  double worst = 1;
  for (const situation& s : situations) {
    for (const char* const list : lists) {
      if (!tests::is_tried(cell++, 4)) continue;
      const std::vector<tokens> lengths = lengths_of(list, 64);
      shape on = s.on;
      on.memory = memory_limit{memory_unit::byte, 0};
      const costs::transformer cost = costs::transformer::sheet(s.model, costs::gpus::h100(), on).value();
      std::array<std::optional<double>, efforts.size()> fastest;  // within the limits so far
      for (std::size_t r = 0; r < rooms.size(); r += full ? 1 : 2) {
        on.memory->amount = limit_of(cost, on, lengths, rooms[r]);
        std::optional<double> less;  // with less effort
        for (std::size_t e = 0; e < efforts.size() - (full ? 0 : 1); ++e) {
          const std::string where = std::string(list) + ", " + s.name + ", " + std::to_string(rooms[r]) +
                                    " times the room, effort " + std::to_string(e);
          const result<plan> made =
              planner{on, slicers::equal_cost{}, cost, solvers::two_phase{.effort = efforts[e]}}(lengths);
          if (!made) {
            EXPECT_FALSE(less || fastest[e]) << where << ": " << made.error().detail;
            continue;
          }
          const double step = made.value().step_time.value;
          EXPECT_LE(made.value().lower_bound.value, step) << where;
          EXPECT_LE(step, less.value_or(step) * (1 + 1e-9)) << where;
          less = step;
          const double share = step / fastest[e].value_or(step);
          EXPECT_LE(share, 1.02) << where;
          if (share > 1 + 1e-9) std::printf("%s: %.4f %% longer than within less\n", where.c_str(), 100 * (share - 1));
          ++plans, longer += share > 1 + 1e-9, worst = std::max(worst, share);
          fastest[e] = std::min(fastest[e].value_or(step), step);
        }
      }
    }
  }
  std::printf("%d of %d plans are longer than one within less memory, by up to %.3f %%\n", longer, plans,
              100 * (worst - 1));
  EXPECT_GT(plans, 0);
}

}  // namespace
}  // namespace slimpack::room_and_effort_test
