#ifndef SLIMPACK_EXECUTORS_REPLICA_GROUP_HPP
#define SLIMPACK_EXECUTORS_REPLICA_GROUP_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/transports/hooks.hpp>

#include <span>
#include <utility>
#include <vector>

namespace slimpack::executors {

/// The copies of one stage's weights: what a stage compute's reduce(group) adds its gradients over.
template <class Transport>
class replica_group {
 public:
  replica_group(Transport& transport, std::vector<int> ranks) : transport_(&transport), ranks_(std::move(ranks)) {}

  [[nodiscard]] std::span<const int> ranks() const noexcept { return ranks_; }

  /// Adds `data` over the group, in place; every member gets the same bits.
  /// Errors    those of the transport
  template <class T>
  result<void> sum(std::span<T> data) {
    return all_reduce(*transport_, data, std::span<const int>(ranks_));
  }

 private:
  Transport* transport_;
  std::vector<int> ranks_;
};

}  // namespace slimpack::executors

#endif
