#ifndef SLIMPACK_CORE_ORDER_SLICE_ORDER_HPP
#define SLIMPACK_CORE_ORDER_SLICE_ORDER_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack {

/// What a pass runs before a slice and after it: the one rule of order, asked by whoever makes packs, checks them,
/// prices them or runs them.
///
/// Rule      the slices of a sequence follow each other, forward from its first token to its last, backward from its
///           last to its first. Forward, a sequence begins after its parent has ended; backward, after all of its
///           children have. A slice reads the keys and values of all tokens before it on its path. So gradients of keys
///           and values come from each slice behind them, and are added up where there is more than one
/// Shapes    sequences: by sequence_id
/// Requires  a batch without a fault
/// Errors    none            Complexity  to make it, O(sequences); to ask it, O(1), or what is said
class slice_order {
 public:
  slice_order() = default;
  explicit slice_order(const batch_view& batch) : slice_order(batch.sequences()) {}
  explicit slice_order(std::vector<sequence> sequences) : all_(std::move(sequences)), children_(all_.size()) {
    for (const sequence& s : all_)
      if (!s.is_root()) ++children_[s.parent.value];
  }

  /// How many sequences there are.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] const sequence& of(sequence_id s) const noexcept { return all_[s.value]; }
  /// How many sequences go on where one ends.
  [[nodiscard]] std::uint32_t children(sequence_id s) const noexcept { return children_[s.value]; }

  /// Where a pass comes to a sequence, and where it has ended with it.
  [[nodiscard]] tokens entry(sequence_id s, pass p) const noexcept { return of(s).whole().entry(p); }
  [[nodiscard]] tokens exit(sequence_id s, pass p) const noexcept { return of(s).whole().exit(p); }

  /// Whether a slice is the first, or the last, of its sequence in a pass.
  [[nodiscard]] bool is_first(const slice& s, pass p) const noexcept { return s.entry(p) == entry(s.sequence, p); }
  [[nodiscard]] bool is_last(const slice& s, pass p) const noexcept { return s.exit(p) == exit(s.sequence, p); }

  /// Calls visit(run) for each run of tokens that a slice reads before its own: of its sequence, of its parent, and so
  /// on to the root.            Complexity  O(depth)
  template <class Visit>
  void each_run_before(const slice& s, Visit&& visit) const {
    const sequence* above = &of(s.sequence);
    if (s.begin > above->begin) visit(slice{s.sequence, above->begin, s.begin - above->begin});
    while (!above->is_root()) {
      above = &of(above->parent);
      visit(above->whole());
    }
  }
  /// Whether a run has tokens, and a slice reads all of them before its own.            Complexity  O(depth)
  [[nodiscard]] bool reads_before(const slice& s, const slice& run) const {
    bool found = false;
    each_run_before(s, [&](const slice& all) {
      found = found || (run.sequence == all.sequence && run.length >= tokens{1} && run.begin >= all.begin &&
                        run.begin <= all.end() && run.length <= all.end() - run.begin);
    });
    return found;
  }

  /// Whether a slice has tokens, and all of them are its sequence's.
  [[nodiscard]] bool has(const slice& s) const noexcept {
    if (s.sequence.value >= all_.size()) return false;
    const sequence& all = of(s.sequence);
    return s.begin >= all.begin && s.begin <= all.end() && s.length >= tokens{1} && s.length <= all.end() - s.begin;
  }

 private:
  std::vector<sequence> all_;
  std::vector<std::uint32_t> children_;  // how many each has
};

/// How far a pass has come in each sequence.
class pass_front {
 public:
  /// Goes back to where a pass begins.            Requires  an order that outlives it
  /// Complexity O(sequences)
  void begin(const slice_order& order, pass p) {
    order_ = &order;
    pass_ = p;
    due_.clear();
    children_.clear();
    for (std::uint32_t s = 0; s < order.size(); ++s) {
      due_.push_back(order.entry({s}, p));
      children_.push_back(order.children({s}));
    }
  }

  /// Goes on over a slice if it is one that the pass may run next.
  /// Requires  a slice that its order has (slice_order::has)            Complexity  O(1)
  [[nodiscard]] bool take(const slice& s) noexcept {
    tokens& due = due_[s.sequence.value];
    if (s.entry(pass_) != due || awaits_others(s.sequence)) return false;
    due = s.exit(pass_);
    if (const sequence_id parent = order_->of(s.sequence).parent; parent != no_parent && has_ended(s.sequence))
      --children_[parent.value];
    return true;
  }

  /// Where the pass goes on in a sequence.
  [[nodiscard]] tokens due(sequence_id s) const noexcept { return due_[s.value]; }
  [[nodiscard]] bool has_ended(sequence_id s) const noexcept { return due(s) == order_->exit(s, pass_); }
  /// Whether others must end before the pass may begin with a sequence: forward its parent, backward its children.
  [[nodiscard]] bool awaits_others(sequence_id s) const noexcept {
    if (pass_ == pass::backward) return children_[s.value] > 0;
    const sequence_id parent = order_->of(s).parent;
    return parent != no_parent && !has_ended(parent);
  }

 private:
  const slice_order* order_{};
  pass pass_{};
  std::vector<tokens> due_;              // by sequence
  std::vector<std::uint32_t> children_;  // by sequence: those that have not ended
};

}  // namespace slimpack

#endif
