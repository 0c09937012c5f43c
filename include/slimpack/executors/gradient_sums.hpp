#ifndef SLIMPACK_EXECUTORS_GRADIENT_SUMS_HPP
#define SLIMPACK_EXECUTORS_GRADIENT_SUMS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/running_sums.hpp>
#include <slimpack/transports/hooks.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace slimpack::executors {

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
