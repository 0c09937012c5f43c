#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/testing/solver_laws.hpp>

#include "../laws/round_robin.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>

namespace slimpack::solver_laws_test {
namespace {

/// Exactly the laws given are broken.
void expect_broken(const auto& solver, std::initializer_list<int> laws) {
  shape on;
  on.stages = 3;
  on.replicas = 2;
  const testing::report r = testing::solver_laws(solver, slicers::whole{}, costs::quadratic{}, schedules::one_f_one_b{},
                                                 on, {.cases = 5, .longest = {4096}});
  for (int law = 1; law <= 5; ++law)
    EXPECT_EQ(r.broken(law) > 0, std::find(laws.begin(), laws.end(), law) != laws.end()) << "law " << law << '\n' << r;
}

/// Asks round_robin, and changes the solution by hand.
template <class Change>
struct changed {
  Change change;
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    result<solution> good = tests::round_robin{}.solve(batch, slicer, cost, schedule);
    if (good) change(good.value(), batch);
    return good;
  }
};
template <class Change>
changed(Change) -> changed<Change>;

/// The replica's packs with each slice of more than `at` tokens cut in two packs, and programs to match.
replica_solution cut(const replica_solution& one, tokens at, bool in_order) {
  replica_solution made{one.sequences, {}, {}};
  for (const pass p : {pass::forward, pass::backward}) {
    micropacks& packs = made.partition.of(p);
    for (const slice& s : one.partition.of(p).slices()) {
      const slice head{s.sequence, s.begin, std::min(at, s.length)};
      const slice tail{s.sequence, head.end(), s.length - head.length};
      const bool head_first = (p == pass::forward) == in_order;
      for (const slice& part : {head_first ? head : tail, head_first ? tail : head}) {
        if (part.length == tokens{0}) continue;
        packs.push(part);
        packs.close();
      }
    }
  }
  made.programs = schedules::one_f_one_b{}
                      .programs(price(
                          made.partition, costs::quadratic{},
                          [&] {
                            shape on;
                            on.stages = static_cast<int>(one.programs.size());
                            return on;
                          }(),
                          std::vector<memory_rates>(one.programs.size())))
                      .value();
  return made;
}

TEST(SolverLawsReport, AcceptsALawfulSolver) { expect_broken(tests::round_robin{}, {}); }

TEST(SolverLawsReport, FindsTokensThatDoNotRunOnce) {
  expect_broken(changed{[](solution& all, const problem&) { all.replicas.pop_back(); }}, {1});
  // listed but not run
  expect_broken(changed{[](solution& all, const problem&) {
                  all.replicas[0].partition = {}, all.replicas[0].programs.assign(3, {});
                }},
                {1, 3});
  // run but not listed
  expect_broken(changed{[](solution& all, const problem&) { all.replicas[0].sequences.clear(); }}, {1});
  // on both replicas
  expect_broken(changed{[](solution& all, const problem&) { all.replicas[1] = all.replicas[0]; }}, {1});
  // a batch that has no such sequence
  expect_broken(changed{[](solution& all, const problem&) { all.replicas[0].sequences.push_back({1000}); }}, {1});
  // one token short, in both passes
  expect_broken(changed{[](solution& all, const problem&) {
                  for (micropacks* packs : {&all.replicas[0].partition.forward, &all.replicas[0].partition.backward}) {
                    micropacks shorter;
                    for (slice s : packs->slices()) {
                      s.length -= tokens{s.sequence.value == 0 && s.length > tokens{1} ? 1 : 0};
                      shorter.push(s);
                      shorter.close();
                    }
                    *packs = shorter;
                  }
                }},
                {1, 2, 3});
}

TEST(SolverLawsReport, FindsCutsOffTheQuantum) {
  expect_broken(changed{[](solution& all, const problem& batch) {
                  if (!batch.shape.memory) all.replicas[0] = cut(all.replicas[0], {100}, true);
                }},
                {2});
}

TEST(SolverLawsReport, FindsSlicesOutOfOrder) {
  expect_broken(changed{[](solution& all, const problem& batch) {
                  if (!batch.shape.memory) all.replicas[0] = cut(all.replicas[0], {128}, false);
                }},
                {3});
}

TEST(SolverLawsReport, AcceptsCutsOnTheQuantumInOrder) {
  expect_broken(changed{[](solution& all, const problem& batch) {
                  if (!batch.shape.memory) all.replicas[0] = cut(all.replicas[0], {128}, true);
                }},
                {});
}

TEST(SolverLawsReport, FindsProgramsThatBreakTheScheduleLaws) {
  expect_broken(changed{[](solution& all, const problem&) { all.replicas[0].programs.pop_back(); }}, {3});
  expect_broken(changed{[](solution& all, const problem&) { all.replicas[0].programs[1].pop_back(); }}, {3});
  expect_broken(changed{[](solution& all, const problem&) {  // the last stage runs backward before forward
                  std::swap(all.replicas[0].programs.back()[0], all.replicas[0].programs.back()[1]);
                }},
                {3});
}

struct without_limits {
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(problem batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    batch.shape.memory.reset();
    return tests::round_robin{}.solve(batch, slicer, cost, schedule);
  }
};
struct refuses {
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem&, const Slicer&, const Cost&, const Schedule&) const {
    return error{errc::out_of_memory, "1 token is missing"};
  }
};
struct gives_no_numbers {
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    result<solution> good = tests::round_robin{}.solve(batch, slicer, cost, schedule);
    if (!good) return error{errc::out_of_memory, "it does not fit"};
    return good;
  }
};

TEST(SolverLawsReport, FindsMemoryThatIsExceededOrRefusedFalsely) {
  expect_broken(without_limits{}, {4});
  expect_broken(refuses{}, {4});
  expect_broken(gives_no_numbers{}, {4});
}

struct moody {
  std::shared_ptr<int> asked = std::make_shared<int>(0);
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    result<solution> good = tests::round_robin{}.solve(batch, slicer, cost, schedule);
    if (good && (*asked)++ % 2 == 1) std::swap(good.value().replicas[0], good.value().replicas[1]);
    return good;
  }
};

TEST(SolverLawsReport, FindsAnswersThatChange) { expect_broken(moody{}, {5}); }

}  // namespace
}  // namespace slimpack::solver_laws_test
