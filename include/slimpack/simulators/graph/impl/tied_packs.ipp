#ifndef SLIMPACK_SIMULATORS_GRAPH_IMPL_TIED_PACKS_IPP
#define SLIMPACK_SIMULATORS_GRAPH_IMPL_TIED_PACKS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/simulators/graph/detail/disjoint_sets.hpp>
#include <slimpack/simulators/graph/detail/tied_packs.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL result<void> tie_rows(tied_packs& packs, std::span<const std::uint32_t> group,
                                    std::span<const merge> merges) {
  for (const merge& m : merges) {
    const auto position = [&](std::size_t k) {
      const auto at = std::lower_bound(group.begin(), group.end(), m.replicas[k]);
      return static_cast<std::size_t>(at - group.begin());
    };
    if (position(0) == group.size() || group[position(0)] != m.replicas[0]) continue;  // of another group
    for (const pass p : {pass::forward, pass::backward})
      for (const std::vector<pack_id>& row : m.of(p))
        for (std::size_t k = 0, first = row.size(); k < row.size(); ++k) {
          if (row[k] == merge::none) continue;
          first = std::min(first, k);
          if (row[k].value >= packs.count(position(k), p))
            return error{errc::invalid_input, "a row of sequence " + std::to_string(m.sequence.value) + " names pack " +
                                                  std::to_string(row[k].value) + " of replica " +
                                                  std::to_string(m.replicas[k]) + ", which has no such pack"};
          packs.tie(position(first), row[first], position(k), row[k], p);
        }
  }
  return success();
}

SLIMPACK_DECL std::vector<std::pair<std::uint32_t, std::uint32_t>> rows_apart(const tied_packs& packs,
                                                                              std::span<const std::uint32_t> group,
                                                                              std::span<const merge> merges) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> apart;
  for (const merge& m : merges) {
    const auto position = [&](std::size_t k) {
      return static_cast<std::size_t>(std::lower_bound(group.begin(), group.end(), m.replicas[k]) - group.begin());
    };
    if (position(0) == group.size() || group[position(0)] != m.replicas[0]) continue;  // of another group
    for (const pass p : {pass::forward, pass::backward})
      for (std::size_t row = 1; row < m.of(p).size(); ++row) {
        const std::vector<pack_id>&before = m.of(p)[row - 1], &after = m.of(p)[row];
        const auto here = [](const std::vector<pack_id>& of) {
          return static_cast<std::size_t>(
              std::find_if(of.begin(), of.end(), [](pack_id k) { return k != merge::none; }) - of.begin());
        };
        bool joined = false;
        for (std::size_t k = 0; k < after.size(); ++k)
          joined = joined || (before[k] != merge::none && after[k] != merge::none);
        const std::size_t from = here(before), to = here(after);
        if (joined || from == before.size() || to == after.size()) continue;
        apart.emplace_back(packs.number(position(from), p, before[from]), packs.number(position(to), p, after[to]));
      }
  }
  return apart;
}

SLIMPACK_DECL std::vector<std::pair<simulators::task_graph::node, simulators::task_graph::node>> edges_between_rows(
    std::span<const simulators::task_graph> alone, const tied_packs& packs, std::span<const std::uint32_t> group,
    std::span<const merge> merges, const shape& on) {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> apart = rows_apart(packs, group, merges);
  std::vector<std::pair<simulators::task_graph::node, simulators::task_graph::node>> edges;
  if (apart.empty()) return edges;
  const auto parts = static_cast<std::size_t>(on.parts());
  std::vector<simulators::task_graph::node> at(packs.size() * parts);  // by pack and part
  simulators::task_graph::node n = 0;
  for (std::size_t g = 0; g < alone.size(); ++g)
    for (const simulators::task& t : alone[g].tasks()) {
      const std::size_t part = t.what.chunk * static_cast<std::size_t>(on.stages) + t.stage;
      if (t.is_instruction() && t.what.is_pass()) at[packs.number(g, t.what.pass(), t.what.pack) * parts + part] = n;
      ++n;
    }
  for (const auto& [from, to] : apart)
    for (std::size_t part = 0; part < parts; ++part) edges.emplace_back(at[from * parts + part], at[to * parts + part]);
  return edges;
}

SLIMPACK_DECL std::vector<std::vector<simulators::task_graph::node>> tasks_together(
    std::span<const simulators::task_graph> alone, tied_packs& packs, const shape& on) {
  const auto parts = static_cast<std::size_t>(on.parts());
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> set_at(packs.size() * parts, none);
  std::vector<std::vector<simulators::task_graph::node>> together;
  simulators::task_graph::node n = 0;
  for (std::size_t g = 0; g < alone.size(); ++g)
    for (const simulators::task& t : alone[g].tasks()) {
      const simulators::task_graph::node self = n++;
      if (!t.is_instruction() || !t.what.is_pass()) continue;
      const std::optional<std::uint32_t> pack = packs.stand_in(g, t.what.pass(), t.what.pack);
      if (!pack) continue;
      std::uint32_t& set = set_at[*pack * parts + t.what.chunk * static_cast<std::size_t>(on.stages) + t.stage];
      if (set == none) set = static_cast<std::uint32_t>(together.size()), together.emplace_back();
      together[set].push_back(self);
    }
  return together;
}

}  // namespace slimpack::detail

#endif
