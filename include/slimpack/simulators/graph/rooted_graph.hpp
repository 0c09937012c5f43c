#ifndef SLIMPACK_SIMULATORS_GRAPH_ROOTED_GRAPH_HPP
#define SLIMPACK_SIMULATORS_GRAPH_ROOTED_GRAPH_HPP

#include <slimpack/simulators/graph/task_graph.hpp>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/iterator_facade.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::simulators {

/// Tasks and who waits for whom as Boost.Graph reads them, from one artificial source: a model of VertexListGraph and
/// IncidenceGraph. The source leads to every task without a predecessor. An edge weighs what the task that it leaves
/// takes, and nothing where it leaves the source, so that the longest path from the source to a task is its start.
/// Nodes     those of the tasks, and the source as the last
class rooted_graph {
 public:
  using node = task_graph::node;

  /// The k-th successor of a node.
  struct edge {
    node from{};
    std::uint32_t rank{};
    friend constexpr bool operator==(const edge&, const edge&) = default;
  };

  class vertex_iterator : public boost::iterator_facade<vertex_iterator, node, boost::forward_traversal_tag, node> {
   public:
    vertex_iterator() = default;
    explicit vertex_iterator(node n) : node_(n) {}

   private:
    friend class boost::iterator_core_access;
    [[nodiscard]] node dereference() const { return node_; }
    [[nodiscard]] bool equal(const vertex_iterator& other) const { return node_ == other.node_; }
    void increment() { ++node_; }
    node node_{};
  };

  class out_edge_iterator : public boost::iterator_facade<out_edge_iterator, edge, boost::forward_traversal_tag, edge> {
   public:
    out_edge_iterator() = default;
    explicit out_edge_iterator(edge e) : edge_(e) {}

   private:
    friend class boost::iterator_core_access;
    [[nodiscard]] edge dereference() const { return edge_; }
    [[nodiscard]] bool equal(const out_edge_iterator& other) const { return edge_ == other.edge_; }
    void increment() { ++edge_.rank; }
    edge edge_;
  };

  /// Shapes    rows: tasks + 1; the successors of n are targets[rows[n]] to targets[rows[n + 1] - 1]
  /// Requires  all of them outlive it            Complexity  O(nodes + edges)
  rooted_graph(std::span<const task> tasks, std::span<const std::uint32_t> rows, std::span<const node> targets)
      : tasks_(tasks), rows_(rows), targets_(targets) {
    std::vector<char> waits(tasks.size(), 0);
    for (const node n : targets) waits[n] = 1;
    for (node n = 0; n < tasks.size(); ++n)
      if (!waits[n]) first_.push_back(n);
  }

  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size() + 1; }
  [[nodiscard]] node root() const noexcept { return static_cast<node>(tasks_.size()); }
  [[nodiscard]] std::span<const node> successors(node n) const noexcept {
    if (n == root()) return first_;
    return {targets_.data() + rows_[n], targets_.data() + rows_[n + 1]};
  }
  [[nodiscard]] seconds weight(const edge& e) const noexcept {
    return e.from == root() ? seconds{} : tasks_[e.from].duration;
  }

 private:
  std::span<const task> tasks_;
  std::span<const std::uint32_t> rows_;
  std::span<const node> targets_;
  std::vector<node> first_;  // that the source leads to
};

[[nodiscard]] inline std::size_t num_vertices(const rooted_graph& g) { return g.size(); }
[[nodiscard]] inline auto vertices(const rooted_graph& g) {
  using iterator = rooted_graph::vertex_iterator;
  return std::pair{iterator(0), iterator(static_cast<rooted_graph::node>(g.size()))};
}
[[nodiscard]] inline std::size_t out_degree(rooted_graph::node n, const rooted_graph& g) {
  return g.successors(n).size();
}
[[nodiscard]] inline auto out_edges(rooted_graph::node n, const rooted_graph& g) {
  using iterator = rooted_graph::out_edge_iterator;
  return std::pair{iterator({n, 0}), iterator({n, static_cast<std::uint32_t>(g.successors(n).size())})};
}
[[nodiscard]] inline rooted_graph::node source(const rooted_graph::edge& e, const rooted_graph&) { return e.from; }
[[nodiscard]] inline rooted_graph::node target(const rooted_graph::edge& e, const rooted_graph& g) {
  return g.successors(e.from)[e.rank];
}

}  // namespace slimpack::simulators

namespace boost {
template <>
struct graph_traits<slimpack::simulators::rooted_graph> {
  using vertex_descriptor = slimpack::simulators::rooted_graph::node;
  using edge_descriptor = slimpack::simulators::rooted_graph::edge;
  using directed_category = directed_tag;
  using edge_parallel_category = allow_parallel_edge_tag;
  struct traversal_category : vertex_list_graph_tag, incidence_graph_tag {};
  using vertex_iterator = slimpack::simulators::rooted_graph::vertex_iterator;
  using vertices_size_type = std::size_t;
  using out_edge_iterator = slimpack::simulators::rooted_graph::out_edge_iterator;
  using degree_size_type = std::size_t;
  static vertex_descriptor null_vertex() { return std::numeric_limits<vertex_descriptor>::max(); }
};
}  // namespace boost

#endif
