#ifndef SLIMPACK_TRANSPORTS_DETAIL_RENDEZVOUS_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_RENDEZVOUS_HPP

#include <slimpack/transports/detail/parking.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <tuple>
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

/// What the ranks of one process share: the channels between them, and each one's place to wait.
class threads_world {
 public:
  using side = rendezvous::side;

  threads_world(std::size_t ranks, patience p) : patience_(p), gate_(ranks), seats_(ranks) {
    for (seat& s : seats_)
      for (auto& peers : s.channels) peers.resize(ranks);
  }

  [[nodiscard]] std::size_t size() const noexcept { return seats_.size(); }
  [[nodiscard]] const detail::patience& patience() const noexcept { return patience_; }
  [[nodiscard]] step_gate& gate() noexcept { return gate_; }
  [[nodiscard]] parking& waits(int rank) noexcept { return seats_[static_cast<std::size_t>(rank)].waits; }

  /// The channel on which `rank` is the side named, made at its first use.
  [[nodiscard]] rendezvous& channel(std::size_t rank, side s, std::size_t peer, std::size_t number) {
    std::vector<rendezvous*>& known = seats_[rank].channels[s][peer];
    if (number < known.size() && known[number] != nullptr) return *known[number];
    if (number >= known.size()) known.resize(number + 1);
    return *(known[number] = s == side::sender ? &make(rank, peer, number) : &make(peer, rank, number));
  }

  void abort(std::size_t rank, std::string_view reason) {
    gate_.raise(rank, reason);
    wake_all();
    for (const side s : {side::sender, side::receiver})
      for (auto& peer : seats_[rank].channels[s])
        for (rendezvous* r : peer)
          if (r != nullptr) r->leave(s);
    gate_.leave(rank, [this] {
      const std::lock_guard lock(mutex_);
      for (auto& [ends, r] : channels_) r->reset();
    });
    wake_all();
  }

 private:
  struct alignas(64) seat {
    parking waits;
    std::vector<std::vector<rendezvous*>> channels[2];  // by side, peer and number; of the rank's thread only
  };

  [[nodiscard]] rendezvous& make(std::size_t source, std::size_t destination, std::size_t number) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<rendezvous>& r = channels_[{source, destination, number}];
    if (!r)
      r = std::make_unique<rendezvous>(static_cast<int>(source), static_cast<int>(destination),
                                       static_cast<int>(number));
    return *r;
  }

  void wake_all() {
    for (seat& s : seats_) s.waits.wake();
  }

  detail::patience patience_;
  step_gate gate_;
  std::vector<seat> seats_;
  std::mutex mutex_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::unique_ptr<rendezvous>> channels_;
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/transports/impl/rendezvous.ipp>
#endif

#endif
