#ifndef SLIMPACK_EXECUTORS_DETAIL_MESSAGES_REHEARSAL_HPP
#define SLIMPACK_EXECUTORS_DETAIL_MESSAGES_REHEARSAL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/detail/messages/memory_block.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

/// What the messages of a stage run over before a step, to find out how much memory they need at once: no bytes move.
namespace slimpack::detail::rehearsal {

/// Where no transfer is through before somebody waits for it.
class transport final : public any_transport {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] result<handle> send(int, int, std::span<const std::byte>) override { return handle{}; }
  [[nodiscard]] result<handle> receive(int, int, std::span<std::byte>) override { return handle{}; }
  [[nodiscard]] result<bool> test(handle) override { return false; }
  [[nodiscard]] result<void> wait(handle) override { return success(); }
  void abort(std::string_view) override {}
  [[nodiscard]] result<void> all_gather(std::span<const std::byte>, std::span<std::byte>) override { return success(); }
  [[nodiscard]] result<void> finish() override { return success(); }
  [[nodiscard]] bool keeps_plan_order() const noexcept override { return true; }
  [[nodiscard]] bool moves_device_memory() const noexcept override { return true; }
  void expect_points(std::size_t) override {}
  [[nodiscard]] result<void> point() override { return success(); }
  [[nodiscard]] result<std::vector<seconds>> times() override { return std::vector<seconds>{}; }
};

/// All tensors lie in the same place, which nobody touches.
class owner final : public message_owner {
 public:
  /// most: bytes of the largest tensor; width: of a token
  owner(std::size_t most, std::size_t width) : place_(new std::byte[most]), width_(width) {}

  [[nodiscard]] memory_block make(tokens size) override {
    // Each has an owner of its own, since messages count who has a tensor.
    return {std::make_shared<int>(), {place_.get(), static_cast<std::size_t>(size.value) * width_}};
  }
  [[nodiscard]] result<void> copy(std::span<const std::byte>, std::span<std::byte>) override { return success(); }
  [[nodiscard]] result<void> stand_by(std::size_t) override { return success(); }

 private:
  std::unique_ptr<std::byte[]> place_;
  std::size_t width_;
};

}  // namespace slimpack::detail::rehearsal

#endif
