#ifndef SLIMPACK_SIMULATORS_SWEEP_HPP
#define SLIMPACK_SIMULATORS_SWEEP_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <iosfwd>
#include <string_view>
#include <vector>

namespace slimpack::simulators {

/// One walk over the tasks in the order of their numbers, which is topological; and one walk back.
/// For whom  programs that count what including costs: it needs no Boost.Graph. simulators::boost_graph finds the same
///           without relying on the numbers.
/// Law       testing/simulator_laws.hpp; equals simulators::boost_graph to the last bit
/// Errors    none            Complexity  O(nodes + edges)
struct sweep {
  static constexpr std::string_view name = "sweep";

  [[nodiscard]] result<std::vector<seconds>> starts(const task_graph& graph) const {
    std::vector<seconds> start;
    graph.sweep(start);
    return start;
  }

  [[nodiscard]] result<std::vector<seconds>> tails(const task_graph& graph) const {
    std::vector<seconds> tail(graph.size());
    for (auto n = static_cast<task_graph::node>(graph.size()); n-- > 0;)
      for (const task_graph::node m : graph.successors(n))
        tail[n] = std::max(tail[n], tail[m] + graph.tasks()[m].duration);
    return tail;
  }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const sweep&) {
    return out << "simulators::sweep{}";
  }
};

}  // namespace slimpack::simulators

#endif
