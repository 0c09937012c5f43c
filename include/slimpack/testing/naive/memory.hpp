#ifndef SLIMPACK_TESTING_NAIVE_MEMORY_HPP
#define SLIMPACK_TESTING_NAIVE_MEMORY_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/testing/naive/apart_packs.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::testing::naive {

/// Pieces keep nothing beside their tokens.
struct nothing_kept {
  [[nodiscard]] constexpr bytes operator()(const slice&, int /*stage*/, tokens /*first*/) const noexcept { return {}; }
};

/// Tokens of shared sequences that other replicas run, and this one attends to, by pass and pack of their row.
using others_of_packs = std::map<std::tuple<pass, std::uint32_t, sequence_id>, std::int64_t>;

/// The pack with which a replica takes a row's tokens, or owes them: its own of the row; where it has none, of its next
/// row forward, of the row before backward.
/// Requires  such a pack
[[nodiscard]] inline std::uint32_t held_with(const merge& m, pass p, std::size_t row, std::ptrdiff_t self) {
  while (m.of(p)[row][static_cast<std::size_t>(self)] == merge::none) p == pass::forward ? ++row : --row;
  return m.of(p)[row][static_cast<std::size_t>(self)].value;
}

/// Those of one replica, slice by slice.
/// packs_of(replica): its partition            Requires  merges whose rows name packs there are
template <class PacksOf>
[[nodiscard]] others_of_packs others_of(std::span<const merge> merges, const PacksOf& packs_of, std::uint32_t replica) {
  others_of_packs found;
  for (const merge& m : merges) {
    const auto self = std::find(m.replicas.begin(), m.replicas.end(), replica);
    if (self == m.replicas.end()) continue;
    tokens last{};
    for (const slice& s : packs_of(replica).forward.slices())
      if (s.sequence == m.sequence) last = std::max(last, s.end());
    for (const pass p : {pass::forward, pass::backward})
      for (const std::vector<pack_id>& row : m.of(p))
        for (std::size_t k = 0; k < row.size(); ++k)
          for (const slice& s :
               row[k] == merge::none ? std::span<const slice>{} : packs_of(m.replicas[k]).of(p)[row[k].value]) {
            if (s.sequence != m.sequence) continue;
            const auto at = static_cast<std::size_t>(&row - m.of(p).data());
            const auto place = self - m.replicas.begin();
            const bool is_here = row[static_cast<std::size_t>(place)] != merge::none;
            const bool keeps = m.replicas[k] != replica && m.exchange == exchange::keep;
            const tokens held = keeps ? std::max(tokens{}, std::min(s.end(), last) - s.begin) : tokens{};
            if (is_here || held > tokens{}) found[{p, held_with(m, p, at, place), m.sequence}] += held.value;
          }
  }
  return found;
}

/// Pairs that dense attention makes of slices: of the queries of each with the keys of its prefix, and among its own.
[[nodiscard]] inline double dense_pairs(std::span<const slice> slices) {
  double with_prefix = 0, among = 0;
  for (const slice& s : slices) {
    const auto queries = static_cast<double>(s.length.value);
    with_prefix += queries * static_cast<double>(s.begin.value), among += queries * queries;
  }
  return with_prefix + among;
}

/// What a stage holds while it runs its program, instruction by instruction: what memory_rates says, counted per
/// sequence, and what kept(piece, stage, first) says, counted per piece: acquired when its forward begins, released
/// when its backward ends; its tokens stay until its W ends, where it has one. Logits of a spread vocabulary are there
/// from V to U; on the last stage a token's gradient waits from V to the B on the last part. Packs without backward
/// ones let a sequence go with its last forward, and that of all that go on where it ends. What goes on there adds to
/// its accumulators.
template <class Kept>
class stage_memory {
 public:
  stage_memory(const partition& packs, const memory_rates& rates, const shape& on, int stage, const Kept& kept,
               apart_packs apart, const others_of_packs& others, std::span<const loan> loans,
               std::span<const sequence_id> parents)
      : packs_(packs),
        rates_(rates),
        on_(on),
        stage_(stage),
        kept_(kept),
        apart_(apart),
        others_(others),
        loans_(loans),
        parents_(parents),
        peak_(rates.fixed) {
    for (const slice& s : packs.forward.slices()) own_[s.sequence] += s.length.value;
    for (const pass p : both_passes)
      for (const slice& s : packs.of(p).slices()) cuts_[s.sequence].insert({s.begin, s.end()});
    for (const auto& [where, n] : others)
      if (std::get<0>(where) == pass::forward) foreign_[std::get<2>(where)] += n;
  }

  void run(const instruction& i) {
    lent_ = 0, lent_pairs_ = 0;
    for (const loan& l : loans_) {
      if (l.helper.stage != static_cast<std::uint32_t>(stage_) || !(l.helper.what == i)) continue;
      lent_ += l.context.length.value * (i.pass() == pass::forward ? 1 : 2);
      lent_pairs_ += static_cast<double>(l.queries.length.value) * static_cast<double>(l.context.length.value);
    }
    if (!i.is_of_part())
      end_call(i);
    else if (i.pass() == pass::forward)
      forward(i);
    else if (i.is_weights())
      weights(i);
    else
      backward(i);
  }

  [[nodiscard]] double peak() const noexcept { return peak_; }

 private:
  using place = std::pair<std::uint32_t, sequence_id>;  // chunk, sequence

  /// A call of a spread vocabulary. Its logits are not shared: they belong to one chunk.
  void end_call(const instruction& i) {
    const char kind = letter_of(i);
    const std::int64_t tokens_of_pack = size_of(pack_of(i)).value;
    if (kind == 'V') logits_ += tokens_of_pack;
    hold(rates_.in_forward(total(live_), total(opened_), 0));
    if (kind == 'U') logits_ -= tokens_of_pack;
    if (kind == 'V' && is_last()) waiting_ += tokens_of_pack;
  }

  void forward(const instruction& i) {
    const std::span<const slice> pack = pack_of(i);
    for (const slice& s : pack) live_[{i.chunk, s.sequence}] += s.length.value;
    for (const slice& s : pack) forwarded_[{i.chunk, s.sequence}] += s.length.value;
    for (const slice& s : pack) pieces_[{i.chunk, s.sequence}] += whole_bytes(s);
    for (const sequence_id s : sequences_of(pack))
      pieces_[{i.chunk, s}] += std::ceil(rates_.other_token) * static_cast<double>(others_in(i, s));
    hold(rates_.in_forward(total(live_), total(opened_), static_cast<double>(size_of(pack).value)) +
         rates_.forward_pair * (dense_pairs(pack) + lent_pairs_));
    // Where nothing runs backward, a sequence that has ended is let go of, unless something reads it yet.
    if (!packs_.backward.empty()) return;
    std::set<sequence_id> read;
    for (const auto& [s, n] : own_)
      if (forwarded_[{i.chunk, s}] < n)
        for (sequence_id at = s; at != no_parent; at = parent_of(at)) read.insert(at);
    for (const auto& [s, n] : own_)
      if (!read.contains(s)) live_.erase({i.chunk, s}), pieces_.erase({i.chunk, s});
  }

  void weights(const instruction& i) {
    hold(rates_.in_backward(total(live_), total(opened_), 0));
    for (const slice& s : pack_of(i))
      live_[{i.chunk, s.sequence}] -= s.length.value, owed_[{i.chunk, s.sequence}] -= s.length.value;
  }

  /// Rows of shared sequences run one after the other, in order of sequence, then all else.
  void backward(const instruction& i) {
    const std::span<const slice> pack = pack_of(i);
    std::map<std::pair<bool, sequence_id>, std::vector<slice>> calls;
    for (const slice& s : pack)
      calls[{!foreign_.contains(s.sequence), foreign_.contains(s.sequence) ? s.sequence : sequence_id{}}].push_back(s);
    for (const auto& [which, call] : calls) backward(i, call);
    for (const slice& s : pack) pieces_[{i.chunk, s.sequence}] -= whole_bytes(s);
    if (is_last() && static_cast<int>(i.chunk) + 1 == on_.chunks) waiting_ -= size_of(pack).value;
  }

  void backward(const instruction& i, std::span<const slice> call) {
    const bool apart = is_apart(apart_, i.pack.value);
    std::int64_t tokens_of_call = 0;
    for (const slice& s : call) {
      tokens_of_call += s.length.value;
      // A sequence that runs backward in one slice, on one replica, needs no accumulator.
      if (s.length.value < own_[s.sequence] || foreign_.contains(s.sequence))
        opened_.try_emplace({i.chunk, s.sequence},
                            own_[s.sequence] + (foreign_.contains(s.sequence) ? foreign_.at(s.sequence) : 0));
      for (sequence_id above = parent_of(s.sequence); above != no_parent; above = parent_of(above))
        opened_.try_emplace({i.chunk, above}, own_[above]);
      if (apart) owed_[{i.chunk, s.sequence}] += s.length.value;
    }
    hold(rates_.in_backward(total(live_), total(opened_), static_cast<double>(tokens_of_call)) +
         rates_.backward_pair * (dense_pairs(call) + lent_pairs_));
    for (const slice& s : call) {
      if (!apart) live_[{i.chunk, s.sequence}] -= s.length.value;
      if (const auto open = opened_.find({i.chunk, s.sequence}); open != opened_.end()) open->second -= s.length.value;
    }
    for (const sequence_id s : sequences_of(call)) {
      pieces_[{i.chunk, s}] -= std::ceil(rates_.other_token) * static_cast<double>(others_in(i, s));
      if (const auto open = opened_.find({i.chunk, s}); open != opened_.end()) open->second -= others_in(i, s);
    }
  }

  /// Beside what a pass holds: keys that are lent to it, pieces, what W waits with, and what calls of a spread
  /// vocabulary leave.
  void hold(double in_pass) {
    double sum = 0;
    for (const auto& [where, n] : pieces_) sum += n;
    const double beside =
        sum / on_.chunks + rates_.weight_token * total(owed_) + rates_.logit_token * static_cast<double>(logits_) +
        rates_.turned_token * static_cast<double>(waiting_) + rates_.lent_token * static_cast<double>(lent_);
    peak_ = std::max(peak_, in_pass + beside);
  }

  [[nodiscard]] sequence_id parent_of(sequence_id s) const { return parents_.empty() ? no_parent : parents_[s.value]; }
  [[nodiscard]] bool is_last() const noexcept {
    return on_.vocabulary == vocabulary::spread && stage_ + 1 == on_.stages;
  }
  [[nodiscard]] std::span<const slice> pack_of(const instruction& i) const { return packs_.of(i.pass())[i.pack.value]; }
  [[nodiscard]] static std::set<sequence_id> sequences_of(std::span<const slice> pack) {
    std::set<sequence_id> all;
    for (const slice& s : pack) all.insert(s.sequence);
    return all;
  }
  [[nodiscard]] std::int64_t others_in(const instruction& i, sequence_id s) const {
    const auto found = others_.find({i.pass(), i.pack.value, s});
    return found == others_.end() ? 0 : found->second;
  }
  [[nodiscard]] double whole_bytes(const slice& s) const {
    const std::set<tokens>& cuts = cuts_.at(s.sequence);
    double sum = 0;
    for (auto at = cuts.find(s.begin); *at < s.end(); ++at)
      sum += std::ceil(kept_(slice{s.sequence, *at, *std::next(at) - *at}, stage_, *cuts.begin()).value);
    return sum;
  }
  [[nodiscard]] double total(const std::map<place, std::int64_t>& held) const {
    std::int64_t sum = 0;
    for (const auto& [where, n] : held) sum += n;
    return static_cast<double>(sum) / on_.chunks;
  }

  const partition& packs_;
  const memory_rates& rates_;
  const shape& on_;
  int stage_;
  const Kept& kept_;
  apart_packs apart_;
  const others_of_packs& others_;
  std::span<const loan> loans_;
  std::span<const sequence_id> parents_;
  std::map<sequence_id, std::int64_t> own_;       // tokens of a sequence on this replica
  std::map<sequence_id, std::int64_t> foreign_;   // that it keeps of a sequence's others, in all rows
  std::map<sequence_id, std::set<tokens>> cuts_;  // of either pass
  std::map<place, std::int64_t> live_;            // tokens forwarded and not backwarded
  std::map<place, std::int64_t> forwarded_;       // tokens forwarded
  std::map<place, std::int64_t> owed_;            // tokens backwarded, whose weight gradients are to come
  std::map<place, std::int64_t> opened_;          // of sequences whose backward is under way: tokens left
  std::map<place, double> pieces_;                // forwarded and not backwarded: whole bytes that they keep
  std::int64_t lent_ = 0;     // keys lent to the running instruction, twice where it has gradients of them
  double lent_pairs_ = 0;     // pairs of queries and keys lent to it
  std::int64_t logits_ = 0;   // tokens that have passed V and not U
  std::int64_t waiting_ = 0;  // on the last stage: that have passed V, and not B on the last part
  double peak_;
};

/// The most a stage holds while it runs its program.
/// parents: by sequence, where samples share beginnings; else empty
template <class Kept = nothing_kept>
[[nodiscard]] double peak_memory(const partition& packs, const program& code, const memory_rates& rates,
                                 const shape& on, int stage = 0, const Kept& kept = {}, apart_packs apart = {},
                                 const others_of_packs& others = {}, std::span<const loan> loans = {},
                                 std::span<const sequence_id> parents = {}) {
  stage_memory<Kept> held(packs, rates, on, stage, kept, apart, others, loans, parents);
  for (const instruction& i : code) held.run(i);
  return held.peak();
}

/// Equal up to rounding: less than a token or a byte in any memory that exists.
[[nodiscard]] inline bool at_most(double held, double limit) { return held <= limit * (1 + 1e-12); }

}  // namespace slimpack::testing::naive

#endif
