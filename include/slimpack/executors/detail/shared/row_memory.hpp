#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_MEMORY_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_MEMORY_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/sharing.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace slimpack::detail {

/// The memory that rows lie in while sharers exchange them, and what is done with it; behind virtual calls, so that an exchange
/// is compiled once for all computes.
class row_memory {
 public:
  struct block {
    std::shared_ptr<void> owner;
    std::span<std::byte> bytes;
  };

  /// At least `size` bytes.
  [[nodiscard]] virtual result<block> make(std::size_t size) = 0;
  [[nodiscard]] virtual result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// plus: how the host adds
  [[nodiscard]] virtual result<void> add(std::span<const std::byte> from, std::span<std::byte> to, sharing::adder plus) = 0;

 protected:
  row_memory() = default;
  row_memory(const row_memory&) = default;
  row_memory& operator=(const row_memory&) = default;
  ~row_memory() = default;
};

/// Of the host.
class host_row_memory final : public row_memory {
 public:
  [[nodiscard]] result<block> make(std::size_t size) override {
    auto made = std::make_shared<aligned_bytes>(size);
    const std::span<std::byte> bytes = as_span(*made);
    return block{std::move(made), bytes};
  }
  [[nodiscard]] result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) override {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
    return success();
  }
  [[nodiscard]] result<void> add(std::span<const std::byte> from, std::span<std::byte> to, sharing::adder plus) override {
    plus(to, from);
    return success();
  }
};

/// Of a device: all that is done with it the compute issues, among its other work, so that nothing here waits for the device.
template <class Compute>
class device_row_memory final : public row_memory {
 public:
  explicit device_row_memory(Compute& compute) noexcept : compute_(compute) {}

  [[nodiscard]] result<block> make(std::size_t size) override {
    const std::size_t row = compute_.format().bytes_per_token();
    const tokens asked{static_cast<std::int64_t>((size + row - 1) / row)};
    using tensor = decltype(make_tensor(compute_, asked));
    auto made = std::shared_ptr<tensor>(new tensor(make_tensor(compute_, asked)));
    const std::span<std::byte> bytes = writable_bytes(*made);
    if (bytes.size() < size)
      return error{errc::wrong_message, "make_tensor gave " + std::to_string(bytes.size()) + " bytes for " + std::to_string(asked.value) +
                                            " tokens, which need " + std::to_string(size) + " as rows that replicas share"};
    return block{std::move(made), bytes};
  }
  [[nodiscard]] result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) override {
    return copy_rows(compute_, from, to);
  }
  [[nodiscard]] result<void> add(std::span<const std::byte> from, std::span<std::byte> to, sharing::adder) override {
    return add_rows(compute_, from, to);
  }

 private:
  Compute& compute_;
};

}  // namespace slimpack::detail

#endif
