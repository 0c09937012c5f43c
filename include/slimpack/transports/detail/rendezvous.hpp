#ifndef SLIMPACK_TRANSPORTS_DETAIL_RENDEZVOUS_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_RENDEZVOUS_HPP

#include <slimpack/transports/detail/parking.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// One channel from one thread to another, where the k-th send meets the k-th receive. Whoever comes second copies, so
/// neither ever waits for the other, bytes are copied once, and a message costs each side one atomic operation.
///
/// Messages complete in order (*derived*): k + 1 is copied by the side that comes second to it. That side has completed
/// k before if it copied k itself; otherwise the other side copied k before it came to k + 1, and it came first. So one
/// counter says which messages are through, and a handle is no more than an index.
class rendezvous {
 public:
  enum side : unsigned { sender, receiver };
  enum class met { not_yet, now, never };  ///< never: the other side has left

  rendezvous(int source, int destination, int number) : source_(source), destination_(destination), number_(number) {
    grow();
    for (place& p : places_) p.at = blocks_.front().get();
  }

  [[nodiscard]] int source() const noexcept { return source_; }
  [[nodiscard]] int destination() const noexcept { return destination_; }
  [[nodiscard]] int number() const noexcept { return number_; }

  /// Index of the next message of a side. This, send and receive are called by that side's thread only.
  [[nodiscard]] std::uint64_t next(side s) const noexcept { return places_[s].next; }

  [[nodiscard]] met send(std::span<const std::byte> from) {
    meeting& m = enter(sender);
    m.from = from;
    return arrive(m, sender);
  }

  [[nodiscard]] met receive(std::span<std::byte> to) {
    meeting& m = enter(receiver);
    m.to = to;
    return arrive(m, receiver);
  }

  [[nodiscard]] bool complete(std::uint64_t index) const noexcept { return completed_.load() > index; }

  /// Sizes of the two sides differed at this message or at an earlier one. Once they do, the sides run different
  /// programs and nothing that follows is copied. Requires   complete(index)
  [[nodiscard]] bool mismatched(std::uint64_t index) const noexcept { return mismatch_.load() <= index; }
  [[nodiscard]] std::pair<std::size_t, std::size_t> mismatched_sizes() const noexcept { return sizes_; }

  /// A side leaves for good: of its posts, those that are not answered never will be. Waits for a copy under way.
  void leave(side s) {
    const std::lock_guard lock(mutex_);  // no block goes away meanwhile
    for (std::uint64_t i = completed_.load(); i < places_[s].next; ++i) {
      meeting& m = (*blocks_[i / block_size - first_block_])[i % block_size];
      if (m.arrived.fetch_or(left) != (bit(sender) | bit(receiver))) continue;  // not met, or the other has left first
      while (!complete(i)) std::this_thread::yield();
    }
  }

  /// As new. Requires   both sides have left, and return only after this
  void reset() {
    for (auto& b : blocks_) clear(*b);
    std::move(blocks_.begin() + 1, blocks_.end(), std::back_inserter(spare_));
    blocks_.resize(1);
    first_block_ = 0;
    for (place& p : places_) p = {0, 0, blocks_.front().get()};
    completed_.store(0);
    mismatch_.store(none);
  }

 private:
  static constexpr std::uint64_t block_size = 32;
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  static constexpr unsigned left = 4;
  [[nodiscard]] static constexpr unsigned bit(side s) noexcept { return 1U << s; }

  struct alignas(64) meeting {
    std::atomic<unsigned> arrived{0};  // bits of sides
    std::span<const std::byte> from;
    std::span<std::byte> to;
  };
  using block = std::array<meeting, block_size>;

  struct alignas(64) place {
    std::uint64_t next{};
    std::uint64_t block_number{};  // under the mutex
    block* at{};
  };

  [[nodiscard]] meeting& enter(side s) {
    place& p = places_[s];
    if (p.next / block_size != p.block_number) next_block(p);
    return (*p.at)[p.next % block_size];
  }

  [[nodiscard]] met arrive(meeting& m, side s) {
    const std::uint64_t index = places_[s].next++;
    const unsigned others = m.arrived.fetch_or(bit(s), std::memory_order_acq_rel);
    if ((others & left) != 0) return met::never;
    if (others == 0) return met::not_yet;
    if (m.from.size() != m.to.size() && mismatch_.load() == none) {
      sizes_ = {m.from.size(), m.to.size()};
      mismatch_.store(index);
    }
    if (mismatch_.load() == none && !m.from.empty()) std::memcpy(m.to.data(), m.from.data(), m.from.size());
    completed_.store(index + 1);
    return met::now;
  }

  /// Blocks that both sides are through with are used again.
  void next_block(place& p) {
    const std::lock_guard lock(mutex_);
    ++p.block_number;
    if (p.block_number - first_block_ == blocks_.size()) grow();
    p.at = blocks_[p.block_number - first_block_].get();
    if (std::min(places_[sender].block_number, places_[receiver].block_number) == first_block_) return;
    clear(*blocks_.front());
    spare_.push_back(std::move(blocks_.front()));
    blocks_.erase(blocks_.begin());
    ++first_block_;
  }

  void grow() {
    if (spare_.empty()) spare_.push_back(std::make_unique<block>());
    blocks_.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }

  static void clear(block& b) noexcept {
    for (meeting& m : b) m.arrived.store(0, std::memory_order_relaxed);
  }

  const int source_;
  const int destination_;
  const int number_;
  std::array<place, 2> places_{};
  alignas(64) std::atomic<std::uint64_t> completed_{0};
  std::atomic<std::uint64_t> mismatch_{none};    // the first message whose sizes differ
  std::pair<std::size_t, std::size_t> sizes_{};  // of it: sent, expected
  alignas(64) std::mutex mutex_;
  std::vector<std::unique_ptr<block>> blocks_;  // from first_block_ on, as far as the side in front is
  std::vector<std::unique_ptr<block>> spare_;
  std::uint64_t first_block_{};
};

}  // namespace slimpack::detail

#endif
