#ifndef SLIMPACK_SOLVERS_BASELINES_DETAIL_SLICED_ROWS_HPP
#define SLIMPACK_SOLVERS_BASELINES_DETAIL_SLICED_ROWS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/solvers/divide/balance.hpp>
#include <slimpack/solvers/pack/sequence_bins.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Rows of alike tokens, a multiple of the replicas, so that none is much shorter than its slices need. Where as few as
/// hold all tokens do not hold these sequences, a sixteenth more are tried, and so on.
[[nodiscard]] inline std::vector<sequence_bin> rows_of_alike_tokens(const problem& batch, tokens most) {
  std::vector<double> weight;
  double all = 0;
  for (const tokens length : batch.lengths) weight.push_back(static_cast<double>(length.value)), all += weight.back();
  const auto replicas = static_cast<std::size_t>(batch.shape.replicas);
  for (auto count = static_cast<std::size_t>(std::ceil(all / static_cast<double>(most.value)));;
       count += 1 + count / 16) {
    count = std::min((count + replicas - 1) / replicas * replicas, weight.size());
    std::vector<sequence_bin> rows(count);
    const std::vector<std::uint32_t> row = solvers::balance(weight, count);
    for (const sequence& s : batch.batch().sequences()) rows[row[s.id.value]].push_back(s);
    if (std::all_of(rows.begin(), rows.end(), [&](const sequence_bin& one) { return size_of(one) <= most; }))
      return rows;
  }
}

/// Cuts a row into packs of equal tokens and adds them to a replica.
/// Errors    invalid_input: one of them has no tokens, where every one needs some
[[nodiscard]] inline result<void> add_slices(const sequence_bin& row, int slices, bool every_one, tokens quantum,
                                             replica_solution& to) {
  const std::int64_t all = size_of(row).value, n = slices;
  std::vector<std::vector<slice>> packs(static_cast<std::size_t>(n));
  std::int64_t first = 0;  // of a sequence, in the row
  for (const sequence& s : row) {
    to.sequences.push_back(s.id);
    tokens at{};
    for (std::int64_t i = first * n / all; i < n && at < s.length; ++i) {
      const std::int64_t end = (i + 1) * all / n - first;
      const tokens to_end{end >= s.length.value ? s.length.value
                                                : std::max(at.value, end / quantum.value * quantum.value)};
      if (to_end > at) packs[static_cast<std::size_t>(i)].push_back({s.id, at, to_end - at});
      at = to_end;
    }
    first += s.length.value;
  }
  for (const pass p : both_passes)
    for (std::size_t i = 0; i < packs.size(); ++i) {
      const std::vector<slice>& pack = packs[nth_place(p, i, packs.size())];
      if (pack.empty() && every_one)
        return error{errc::invalid_input, "a row of " + std::to_string(all) + " tokens has no " + std::to_string(n) +
                                              " slices of a quantum of " + std::to_string(quantum.value) +
                                              ": choose fewer slices, a smaller quantum or a longer context"};
      for (const slice& s : pack) to.partition.of(p).append(s);
      to.partition.of(p).close();
    }
  return success();
}

/// Rows cut into slices and dealt to the replicas in turn.
/// every_slice: none may be left out of a row too short for it
/// Errors    invalid_input: a row too short for every slice            Complexity O(sequences + rows * slices)
[[nodiscard]] inline result<std::vector<replica_solution>> sliced(const problem& batch, std::vector<sequence_bin> rows,
                                                                  int slices, bool every_slice) {
  std::vector<replica_solution> found;
  for (const std::vector<sequence_bin>& own : dealt(std::move(rows), batch.shape.replicas)) {
    replica_solution& r = found.emplace_back();
    for (const sequence_bin& row : own)
      if (result<void> cut = add_slices(row, slices, every_slice, batch.shape.quantum, r); !cut)
        return std::move(cut).error();
  }
  return found;
}

/// The packs of solvers::slimpipe, before they are ordered and stages tied.
/// context: tokens of a row; 0: the batch's longest sequence. every_slice: none may be left out of a row too short for
/// it
/// Errors    invalid_input: a sequence longer than the context, a row too short for every slice
/// Complexity O(n log n) for each number of rows tried, which grows by a sixteenth, and O(rows * slices)
[[nodiscard]] inline result<std::vector<replica_solution>> sliced_rows(const problem& batch, tokens context, int slices,
                                                                       bool every_slice) {
  const result<tokens> limit = pack_limit(batch, context);
  if (!limit) return limit.error();
  return sliced(batch, rows_of_alike_tokens(batch, limit.value()), slices, every_slice);
}

}  // namespace slimpack::detail

#endif
