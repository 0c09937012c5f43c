#ifndef SLIMPACK_EXECUTORS_DETAIL_REDUCTION_WATCH_HPP
#define SLIMPACK_EXECUTORS_DETAIL_REDUCTION_WATCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/piece.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace slimpack::detail {

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
