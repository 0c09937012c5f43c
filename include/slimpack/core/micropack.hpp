#ifndef SLIMPACK_CORE_MICROPACK_HPP
#define SLIMPACK_CORE_MICROPACK_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack {

/// The micropacks of one pass in run order; a micropack is the slices that run together on a stage.
/// Stored flat (one array of slices, one of pack borders): a search builds and drops thousands of them.
/// Errors    none            Complexity  push O(1) amortised, operator[] O(1)
class micropacks {
 public:
  using value_type = std::span<const slice>;

  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }

  [[nodiscard]] std::span<const slice> operator[](std::size_t pack) const noexcept {
    SLIMPACK_ASSERT(pack < size(), "pack index below size()");
    const std::size_t first = pack == 0 ? 0 : ends_[pack - 1];
    return {slices_.data() + first, ends_[pack] - first};
  }

  /// All slices, pack after pack.
  [[nodiscard]] std::span<const slice> slices() const noexcept { return slices_; }

  /// The slices of the open pack.
  [[nodiscard]] std::span<const slice> open() const noexcept { return slices().subspan(open_first()); }

  /// Adds a slice to the open pack; touching slices of one sequence become one.
  void push(const slice& s) {
    if (slices_.size() > open_first()) {
      slice& last = slices_.back();
      if (last.sequence == s.sequence && last.end() == s.begin) return void(last.length += s.length);
      if (last.sequence == s.sequence && s.end() == last.begin) {
        last.begin = s.begin;
        return void(last.length += s.length);
      }
    }
    append(s);
  }

  /// Adds a slice to the open pack as it is, even where it touches the one before: a piece that must stay one.
  void append(const slice& s) { slices_.push_back(s); }

  /// Ends the open pack. A pack without slices is not kept.
  void close() {
    if (slices_.size() > open_first()) ends_.push_back(static_cast<std::uint32_t>(slices_.size()));
  }

  void clear() noexcept {
    slices_.clear();
    ends_.clear();
  }

  friend bool operator==(const micropacks&, const micropacks&) = default;

 private:
  [[nodiscard]] std::size_t open_first() const noexcept { return ends_.empty() ? 0 : ends_.back(); }

  std::vector<slice> slices_;
  std::vector<std::uint32_t> ends_;  ///< per pack, one past its last slice
};

/// The sum of slice::dense_pairs over a micropack.
[[nodiscard]] constexpr double dense_pairs_of(std::span<const slice> pack) noexcept {
  double sum = 0;
  for (const slice& s : pack) sum += s.dense_pairs();
  return sum;
}

/// Tokens of a micropack.
[[nodiscard]] constexpr tokens size_of(std::span<const slice> pack) noexcept {
  tokens sum{};
  for (const slice& s : pack) sum += s.length;
  return sum;
}

/// The forward and the backward micropacks of one replica, each in run order.
/// Both cover every token of the replica's sequences exactly once; their cuts may differ (asymmetric partitioning).
struct partition {
  micropacks forward;
  micropacks backward;

  [[nodiscard]] micropacks& of(pass p) noexcept { return p == pass::forward ? forward : backward; }
  [[nodiscard]] const micropacks& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }
  friend bool operator==(const partition&, const partition&) = default;
};

}  // namespace slimpack

#endif
