#ifndef SLIMPACK_SOLVERS_MEGATRON_HPP
#define SLIMPACK_SOLVERS_MEGATRON_HPP

#include <slimpack/core/problem.hpp>
#include <slimpack/core/solution.hpp>
#include <slimpack/solvers/detail/whole_packs.hpp>
#include <slimpack/solvers/assign.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <vector>

namespace slimpack::solvers {

/// Baseline: what a Megatron-LM or NeMo recipe does today. First-fit decreasing into packs of the context length, dealt
/// to the replicas in turn; the same packs forward and backward. Meant for schedules::one_f_one_b{.lead = 1}.
/// Source    first-fit decreasing packing of NeMo and Megatron-Bridge
/// Errors    invalid_input: a sequence longer than the context; those of the schedule
/// Complexity O(n log n): the first bin with room is found in a tournament tree
struct megatron {
  tokens context{0};  ///< tokens of a pack; 0: the batch's longest sequence

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& /*never cuts*/, const Cost& cost,
                                       const Schedule& schedule) const {
    const result<tokens> limit = detail::pack_limit(batch, context);
    if (!limit) return limit.error();
    return detail::symmetric_solution(batch, cost, schedule,
                                      detail::dealt(first_fit_decreasing(batch, limit.value()), batch.shape.replicas));
  }

  friend constexpr bool operator==(const megatron&, const megatron&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const megatron& s) {
    return out << "solvers::megatron{.context = {" << s.context.value << "}}";
  }

 private:
  static std::vector<detail::whole_pack> first_fit_decreasing(const problem& batch, tokens limit) {
    std::vector<sequence> falling = sequences_of(batch.lengths);
    std::stable_sort(falling.begin(), falling.end(), [](const sequence& a, const sequence& b) { return a.length > b.length; });
    std::vector<detail::whole_pack> packs;
    // Leaves hold each bin's room, inner nodes the most room below them; unopened bins have all of it.
    const std::size_t leaves = std::bit_ceil(falling.size());
    std::vector<tokens> room(2 * leaves, limit);
    for (const sequence& s : falling) {
      std::size_t node = 1;
      while (node < leaves) node = 2 * node + (room[2 * node] >= s.length ? 0 : 1);
      const std::size_t bin = node - leaves;
      if (bin >= packs.size()) packs.resize(bin + 1);
      packs[bin].push_back(s);
      room[node] -= s.length;
      while (node /= 2) room[node] = std::max(room[2 * node], room[2 * node + 1]);
    }
    return packs;
  }
};

}  // namespace slimpack::solvers

#endif
