#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_POOL_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_POOL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/messages/memory_block.hpp>
#include <slimpack/executors/detail/shared/row_memory.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::detail {

/// What memory of rows is for: each use has blocks of one size.
enum class row_use : std::uint8_t {
  rows,      ///< on their way to others, or a parcel's
  sums,      ///< of a parcel; or gradients of this rank's own, while those of others are added to them
  received,  ///< from one sharer, where keys and values are kept
  joined,    ///< from all others
  late,      ///< from one sharer, or for one, in a row of which this rank has no tokens
};
inline constexpr std::size_t row_uses = 5;

/// How many blocks a step has in use at once, and the bytes of the largest, by use.
struct row_needs {
  std::array<std::size_t, row_uses> blocks{};
  std::array<std::size_t, row_uses> bytes{};
};

/// A block, as many bytes of it as were asked for.
struct row_block {
  memory_block memory;
  std::span<std::byte> bytes;
  row_use use{};
};

/// Memory of rows that is used again.
class row_pool {
 public:
  /// Requires  memory that outlives it
  explicit row_pool(row_memory& memory) noexcept : memory_(&memory) {}

  [[nodiscard]] row_memory& memory() noexcept { return *memory_; }

  /// What was in use so far.
  [[nodiscard]] const row_needs& needs() const noexcept { return needs_; }

  /// Makes every block as large as those needed, and all of them now where `at_once`.
  [[nodiscard]] result<void> expect(const row_needs& needs, bool at_once);

  [[nodiscard]] result<row_block> take(row_use what, std::size_t bytes);

  /// Of memory that no transfer uses, and no work that is issued from now on reads.
  void give_back(row_block block);

 private:
  [[nodiscard]] result<memory_block> make(std::size_t use) { return memory_->make(needs_.bytes[use]); }

  row_memory* memory_;
  row_needs needs_;
  std::array<std::vector<memory_block>, row_uses> free_;
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/shared/row_pool.ipp>
#endif

#endif
