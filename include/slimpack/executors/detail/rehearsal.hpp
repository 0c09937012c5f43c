#ifndef SLIMPACK_EXECUTORS_DETAIL_REHEARSAL_HPP
#define SLIMPACK_EXECUTORS_DETAIL_REHEARSAL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/detail/message_owner.hpp>

#include <cstddef>
#include <memory>
#include <span>

/// What the messages of a stage run over before a step, to find out how much memory they need at once: no bytes move.
namespace slimpack::detail::rehearsal {

/// Where no transfer is through before somebody waits for it.
struct transport {
  static constexpr bool plan_order = true;
  struct handle {};
  result<handle> send(int, int, std::span<const std::byte>) { return handle{}; }
  result<handle> receive(int, int, std::span<std::byte>) { return handle{}; }
  result<bool> test(handle&) { return false; }
  result<void> wait(handle&) { return success(); }
};

/// All lie in the same place, which nobody touches.
struct tensor {
  std::span<std::byte> bytes;
  friend std::span<std::byte> as_span(tensor& t) noexcept { return t.bytes; }
};

class owner final : public message_owner<tensor> {
 public:
  /// most: bytes of the largest tensor; row: of a token
  owner(std::size_t most, std::size_t row) : place_(new std::byte[most]), row_(row) {}

  [[nodiscard]] tensor make(tokens size) override { return {{place_.get(), static_cast<std::size_t>(size.value) * row_}}; }
  [[nodiscard]] result<void> copy(std::span<const std::byte>, std::span<std::byte>) override { return success(); }
  [[nodiscard]] result<void> stand_by(std::size_t) override { return success(); }

 private:
  std::unique_ptr<std::byte[]> place_;
  std::size_t row_;
};

}  // namespace slimpack::detail::rehearsal

#endif
