#ifndef SLIMPACK_EXECUTORS_DETAIL_SCRIPT_PATH_FACTS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SCRIPT_PATH_FACTS_HPP

#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/piece.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace slimpack::detail {

/// What pieces say of their sequences, of the paths down to them, and of samples and targets on these.
/// Requires  a batch without a fault            Complexity  O(sequences + samples + targets + depths of the leaves)
class path_facts {
 public:
  path_facts() = default;
  explicit path_facts(const plan& p);

  /// The piece of a slice, whose edges are to come (add_edges).            Complexity  O(log samples)
  [[nodiscard]] piece piece_of(const slice& s) const;

  /// Tells the pieces of both passes their edges; once.            Complexity  O(pieces log targets + edges)
  void add_edges(piece_list& forward, piece_list& backward);

  [[nodiscard]] bool has_targets() const noexcept { return !targets_.empty(); }

 private:
  /// What pieces point to, wherever the script that has them is moved to.
  struct told {
    std::vector<slice> above;      // of each leaf, the sequences above it, the root first
    std::vector<sample_end> ends;  // ascending
    std::vector<target_run> edges;
  };
  struct part {
    std::uint32_t begin{};
    std::uint32_t count{};
  };

  void find_paths(std::span<const sequence_id> parents);
  void count_samples(const plan& p);
  /// Calls visit(run) for the edges of a slice.
  template <class Visit>
  void each_edge(const slice& s, const Visit& visit) const;

  slice_order order_;
  std::shared_ptr<told> told_;
  std::vector<part> above_;             // by sequence, in told::above; empty where no samples share beginnings
  std::vector<std::uint32_t> through_;  // by sequence: samples that have its first token
  std::vector<std::uint32_t> first_child_, next_child_;  // by sequence: ids; 0 for none, which is no child
  std::vector<target_run> targets_;                      // ascending
  std::vector<path_copy> copies_;                        // ascending
};

/// How many edges a piece has, each once for every sample that trains on it.
[[nodiscard]] constexpr tokens edges_of(const piece& one) noexcept {
  tokens sum{};
  for (const target_run& run : one.edges) sum += tokens{run.length.value * std::int64_t{run.count}};
  return sum;
}

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/path_facts.ipp>
#endif

#endif
