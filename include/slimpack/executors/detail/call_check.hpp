#ifndef SLIMPACK_EXECUTORS_DETAIL_CALL_CHECK_HPP
#define SLIMPACK_EXECUTORS_DETAIL_CALL_CHECK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/outgoing.hpp>
#include <slimpack/executors/piece.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace slimpack::detail {

/// Makes a call of the compute during which an exchange may fail. What went wrong in the exchange says more than what
/// the compute made of it: the error stays, where the call throws.
/// failed    of the exchange, set while the call runs
template <class Call>
result<void> or_first_failure(const Call& call, [[maybe_unused]] const std::optional<error>& failed) {
#ifdef __cpp_exceptions
  try {
    return call();
  } catch (...) {
    if (failed) return *failed;
    throw;
  }
#else
  return call();
#endif
}

/// A call's value as a result, whether it gives one or not.
template <class Call>
auto result_of(Call&& call) {
  using given = std::invoke_result_t<Call>;
  if constexpr (std::is_void_v<given>) {
    call();
    return result<void>(success());
  } else if constexpr (requires(given r) { r.error(); }) {
    return call();
  } else {
    return result<given>(boost::outcome_v2::in_place_type<given>, call());  // a given std::any takes anything
  }
}

/// Whether a call of the compute wrote what a peer waits for: rows of `size` tokens.
/// Errors    wrong_message: nothing, or another size
[[nodiscard]] inline result<void> check_written(const outgoing& out, tokens size, const message_format& format) {
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

/// An error that also names the pieces of the call that ends; as it is where no call runs.
[[nodiscard]] inline error with_pieces(std::span<const piece> called, error e) {
  if (called.empty()) return e;
  const slice& first = called.front().slice;
  e.detail = "sequence " + std::to_string(first.sequence.value) + " [" + std::to_string(first.begin.value) + ", " +
             std::to_string(first.end().value) + ')' +
             (called.size() > 1 ? " and " + std::to_string(called.size() - 1) + " more" : std::string()) + ": " +
             e.detail;
  return e;
}

/// Watches that no data-parallel hook of a trainer's reduces gradients to which calls still add, nor any twice: such a
/// step would end, with wrong gradients. Of computes that count their reductions (hook `reductions`).
template <class Compute>
class reduction_watch {
 public:
  /// Before the first call of the step.
  void begin(const Compute& compute, int chunks) {
    before_.clear();
    for (int chunk = 0; chunk < chunks; ++chunk) before_.push_back(reductions_of(compute, chunk));
    final_.assign(before_.size(), 0);
  }

  /// last: the last piece of the call
  result<void> after_call(const Compute& compute, const piece& last) {
    if (last.last_of_chunk) final_[last.chunk] = 1;
    for (std::size_t chunk = 0; chunk < final_.size(); ++chunk) {
      const int times = reductions_of(compute, static_cast<int>(chunk)) - before_[chunk];
      const std::string hook = "the trainer's hook reduced the gradients of chunk " + std::to_string(chunk);
      if (times > 0 && final_[chunk] == 0)
        return error{errc::compute_failed,
                     hook + " too early, later calls add to them: arm it where piece.last_of_chunk"};
      if (times > 1)
        return error{errc::compute_failed,
                     hook + ' ' + std::to_string(times) + " times in a step: arm it where piece.last_of_chunk"};
    }
    return success();
  }

 private:
  std::vector<int> before_;  // per chunk, what the compute had counted
  std::vector<char> final_;  // per chunk, whether its gradients are
};

}  // namespace slimpack::detail

#endif
