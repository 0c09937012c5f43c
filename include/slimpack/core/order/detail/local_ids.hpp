#ifndef SLIMPACK_CORE_ORDER_DETAIL_LOCAL_IDS_HPP
#define SLIMPACK_CORE_ORDER_DETAIL_LOCAL_IDS_HPP

#include <slimpack/core/sequence.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A replica's sequences under ids 0, 1, ..., their parents with them.
/// Requires  parents that are in the group            Complexity  O(n log n) where samples share beginnings, else O(n)
[[nodiscard]] inline std::vector<sequence> under_local_ids(std::span<const sequence> group) {
  std::vector<std::pair<sequence_id, std::uint32_t>> local;  // where there are parents to be found
  std::vector<sequence> made(group.begin(), group.end());
  for (std::uint32_t i = 0; i < made.size(); ++i) {
    local.push_back({made[i].id, i});
    made[i].id = {i};
  }
  if (std::all_of(made.begin(), made.end(), [](const sequence& s) { return s.is_root(); })) return made;
  std::sort(local.begin(), local.end());
  for (sequence& s : made)
    if (!s.is_root())
      s.parent = {std::lower_bound(local.begin(), local.end(), std::pair{s.parent, std::uint32_t{}})->second};
  return made;
}

/// Their parents by id; empty where they are all roots.
[[nodiscard]] inline std::vector<sequence_id> parents_of(std::span<const sequence> sequences) {
  std::vector<sequence_id> parents;
  if (std::any_of(sequences.begin(), sequences.end(), [](const sequence& s) { return !s.is_root(); }))
    for (const sequence& s : sequences) parents.push_back(s.parent);
  return parents;
}

/// The root of the tree of each: itself, where it is one.
/// Shapes    sequences: by id            Complexity  O(n log n)
[[nodiscard]] inline std::vector<std::uint32_t> roots_of(std::span<const sequence> sequences) {
  std::vector<std::uint32_t> above(sequences.size());
  for (std::uint32_t i = 0; i < above.size(); ++i) above[i] = sequences[i].is_root() ? i : sequences[i].parent.value;
  for (std::uint32_t i = 0; i < above.size(); ++i) {
    std::uint32_t at = i;
    while (above[at] != at) at = above[at] = above[above[at]];
    above[i] = at;
  }
  return above;
}

}  // namespace slimpack::detail

#endif
