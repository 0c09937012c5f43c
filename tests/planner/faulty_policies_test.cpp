#include <slimpack/basic_planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

// Simulators, schedules, dividers, moves and cost models whose answers break a law: no plan is made of them, and the
// sentence says whose answer it was. Slicers have faulty_slicers_test.cpp, answers that are no times
// faulty_costs_test.cpp.

namespace slimpack::faulty_policies_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
const std::vector<tokens> lengths{{700}, {3}, {1700}, {5000}, {64}, {900}};
const costs::quadratic cost{.per_pack = {1e-5}};
const solvers::two_phase fast{.effort = solvers::search_budget::fast()};

std::string refusal(const result<plan>& made) {
  EXPECT_FALSE(made);
  return made ? std::string("a plan") : made.error().detail;
}

struct faulty_simulator : simulators::sweep {
  std::function<void(std::vector<seconds>&)> spoil;
  explicit faulty_simulator(std::function<void(std::vector<seconds>&)> how) : spoil(std::move(how)) {}
  [[nodiscard]] result<std::vector<seconds>> starts(const simulators::task_graph& graph) const {
    result<std::vector<seconds>> told = sweep::starts(graph);
    spoil(told.value());
    return told;
  }
};

TEST(FaultySimulators, AreRefused) {
  const auto refused = [](const std::function<void(std::vector<seconds>&)>& spoil) {
    return refusal(basic_planner{
        {.stages = 3, .quantum = {64}}, slicers::equal_cost{}, cost, fast, schedules::list{}, faulty_simulator(spoil)}(
        lengths));
  };
  using starts = std::vector<seconds>;
  EXPECT_EQ(
      refused([](starts& s) { s.clear(); }).rfind("the simulator's answer is wrong: it has 0 times, the graph has ", 0),
      0U);
  EXPECT_EQ(refused([](starts& s) { s.resize(2 * s.size()); }).rfind("the simulator's answer is wrong: it has ", 0),
            0U);
  for (const double odd : {nan, inf, -inf, -1.0, 0.0}) {
    const std::string why = refused([odd](starts& s) { s.back() = {odd}; });
    EXPECT_EQ(why.rfind("the simulator's answer is wrong: task ", 0), 0U) << why;
    EXPECT_NE(why.find("a task starts no earlier than the last that it waits for ends"), std::string::npos) << why;
  }
}

struct faulty_schedule : schedules::list {
  std::function<void(timed_programs&)> spoil;
  explicit faulty_schedule(std::function<void(timed_programs&)> how) : spoil(std::move(how)) {}
  [[nodiscard]] faulty_schedule longer() const { return *this; }
  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    result<timed_programs> told = timed(work);
    if (!told) return std::move(told).error();
    return std::move(told).value().programs;
  }
  [[nodiscard]] result<timed_programs> timed(const workload& work) const {
    result<timed_programs> told = list::timed(work);
    if (told) spoil(told.value());
    return told;
  }
};

TEST(FaultySchedules, AreRefused) {
  using told = timed_programs;
  const std::vector<std::pair<const char*, std::function<void(told&)>>> faults{
      {"no programs", [](told& t) { t.programs.clear(); }},
      {"a stage too few", [](told& t) { t.programs.pop_back(); }},
      {"a stage too many", [](told& t) { t.programs.push_back(t.programs.back()); }},
      {"an instruction too few", [](told& t) { t.programs[0].pop_back(); }},
      {"one too many", [](told& t) { t.programs[0].push_back(t.programs[0].back()); }},
      {"no pack of the plan", [](told& t) { t.programs[0][0].pack = {4000000000U}; }},
      {"no chunk of the shape", [](told& t) { t.programs[0][0].chunk = 200; }},
      {"out of order", [](told& t) { std::swap(t.programs[0].front(), t.programs[0].back()); }},
      {"no makespan", [](told& t) { t.makespan = {nan}; }},
      {"an endless makespan", [](told& t) { t.makespan = {inf}; }},
      {"a makespan below 0", [](told& t) { t.makespan = {-1}; }},
      {"no time at all", [](told& t) { t.makespan = {0}; }}};
  for (const auto& [name, spoil] : faults)
    for (const int replicas : {1, 2}) {
      const shape on{.stages = 3, .replicas = replicas, .quantum = {64}};
      const std::string why = refusal(
          basic_planner{on, slicers::equal_cost{}, cost, fast, faulty_schedule(spoil), simulators::sweep{}}(lengths));
      EXPECT_EQ(why.rfind("the schedule's answer is wrong: ", 0), 0U)
          << name << ", " << replicas << " replicas: " << why;
    }
}

/// Deals sequences to replicas in turn, but for what `spoil` changes.
struct faulty_divider {
  std::function<void(divide::division&, const std::vector<sequence>&)> spoil;
  template <class Cost>
  [[nodiscard]] result<divide::division> divide(const divide::division_problem& asked, const Cost&) const {
    divide::division units(asked.replicas());
    for (std::uint32_t r = 0; r < units.size(); ++r) units[r].replicas = {r};
    for (std::size_t i = 0; i < asked.batch.size(); ++i) units[i % units.size()].own.push_back(asked.batch[i]);
    spoil(units, asked.batch);
    return units;
  }
};

TEST(FaultyDividers, AreRefused) {
  using solver = solvers::two_phase_with<solvers::improve::shipped, faulty_divider>;
  using units = divide::division;
  using batch = std::vector<sequence>;
  const std::vector<std::pair<const char*, std::function<void(units&, const batch&)>>> faults{
      {"replica 0 is in no unit", [](units& u, const batch&) { u.clear(); }},
      {"it has replica 7, the shape has 2", [](units& u, const batch&) { u[0].replicas = {7}; }},
      {"it has sequence 0 of -4 tokens", [](units& u, const batch&) { u[0].own[0].length = {-4}; }},
      {"it has sequence 99 of 700 tokens", [](units& u, const batch&) { u[0].own[0].id = {99}; }},
      {"sequence 0 is divided twice", [](units& u, const batch&) { u[0].own.push_back(u[0].own[0]); }},
      {"2 replicas share sequence 1 of 3 tokens, which at most 1 can",
       [](units& u, const batch& all) {
         u.resize(1);
         u[0] = {{0, 1}, {all[1]}, {all[0], all[2], all[3], all[4], all[5]}, {}};
       }},
      {"a unit allows no exchange", [](units& u, const batch& all) {
         u.resize(1);
         u[0] = {{0, 1}, {all[3]}, {all[0], all[1], all[2], all[4], all[5]}, exchange_set::none()};
       }}};
  for (const auto& [says, spoil] : faults) {
    const basic_planner plan_batch{{.stages = 2, .replicas = 2, .quantum = {64}},
                                   slicers::equal_cost{},
                                   cost,
                                   solver{fast, {spoil}},
                                   schedules::list{},
                                   simulators::sweep{}};
    const std::string why = refusal(plan_batch(lengths));
    EXPECT_EQ(why.rfind("the divider's answer is wrong: ", 0), 0U) << says << ": " << why;
    EXPECT_NE(why.find(says), std::string::npos) << why;
  }
}

/// Runs sequences in packs that are none of theirs.
struct faulty_move {
  static inline std::function<void(partition&)> spoil;
  static constexpr std::string_view name = "faulty";
  static constexpr double weight(const solvers::search_options&) { return 1; }
  bool operator()(solvers::improve::sequence_site& at) const {
    spoil(at.packs);
    return true;
  }
};

TEST(FaultyMoves, AreRefused) {
  using solver = solvers::two_phase_with<solvers::improve::moves<faulty_move>>;
  const auto one = [](slice s) {
    micropacks packs;
    packs.push(s);
    packs.close();
    return packs;
  };
  const std::vector<std::pair<const char*, std::function<void(partition&)>>> faults{
      {"nothing", [](partition& p) { p.forward.clear(); }},
      {"a stranger",
       [&](partition& p) {
         p.forward = one({{77}, {0}, {1}});
       }},
      {"before the sequence",
       [&](partition& p) {
         p.forward = one({{0}, {-5}, {1}});
       }},
      {"a negative length",
       [&](partition& p) {
         p.backward = one({{0}, {0}, {-1}});
       }},
      {"one sequence alone",
       [&](partition& p) {
         p.forward = one({{0}, {0}, {700}});
       }},
      {"forward for backward", [](partition& p) { p.backward = p.forward; }}};
  for (const auto& [name, spoil] : faults) {
    faulty_move::spoil = spoil;
    const basic_planner plan_batch{{.stages = 3, .quantum = {64}},     slicers::equal_cost{},    cost,
                                   solver{{.effort = {3'000'000, 4}}}, schedules::one_f_one_b{}, simulators::sweep{}};
    const std::string why = refusal(plan_batch(lengths));
    EXPECT_EQ(why.rfind("the move faulty is wrong: ", 0), 0U) << name << ": " << why;
  }
}

/// Times of costs::quadratic, changed so that they contradict each other.
struct contradictory {
  std::function<double(double time, const slice&)> changed;
  double useful_times{1};
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return {changed(cost.time(s, p, part).value, s)};
  }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const { return time(s, p, part) * useful_times; }
};

TEST(ContradictoryCosts, AreRefusedByTheLawThatTheyBreak) {
  const auto refused = [](const contradictory& odd) {
    const basic_planner plan_batch{
        {.stages = 3, .quantum = {64}}, slicers::equal_cost{}, odd, fast, schedules::list{}, simulators::sweep{}};
    const std::string why = refusal(plan_batch(lengths));
    EXPECT_EQ(why.rfind("the cost model contradicts itself: ", 0), 0U) << why;
    EXPECT_NE(why.find("testing/cost_model_laws.hpp"), std::string::npos) << why;
    return why;
  };
  const auto size = [](const slice& s) { return static_cast<double>(s.length.value); };
  // A slice takes less as it grows.
  EXPECT_NE(refused({[&](double, const slice& s) {
              return 1e-3 / (1 + size(s));
            }}).find("cost_model law 3 (time does not fall"),
            std::string::npos);
  // A slice behind a prefix takes a tenth.
  EXPECT_NE(refused({[](double t, const slice& s) {
              return s.begin > tokens{0} ? 0.1 * t : t;
            }}).find("cost_model law 3 (time does not fall"),
            std::string::npos);
  // Two halves take half of the whole.
  EXPECT_NE(refused({[](double t, const slice&) {
              return t * t * 1e6;
            }}).find("cost_model law 4 (the times of a sequence's slices"),
            std::string::npos);
  // What is useful takes more than all.
  const std::string useful = refused({[](double t, const slice&) { return t; }, 3});
  EXPECT_NE(useful.find("cost_model law 1 (the useful share"), std::string::npos) << useful;
  EXPECT_NE(useful.find("of all stages, but its useful work"), std::string::npos) << useful;
}

}  // namespace
}  // namespace slimpack::faulty_policies_test
