#ifndef SLIMPACK_TRANSPORTS_DETAIL_RENDEZVOUS_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_RENDEZVOUS_HPP

#include <slimpack/transports/detail/parking.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
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

  rendezvous(int source, int destination, int number);

  [[nodiscard]] int source() const noexcept { return source_; }
  [[nodiscard]] int destination() const noexcept { return destination_; }
  [[nodiscard]] int number() const noexcept { return number_; }

  /// Index of the next message of a side. This, send and receive are called by that side's thread only.
  [[nodiscard]] std::uint64_t next(side s) const noexcept { return places_[s].next; }

  [[nodiscard]] met send(std::span<const std::byte> from);

  [[nodiscard]] met receive(std::span<std::byte> to);

  [[nodiscard]] bool complete(std::uint64_t index) const noexcept { return completed_.load() > index; }

  /// Sizes of the two sides differed at this message or at an earlier one. Once they do, the sides run different
  /// programs and nothing that follows is copied. Requires   complete(index)
  [[nodiscard]] bool mismatched(std::uint64_t index) const noexcept { return mismatch_.load() <= index; }
  [[nodiscard]] std::pair<std::size_t, std::size_t> mismatched_sizes() const noexcept { return sizes_; }

  /// A side leaves for good: of its posts, those that are not answered never will be. Waits for a copy under way.
  void leave(side s);

  /// As new. Requires   both sides have left, and return only after this
  void reset();

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

  [[nodiscard]] meeting& enter(side s);

  [[nodiscard]] met arrive(meeting& m, side s);

  /// Blocks that both sides are through with are used again.
  void next_block(place& p);

  void grow();

  static void clear(block& b) noexcept;

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

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/transports/impl/rendezvous.ipp>
#endif

#endif
