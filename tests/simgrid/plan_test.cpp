#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include "../costs/models.hpp"
#include "../laws/cases.hpp"
#include "agreement.hpp"
#include "replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace slimpack {
namespace {

/// 16 lengths spread evenly over a list of real ones, none above 128 Ki tokens.
std::vector<tokens> batch_of(const std::string& list) {
  std::ifstream file(SLIMPACK_TEST_DATA "/lengths/" + list + ".txt");
  const std::vector<std::int64_t> all{std::istream_iterator<std::int64_t>(file), {}};
  std::vector<tokens> batch;
  for (std::size_t i = 0; i < 16; ++i) batch.push_back({std::min<std::int64_t>(all.at(i * all.size() / 16), 131072)});
  return batch;
}

const std::vector<std::string>& lists() {
  static const std::vector<std::string> names{"arxiv_summarization", "azure_chat_2023", "azure_code_2023",
                                              "gsm8k_sft",           "linux_source",    "mooncake_conversation",
                                              "narrativeqa_stories"};
  return names;
}

/// Schedules as types, each with the chunks that it is asked to run, and where the vocabulary is.
struct in_one_place {
  static constexpr vocabulary where = vocabulary::last;
};
struct list : in_one_place {
  static constexpr int chunks = 1;
  static schedules::list schedule() { return {}; }
};
struct classic : in_one_place {
  static constexpr int chunks = 1;
  static schedules::one_f_one_b schedule() { return {.lead = 1}; }
};
struct eager : in_one_place {
  static constexpr int chunks = 1;
  static schedules::one_f_one_b schedule() { return {}; }
};
struct interleaved : eager {
  static constexpr int chunks = 2;
};
struct zb_h1 : in_one_place {
  static constexpr int chunks = 1;
  static schedules::zero_bubble schedule() { return {.order = schedules::zero_bubble_order::h1}; }
};
struct zero_bubble : in_one_place {
  static constexpr int chunks = 1;
  static schedules::zero_bubble schedule() { return {}; }
};

template <class Scheduled>
struct spread : Scheduled {
  static constexpr vocabulary where = vocabulary::spread;
};

template <class Scheduled>
class PlansBy : public ::testing::Test {
 protected:
  static std::vector<shape> shapes() {
    std::vector<shape> all;
    for (int stages = 2; stages * Scheduled::chunks <= 8; stages *= 2)
      all.push_back({.stages = stages,
                     .replicas = 8 / stages,
                     .tensor = 4,
                     .chunks = Scheduled::chunks,
                     .vocabulary = Scheduled::where});
    return all;
  }

  template <class Cost>
  static plan plan_of(const std::vector<tokens>& batch, const shape& on, const Cost& cost) {
    // Each replica is replayed alone; shared_plan_test.cpp has those that wait for each other.
    const solvers::two_phase quick{.effort = solvers::search_budget::fast(), .most_sharers = 1};
    return planner{on, slicers::equal_cost{}, cost, quick, Scheduled::schedule()}(batch).value();
  }
  static plan plan_by_rates(const std::vector<tokens>& batch, const shape& on) {
    const costs::quadratic layers{.per_pack = {6.4e-5}, .hop = {2.4e-5}};
    if constexpr (Scheduled::where == vocabulary::last)
      return plan_of(batch, on, layers);
    else
      return plan_of(batch, on, costs::with_vocabulary<costs::quadratic>{layers, ends});
  }
  static plan plan_on_a100(const std::vector<tokens>& batch, const shape& on) {
    return plan_of(batch, on, costs::transformer::sheet(tests::llama_3_1_8b(), costs::gpus::a100(), on).value());
  }

  /// `how` tells SimGrid how instructions run and messages go (tests::as_planned).
  template <class How>
  void compare(const plan& p, const How& how) {
    ++plans_;
    for (std::uint32_t replica = 0; replica < p.replicas.size(); ++replica) {
      const replica_plan& r = p.replicas[replica];
      const tests::replay replayed(p, {replica}, how);
      found_.compare(replayed.makespans()[0], r.makespan, r.makespan);
      found_.count(replayed.size());
      for (const program& code : r.programs)
        weights_ += std::count_if(code.begin(), code.end(), [](const instruction& i) { return i.is_weights(); });
    }
  }

  void TearDown() override {
    EXPECT_GE(plans_, 12u);
    EXPECT_EQ(weights_ > 0, weight_gradients_of<decltype(Scheduled::schedule())> == weight_gradients::apart);
    EXPECT_LE(found_.largest(), found_.close);
    std::cout << plans_ << " plans: " << found_ << '\n';
  }

 private:
  static constexpr costs::vocabulary_rates ends{.embed = {1e-5, 1e-8},
                                                .output = {1e-5, 1e-6},
                                                .output_weights = {1e-5, 5e-7},
                                                .embed_gradients = {1e-5, 1e-8},
                                                .embedded = {2e-5, 1e-9},
                                                .hidden = {2e-5, 1e-9},
                                                .partial = {3e-5, 1e-9},
                                                .statistics = {1e-5, 1e-9},
                                                .gradients = {2e-5, 1e-9}};

  std::size_t plans_{};
  std::ptrdiff_t weights_{};  // W instructions
  tests::agreement found_;
};

// Schedules that SimGrid replays; each orders 28 or 42 plans, half of those with the vocabulary in one place again with
// messages on links.
using shipped_and_spread = ::testing::Types<list, classic, eager, interleaved, zb_h1, zero_bubble, spread<list>,
                                            spread<interleaved>, spread<zero_bubble>>;
TYPED_TEST_SUITE(PlansBy, shipped_and_spread);
template <class Scheduled>
class PlansOverLinksBy : public PlansBy<Scheduled> {};
using shipped = ::testing::Types<list, classic, eager, interleaved, zb_h1, zero_bubble>;
TYPED_TEST_SUITE(PlansOverLinksBy, shipped);

// With a spread vocabulary programs are several times as long, and the quick run leaves every second list out.
TYPED_TEST(PlansBy, TakeAsLongInSimGrid) {
  const std::size_t step = TypeParam::where == vocabulary::spread && tests::cases(1) == 1 ? 2 : 1;
  for (std::size_t i = 0; i < lists().size(); i += step) {
    const std::vector<tokens> batch = batch_of(lists()[i]);
    for (const shape& on : this->shapes()) {
      for (const plan& p : {this->plan_by_rates(batch, on), this->plan_on_a100(batch, on)})
        this->compare(p, tests::as_planned(p));
    }
  }
}

/// Messages that SimGrid's network carries: 2 bytes for each element of the hidden states, shared among the
/// tensor-parallel ranks, over the link between two stages.
class transferred_messages : public tests::as_planned {
 public:
  transferred_messages(const slimpack::plan& p, std::int64_t hidden, costs::gpu on)
      : as_planned(p), hidden_(hidden), device_(std::move(on)) {}

  tests::experiment::task carry(tests::experiment& to, const tests::place& at) const {
    const shape& on = plan().shape;
    const auto stages = static_cast<std::size_t>(on.stages);
    const std::size_t from = at.part % stages,
                      next = (facts_of(at.kind).pass == pass::forward ? at.part + 1 : at.part - 1) % stages;
    to.connect(from, next, between(from, next));
    const std::int64_t elements =
        size_of(plan().replicas[at.replica].partition.of(facts_of(at.kind).pass)[at.pack]).value * hidden_;
    return to.transfer(from, next, {2.0 * static_cast<double>(elements / on.tensor)});
  }

 private:
  /// Ranks fill nodes tensor first, then stages, then replicas; a link is as slow as that of the worst replica.
  [[nodiscard]] bool leaves_node(std::size_t stage, std::size_t next) const {
    const shape& on = plan().shape;
    const auto node = [&](int first_stage, std::size_t r) {
      return (first_stage + static_cast<int>(r)) * on.tensor / device_.gpus_per_node;
    };
    for (int first_stage = 0; first_stage < on.replicas * on.stages; first_stage += on.stages)
      if (node(first_stage, stage) != node(first_stage, next)) return true;
    return false;
  }
  /// Between chunks messages also go from the last stage to the first, and all links are as slow as the slowest.
  [[nodiscard]] const costs::link& between(std::size_t stage, std::size_t next) const {
    bool far = leaves_node(stage, next);
    const auto stages = static_cast<std::size_t>(plan().shape.stages);
    for (std::size_t r = 0; r < stages && plan().shape.chunks > 1; ++r) far = far || leaves_node(r, (r + 1) % stages);
    return far ? device_.between : device_.inside;
  }

  std::int64_t hidden_;
  costs::gpu device_;
};

TYPED_TEST(PlansOverLinksBy, TakeAsLongInSimGrid) {
  for (const std::string& list : lists()) {
    const std::vector<tokens> batch = batch_of(list);
    for (const shape& on : this->shapes()) {
      const plan p = this->plan_on_a100(batch, on);
      this->compare(p, transferred_messages(p, tests::llama_3_1_8b().hidden, costs::gpus::a100()));
    }
  }
}

}  // namespace
}  // namespace slimpack
