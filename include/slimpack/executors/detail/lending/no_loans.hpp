#ifndef SLIMPACK_EXECUTORS_DETAIL_LENDING_NO_LOANS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_LENDING_NO_LOANS_HPP

#include <slimpack/core/error.hpp>

#include <cstddef>

namespace slimpack::detail {

/// In place of loan_exchange, for a compute that lends no attention: its plans have no loans (fitted_script), and what would exchange
/// them need not be compiled.
class no_loans {
 public:
  [[nodiscard]] result<void> complete() const { return success(); }
  [[nodiscard]] std::size_t bytes_sent() const noexcept { return 0; }
  [[nodiscard]] std::size_t messages_sent() const noexcept { return 0; }
};

}  // namespace slimpack::detail

#endif
