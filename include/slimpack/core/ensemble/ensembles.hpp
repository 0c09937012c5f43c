#ifndef SLIMPACK_CORE_ENSEMBLE_ENSEMBLES_HPP
#define SLIMPACK_CORE_ENSEMBLE_ENSEMBLES_HPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack {

namespace detail {

/// Sets of numbers that grow together; the smallest number of a set stands for it.
/// boost::disjoint_sets does the same, and tests compare the two; but its header includes boost/graph, which headers of
/// a basic planner must not.
/// Source    R. E. Tarjan, Efficiency of a good but not linear set union algorithm (1975), with paths halved
/// Complexity O(log n) for each call, nearly constant in the mean
class disjoint_sets {
 public:
  explicit disjoint_sets(std::size_t size) : parent_(indices<std::uint32_t>(size)) {}

  [[nodiscard]] std::uint32_t representative(std::uint32_t n) {
    while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
    return n;
  }

  void unite(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t first = representative(a);
    const std::uint32_t other = representative(b);
    parent_[std::max(first, other)] = std::min(first, other);
  }

 private:
  std::vector<std::uint32_t> parent_;  // a smaller number of the set, at last the smallest
};

}  // namespace detail

/// What runs together in a group of replicas: ensembles of F or B, which begin when each is the next of its stage and
/// can run, and end with the longest. It is a view of what a plan says, for graphs, schedules and laws:
///
///   rows     on each part of the model, the packs of a row that replicas share (core/merge.hpp)
///   ties     instructions of stages of one replica (core/ensemble/stage_ties.hpp)
///
/// Where two have an instruction in common, they are one. A row of which one sharer alone has tokens is an ensemble of
/// one.
///
/// An F or B of a replica on a part is told by a number, its cell: those of a pack follow each other part by part, and
/// packs of both passes of all replicas are counted through.
class ensembles {
 public:
  /// An F or B of the replica at a position of the group.
  struct member {
    std::size_t position{};
    std::uint32_t stage{};
    instruction what;
    friend bool operator==(const member&, const member&) = default;
  };

  /// packs_of(position, pass): packs of the replica there            Complexity  O(cells)
  template <class PacksOf>
  ensembles(const shape& on, std::size_t replicas, const PacksOf& packs_of)
      : stages_(static_cast<std::uint32_t>(on.stages)), parts_(static_cast<std::uint32_t>(on.parts())), sets_(0) {
    first_.push_back(0);
    for (std::size_t g = 0; g < replicas; ++g)
      for (const pass p : both_passes)
        first_.push_back(first_.back() + static_cast<std::uint32_t>(packs_of(g, p)) * parts_);
    sets_ = detail::disjoint_sets(first_.back());
    together_.resize(first_.back());
  }

  /// Cells of all replicas.
  [[nodiscard]] std::size_t size() const noexcept { return first_.back(); }

  /// Packs of the replica at a position.
  [[nodiscard]] std::size_t packs(std::size_t position, pass p) const {
    return (first_[index(position, p) + 1] - first_[index(position, p)]) / parts_;
  }

  [[nodiscard]] std::uint32_t cell(std::size_t position, pass p, pack_id pack, std::uint32_t part = 0) const {
    return first_[index(position, p)] + pack.value * parts_ + part;
  }
  /// Requires  an F or B
  [[nodiscard]] std::uint32_t cell(const member& m) const {
    return cell(m.position, m.what.pass(), m.what.pack, m.what.chunk * stages_ + m.stage);
  }
  [[nodiscard]] member at(std::uint32_t cell) const;

  /// Ties packs of two replicas, or of one, on every part: those of a row.
  void tie(std::size_t one_position, pack_id one, std::size_t other_position, pack_id other, pass p);

  /// Ties the rows of the merges of a group, whose replicas ascend.
  /// Errors    invalid_input: a row that names no pack            Complexity  O(rows * sharers * parts)
  [[nodiscard]] result<void> tie_rows(std::span<const std::uint32_t> group, std::span<const merge> merges);

  /// Ties what the stages of the replica at a position run together.
  /// Errors    invalid_input: a tie of an instruction that there is not            Complexity  O(ties)
  template <class Replica>
  [[nodiscard]] result<void> tie_stages(std::size_t position, const Replica& r) {
    result<void> tied = success();
    each_tie(r, [&](const auto& one, const auto& other) {
      const member a{position, one.stage, one.what}, b{position, other.stage, other.what};
      if (tied && has(a) && has(b))
        unite(cell(a), cell(b));
      else if (tied)
        tied = no_such(has(a) ? b : a);
    });
    return tied;
  }

  /// The cell that stands for the ensemble of one; nothing where it is of none.
  [[nodiscard]] std::optional<std::uint32_t> ensemble_of(std::uint32_t cell) {
    if (!together_[cell]) return std::nullopt;
    return sets_.representative(cell);
  }

  /// The cells of each ensemble, ascending, by the cell that stands for it; empty where there is none.
  /// Complexity O(cells)
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> lists();

 private:
  [[nodiscard]] static std::size_t index(std::size_t position, pass p) { return 2 * position + (p == pass::backward); }

  [[nodiscard]] bool has(const member& m) const {
    return m.stage < stages_ && m.what.is_pass() && m.what.chunk * stages_ < parts_ &&
           m.what.pack.value < packs(m.position, m.what.pass());
  }
  [[nodiscard]] static error no_such(const member& m);

  void unite(std::uint32_t one, std::uint32_t other) {
    sets_.unite(one, other);
    together_[one] = together_[other] = true;
  }

  std::uint32_t stages_, parts_;
  std::vector<std::uint32_t> first_;  // cell of the first pack, by position and pass; at last how many there are
  detail::disjoint_sets sets_;
  std::vector<bool> together_;  // by cell: whether it is of an ensemble
};

/// Rows of the merges of a group that follow each other without a sharer that runs both: the cells on part 0 of a pack
/// of the first, and of one of the second. Other rows follow each other by program order.
/// Requires  merges that tie_rows has taken            Complexity  O(rows * sharers)
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> rows_apart(const ensembles& of,
                                                                              std::span<const std::uint32_t> group,
                                                                              std::span<const merge> merges);

}  // namespace slimpack

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/core/ensemble/impl/ensembles.ipp>
#endif

#endif
