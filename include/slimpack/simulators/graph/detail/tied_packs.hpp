#ifndef SLIMPACK_SIMULATORS_GRAPH_DETAIL_TIED_PACKS_HPP
#define SLIMPACK_SIMULATORS_GRAPH_DETAIL_TIED_PACKS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/simulators/graph/detail/disjoint_sets.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Which packs of a group of replicas run together, because rows of shared sequences hold them.
/// Packs of both passes of all replicas are counted through; of those that run together the smallest number stands for
/// all.
class tied_packs {
 public:
  /// packs_of(position, pass): packs of the replica there            Complexity  O(replicas)
  template <class PacksOf>
  tied_packs(std::size_t replicas, const PacksOf& packs_of) : sets_(0) {
    first_.push_back(0);
    for (std::size_t g = 0; g < replicas; ++g)
      for (const pass p : {pass::forward, pass::backward})
        first_.push_back(first_.back() + static_cast<std::uint32_t>(packs_of(g, p)));
    sets_ = disjoint_sets(first_.back());
    has_row_.resize(first_.back());
  }

  /// Packs of all replicas.
  [[nodiscard]] std::size_t size() const noexcept { return first_.back(); }

  /// Packs of the replica at a position.
  [[nodiscard]] std::size_t count(std::size_t position, pass p) const {
    return first_[index(position, p) + 1] - first_[index(position, p)];
  }

  /// A pack's among all packs of all replicas.
  [[nodiscard]] std::uint32_t number(std::size_t position, pass p, pack_id pack) const {
    return first_[index(position, p)] + pack.value;
  }

  /// Ties a pack of a row to the row's first.
  void tie(std::size_t first_position, pack_id first, std::size_t position, pack_id pack, pass p) {
    const std::uint32_t own = number(position, p, pack);
    sets_.unite(number(first_position, p, first), own);
    has_row_[own] = true;
  }

  /// The pack that stands for those that one runs with; nothing where it is of no row.
  [[nodiscard]] std::optional<std::uint32_t> stand_in(std::size_t position, pass p, pack_id pack) {
    const std::uint32_t own = number(position, p, pack);
    if (!has_row_[own]) return std::nullopt;
    return sets_.representative(own);
  }

 private:
  [[nodiscard]] static std::size_t index(std::size_t position, pass p) { return 2 * position + (p == pass::backward); }

  std::vector<std::uint32_t> first_;  // number of the first pack, by position and pass; at last how many there are
  disjoint_sets sets_;
  std::vector<bool> has_row_;
};

/// Ties the packs of each row of the merges of a group.
/// Errors    invalid_input: a row that names no pack            Complexity  O(rows * sharers)
[[nodiscard]] result<void> tie_rows(tied_packs& packs, std::span<const std::uint32_t> group,
                                    std::span<const merge> merges);

/// Rows that follow each other without a sharer that runs both: the number of a pack of the first, and of one of the
/// second. Other rows follow each other by program order.
/// Requires  merges that tie_rows has taken            Complexity  O(rows * sharers)
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> rows_apart(const tied_packs& packs,
                                                                              std::span<const std::uint32_t> group,
                                                                              std::span<const merge> merges);

/// Edges between such rows, from one to the next on each part. Tasks of all graphs are counted through.
/// Requires  merges that tie_rows has taken            Complexity  O(rows * sharers), and O(nodes) where there are such
///           rows
[[nodiscard]] std::vector<std::pair<simulators::task_graph::node, simulators::task_graph::node>> edges_between_rows(
    std::span<const simulators::task_graph> alone, const tied_packs& packs, std::span<const std::uint32_t> group,
    std::span<const merge> merges, const shape& on);

/// The tasks that run together: for each pack that stands for others, and each part of the model, one set. Tasks of all
/// graphs are counted through.
/// Complexity O(nodes)
[[nodiscard]] std::vector<std::vector<simulators::task_graph::node>> tasks_together(
    std::span<const simulators::task_graph> alone, tied_packs& packs, const shape& on);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/simulators/graph/impl/tied_packs.ipp>
#endif

#endif
