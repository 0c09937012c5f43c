#ifndef SLIMPACK_EXECUTORS_DETAIL_CALL_CHECK_HPP
#define SLIMPACK_EXECUTORS_DETAIL_CALL_CHECK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>

#include <span>

namespace slimpack::detail {

/// Whether a call of the compute wrote what a peer waits for: rows of `size` tokens.
/// Errors    wrong_message: nothing, or another size
[[nodiscard]] result<void> check_written(const outgoing& out, tokens size, const message_format& format);

/// An error that also names the pieces of the call that ends; as it is where no call runs.
[[nodiscard]] error with_pieces(std::span<const piece> called, error e);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/call_check.ipp>
#endif

#endif
