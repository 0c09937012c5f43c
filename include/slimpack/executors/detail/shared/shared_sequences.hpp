#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_SHARED_SEQUENCES_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_SHARED_SEQUENCES_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A row of a shared sequence, as one of its sharers runs it; or, where it has no tokens of the row, what it sends or
/// gets.
struct row_part {
  std::uint32_t pack{};    // of this replica, or merge::none
  std::vector<slice> own;  // ascending
  // Where keys and values are kept:
  std::vector<slice> others;          // those that come before a token of this replica, ascending
  std::vector<std::uint32_t> owner;   // of each of `others`: position among the sharers
  std::vector<std::int64_t> sent;     // per sharer: so many of the first tokens of `own` come before one of its
                                      // own
  std::vector<std::uint32_t> beside;  // rows next to it of which this replica has none: forward those before,
                                      // whose tokens it takes with this one, backward those after, which it owes
                                      // with this one
  std::vector<slice> known;           // `others` of this row and of those, ascending
  std::vector<std::pair<std::uint32_t, std::uint32_t>> from;  // of each of `known`: its row, and position of its owner
  // Where rows go round:
  std::vector<std::vector<slice>> parcels;  // per sharer: its slices, ascending
};

/// A sequence that this replica shares with others.
struct shared_sequence {
  sequence_id id;
  std::vector<std::uint32_t> sharers;   // replicas, ascending
  std::size_t self{};                   // position of this replica among them
  std::vector<slice> own;               // all that this replica runs, ascending
  by_pass<std::vector<row_part>> rows;  // in run order
  slimpack::exchange exchange{};
  std::vector<leg> legs{};  // of rows that cross between nodes over proxies, in the order in which sharers post them

  /// Where rows go round: whose parcel sharer k holds after so many rotations.
  [[nodiscard]] std::size_t owner_in(std::size_t k, std::size_t rotations) const noexcept {
    return (k + sharers.size() - rotations % sharers.size()) % sharers.size();
  }
  [[nodiscard]] std::size_t place_of(std::uint32_t replica) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(sharers.begin(), sharers.end(), replica) - sharers.begin());
  }
  /// Whether a sharer's rows cross to the next over proxies.
  [[nodiscard]] bool sends_in_legs(std::uint32_t replica) const noexcept {
    return std::any_of(legs.begin(), legs.end(), [&](const leg& l) { return l.sender == replica; });
  }

  /// Tokens of this replica before `end`.
  [[nodiscard]] std::int64_t own_before(tokens end) const noexcept {
    std::int64_t sum = 0;
    for (const slice& s : own) sum += std::max<std::int64_t>(0, std::min(s.end(), end).value - s.begin.value);
    return sum;
  }
};

/// What a replica of a plan shares with others.
class shared_sequences {
 public:
  shared_sequences() = default;
  /// Requires  packs that are sound (core/soundness/detail/sound_packs.hpp)
  shared_sequences(const plan& p, std::uint32_t replica);

  [[nodiscard]] const std::vector<shared_sequence>& all() const noexcept { return all_; }
  [[nodiscard]] const shared_sequence* find(sequence_id id) const noexcept;

 private:
  /// Slices of a row, of each sharer, ascending.
  static std::vector<std::vector<slice>> slices_of(const plan& p, const merge& m, pass way, std::size_t row);

  /// Adjacent slices joined.
  static std::vector<slice> joined(std::vector<slice> slices);

  static shared_sequence part_of(const plan& p, const merge& m, std::size_t self);

  /// Hands the tokens of rows without own ones to the own row forward after them, backward before them.
  static void know(std::vector<row_part>& rows, pass way);

  static row_part row_of(std::uint32_t pack, std::vector<std::vector<slice>> slices, std::size_t self,
                         std::span<const tokens> end, exchange how);

  std::vector<shared_sequence> all_;
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/shared/shared_sequences.ipp>
#endif

#endif
