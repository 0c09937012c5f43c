#ifndef SLIMPACK_EXECUTORS_REPLICA_GROUP_HPP
#define SLIMPACK_EXECUTORS_REPLICA_GROUP_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/running_sums.hpp>
#include <slimpack/transports/detail/over_messages.hpp>
#include <slimpack/transports/hooks.hpp>

#include <concepts>
#include <cstddef>
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

/// What a stage compute's reduce_part(chunk, sums) starts its sums with: over the copies of the stage's weights, beside
/// the rest of the program.
template <class Transport>
class gradient_sums {
 public:
  /// `end` tells all ranks of an error, so that no message uses the data when it returns; it gives the error to report.
  gradient_sums(Transport& transport, slimpack::detail::running_sums& sums, std::function<error(error)> end)
      : transport_(&transport), sums_(&sums), end_(std::move(end)) {}

  [[nodiscard]] std::span<const int> ranks() const noexcept { return sums_->group(); }

  /// Begins to add `data` over the copies, in place; every copy gets the same bits, those of a sum in rising order of
  /// rank. It has them when the step's execute returns. Until then nobody touches the data. Every copy starts the same
  /// sums, in the same order.
  /// Errors    those of the transport, after which the step has stopped, and `data` is free
  template <class T>
  result<void> start(std::span<T> data) {
    if (ranks().size() < 2 || data.empty()) return success();
    result<void> begun = begin(data);
    if (!begun) return end_(std::move(begun).error());
    return begun;
  }

 private:
  template <class T>
  static constexpr bool sums_itself = requires(Transport& t, std::span<T> data, std::span<const int> group) {
    { t.all_reduce(data, group) } -> std::same_as<result<void>>;
  };

  template <class T>
  result<void> begin(std::span<T> data) {
    if constexpr (sums_itself<T>) {
      const auto sum = [transport = transport_, data, group = ranks()] { return all_reduce(*transport, data, group); };
      if (!slimpack::detail::starts_all_reduce<Transport>() || !sums_->have_place())
        return sums_->later(sum), success();
      sums_->note_issued();
      return sum();
    } else {
      return sums_->start(std::as_writable_bytes(data), sizeof(T),
                          [](std::span<std::byte> into, std::span<const std::byte> from) {
                            T* const sum = reinterpret_cast<T*>(into.data());
                            const T* const more = reinterpret_cast<const T*>(from.data());
                            for (std::size_t i = 0; i < into.size() / sizeof(T); ++i) sum[i] += more[i];
                          });
    }
  }

  Transport* transport_;
  slimpack::detail::running_sums* sums_;
  std::function<error(error)> end_;
};

}  // namespace slimpack::executors

#endif
