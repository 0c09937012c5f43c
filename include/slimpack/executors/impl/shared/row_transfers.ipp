#ifndef SLIMPACK_EXECUTORS_IMPL_SHARED_ROW_TRANSFERS_IPP
#define SLIMPACK_EXECUTORS_IMPL_SHARED_ROW_TRANSFERS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/executors/detail/shared/row_transfers.hpp>

#include <algorithm>
#include <string>
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

SLIMPACK_DECL result<void> row_transfers::next_turn() {
  ++turn_;
  for (; !buffers_.empty() && buffers_.front().turn + 1 < turn_; buffers_.pop_front()) {
    std::vector<any_transport::handle>& sends = buffers_.front().sends;
    for (; !sends.empty(); sends.pop_back()) {
      if (in_plan_order()) {
        if (result<void> ordered = transport_->wait(sends.back()); !ordered) return ordered;
      } else {
        const result<bool> through = transport_->test(sends.back());
        if (!through) return through.error();
        if (!through.value()) return success();
      }
    }
    pool_->give_back(std::move(buffers_.front().block));
  }
  return success();
}

SLIMPACK_DECL result<row_transfers::buffer*> row_transfers::room_for(row_use use, std::size_t bytes) {
  result<row_block> taken = pool_->take(use, bytes);
  if (!taken) return std::move(taken).error();
  return &keep(std::move(taken).value());
}

SLIMPACK_DECL result<row_transfers::buffer*> row_transfers::copied(row_use use, std::span<const std::byte> rows) {
  const result<buffer*> made = room_for(use, rows.size());
  if (!made) return made.error();
  if (result<void> issued = pool_->memory().copy(rows, made.value()->block.bytes); !issued)
    return std::move(issued).error();
  return made;
}

SLIMPACK_DECL result<void> row_transfers::send(std::size_t k, buffer& from, std::span<const std::byte> rows) {
  if (rows.empty()) return success();
  const result<any_transport::handle> posted = transport_->send(rank_of(k), channel_, rows);
  if (!posted) return lost(k, "to", posted.error());
  from.sends.push_back(posted.value());
  from.turn = turn_;
  bytes_ += rows.size();
  return success();
}

SLIMPACK_DECL result<void> row_transfers::receive(std::size_t k, std::span<std::byte> rows, receives& expected) {
  if (rows.empty()) return success();
  const result<any_transport::handle> posted = transport_->receive(rank_of(k), channel_, rows);
  if (!posted) return lost(k, "from", posted.error());
  expected.emplace_back(posted.value(), k);
  return success();
}

SLIMPACK_DECL result<void> row_transfers::wait(receives& expected) {
  for (const auto& [handle, k] : expected)
    if (result<void> came = transport_->wait(handle); !came) return lost(k, "from", std::move(came).error());
  expected.clear();
  return success();
}

SLIMPACK_DECL result<void> row_transfers::complete() {
  for (const buffer& b : buffers_)
    for (const any_transport::handle handle : b.sends)
      if (result<void> through = transport_->wait(handle); !through) return through;
  return success();
}

SLIMPACK_DECL error row_transfers::lost(std::size_t k, const char* way, error e) const {
  if (e.code != errc::aborted)  // which is told by another rank, and says where
    e.detail = std::string(way) + " rank " + std::to_string(transport_->number_of(rank_of(k))) + " (replica " +
               std::to_string(sequence_->sharers[k]) + "): " + e.detail;
  return e;
}

}  // namespace slimpack::detail

#endif
