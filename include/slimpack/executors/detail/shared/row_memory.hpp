#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_MEMORY_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_MEMORY_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/detail/messages/memory_block.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/sharing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace slimpack::detail {

/// The memory that rows lie in while sharers exchange them, and what is done with it; behind virtual calls, so that an
/// exchange is compiled once for all computes.
class row_memory {
 public:
  /// At least `size` bytes.
  [[nodiscard]] virtual result<memory_block> make(std::size_t size) = 0;
  [[nodiscard]] virtual result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// plus: how the host adds
  [[nodiscard]] virtual result<void> add(std::span<const std::byte> from, std::span<std::byte> to,
                                         sharing::adder plus) = 0;

 protected:
  row_memory() = default;
  row_memory(const row_memory&) = default;
  row_memory& operator=(const row_memory&) = default;
  ~row_memory() = default;
};

/// Of the host, whatever the compute.
class host_row_memory final : public row_memory {
 public:
  host_row_memory() = default;
  template <class Compute>
  explicit host_row_memory(Compute&) noexcept {}

  [[nodiscard]] result<memory_block> make(std::size_t size) override {
    auto made = std::make_shared<aligned_bytes>(size);
    const std::span<std::byte> bytes = as_span(*made);
    return memory_block{std::move(made), bytes};
  }
  [[nodiscard]] result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) override {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
    return success();
  }
  [[nodiscard]] result<void> add(std::span<const std::byte> from, std::span<std::byte> to,
                                 sharing::adder plus) override {
    plus(to, from);
    return success();
  }
};

/// Of a device: all that is done with it the compute issues, among its other work, so that nothing here waits for the
/// device.
template <class Compute>
class device_row_memory final : public row_memory {
 public:
  explicit device_row_memory(Compute& compute) noexcept : compute_(compute) {}

  [[nodiscard]] result<memory_block> make(std::size_t size) override {
    const std::size_t row = compute_.format().bytes_per_token();
    const tokens asked{static_cast<std::int64_t>((size + row - 1) / row)};
    memory_block made = tensor_block(compute_, asked);
    if (made.bytes.size() < size)
      return error{errc::wrong_message, "make_tensor gave " + std::to_string(made.bytes.size()) + " bytes for " +
                                            std::to_string(asked.value) + " tokens, which need " +
                                            std::to_string(size) + " as rows that replicas share"};
    return made;
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

/// Where the rows of a compute lie.
template <class Compute, bool OnDevice>
using row_memory_of = std::conditional_t<OnDevice, device_row_memory<Compute>, host_row_memory>;

/// Whether a compute can work on the rows of shared sequences where they lie in memory of a device.
/// Errors    invalid_input: what it does not offer for it
template <class Compute>
[[nodiscard]] result<void> works_on_device_rows(std::span<const shared_sequence> shared) {
  std::string missing;
  const auto needs = [&](bool offered, const char* what) {
    if (!offered) missing += (missing.empty() ? "" : ", ") + std::string(what);
  };
  needs(has_member_make_tensor<Compute>, "make_tensor");
  needs(has_member_copy_rows<Compute>, "copy_rows");
  if (std::any_of(shared.begin(), shared.end(), [](const shared_sequence& s) { return s.exchange == exchange::keep; }))
    needs(has_member_add_rows<Compute>, "add_rows");
  if (shared.empty() || missing.empty()) return success();
  return error{
      errc::invalid_input,
      "the plan has sequences that replicas share, whose rows lie in memory of a device over this transport: only the "
      "compute can work there, and it does not offer " +
          missing + " (executors/hooks.hpp). Or plan with most_sharers = 1"};
}

}  // namespace slimpack::detail

#endif
