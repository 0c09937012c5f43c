#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_TRANSFERS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_TRANSFERS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/detail/shared/row_pool.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>
#include <slimpack/transports/hooks.hpp>

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The sends and receives of rows between a rank and those that share a sequence with it, and the memory of those under way. Between two
/// ranks all are on one channel: both run the rows that they share in the same order.
template <class Transport>
class row_transfers {
 public:
  /// Memory that stays where it is until its sends are through.
  struct buffer {
    row_block block;
    std::vector<typename Transport::handle> sends;
    std::size_t turn{};  // of its last use
  };
  using receives = std::vector<std::pair<typename Transport::handle, std::size_t>>;  // and the sharer each is from

  row_transfers(Transport& transport, row_memory& memory, int stage, int stages, int channel)
      : transport_(&transport), pool_(memory), stage_(stage), stages_(stages), channel_(channel) {}

  [[nodiscard]] row_pool& pool() noexcept { return pool_; }
  [[nodiscard]] std::size_t bytes_sent() const noexcept { return bytes_; }

  /// Between those that share a sequence, from now on.
  void open(const shared_sequence& s) noexcept { sequence_ = &s; }

  /// A layer begins, or a rotation: memory of the turns before the last is free as soon as its sends are through. Where work is issued
  /// long before it runs, what is issued next comes after them: the host need not wait for that.
  result<void> next_turn() {
    ++turn_;
    for (; !buffers_.empty() && buffers_.front().turn + 1 < turn_; buffers_.pop_front()) {
      std::vector<typename Transport::handle>& sends = buffers_.front().sends;
      for (; !sends.empty(); sends.pop_back()) {
        if constexpr (keeps_plan_order<Transport>()) {
          if (result<void> ordered = transport_->wait(sends.back()); !ordered) return ordered;
        } else {
          const result<bool> through = transport_->test(sends.back());
          if (!through) return through.error();
          if (!through.value()) return success();
        }
      }
      pool_.give_back(std::move(buffers_.front().block));
    }
    return success();
  }

  /// A buffer of a block, which is given back some turns later.
  buffer& keep(row_block block) { return buffers_.emplace_back(buffer{std::move(block), {}, turn_}); }
  result<buffer*> room_for(row_use use, std::size_t bytes) {
    result<row_block> taken = pool_.take(use, bytes);
    if (!taken) return std::move(taken).error();
    return &keep(std::move(taken).value());
  }
  result<buffer*> copied(row_use use, std::span<const std::byte> rows) {
    const result<buffer*> made = room_for(use, rows.size());
    if (!made) return made.error();
    if (result<void> issued = pool_.memory().copy(rows, made.value()->block.bytes); !issued) return std::move(issued).error();
    return made;
  }

  /// k: position among the sharers
  result<void> send(std::size_t k, buffer& from) { return send(k, from, from.block.bytes.size()); }
  result<void> send(std::size_t k, buffer& from, std::size_t bytes) {
    if (bytes == 0) return success();
    auto posted = transport_->send(rank_of(k), channel_, std::span<const std::byte>(from.block.bytes).first(bytes));
    if (!posted) return lost(k, "to", std::move(posted).error());
    from.sends.push_back(std::move(posted).value());
    from.turn = turn_;
    bytes_ += bytes;
    return success();
  }
  result<void> receive(std::size_t k, std::span<std::byte> rows, receives& expected) {
    if (rows.empty()) return success();
    auto posted = transport_->receive(rank_of(k), channel_, rows);
    if (!posted) return lost(k, "from", std::move(posted).error());
    expected.emplace_back(std::move(posted).value(), k);
    return success();
  }
  result<void> wait(receives& expected) {
    for (auto& [handle, k] : expected)
      if (result<void> came = transport_->wait(handle); !came) return lost(k, "from", std::move(came).error());
    expected.clear();
    return success();
  }

  /// Waits for every send.
  result<void> complete() {
    for (buffer& b : buffers_)
      for (auto& handle : b.sends)
        if (result<void> through = transport_->wait(handle); !through) return through;
    return success();
  }

 private:
  [[nodiscard]] int rank_of(std::size_t k) const { return static_cast<int>(sequence_->sharers[k]) * stages_ + stage_; }

  [[nodiscard]] error lost(std::size_t k, const char* way, error e) const {
    if (e.code != errc::aborted)  // which is told by another rank, and says where
      e.detail = std::string(way) + " rank " + std::to_string(rank_of(k)) + " (replica " + std::to_string(sequence_->sharers[k]) + "): " + e.detail;
    return e;
  }

  Transport* transport_;
  row_pool pool_;
  int stage_;
  int stages_;
  int channel_;
  const shared_sequence* sequence_{};
  std::deque<buffer> buffers_;  // which stay where they are, until they are through or the transport has aborted
  std::size_t turn_{};
  std::size_t bytes_{};
};

}  // namespace slimpack::detail

#endif
