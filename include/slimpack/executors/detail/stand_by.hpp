#ifndef SLIMPACK_EXECUTORS_DETAIL_STAND_BY_HPP
#define SLIMPACK_EXECUTORS_DETAIL_STAND_BY_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/sharing.hpp>

#include <cstddef>

namespace slimpack::detail {

/// Posts the transfers with a row of which this rank has no tokens: the script's transfers.absent[index].
template <class Compute, class Exchange>
result<void> stand_by(Compute& compute, Exchange& exchange, const stage_script& script, std::size_t index) {
  if constexpr (shares_rows<Compute>) {
    const transfer_script::absent_row& one = script.transfers.absent[index];
    return exchange.stand_by(*script.shared.find(one.sequence), one.way, one.row, one.chunk, compute.rows(one.chunk));
  }
  return success();
}

}  // namespace slimpack::detail

#endif
