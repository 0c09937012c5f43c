#include <slimpack/simulators/order/changing_order.hpp>
#include <slimpack/solvers/improve/shipped.hpp>

#include "../simulators/workloads.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::swap_test {
namespace {

using solvers::improve::swap;

// One stage of two packs, F0 F1 B0 B1: F1 and B0 may pass each other, as nothing waits for either; F0 and F1 may not.
TEST(Swap, LetsNeighboursOfUnlikePassesChangePlaces) {
  const workload work = tests::uniform_work(1, 2, {{1}, {2}});
  const instruction f0{instruction_kind::forward, {0}}, f1{instruction_kind::forward, {1}},
      b0{instruction_kind::backward, {0}}, b1{instruction_kind::backward, {1}};
  const std::vector<program> programs{{f0, f1, b0, b1}};
  const std::vector<std::int64_t> tokens(2, 128);
  simulators::changing_order order(work, programs, tokens, {128, 256});
  detail::splitmix random;
  const solvers::search_options options;
  std::vector<bool> stays;
  for (std::size_t position = 0; position < order.size(); ++position) {
    solvers::improve::instruction_site at{order, position, random, options};
    stays.push_back(swap{}(at));
  }
  EXPECT_EQ(stays[0], false) << "packs of a pass keep their order";
  EXPECT_EQ(stays[1], true);
  EXPECT_EQ(order.programs(), (std::vector<program>{{f0, b0, f1, b1}}));
  EXPECT_EQ(order.makespan(), seconds{6});
}

// A backward does not pass the forward that it needs.
TEST(Swap, LeavesABackwardBehindItsForward) {
  const workload work = tests::uniform_work(1, 1, {{1}, {2}});
  const std::vector<program> programs{{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}}};
  const std::vector<std::int64_t> tokens(1, 128);
  simulators::changing_order order(work, programs, tokens, {128});
  detail::splitmix random;
  const solvers::search_options options;
  solvers::improve::instruction_site at{order, 0, random, options};
  EXPECT_FALSE(swap{}(at));
  EXPECT_EQ(order.programs(), programs);
}

}  // namespace
}  // namespace slimpack::swap_test
