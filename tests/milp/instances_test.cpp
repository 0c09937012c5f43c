#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/milp.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace slimpack::instances_test {
namespace {

/// A line of instances.txt, where the columns are explained.
struct instance {
  std::string list;
  std::string when;
  shape on;
  std::vector<tokens> lengths;
};

std::vector<instance> stored_instances() {
  std::ifstream file(SLIMPACK_MILP_INSTANCES);
  std::vector<instance> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    instance i;
    double memory = 0;
    words >> i.list >> i.when >> i.on.stages >> i.on.quantum.value >> memory;
    if (memory > 0) i.on.memory = memory_limit{memory_unit::token, memory};
    for (std::int64_t length = 0; words >> length;) i.lengths.push_back({length});
    all.push_back(std::move(i));
  }
  return all;
}

/// The pipeline of the planner's figures: overhead 64 and hop 24 token-times, attention as much as linear over 49152
/// tokens.
const costs::quadratic cost{.per_pack = {6.4e-5}, .hop = {2.4e-5}};

TEST(MilpInstances, CertifyTheDefaultPlannerWithinOnePercent) {
  const bool full = std::getenv("SLIMPACK_FULL") != nullptr;
  const solvers::milp<> certifier{.limits = {.gap = 0.01}};
  std::size_t tried = 0;
  std::size_t within = 0;
  int k = 0;
  std::cout << std::left << std::setw(24) << "list" << std::right
            << " sequences  p  quantum   memory   planner      milp     bound"
            << "  planner/bound   nodes (milliseconds)\n"
            << std::fixed;
  for (const instance& i : stored_instances()) {
    if (i.when == "full" && !full) continue;
    if (!tests::is_tried(k++)) continue;
    const solvers::milp_answer found =
        certifier.certify({i.lengths, i.on}, slicers::equal_cost{}, cost, schedules::list{}).value();
    const double ratio = found.start / found.bound;
    std::cout << std::left << std::setw(24) << i.list << std::right << std::setw(10) << i.lengths.size() << std::setw(3)
              << i.on.stages << std::setw(9) << i.on.quantum.value << std::setw(9)
              << (i.on.memory ? std::to_string(static_cast<std::int64_t>(i.on.memory->amount)) : "-")
              << std::setprecision(3) << std::setw(10) << found.start.value * 1e3 << std::setw(10)
              << found.makespan.value * 1e3 << std::setw(10) << found.bound.value * 1e3 << std::setw(15)
              << std::setprecision(4) << ratio << std::setw(8) << found.nodes << '\n';
    EXPECT_TRUE(found.proven) << i.list;
    EXPECT_LE(found.bound, found.makespan * (1 + 1e-12)) << i.list;  // on one stage they are equal but for rounding
    EXPECT_LE(found.makespan, found.start) << i.list;
    const bool close = ratio <= 1.01 + 2e-5;  // what the bound gives away for CBC's tolerances
    EXPECT_TRUE(close) << i.list << ", " << i.lengths.size() << " sequences: " << ratio;
    ++tried;
    within += close;
  }
  std::cout << within << " of " << tried << " within 1 %\n";
  EXPECT_GE(tried, 10u / tests::one_in);
}

}  // namespace
}  // namespace slimpack::instances_test
