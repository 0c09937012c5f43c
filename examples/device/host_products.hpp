#ifndef SLIMPACK_EXAMPLES_DEVICE_HOST_PRODUCTS_HPP
#define SLIMPACK_EXAMPLES_DEVICE_HOST_PRODUCTS_HPP

#include "matrix.hpp"

#include <slimpack/devices/host.hpp>

#include <cstddef>
#include <utility>

namespace device_trainer {

/// Products and kernels of a stand-in device: loops that run later than their call.
class host_products {
 public:
  host_products(slimpack::devices::host device, slimpack::devices::host::stream on)
      : device_(std::move(device)), on_(on) {}

  [[nodiscard]] slimpack::result<void> product(const matrix& c, const const_matrix& a, const const_matrix& b,
                                               double keep) {
    return device_.run(on_, [=] {
      const auto at = [](const const_matrix& m, std::size_t r, std::size_t k) {
        return m.transposed ? m.at[k * m.columns + r] : m.at[r * m.columns + k];
      };
      const std::size_t inner = a.transposed ? a.rows : a.columns;
      for (std::size_t r = 0; r < c.rows; ++r)
        for (std::size_t k = 0; k < c.columns; ++k) {
          double sum = keep == 0 ? 0 : keep * c.at[r * c.columns + k];
          for (std::size_t i = 0; i < inner; ++i) sum += at(a, r, i) * at(b, i, k);
          c.at[r * c.columns + k] = sum;
        }
    });
  }
  template <class Kernel>
  [[nodiscard]] slimpack::result<void> run(std::size_t count, const Kernel& kernel) {
    return device_.run(on_, [count, kernel] {
      for (std::size_t i = 0; i < count; ++i) kernel(i);
    });
  }

 private:
  slimpack::devices::host device_;
  slimpack::devices::host::stream on_;
};

}  // namespace device_trainer

#endif
