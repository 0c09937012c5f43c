#ifndef SLIMPACK_EXECUTORS_DETAIL_HELD_PATHS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_HELD_PATHS_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/detail/sequence_pages.hpp>
#include <slimpack/executors/piece.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace slimpack::detail {

/// What a stage holds of one sequence on one chunk, and how far either pass has come in it.
template <class T>
struct held_sequence {
  tokens begin;  // on the path
  tokens length;
  tokens own_end;    // of this replica's tokens
  tokens forwarded;  // of this replica's tokens, those before it have run forward
  tokens end;        // those before it are held, once all have run forward
  tokens opened;     // backward has begun down to here
  sequence_pages<T> pages;
  sequence_id parent;
  std::uint32_t children{};  // that are held, and whose backward has not begun with their first tokens
  bool has_accumulators{};

  [[nodiscard]] tokens path_end() const noexcept { return begin + length; }
  /// Whether tokens of this replica are held between two places.
  [[nodiscard]] bool own_within(tokens from, tokens to) const {
    return pages.any_of(from, to, [&](std::size_t at) { return pages.own[at] != 0; });
  }
  /// Whether tokens of others are held, without a gap.
  [[nodiscard]] bool others_within(const slice& o) const {
    return !pages.any_of(o.begin, o.end(),
                         [&](std::size_t at) { return !pages.activations[at] || pages.own[at] != 0; });
  }
};

/// The sequences that a stage holds, found by chunk and id, and the paths that they make up.
/// Complexity  O(log sequences), and for a path O(depth log sequences)
template <class T>
class held_paths {
 public:
  using one = held_sequence<T>;

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// The first chunk and sequence that there are.            Requires  !empty()
  [[nodiscard]] std::pair<std::uint32_t, sequence_id> first() const { return all_.begin()->first; }

  /// Null where none is held.
  [[nodiscard]] one* find(std::uint32_t chunk, sequence_id s) {
    const auto known = all_.find({chunk, s});
    return known == all_.end() ? nullptr : &known->second;
  }
  /// A piece's sequence; null where none is held, or one of another place.
  [[nodiscard]] const one* find(const piece& p) const {
    const auto known = all_.find({p.chunk, p.slice.sequence});
    return known == all_.end() || known->second.begin != p.sequence_begin ? nullptr : &known->second;
  }
  [[nodiscard]] one* find(const piece& p) { return const_cast<one*>(std::as_const(*this).find(p)); }

  /// A piece's sequence, which is held from now on.
  one& make(const piece& p, std::int64_t quantum) {
    if (one* const known = find(p.chunk, p.slice.sequence)) return *known;
    const sequence_id parent = p.prefix.empty() ? no_parent : p.prefix.back().sequence;
    if (one* const above = find(p.chunk, parent)) ++above->children;
    one made{p.sequence_begin,
             p.sequence_length,
             p.own_end,
             p.sequence_begin,
             p.own_end,
             p.own_end,
             sequence_pages<T>(p.sequence_begin, p.sequence_length, quantum),
             parent};
    return all_.emplace(key{p.chunk, p.slice.sequence}, std::move(made)).first->second;
  }
  /// A sequence's parent waits for it no longer.
  void leave_parent(std::uint32_t chunk, const one& child) {
    if (one* const above = find(chunk, child.parent)) --above->children;
  }
  void erase(std::uint32_t chunk, sequence_id s) { all_.erase({chunk, s}); }

  /// Calls f(sequence, begin, end) for the runs of tokens of a piece's path that its slice has, in rising order; the
  /// sequence is null where it is not held.
  template <class F>
  void each_run(const piece& p, F&& f) {
    const auto run = [&](sequence_id s, tokens begin, tokens end) {
      one* const there = find(p.chunk, s);
      if (there) begin = std::max(begin, there->begin), end = std::min(end, there->path_end());
      begin = std::max(begin, p.slice.begin), end = std::min(end, p.slice.end());
      if (begin < end) f(there, begin, end);
    };
    for (const slice& above : p.prefix) run(above.sequence, above.begin, above.end());
    run(p.slice.sequence, p.sequence_begin, p.sequence_end());
  }

 private:
  using key = std::pair<std::uint32_t, sequence_id>;

  std::map<key, one> all_;
};

}  // namespace slimpack::detail

#endif
