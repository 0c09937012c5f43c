#ifndef SLIMPACK_EXAMPLES_DEVICE_POOL_HPP
#define SLIMPACK_EXAMPLES_DEVICE_POOL_HPP

#include <slimpack/devices/streams.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace device_trainer {

/// Memory of a device that is used again, since its host may have to wait for new memory. Whoever is given a block
/// works on it on one stream: so a block that is free on the host can be given out at once, as what writes it next
/// comes after what reads it now.
template <slimpack::streams Device>
class pool {
  using memory = typename Device::memory;

 public:
  /// Goes back where it came from. May have no memory.
  class block {
   public:
    block() = default;
    friend std::span<std::byte> as_span(block& b) noexcept {
      return b.memory_ ? as_span(*b.memory_).first(b.size_) : std::span<std::byte>{};
    }
    [[nodiscard]] double* numbers() { return reinterpret_cast<double*>(as_span(*this).data()); }
    [[nodiscard]] std::size_t size() const { return size_ / sizeof(double); }

   private:
    friend class pool;
    struct give_back {
      pool* to{};
      void operator()(memory* m) const { to->free_.emplace_back(m); }
    };
    std::unique_ptr<memory, give_back> memory_;
    std::size_t size_{};
  };

  explicit pool(Device device) : device_(std::move(device)) {}
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  [[nodiscard]] slimpack::result<block> take(std::size_t numbers) {
    block taken;
    taken.size_ = numbers * sizeof(double);
    auto best = free_.end();
    for (auto one = free_.begin(); one != free_.end(); ++one)
      if (fits(**one, taken.size_) && (best == free_.end() || as_span(**one).size() < as_span(**best).size()))
        best = one;
    if (best == free_.end()) {
      auto made = device_.allocate(taken.size_);
      if (!made) return std::move(made).error();
      taken.memory_ = {new memory(std::move(made).value()), {this}};
    } else {
      taken.memory_ = {best->release(), {this}};
      free_.erase(best);
    }
    return taken;
  }

 private:
  static bool fits(memory& m, std::size_t size) { return as_span(m).size() >= size; }

  Device device_;
  std::vector<std::unique_ptr<memory>> free_;
};

}  // namespace device_trainer

#endif
