#ifndef SLIMPACK_SIMULATORS_GRAPH_IMPL_LENDING_TASKS_IPP
#define SLIMPACK_SIMULATORS_GRAPH_IMPL_LENDING_TASKS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/detail/disjoint_sets.hpp>
#include <slimpack/simulators/graph/detail/lending_tasks.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL void add_lending_tasks(const simulators::task_graph& alone, const workload& work,
                                     simulators::task_graph::node first,
                                     std::vector<std::vector<simulators::task_graph::node>>& together) {
  if (work.loans.empty()) return;
  const auto parts = static_cast<std::size_t>(work.shape.parts());
  const auto cell = [&](const instruction& i, std::uint32_t stage) {
    return (i.pack.value + (i.pass() == pass::forward ? 0 : work.times.packs(pass::forward))) * parts +
           i.chunk * static_cast<std::size_t>(work.shape.stages) + stage;
  };
  std::vector<std::uint32_t> node_at((work.times.packs(pass::forward) + work.times.packs(pass::backward)) * parts);
  for (std::uint32_t n = 0; n < alone.size(); ++n)
    if (const simulators::task& t = alone.tasks()[n]; t.is_instruction() && t.what.is_pass())
      node_at[cell(t.what, t.stage)] = n;
  disjoint_sets joined(alone.size());
  const auto node_of = [&](const loan::side& s) { return node_at[cell(s.what, s.stage)]; };
  for (const loan& l : work.loans) joined.unite(node_of(l.lender), node_of(l.helper));
  std::vector<std::size_t> set_of(alone.size());  // counted from 1; 0: not yet
  for (std::uint32_t n = 0; n < alone.size(); ++n) {
    const std::uint32_t home = joined.representative(n);
    if (home == n) continue;
    if (set_of[home] == 0) together.push_back({first + home}), set_of[home] = together.size();
    together[set_of[home] - 1].push_back(first + n);
  }
}

}  // namespace slimpack::detail

#endif
