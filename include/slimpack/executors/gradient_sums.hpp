#ifndef SLIMPACK_EXECUTORS_GRADIENT_SUMS_HPP
#define SLIMPACK_EXECUTORS_GRADIENT_SUMS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/running_sums.hpp>

#include <functional>
#include <span>
#include <utility>

namespace slimpack::executors {

/// What a stage compute's reduce_part(chunk, sums) starts its sums with: over the copies of the stage's weights, beside the
/// rest of the program.
template <class Transport>
class gradient_sums {
 public:
  /// `end` tells all ranks of an error, so that no message uses the data when it returns; it gives the error to report.
  gradient_sums(slimpack::detail::running_sums<Transport>& sums, std::span<const int> ranks, std::function<error(error)> end)
      : sums_(&sums), ranks_(ranks), end_(std::move(end)) {}

  [[nodiscard]] std::span<const int> ranks() const noexcept { return ranks_; }

  /// Begins to add `data` over the copies, in place; every copy gets the same bits, those of a sum in rising order of rank.
  /// It has them when the step's execute returns. Until then nobody touches the data. Every copy starts the same sums, in
  /// the same order.
  /// Errors    those of the transport, after which the step has stopped, and `data` is free
  template <class T>
  result<void> start(std::span<T> data) {
    result<void> begun = sums_->start(data);
    if (!begun) return end_(std::move(begun).error());
    return begun;
  }

 private:
  slimpack::detail::running_sums<Transport>* sums_;
  std::span<const int> ranks_;
  std::function<error(error)> end_;
};

}  // namespace slimpack::executors

#endif
