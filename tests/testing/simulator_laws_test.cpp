#include <slimpack/testing/simulator_laws.hpp>

#include <slimpack/simulators/sweep.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::simulator_laws_test {
namespace {

using simulators::task_graph;
using answer = result<std::vector<seconds>>;

answer changed(answer found, auto change) {
  if (found)
    for (seconds& each : found.value()) change(each);
  return found;
}

/// Every task starts at once.
struct hasty : simulators::sweep {
  [[nodiscard]] answer starts(const task_graph& graph) const { return std::vector<seconds>(graph.size()); }
};

/// Nothing comes after a task.
struct blind : simulators::sweep {
  [[nodiscard]] answer tails(const task_graph& graph) const { return std::vector<seconds>(graph.size()); }
};

/// Counts a task itself to what comes after it.
struct inclusive : simulators::sweep {
  [[nodiscard]] answer tails(const task_graph& graph) const {
    answer found = sweep::tails(graph);
    for (std::size_t n = 0; n < graph.size(); ++n) found.value()[n] += graph.tasks()[n].duration;
    return found;
  }
};

/// Answers for one task too few.
struct short_of_one : simulators::sweep {
  [[nodiscard]] answer starts(const task_graph& graph) const {
    answer found = sweep::starts(graph);
    found.value().pop_back();
    return found;
  }
};

/// Takes gates of rows for a cycle.
struct refuses_gates : simulators::sweep {
  [[nodiscard]] answer starts(const task_graph& graph) const {
    if (std::any_of(graph.tasks().begin(), graph.tasks().end(), [](const simulators::task& t) { return t.is_gate; }))
      return error{errc::cyclic_schedule, "a gate"};
    return sweep::starts(graph);
  }
};

/// Each answer is a second later than the one before.
struct ages : simulators::sweep {
  std::shared_ptr<double> age = std::make_shared<double>(0);
  [[nodiscard]] answer tails(const task_graph& graph) const {
    const seconds by{(*age)++};
    return changed(sweep::tails(graph), [&](seconds& each) { each += by; });
  }
};

/// Knows the thread that made it, and no other.
struct shy : simulators::sweep {
  std::thread::id home = std::this_thread::get_id();
  [[nodiscard]] answer starts(const task_graph& graph) const {
    return changed(sweep::starts(graph),
                   [&](seconds& each) { each = std::this_thread::get_id() == home ? each : seconds{}; });
  }
};

/// The laws fail, this one among them, with a line that has its number and these words.
template <class Simulator>
void expect_broken(const Simulator& simulator, int law, std::string_view words) {
  const testing::report found = testing::simulator_laws(simulator, {.cases = 4});
  EXPECT_FALSE(found);
  EXPECT_GT(found.broken(law), 0) << found;
  const bool named = std::any_of(found.failures().begin(), found.failures().end(), [&](const testing::failure& f) {
    return f.law == law && f.line.starts_with("law " + std::to_string(law) + ", ") &&
           f.line.find(words) != std::string::npos;
  });
  EXPECT_TRUE(named) << "no law " << law << ", " << words << ": " << found;
}

TEST(SimulatorLaws, NameEachLawThatIsBroken) {
  expect_broken(hasty{}, 1, "a task starts when the last of its predecessors ends: task ");
  expect_broken(short_of_one{}, 1, "there is one start and one tail for each task: ");
  expect_broken(blind{}, 2, "a tail is the longest chain that waits: task ");
  expect_broken(inclusive{}, 3, "start, duration and tail add up to the makespan on the critical path: ");
  expect_broken(refuses_gates{}, 4, "every graph is answered: a gate");
  expect_broken(ages{}, 5, "equal graphs get equal answers");
  expect_broken(shy{}, 5, "equal graphs get equal answers on several threads at once: graph 0");
}

TEST(SimulatorLaws, FindNothingElseInASimulatorThatIsShy) {
  const testing::report found = testing::simulator_laws(shy{}, {.cases = 4});
  EXPECT_EQ(found.broken(5), 3);
  EXPECT_EQ(found.failures().size(), 3);
}

// Law 4 rests on it: a simulator is never given a cycle.
TEST(SimulatorLaws, NoGraphIsMadeOfTasksThatWaitForEachOther) {
  testing::generator random(5);
  const std::vector<task_graph> alone{testing::detail::random_alone({.longest = {4096}}, random)};
  const task_graph& only = alone.front();
  ASSERT_FALSE(only.successors(0).empty());
  // A task starts together with one that waits for it.
  const std::vector<std::vector<task_graph::node>> together{{0, only.successors(0).front()}};
  task_graph made;
  const result<void> refused = made.join(alone, together);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::cyclic_schedule);
}

}  // namespace
}  // namespace slimpack::simulator_laws_test
