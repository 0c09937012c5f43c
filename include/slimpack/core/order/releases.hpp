#ifndef SLIMPACK_CORE_ORDER_RELEASES_HPP
#define SLIMPACK_CORE_ORDER_RELEASES_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/order/detail/sequence_numbers.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack {

/// Which packs read the tokens of a replica forward, the last of which matters: backward of these tokens waits for it,
/// and where no backward comes, they are let go of after it.
///
/// Rule      a slice's keys and values are read by all slices behind it, and by all of its sequence's descendants
///           (core/order/slice_order.hpp)
/// Shapes    parents: by sequence_id, of a batch whose samples share beginnings; else empty
/// Requires  parents that outlive it, and run forward here where their children do
/// Errors    none            Complexity  to make it, O(slices), and O(slices log slices) where ids are far apart; to
///           ask it, O(1), and O(log sequences) where ids are far apart
class forward_readers {
 public:
  explicit forward_readers(const micropacks& forward, std::span<const sequence_id> parents = {})
      : number_(forward), of_(number_.count()), parents_(parents) {
    for (std::size_t i = 0; i < forward.size(); ++i)
      for (const slice& s : forward[i]) {
        sequence_tokens& one = of_[number_(s.sequence)];
        one.last = static_cast<std::uint32_t>(i);
        one.own += s.length.value;
      }
    if (parents_.empty()) return;
    // From the last reader to the first: above a sequence that the walk has come by, all have a later reader.
    std::vector<bool> passed(of_.size());
    for (std::size_t i = forward.size(); i-- > 0;)
      for (const slice& s : forward[i]) {
        for (sequence_id at = s.sequence; at != no_parent && !passed[number_(at)]; at = parents_[at.value]) {
          passed[number_(at)] = true;
          of_[number_(at)].last = static_cast<std::uint32_t>(i);
        }
      }
  }

  /// The last forward pack that reads the keys and values of a slice of either pass.
  /// Requires  a sequence that runs forward here, also below
  [[nodiscard]] std::uint32_t last(const slice& s) const noexcept { return of_[number_(s.sequence)].last; }

 private:
  friend class open_gradients;

  struct sequence_tokens {
    std::uint32_t last{};
    std::int64_t own{};  // tokens that run here
  };

  detail::sequence_numbers number_;
  std::vector<sequence_tokens> of_;
  std::span<const sequence_id> parents_;
};

/// The accumulators of dK and dV along a replica's backward slices, in tokens: those of tokens that several backward
/// slices add to, or whose sequence replicas share. They open with the first slice that adds to them, of their sequence
/// or of a descendant, and close with the slice of the tokens themselves, which is the last.
/// Requires  readers that outlive it, and have each sequence that it is asked about
/// Errors    none            Complexity  O(sequences) to make it and to run all, else that of forward_readers
class open_gradients {
 public:
  struct change {
    std::int64_t opens{};   ///< before the slice
    std::int64_t closes{};  ///< after it
    bool is_shared{};       ///< by replicas
  };

  explicit open_gradients(const forward_readers& readers) : readers_(readers), of_(readers.of_.size()) {
    for (std::size_t n = 0; n < of_.size(); ++n) of_[n].left = readers.of_[n].own;
  }

  /// Says that replicas share a sequence, and how many tokens of the others open with the first slice.
  void share(sequence_id s, std::int64_t others) {
    state& one = of_[readers_.number_(s)];
    one.is_shared = true;
    one.others += others;
  }

  /// Runs the next backward slice.
  [[nodiscard]] change run(const slice& s) noexcept {
    const std::size_t n = readers_.number_(s.sequence);
    state& one = of_[n];
    const std::int64_t all = readers_.of_[n].own;
    std::int64_t opens = 0;
    if (one.left == all) {
      if (s.length.value < all || one.is_shared) opens += open(n) + one.others;
      if (!readers_.parents_.empty()) opens += open_above(s.sequence);
    }
    one.left -= s.length.value;
    return {opens, one.is_open ? s.length.value : 0, one.is_shared};
  }

 private:
  struct state {
    std::int64_t left{};    // tokens that have not run backward
    std::int64_t others{};  // kept of other sharers
    bool is_shared{};
    bool is_open{};
  };

  /// Opens the accumulators of a sequence, if they are not, and says how many these are.
  std::int64_t open(std::size_t n) noexcept { return std::exchange(of_[n].is_open, true) ? 0 : readers_.of_[n].own; }
  /// Those of all sequences above one, up to those that are open.
  std::int64_t open_above(sequence_id s) noexcept {
    std::int64_t opens = 0;
    for (sequence_id at = readers_.parents_[s.value]; at != no_parent; at = readers_.parents_[at.value]) {
      const std::size_t n = readers_.number_(at);
      if (of_[n].is_open) break;
      opens += open(n);
    }
    return opens;
  }

  const forward_readers& readers_;
  std::vector<state> of_;
};

/// Which sequences nothing reads any more, where forward runs alone: those that have ended, with all of their
/// descendants.
/// Shapes    sequences: those of a replica, with the parents of all that have one
/// Errors    none            Complexity  to make it, O(largest id); to ask it of all, O(sequences)
class ended_sequences {
 public:
  explicit ended_sequences(std::span<const sequence> sequences) {
    for (const sequence& s : sequences) {
      of(s.id).parent = s.parent;
      ++of(s.id).left;
      if (!s.is_root()) ++of(s.parent).left;
    }
  }

  /// Ends a sequence, and calls visit(id) for those that this lets go of, each before its parent.
  /// Requires  one of its sequences, whose ancestors have ended; once
  template <class Visit>
  void end(sequence_id s, Visit&& visit) {
    for (; s != no_parent && --of_[s.value].left == 0; s = of_[s.value].parent) visit(s);
  }

 private:
  struct state {
    sequence_id parent{no_parent};
    std::uint32_t left{};  // it and its children: those that have not ended, or that are still read
  };

  state& of(sequence_id s) {
    if (of_.size() <= s.value) of_.resize(std::size_t{s.value} + 1);
    return of_[s.value];
  }

  std::vector<state> of_;  // by sequence
};

}  // namespace slimpack

#endif
