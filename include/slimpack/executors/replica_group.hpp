#ifndef SLIMPACK_EXECUTORS_REPLICA_GROUP_HPP
#define SLIMPACK_EXECUTORS_REPLICA_GROUP_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/transports/detail/over_messages.hpp>
#include <slimpack/transports/hooks.hpp>

#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {
class any_transport;  // transports/detail/any_transport.hpp
}

namespace slimpack::executors {

/// The copies of one stage's weights: what a stage compute's reduce(group) adds its gradients over.
template <class Transport>
class replica_group {
 public:
  /// `end` tells all ranks of an error, so that no message uses the data when it returns; it gives the error to report.
  /// checked: what messages go over that have checksums, where the transport leaves sums to messages; may be null
  replica_group(Transport& transport, std::vector<int> ranks, std::function<error(error)> end,
                slimpack::detail::any_transport* checked = nullptr)
      : transport_(&transport), ranks_(std::move(ranks)), end_(std::move(end)), checked_(checked) {}

  [[nodiscard]] std::span<const int> ranks() const noexcept { return ranks_; }

  /// Adds `data` over the group, in place; every member gets the same bits. Over streams, they are there when the
  /// transport has finished, after reduce has returned. A sum that fails has stopped the step, and `data` is free.
  /// Errors    those of the transport
  template <class T>
  result<void> sum(std::span<T> data) {
    result<void> done = added(data);
    if (!done) return end_(std::move(done).error());
    return done;
  }

 private:
  template <class T>
  result<void> added(std::span<T> data) {
    if constexpr (!slimpack::detail::has_member_all_reduce<Transport>)
      if (checked_ != nullptr && ranks_.size() > 1)
        return slimpack::detail::all_reduce_over_messages(*checked_, data, std::span<const int>(ranks_));
    return all_reduce(*transport_, data, std::span<const int>(ranks_));
  }

  Transport* transport_;
  std::vector<int> ranks_;
  std::function<error(error)> end_;
  slimpack::detail::any_transport* checked_;
};

}  // namespace slimpack::executors

#endif
