#ifndef SLIMPACK_ADAPTERS_TORCH_BYTE_COUNTER_HPP
#define SLIMPACK_ADAPTERS_TORCH_BYTE_COUNTER_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/profiling/memory_trials.hpp>

#include <c10/core/Allocator.h>
#include <torch/torch.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace slimpack::libtorch {

/// Counts the bytes of tensors on a device from when it is made until it ends, so that a stage's memory rates can be
/// measured. Memory comes from the allocator that was there before. What tensors got before, and give back meanwhile,
/// is not counted.
///
///   slimpack::libtorch::byte_counter counter;
///   slimpack::profiling::memory_trials memory{counter.gauge()};
///   drive.memory = &memory;                            // before drive.measure()
///
/// Weights have their gradients before, or the first trials seem to keep them: run a step, or give them zeros.
/// On CPUs PyTorch counts nothing itself. CUDA's caching allocator does: ask it instead, as memory_trials.hpp says.
/// Tensors that are alive when it ends give their memory back as ever.
/// Requires  no other change of the device's allocator meanwhile; calls from any thread
class byte_counter {
 public:
  explicit byte_counter(at::DeviceType device = at::kCPU)
      : device_(device), counting_(new counting(c10::GetAllocator(device))) {
    c10::SetAllocator(device_, counting_, highest);
  }
  ~byte_counter() { c10::SetAllocator(device_, counting_->before, highest); }
  byte_counter(const byte_counter&) = delete;
  byte_counter& operator=(const byte_counter&) = delete;

  /// Bytes in use, and the most since this was asked last.
  [[nodiscard]] profiling::memory_reading read() { return counting_->bytes->read(); }
  [[nodiscard]] profiling::memory_gauge gauge() {
    return [sums = counting_->bytes] { return sums->read(); };
  }

 private:
  static constexpr std::uint8_t highest = 255;  // of c10's priorities: a later call replaces an earlier one

  struct sums {
    std::atomic<std::int64_t> now{0}, peak{0};

    void take(std::int64_t size) {
      const std::int64_t sum = now += size;
      for (std::int64_t most = peak; most < sum && !peak.compare_exchange_weak(most, sum);) {
      }
    }
    profiling::memory_reading read() {
      const std::int64_t sum = now;
      return {{static_cast<double>(sum)}, {static_cast<double>(std::max(sum, peak.exchange(sum)))}};
    }
  };

  struct block {
    c10::DataPtr memory;
    std::size_t size;
    std::shared_ptr<sums> bytes;  // blocks may outlive the counter
  };

  /// PyTorch never deletes an allocator, and neither does this: tensors may refer to it for ever.
  struct counting final : c10::Allocator {
    explicit counting(c10::Allocator* there) : before(there) {}
    c10::DataPtr allocate(std::size_t size) const override {
      c10::DataPtr memory = before->allocate(size);
      void* const data = memory.get();
      const c10::Device device = memory.device();
      bytes->take(static_cast<std::int64_t>(size));
      return {data, new block{std::move(memory), size, bytes}, &release, device};
    }
    static void release(void* context) {
      const std::unique_ptr<block> one(static_cast<block*>(context));
      one->bytes->now -= static_cast<std::int64_t>(one->size);
    }
    c10::Allocator* before;
    std::shared_ptr<sums> bytes = std::make_shared<sums>();
  };

  at::DeviceType device_;
  counting* counting_;
};

}  // namespace slimpack::libtorch

#endif
