#ifndef SLIMPACK_EXECUTORS_DETAIL_NO_TRANSFERS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_NO_TRANSFERS_HPP

#include <slimpack/core/error.hpp>

#include <cstddef>

namespace slimpack::detail {

/// In place of running_exchanges for a compute that shares no rows: its plans have none (fitted_script), and what would
/// exchange them need not be compiled.
class no_transfers {
 public:
  [[nodiscard]] result<void> complete() const { return success(); }
  [[nodiscard]] std::size_t bytes_sent() const noexcept { return 0; }
};

}  // namespace slimpack::detail

#endif
