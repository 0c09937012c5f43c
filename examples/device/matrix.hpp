#ifndef SLIMPACK_EXAMPLES_DEVICE_MATRIX_HPP
#define SLIMPACK_EXAMPLES_DEVICE_MATRIX_HPP

#include <cstddef>
#include <span>
#include <type_traits>

namespace device_trainer {

/// Rows of numbers in memory of a device, one after the other, seen as they lie or transposed.
template <class Number>
struct matrix_of {
  Number* at{};
  std::size_t rows{}, columns{};  // as they lie
  bool transposed{};

  matrix_of() = default;
  matrix_of(Number* first, std::size_t r, std::size_t c, bool turned = false)
      : at(first), rows(r), columns(c), transposed(turned) {}
  template <class Other>
  requires std::is_same_v<const Other, Number> matrix_of(const matrix_of<Other>& m)
      : matrix_of(m.at, m.rows, m.columns, m.transposed) {}

  /// Of rows that are nowhere, rows that are nowhere.
  [[nodiscard]] matrix_of from(std::size_t row, std::size_t count) const {
    return {at == nullptr ? at : at + row * columns, count, columns, transposed};
  }
  [[nodiscard]] std::size_t size() const { return rows * columns; }
};
using matrix = matrix_of<double>;
using const_matrix = matrix_of<const double>;

[[nodiscard]] inline const_matrix transpose(const const_matrix& m) { return {m.at, m.rows, m.columns, !m.transposed}; }
[[nodiscard]] inline std::span<std::byte> bytes_of(const matrix& m) {
  return std::as_writable_bytes(std::span(m.at, m.size()));
}
[[nodiscard]] inline std::span<const std::byte> bytes_of(const const_matrix& m) {
  return std::as_bytes(std::span(m.at, m.size()));
}

}  // namespace device_trainer

#endif
