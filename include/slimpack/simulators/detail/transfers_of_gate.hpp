#ifndef SLIMPACK_SIMULATORS_DETAIL_TRANSFERS_OF_GATE_HPP
#define SLIMPACK_SIMULATORS_DETAIL_TRANSFERS_OF_GATE_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/relays/legs.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/transfer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace slimpack::detail {

/// What the ranks of an ensemble send each other.
class transfers_of_gate {
 public:
  /// Requires  that all outlive it            Complexity  O((rows * sharers + ties) log packs)
  transfers_of_gate(const plan& p, std::span<const std::uint32_t> group) : plan_(p), group_(group) {
    for (std::uint32_t m = 0; m < p.merges.size(); ++m)
      for (const pass way : both_passes)
        for (std::uint32_t row = 0; row < p.merges[m].of(way).size(); ++row) {
          const std::vector<pack_id>& packs = p.merges[m].of(way)[row];
          for (std::size_t k = 0; k < packs.size(); ++k)
            if (packs[k] != merge::none) rows_[{p.merges[m].replicas[k], way, packs[k]}].push_back({m, row});
        }
    for (const std::uint32_t r : group)
      each_tie(p.replicas[r], [&](const auto& one, const auto& other) {
        for (const auto* side : {&one, &other}) tied_.insert({r, side->stage, name_of(side->what, 2)});
      });
  }

  /// Adds those of a gate: rows, legs of relays, those of sharers without tokens of a row, ties.
  void add(const simulators::task_graph& graph, simulators::task_graph::node gate,
           std::vector<simulators::transfer>& to) const {
    std::vector<part_of_row> rows;
    for (const simulators::task_graph::node n : graph.successors(gate)) {
      const simulators::task& t = graph.tasks()[n];
      const auto here = rows_.find({group_[t.replica], t.what.pass, t.what.pack});
      if (here == rows_.end()) continue;
      to.push_back(simulators::transfers::rows{t.what, t.stage, group_[t.replica], gate});
      for (const auto& [m, row] : here->second)
        rows.push_back({plan_.merges[m].sequence, m, row, t.what.chunk, t.stage});
    }
    // As ranks run the rows of a pack, each once.
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const pass way = graph.tasks()[gate].what.pass;
    for (const auto& [sequence, m, row, chunk, stage] : rows) {
      const std::vector<leg> legs = legs_in_order(plan_.merges[m].relays);
      for (std::uint32_t k = 0; k < legs.size(); ++k)
        to.push_back(simulators::transfers::leg{way, chunk, stage, legs[k].from, legs[k].to, m, row, k, gate});
    }
    for (const auto& [sequence, m, row, chunk, stage] : rows)
      for (std::size_t k = 0; k < plan_.merges[m].replicas.size(); ++k)
        if (plan_.merges[m].of(way)[row][k] == merge::none)
          to.push_back(simulators::transfers::absent{way, chunk, stage, plan_.merges[m].replicas[k], m, row, gate});
    for (const simulators::task_graph::node n : graph.successors(gate)) {
      const simulators::task& t = graph.tasks()[n];
      if (!tied_.empty() && tied_.contains({group_[t.replica], t.stage, name_of(t.what, 2)}))
        to.push_back(simulators::transfers::ties{t.what, t.stage, group_[t.replica], gate});
    }
  }

 private:
  using part_of_row = std::tuple<sequence_id, std::uint32_t, std::uint32_t, std::uint32_t,
                                 std::uint32_t>;  // sequence, merge, row of the pass, chunk, stage
  struct merge_row {
    std::uint32_t merge{};
    std::uint32_t row{};
  };

  const plan& plan_;
  std::span<const std::uint32_t> group_;
  std::map<std::tuple<std::uint32_t, pass, pack_id>, std::vector<merge_row>> rows_;  // by replica, pass and pack
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::string>> tied_;             // replica, stage, instruction
};

}  // namespace slimpack::detail

#endif
