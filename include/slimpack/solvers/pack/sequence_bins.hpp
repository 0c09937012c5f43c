#ifndef SLIMPACK_SOLVERS_PACK_SEQUENCE_BINS_HPP
#define SLIMPACK_SOLVERS_PACK_SEQUENCE_BINS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Uncut sequences that run together.
using sequence_bin = std::vector<sequence>;

[[nodiscard]] inline tokens size_of(const sequence_bin& pack) {
  tokens sum{};
  for (const sequence& s : pack) sum += s.length;
  return sum;
}

/// The token limit of a pack: `context`, or the longest sequence where that is 0.
/// Errors    invalid_input: a sequence is longer than the context
[[nodiscard]] inline result<tokens> pack_limit(const problem& batch, tokens context) {
  const tokens longest = *std::max_element(batch.lengths.begin(), batch.lengths.end());
  if (context == tokens{0}) return longest;
  if (longest > context)
    return error{errc::invalid_input, "a sequence of " + std::to_string(longest.value) +
                                          " tokens exceeds the pack length of " + std::to_string(context.value)};
  return context;
}

/// First-fit decreasing: each sequence, the longest first, goes to the first pack with room for it.
/// Requires  no sequence longer than the limit
/// Complexity O(n log n): a tournament tree finds the pack
[[nodiscard]] inline std::vector<sequence_bin> first_fit_decreasing(std::vector<sequence> falling, tokens limit) {
  std::stable_sort(falling.begin(), falling.end(),
                   [](const sequence& a, const sequence& b) { return a.length > b.length; });
  std::vector<sequence_bin> packs;
  // Leaves hold each pack's room, inner nodes the most room below them; unopened packs have all of it.
  const std::size_t leaves = std::bit_ceil(falling.size());
  std::vector<tokens> room(2 * leaves, limit);
  for (const sequence& s : falling) {
    std::size_t node = 1;
    while (node < leaves) node = 2 * node + (room[2 * node] >= s.length ? 0 : 1);
    const std::size_t at = node - leaves;
    if (at >= packs.size()) packs.resize(at + 1);
    packs[at].push_back(s);
    room[node] -= s.length;
    while (node /= 2) room[node] = std::max(room[2 * node], room[2 * node + 1]);
  }
  return packs;
}

/// The same packs forward and backward, in that order.
[[nodiscard]] inline partition symmetric(const std::vector<sequence_bin>& packs) {
  partition made;
  for (const sequence_bin& pack : packs) {
    for (const sequence& s : pack) made.forward.push(s.whole());
    made.forward.close();
  }
  made.backward = made.forward;
  return made;
}

/// Replicas that have these packs of uncut sequences, the same forward and backward, and no order yet.
[[nodiscard]] inline std::vector<replica_solution> symmetric(const std::vector<std::vector<sequence_bin>>& replicas) {
  std::vector<replica_solution> made;
  for (const std::vector<sequence_bin>& packs : replicas) {
    replica_solution& r = made.emplace_back();
    for (const sequence_bin& pack : packs)
      for (const sequence& s : pack) r.sequences.push_back(s.id);
    r.partition = symmetric(packs);
  }
  return made;
}

/// Packs dealt to replicas in turn, as a data loader does.
[[nodiscard]] inline std::vector<std::vector<sequence_bin>> dealt(std::vector<sequence_bin>&& packs, int replicas) {
  std::vector<std::vector<sequence_bin>> hands(static_cast<std::size_t>(replicas));
  for (std::size_t i = 0; i < packs.size(); ++i) hands[i % hands.size()].push_back(std::move(packs[i]));
  return hands;
}

}  // namespace slimpack::detail

#endif
