#ifndef SLIMPACK_EXAMPLES_DEVICE_TEXTS_HPP
#define SLIMPACK_EXAMPLES_DEVICE_TEXTS_HPP

#include "matrix.hpp"

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace device_trainer {

constexpr std::size_t width = 8;  // of a token's row

/// The batch, as a data loader gives it: a row for each token, which is 1 in one column, and one row more for what
/// follows.
class texts {
 public:
  explicit texts(std::span<const slimpack::tokens> lengths) {
    for (std::uint64_t s = 0; s < lengths.size(); ++s) {
      first_.push_back(rows_.size() / width);
      for (std::uint64_t t = 0; t <= static_cast<std::uint64_t>(lengths[s].value); ++t) {
        rows_.resize(rows_.size() + width);
        rows_[rows_.size() - width + t * (t + s) / 2 % width] = 1;
      }
    }
  }
  [[nodiscard]] std::span<const double> numbers() const { return rows_; }
  /// Tokens of a sequence, from its t-th on.    at: where a device has a copy of the numbers
  [[nodiscard]] const_matrix rows(const double* at, slimpack::sequence_id s, std::size_t t, std::size_t count) const {
    return {at + (first_[s.value] + t) * width, count, width};
  }

 private:
  std::vector<double> rows_;
  std::vector<std::size_t> first_;  // row of each sequence
};

}  // namespace device_trainer

#endif
