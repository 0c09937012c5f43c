#ifndef SLIMPACK_CORE_ORDER_DETAIL_SEQUENCE_NUMBERS_HPP
#define SLIMPACK_CORE_ORDER_DETAIL_SEQUENCE_NUMBERS_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace slimpack::detail {

/// Numbers the sequences of packs 0, 1, ... in ascending order. Where ids are such numbers already, as in a search over
/// one replica, or nearly so, they are left as they are; a large batch's ids on one of many replicas are far apart.
class sequence_numbers {
 public:
  /// Complexity O(slices), and O(slices log slices) where ids are far apart
  explicit sequence_numbers(const micropacks& packs) {
    for (const slice& s : packs.slices()) count_ = std::max(count_, std::size_t{s.sequence.value} + 1);
    if (count_ <= near * packs.slices().size()) return;  // some numbers go unused: cheaper than to sort
    for (const slice& s : packs.slices()) ids_.push_back(s.sequence);
    std::sort(ids_.begin(), ids_.end());
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    count_ = ids_.size();
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Requires  a sequence of the packs            Complexity  O(1), and O(log count) where ids are far apart
  [[nodiscard]] std::size_t operator()(sequence_id id) const noexcept {
    if (ids_.empty()) return id.value;
    return static_cast<std::size_t>(std::lower_bound(ids_.begin(), ids_.end(), id) - ids_.begin());
  }

 private:
  static constexpr std::size_t near = 16;  // ids to a slice

  std::vector<sequence_id> ids_;  // empty where numbers are ids
  std::size_t count_{};
};

}  // namespace slimpack::detail

#endif
