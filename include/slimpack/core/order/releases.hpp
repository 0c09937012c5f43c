#ifndef SLIMPACK_CORE_ORDER_RELEASES_HPP
#define SLIMPACK_CORE_ORDER_RELEASES_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/order/detail/sequence_numbers.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack {

/// Which packs read the tokens of a replica forward, the last of which matters: backward of these tokens waits for it,
/// and where no backward comes, they are let go of after it.
///
/// Rule      a slice's keys and values are read by all slices behind it (core/order/slice_order.hpp)
/// Errors    none            Complexity  to make it, O(slices), and O(slices log slices) where ids are far apart; to
///           ask it, O(1), and O(log sequences) where ids are far apart
class forward_readers {
 public:
  explicit forward_readers(const micropacks& forward) : number_(forward), of_(number_.count()) {
    for (std::size_t i = 0; i < forward.size(); ++i)
      for (const slice& s : forward[i]) {
        sequence_tokens& one = of_[number_(s.sequence)];
        one.last = static_cast<std::uint32_t>(i);
        one.own += s.length.value;
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
};

/// The accumulators of dK and dV along a replica's backward slices, in tokens: those of tokens that several backward
/// slices add to, or whose sequence replicas share. They open with the first slice that adds to them, and close with
/// the slice of the tokens themselves, which is the last.
/// Requires  readers that outlive it, and have each sequence that it is asked about
/// Errors    none            Complexity  O(sequences) to make it, else that of forward_readers
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
    const bool accumulates = s.length.value < all || one.is_shared;
    const change now{accumulates && one.left == all ? all + one.others : 0, accumulates ? s.length.value : 0,
                     one.is_shared};
    one.left -= s.length.value;
    return now;
  }

 private:
  struct state {
    std::int64_t left{};    // tokens that have not run backward
    std::int64_t others{};  // kept of other sharers
    bool is_shared{};
  };

  const forward_readers& readers_;
  std::vector<state> of_;
};

}  // namespace slimpack

#endif
