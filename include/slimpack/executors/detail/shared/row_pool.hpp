#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_POOL_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_POOL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/shared/row_memory.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
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
  row_memory::block memory;
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
  [[nodiscard]] result<void> expect(const row_needs& needs, bool at_once) {
    needs_.bytes = needs.bytes;
    for (std::size_t use = 0; at_once && use < row_uses; ++use)
      while (free_[use].size() < needs.blocks[use]) {
        auto made = make(use);
        if (!made) return std::move(made).error();
        free_[use].push_back(std::move(made).value());
      }
    return success();
  }

  [[nodiscard]] result<row_block> take(row_use what, std::size_t bytes) {
    row_block taken;
    taken.use = what;
    if (bytes == 0) return taken;
    const auto use = static_cast<std::size_t>(what);
    needs_.bytes[use] = std::max(needs_.bytes[use], bytes);
    if (!free_[use].empty()) {
      taken.memory = std::move(free_[use].back());
      free_[use].pop_back();
    }
    if (taken.memory.bytes.size() < bytes) {
      auto made = make(use);
      if (!made) return std::move(made).error();
      if (taken.memory.owner == nullptr) ++needs_.blocks[use];
      taken.memory = std::move(made).value();
    }
    taken.bytes = taken.memory.bytes.first(bytes);
    return taken;
  }

  /// Of memory that no transfer uses, and no work that is issued from now on reads.
  void give_back(row_block block) {
    if (block.memory.owner != nullptr) free_[static_cast<std::size_t>(block.use)].push_back(std::move(block.memory));
  }

 private:
  [[nodiscard]] result<row_memory::block> make(std::size_t use) { return memory_->make(needs_.bytes[use]); }

  row_memory* memory_;
  row_needs needs_;
  std::array<std::vector<row_memory::block>, row_uses> free_;
};

}  // namespace slimpack::detail

#endif
