#ifndef SLIMPACK_SOLVERS_PACK_SEQUENCE_ORDERS_HPP
#define SLIMPACK_SOLVERS_PACK_SEQUENCE_ORDERS_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::detail {

/// Orders in which the passes of a replica can take its sequences, one after the other: depth-first, a parent before
/// its children forward, and after them backward. Both passes come to siblings in one order.
///
/// Rule      among those with one parent, and among roots, short ones at both ends and the longest between: as many as
///           `front` says go before it. Short is what has few tokens, its descendants' included
/// Source    derived: a pipeline fills and drains with short ones; depth-first, since a path is held as long as
///           anything below it
class sequence_orders {
 public:
  /// Shapes    sequences: by id            Complexity  O(n log n)
  explicit sequence_orders(std::span<const sequence> sequences)
      : rising_(sequences.begin(), sequences.end()), ends_(sequences.size() + 1) {
    std::vector<tokens> subtree(sequences.size());
    std::vector<std::uint32_t> waiting(sequences.size());  // children whose subtrees are not summed up
    for (const sequence& s : sequences) {
      ++ends_[family_of(s)];
      if (!s.is_root()) ++waiting[s.parent.value];
    }
    for (std::size_t k = 1; k < ends_.size(); ++k) ends_[k] += ends_[k - 1];
    for (const sequence& leaf : sequences) {
      if (waiting[leaf.id.value] > 0) continue;
      for (const sequence* at = &leaf;; at = &sequences[at->parent.value]) {
        subtree[at->id.value] += at->length;
        if (at->is_root()) break;
        subtree[at->parent.value] += subtree[at->id.value];
        if (--waiting[at->parent.value] > 0) break;
      }
    }
    std::stable_sort(rising_.begin(), rising_.end(), [&](const sequence& a, const sequence& b) {
      const std::size_t of_a = family_of(a), of_b = family_of(b);
      return of_a != of_b ? of_a < of_b : subtree[a.id.value] < subtree[b.id.value];
    });
  }

  /// Whether no sequence goes on where this one ends.
  [[nodiscard]] bool ends_path(const sequence& s) const noexcept { return ends_[s.id.value + 1] == ends_[s.id.value]; }

  /// Complexity O(n)
  [[nodiscard]] by_pass<std::vector<sequence>> of(double front) const {
    std::vector<sequence> siblings;  // family after family
    siblings.reserve(rising_.size());
    for (std::size_t k = 0; k < ends_.size(); ++k) arrange(family(rising_, k), front, siblings);
    if (family(siblings, 0).size() == siblings.size()) return {siblings, siblings};
    by_pass<std::vector<sequence>> orders;
    orders.forward = walk<false>(siblings);
    orders.backward = walk<true>(siblings);
    std::reverse(orders.backward.begin(), orders.backward.end());
    return orders;
  }

 private:
  /// Siblings are a family: 0 of roots, k + 1 of children of sequence k.
  [[nodiscard]] static std::size_t family_of(const sequence& s) noexcept {
    return s.is_root() ? 0 : s.parent.value + std::size_t{1};
  }
  [[nodiscard]] std::span<const sequence> family(std::span<const sequence> all, std::size_t k) const noexcept {
    const std::size_t begin = k == 0 ? 0 : ends_[k - 1];
    return all.subspan(begin, ends_[k] - begin);
  }

  /// Adds siblings, the longest between short ones.
  static void arrange(std::span<const sequence> rising, double front, std::vector<sequence>& to) {
    for (const bool before : {true, false}) {
      double share = 0.5;  // of a sequence, due to the front
      const std::size_t begin = to.size();
      for (const sequence& s : rising) {
        share += front;
        const bool due = share >= 1;
        if (due) share -= 1;
        if (due == before) to.push_back(s);
      }
      if (!before) std::reverse(to.begin() + static_cast<std::ptrdiff_t>(begin), to.end());
    }
  }

  /// All sequences, parents before children; siblings in order, or the last first.
  template <bool LastFirst>
  [[nodiscard]] std::vector<sequence> walk(std::span<const sequence> siblings) const {
    std::vector<sequence> order, open;
    order.reserve(siblings.size());
    const auto enter = [&](std::size_t k) {
      const std::span<const sequence> next = family(siblings, k);
      if constexpr (LastFirst)
        open.insert(open.end(), next.begin(), next.end());
      else
        open.insert(open.end(), next.rbegin(), next.rend());
    };
    enter(0);
    while (!open.empty()) {
      const sequence s = open.back();
      open.pop_back();
      order.push_back(s);
      enter(s.id.value + std::size_t{1});
    }
    return order;
  }

  std::vector<sequence> rising_;   // family after family, what has few tokens first
  std::vector<std::size_t> ends_;  // of families
};

}  // namespace slimpack::detail

#endif
