#ifndef SLIMPACK_EXECUTORS_IMPL_SHARED_ROW_POOL_IPP
#define SLIMPACK_EXECUTORS_IMPL_SHARED_ROW_POOL_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/executors/detail/shared/row_pool.hpp>

#include <algorithm>
#include <utility>

namespace slimpack::detail {

SLIMPACK_DECL result<void> row_pool::expect(const row_needs& needs, bool at_once) {
  needs_.bytes = needs.bytes;
  for (std::size_t use = 0; at_once && use < row_uses; ++use)
    while (free_[use].size() < needs.blocks[use]) {
      auto made = make(use);
      if (!made) return std::move(made).error();
      free_[use].push_back(std::move(made).value());
    }
  return success();
}

SLIMPACK_DECL result<row_block> row_pool::take(row_use what, std::size_t bytes) {
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

SLIMPACK_DECL void row_pool::give_back(row_block block) {
  if (block.memory.owner != nullptr) free_[static_cast<std::size_t>(block.use)].push_back(std::move(block.memory));
}

}  // namespace slimpack::detail

#endif
