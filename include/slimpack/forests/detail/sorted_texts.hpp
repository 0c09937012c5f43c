#ifndef SLIMPACK_FORESTS_DETAIL_SORTED_TEXTS_HPP
#define SLIMPACK_FORESTS_DETAIL_SORTED_TEXTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::forests::detail {

using token_text = std::span<const std::int32_t>;

/// How many tokens two texts have in common at their beginnings, if `from` is known to be in common.
[[nodiscard]] inline std::size_t common_beginning(token_text a, token_text b, std::size_t from) {
  constexpr std::size_t step = 64;
  const std::size_t end = std::min(a.size(), b.size());
  while (from + step <= end && std::memcmp(&a[from], &b[from], step * sizeof(a[0])) == 0) from += step;
  while (from < end && a[from] == b[from]) ++from;
  return from;
}

/// Texts in lexical order, a beginning before what goes on from it, and equal ones as they were; with how much each has
/// in common with the one before it, 0 of the first.
struct sorted_texts {
  std::vector<std::uint32_t> order;
  std::vector<std::size_t> shared;

  explicit sorted_texts(std::span<const token_text> all) : order(all.size()), shared(all.size()) {
    std::iota(order.begin(), order.end(), 0U);
    sorted_texts to(*this);
    for (std::size_t width = 1; width < all.size(); width *= 2) {
      for (std::size_t begin = 0; begin < all.size(); begin += 2 * width)
        merge(all, begin, std::min(begin + width, all.size()), std::min(begin + 2 * width, all.size()), to);
      std::swap(order, to.order), std::swap(shared, to.shared);
    }
  }

 private:
  /// Merges two sorted ranges. What both heads have in common with the text that went out last says which is next,
  /// unless it is as much: then they are compared behind that. So no token is compared that is known to be equal.
  void merge(std::span<const token_text> all, std::size_t begin, std::size_t middle, std::size_t end,
             sorted_texts& to) const {
    std::size_t i = begin, j = middle, out = begin, of_i = 0, of_j = 0;
    const auto put = [&](std::size_t& head, std::size_t stop, std::size_t& of_head) {
      to.order[out] = order[head], to.shared[out] = of_head, ++out;
      of_head = ++head < stop ? shared[head] : 0;
    };
    while (i < middle && j < end) {
      if (of_i > of_j) {
        put(i, middle, of_i);
      } else if (of_j > of_i) {
        put(j, end, of_j);
      } else {
        const token_text a = all[order[i]], b = all[order[j]];
        const std::size_t both = common_beginning(a, b, of_i);
        if (both == a.size() || (both < b.size() && a[both] < b[both]))
          put(i, middle, of_i), of_j = both;
        else
          put(j, end, of_j), of_i = both;
      }
    }
    while (i < middle) put(i, middle, of_i);
    while (j < end) put(j, end, of_j);
  }
};

}  // namespace slimpack::forests::detail

#endif
