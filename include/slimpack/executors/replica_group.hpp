#ifndef SLIMPACK_EXECUTORS_REPLICA_GROUP_HPP
#define SLIMPACK_EXECUTORS_REPLICA_GROUP_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/transports/hooks.hpp>

#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::executors {

/// The copies of one stage's weights: what a stage compute's reduce(group) adds its gradients over.
template <class Transport>
class replica_group {
 public:
  /// `end` tells all ranks of an error, so that no message uses the data when it returns; it gives the error to report.
  replica_group(Transport& transport, std::vector<int> ranks, std::function<error(error)> end)
      : transport_(&transport), ranks_(std::move(ranks)), end_(std::move(end)) {}

  [[nodiscard]] std::span<const int> ranks() const noexcept { return ranks_; }

  /// Adds `data` over the group, in place; every member gets the same bits. Over streams, they are there when the
  /// transport has finished, after reduce has returned. A sum that fails has stopped the step, and `data` is free.
  /// Errors    those of the transport
  template <class T>
  result<void> sum(std::span<T> data) {
    result<void> done = all_reduce(*transport_, data, std::span<const int>(ranks_));
    if (!done) return end_(std::move(done).error());
    return done;
  }

 private:
  Transport* transport_;
  std::vector<int> ranks_;
  std::function<error(error)> end_;
};

}  // namespace slimpack::executors

#endif
