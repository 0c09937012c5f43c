#ifndef SLIMPACK_EXECUTORS_IMPL_CALL_CHECK_IPP
#define SLIMPACK_EXECUTORS_IMPL_CALL_CHECK_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/executors/detail/call_check.hpp>

#include <cstddef>
#include <string>

namespace slimpack::detail {

SLIMPACK_DECL result<void> check_written(const outgoing& out, tokens size, const message_format& format) {
  if (!out.wanted()) return success();
  const auto expected = [&] {
    return std::to_string(size.value) + " tokens x " + std::to_string(format.width) + " " + to_string(format.element) +
           " = " + std::to_string(static_cast<std::size_t>(size.value) * format.bytes_per_token()) + " bytes";
  };
  if (!out.written()) return error{errc::wrong_message, "nothing was written, although a peer waits for " + expected()};
  if (out.given() != out.size())
    return error{errc::wrong_message,
                 std::to_string(out.given()) + " bytes were given, where a peer waits for " + expected()};
  return success();
}

SLIMPACK_DECL error with_pieces(std::span<const piece> called, error e) {
  if (called.empty()) return e;
  const slice& first = called.front().slice;
  e.detail = "sequence " + std::to_string(first.sequence.value) + " [" + std::to_string(first.begin.value) + ", " +
             std::to_string(first.end().value) + ')' +
             (called.size() > 1 ? " and " + std::to_string(called.size() - 1) + " more" : std::string()) + ": " +
             e.detail;
  return e;
}

}  // namespace slimpack::detail

#endif
