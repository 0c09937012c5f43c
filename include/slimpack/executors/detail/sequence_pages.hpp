#ifndef SLIMPACK_EXECUTORS_DETAIL_SEQUENCE_PAGES_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SEQUENCE_PAGES_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/executors/hooks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Where the fields of a page lie: a block of (tokens, width) for each layer and field, one after the other.
class page_columns {
 public:
  using widths = std::vector<std::vector<std::size_t>>;  // [layer][field]

  explicit page_columns(const widths& layers) {
    for (const std::vector<std::size_t>& layer : layers) {
      before_.push_back({size_});
      for (const std::size_t width : layer) before_.back().push_back(size_ += width);
    }
  }

  /// Those of some fields; the others have none.
  [[nodiscard]] static page_columns only(widths layers, const std::vector<std::size_t>& fields) {
    for (std::vector<std::size_t>& layer : layers)
      for (std::size_t f = 0; f < layer.size(); ++f)
        if (std::ranges::find(fields, f) == fields.end()) layer[f] = 0;
    return page_columns(layers);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t before(std::size_t layer, std::size_t field) const noexcept {
    return before_[layer][field];
  }
  [[nodiscard]] std::size_t width(std::size_t layer, std::size_t field) const noexcept {
    return before_[layer][field + 1] - before_[layer][field];
  }

 private:
  std::vector<std::vector<std::size_t>> before_;  // one more for the end
  std::size_t size_{};
};

/// What is held of a sequence, page by page: an allocation of a kind for `quantum` tokens, or the last ones.
/// Units     bytes that are allocated and freed are returned            Complexity  O(pages touched)
template <class T>
class sequence_pages {
 public:
  using memory = aligned_bytes;
  using pages = std::vector<std::optional<memory>>;
  using kind = pages sequence_pages::*;

  /// begin: where the sequence begins on its path
  sequence_pages(tokens begin, tokens length, std::int64_t quantum)
      : activations(static_cast<std::size_t>((length.value + quantum - 1) / quantum)),
        gradients(activations.size()),
        weights(activations.size()),
        own(activations.size()),
        begin_(begin.value),
        length_(length.value),
        quantum_(quantum) {}

  pages activations;
  pages gradients;                ///< accumulators
  pages weights;                  ///< what weight gradients need beside activations
  std::vector<std::uint8_t> own;  ///< run by this replica

  [[nodiscard]] std::size_t first(tokens at) const noexcept {
    return static_cast<std::size_t>((at.value - begin_) / quantum_);
  }
  [[nodiscard]] std::size_t end(tokens at) const noexcept {
    return static_cast<std::size_t>((at.value - begin_ + quantum_ - 1) / quantum_);
  }
  [[nodiscard]] std::size_t count() const noexcept { return activations.size(); }
  [[nodiscard]] tokens begin_of(std::size_t page) const noexcept {
    return {begin_ + static_cast<std::int64_t>(page) * quantum_};
  }
  [[nodiscard]] std::size_t rows(std::size_t page) const noexcept {
    return static_cast<std::size_t>(std::min(quantum_, begin_ + length_ - begin_of(page).value));
  }

  /// Whether a page of tokens [from, to) is what a predicate says of its number.
  template <class Is>
  [[nodiscard]] bool any_of(tokens from, tokens to, const Is& is) const {
    for (std::size_t page = first(from); from < to && page < end(to); ++page)
      if (is(page)) return true;
    return false;
  }
  /// Whether all of them are there.
  [[nodiscard]] bool has(kind which, tokens from, tokens to) const {
    return !any_of(from, to, [&](std::size_t page) { return !(this->*which)[page]; });
  }
  [[nodiscard]] bool empty() const noexcept { return held_ == 0; }
  /// Where the pages end that are held from `from` on without a gap, at `to` or not far after it.
  [[nodiscard]] tokens held_up_to(tokens from, tokens to) const {
    while (from < to && activations[first(from)]) from = begin_of(first(from) + 1);
    return from;
  }

  /// Allocates a page, uninitialised.
  std::size_t allocate(kind which, std::size_t page, const page_columns& columns) {
    if (which == &sequence_pages::activations) ++held_;
    return as_span((this->*which)[page].emplace(rows(page) * columns.size() * sizeof(T))).size();
  }
  std::size_t allocate(kind which, tokens from, tokens to, const page_columns& columns) {
    std::size_t made = 0;
    for (std::size_t page = first(from); page < end(to); ++page) made += allocate(which, page, columns);
    return made;
  }
  /// Zeros for all that is held.
  std::size_t accumulate(const page_columns& columns) {
    std::size_t made = 0;
    for (std::size_t page = 0; page < count(); ++page) {
      if (!activations[page]) continue;
      made += allocate(&sequence_pages::gradients, page, columns);
      std::ranges::fill(elements(*gradients[page]), T{});
    }
    return made;
  }
  std::size_t free(std::initializer_list<kind> kinds, tokens from, tokens to) {
    std::size_t freed = 0;
    for (const kind which : kinds)
      for (std::size_t page = first(from); page < end(to); ++page)
        if (std::optional<memory> old = std::exchange((this->*which)[page], std::nullopt)) {
          freed += as_span(*old).size();
          if (which == &sequence_pages::activations) --held_;
        }
    return freed;
  }

  /// Rows [from, to) of a field, within one page; empty where there are none.
  [[nodiscard]] std::span<T> field(kind which, const page_columns& columns, std::size_t layer, std::size_t index,
                                   tokens from, tokens to) {
    const std::size_t page = first(from);
    std::optional<memory>& held = (this->*which)[page];
    if (!held) return {};
    const std::size_t width = columns.width(layer, index);
    return elements(*held).subspan(
        rows(page) * columns.before(layer, index) + static_cast<std::size_t>((from - begin_of(page)).value) * width,
        static_cast<std::size_t>((to - from).value) * width);
  }

 private:
  [[nodiscard]] static std::span<T> elements(memory& m) noexcept {
    const std::span<std::byte> all = as_span(m);
    return {reinterpret_cast<T*>(all.data()), all.size() / sizeof(T)};
  }

  std::int64_t begin_;
  std::int64_t length_;
  std::int64_t quantum_;
  std::size_t held_{};  // pages of activations
};

}  // namespace slimpack::detail

#endif
