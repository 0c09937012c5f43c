#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROWS_OF_PACK_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROWS_OF_PACK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/sharing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

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

}  // namespace slimpack::detail

#endif
