#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_JOINED_ROWS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_JOINED_ROWS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/sharing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace slimpack::detail {

/// The rows of a pack, which lie before its other pieces.
[[nodiscard]] inline std::span<const piece_list::row> rows_of_pack(const piece_list& list, std::uint32_t pack) {
  const auto [first, end] = list.range(pack);
  const auto begins = [](const piece_list::row& r, std::uint32_t at) { return r.first < at; };
  const auto from = std::lower_bound(list.rows.begin(), list.rows.end(), first, begins);
  return {from, std::lower_bound(from, list.rows.end(), end, begins)};
}

/// Calls run(row) of the rows of an instruction's pack, and between them absent(index) of rows of which this rank has
/// no tokens and which stand among them (transfer_script::absent): all in order of sequence, as on every rank.
/// number: the instruction's place in the program            Errors    the first of a call, which ends it
template <class Run, class Absent>
result<void> each_row(const stage_script& script, std::size_t number, const Run& run, const Absent& absent) {
  const instruction& i = script.code[number];
  std::span<const std::uint32_t> beside;
  if (const auto found = script.transfers.beside.find(static_cast<std::uint32_t>(number));
      found != script.transfers.beside.end())
    beside = found->second;
  for (const piece_list::row& row : rows_of_pack(script.of(i.pass()), i.pack.value)) {
    const sequence_id id = script.shared.all()[row.sequence].id;
    for (; !beside.empty() && id > script.transfers.absent[beside.front()].sequence; beside = beside.subspan(1))
      if (result<void> done = absent(beside.front()); !done) return done;
    if (result<void> done = run(row); !done) return done;
  }
  for (const std::uint32_t left : beside)
    if (result<void> done = absent(left); !done) return done;
  return success();
}

/// Posts the transfers with a row of which this rank has no tokens: the script's transfers.absent[index].
template <class Compute, class Exchange>
result<void> stand_by(Compute& compute, Exchange& exchange, const stage_script& script, std::size_t index) {
  if constexpr (shares_rows<Compute>) {
    const transfer_script::absent_row& one = script.transfers.absent[index];
    return exchange.at(0).stand_by(*script.shared.find(one.sequence), one.way, one.row, one.chunk,
                                   compute.rows(one.chunk));
  }
  return success();
}

/// Of each rank the trainer's number of its node; none: all are on one.
using node_map = std::function<int(int)>;

/// By which ranks see that they have the same map; 0 where there is none.
[[nodiscard]] inline std::uint64_t fingerprint(const node_map& node_of, int ranks) {
  if (!node_of) return 0;
  word_hash hash;
  for (int rank = 0; rank < ranks; ++rank) hash.add(node_of(rank));
  return hash.value();
}

/// Which packs of a stage are run with their rows in one call, and in which order these are posted.
class joined_rows {
 public:
  /// No pack is.
  joined_rows() = default;

  /// Requires  a script that outlives it
  joined_rows(const stage_script& script, const node_map& node_of);

  /// Whether a pack is called whole.
  [[nodiscard]] bool joins(pass p, std::uint32_t pack) const {
    return script_ != nullptr && joins_[p][pack] != 0 && !rows_of_pack(script_->of(p), pack).empty();
  }

  /// Its rows in the order in which they are posted.            Requires  that it is
  [[nodiscard]] std::vector<piece_list::row> of(pass p, std::uint32_t pack) const {
    const std::span<const piece_list::row> rows = rows_of_pack(script_->of(p), pack);
    std::vector<piece_list::row> ordered(rows.begin(), rows.end());
    std::stable_partition(ordered.begin(), ordered.end(),
                          [&](const piece_list::row& r) { return crosses_nodes(r.sequence); });
    return ordered;
  }

  /// Of a shared sequence, by its place in shared_sequences::all(): whether sharers are on different nodes, and which
  /// of them on another than this rank.
  [[nodiscard]] bool crosses_nodes(std::uint32_t sequence) const { return crosses_[sequence] != 0; }
  [[nodiscard]] std::span<const std::uint8_t> far(std::uint32_t sequence) const { return far_[sequence]; }

 private:
  const stage_script* script_{};
  by_pass<std::vector<std::uint8_t>> joins_;  // by pack
  std::vector<std::vector<std::uint8_t>> far_;
  std::vector<std::uint8_t> crosses_;
};

inline joined_rows::joined_rows(const stage_script& script, const node_map& node_of) : script_(&script) {
  for (const pass p : both_passes) {
    joins_[p].assign(script.of(p).ends.size(), 1);
    for (const pack_id pack : script.transfers.apart[p])
      if (pack.value < joins_[p].size()) joins_[p][pack.value] = 0;
  }
  for (const shared_sequence& s : script.shared.all()) {
    std::vector<std::uint8_t>& far = far_.emplace_back();
    const auto node = [&](std::uint32_t replica) {
      return node_of(static_cast<int>(replica) * script.on.stages + script.stage);
    };
    for (const std::uint32_t replica : s.sharers)
      far.push_back(node_of && node(replica) != node(s.sharers[s.self]) ? 1 : 0);
    bool crosses = false;
    for (const std::uint8_t one : far) crosses = crosses || one != 0;
    crosses_.push_back(crosses ? 1 : 0);
    if (!crosses) far.clear();
  }
}

}  // namespace slimpack::detail

#endif
