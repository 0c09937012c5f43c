#ifndef SLIMPACK_CORE_ORDER_SLICE_ORDER_HPP
#define SLIMPACK_CORE_ORDER_SLICE_ORDER_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack {

/// What a pass runs before a slice and after it: the one rule of order, asked by whoever makes packs, checks them or
/// prices them.
///
/// Rule      the slices of a sequence follow each other, forward from its first token to its last, backward from its
///           last to its first. A slice reads the keys and values of all tokens before it. So gradients of keys and
///           values come from each slice behind them, and are added up where there is more than one
/// Shapes    lengths, sequences: by sequence_id
/// Errors    none            Complexity  to make it, O(sequences); to ask it, O(1)
class slice_order {
 public:
  explicit slice_order(std::span<const tokens> lengths) : lengths_(lengths.begin(), lengths.end()) {}
  explicit slice_order(std::span<const sequence> sequences) {
    for (const sequence& s : sequences) lengths_.push_back(s.length);
  }

  /// How many sequences there are.
  [[nodiscard]] std::size_t size() const noexcept { return lengths_.size(); }

  /// Where a pass comes to a sequence, and where it has ended with it.
  [[nodiscard]] tokens entry(sequence_id s, pass p) const noexcept { return whole(s).entry(p); }
  [[nodiscard]] tokens exit(sequence_id s, pass p) const noexcept { return whole(s).exit(p); }

  /// Whether a slice is the first, or the last, of its sequence in a pass.
  [[nodiscard]] bool is_first(const slice& s, pass p) const noexcept { return s.entry(p) == entry(s.sequence, p); }
  [[nodiscard]] bool is_last(const slice& s, pass p) const noexcept { return s.exit(p) == exit(s.sequence, p); }

  /// Calls visit(run) for each run of tokens that a slice reads before its own.
  template <class Visit>
  static constexpr void each_run_before(const slice& s, Visit&& visit) {
    if (s.begin > tokens{}) visit(slice{s.sequence, {}, s.begin});
  }
  /// Whether a run has tokens, and a slice reads all of them before its own.
  [[nodiscard]] static constexpr bool reads_before(const slice& s, const slice& run) noexcept {
    bool found = false;
    each_run_before(s, [&](const slice& all) {
      found = found || (run.sequence == all.sequence && run.length >= tokens{1} && run.begin >= all.begin &&
                        run.begin <= all.end() && run.length <= all.end() - run.begin);
    });
    return found;
  }

  /// Whether a slice has tokens, and all of them are its sequence's.
  [[nodiscard]] bool has(const slice& s) const noexcept {
    if (s.sequence.value >= lengths_.size()) return false;
    const tokens length = lengths_[s.sequence.value];
    return s.begin >= tokens{} && s.begin <= length && s.length >= tokens{1} && s.length <= length - s.begin;
  }

 private:
  [[nodiscard]] slice whole(sequence_id s) const noexcept { return {s, {}, lengths_[s.value]}; }

  std::vector<tokens> lengths_;
};

/// How far a pass has come in each sequence.
class pass_front {
 public:
  /// Goes back to where a pass begins.            Complexity  O(sequences)
  void begin(const slice_order& order, pass p) {
    pass_ = p;
    due_.clear();
    for (std::size_t s = 0; s < order.size(); ++s) due_.push_back(order.entry({static_cast<std::uint32_t>(s)}, p));
  }

  /// Goes on over a slice if it is one that the pass may run next.
  /// Requires  a slice that its order has (slice_order::has)            Complexity  O(1)
  [[nodiscard]] bool take(const slice& s) noexcept {
    tokens& due = due_[s.sequence.value];
    if (s.entry(pass_) != due) return false;
    due = s.exit(pass_);
    return true;
  }

  /// Where the pass goes on in a sequence.
  [[nodiscard]] tokens due(sequence_id s) const noexcept { return due_[s.value]; }

 private:
  pass pass_{};
  std::vector<tokens> due_;  // by sequence
};

}  // namespace slimpack

#endif
