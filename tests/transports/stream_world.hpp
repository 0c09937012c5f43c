#ifndef SLIMPACK_TESTS_TRANSPORTS_STREAM_WORLD_HPP
#define SLIMPACK_TESTS_TRANSPORTS_STREAM_WORLD_HPP

#include "work_stream.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/transports/detail/step_gate.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack {

class stream_transport;

/// What the ranks of a stream_transport share, and a device for each: a stream for compute, and one for every peer,
/// channel and direction. Everything shared is under one mutex.
class stream_world {
 public:
  struct options {
    std::uint64_t seed{1};
    seconds delay{200e-6};  ///< some messages wait for up to as long before they go on their way
    seconds time_out{30};
  };

  explicit stream_world(int ranks) : stream_world(ranks, options{}) {}
  stream_world(int ranks, options o) : options_(o), gate_(static_cast<std::size_t>(ranks)) {
    for (int r = 0; r < ranks; ++r)
      devices_.push_back(std::make_unique<device>(o.seed + static_cast<std::uint64_t>(r)));
  }

  [[nodiscard]] int size() const noexcept { return static_cast<int>(devices_.size()); }
  [[nodiscard]] stream_transport endpoint(int rank);

 private:
  friend class stream_transport;
  using clock = std::chrono::steady_clock;
  using entry = detail::step_gate::entry;
  using parts = std::vector<std::vector<std::byte>>;
  using address = std::array<int, 3>;

  struct device {
    explicit device(std::uint64_t seed) : random(seed) {}
    std::optional<error> failed;                                    // the first failure of its streams; under the mutex
    testing::generator random;                                      // this and what follows: of the rank's thread
    std::map<std::vector<int>, std::uint64_t> collectives;            // so far, by group
    std::map<address, std::unique_ptr<work_stream>> communication;  // by peer, channel, and 1 where it receives
    work_stream compute;
  };

  /// A message that its sender's stream offers until the receiver's stream takes it.
  struct offer {
    std::span<const std::byte> bytes;
    bool taken{};
  };

  /// What the members of a group put together.
  struct collective {
    parts from;
    std::size_t came{};
    std::size_t left{};
  };

  [[nodiscard]] device& of(int rank) { return *devices_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] entry ask(int rank) const noexcept { return gate_.ask(static_cast<std::size_t>(rank)); }

  /// Under the mutex.
  [[nodiscard]] bool stopped(int rank) { return ask(rank) != entry::open || of(rank).failed; }
  void fail(int rank, errc code, std::string detail) {
    if (!of(rank).failed) of(rank).failed = error{code, "rank " + std::to_string(rank) + " " + std::move(detail)};
    changed_.notify_all();
  }

  void changed() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  [[nodiscard]] clock::time_point deadline() const {
    return clock::now() +
           std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(options_.time_out.value));
  }

  /// False when the rank is stopped, or is now since time ran out.
  template <class Ready>
  bool await(std::unique_lock<std::mutex>& lock, int rank, const std::string& what, const Ready& ready) {
    if (!changed_.wait_until(lock, deadline(), [&] { return ready() || stopped(rank); }))
      fail(rank, errc::timed_out, waited() + what);
    return !stopped(rank);
  }
  [[nodiscard]] std::string waited() const {
    char text[64];
    std::snprintf(text, sizeof text, "waited %g s for ", options_.time_out.value);
    return text;
  }

  // Work of communication streams.

  void give(int rank, int peer, int channel, std::span<const std::byte> message) {
    std::unique_lock lock(mutex_);
    if (stopped(rank)) return;
    std::deque<offer*>& offers = offers_[{rank, peer, channel}];
    offer mine{message, false};
    offers.push_back(&mine);
    changed_.notify_all();
    await(lock, rank, "rank " + std::to_string(peer) + " to take a message on channel " + std::to_string(channel),
          [&] { return mine.taken; });
    if (!mine.taken) offers.erase(std::find(offers.begin(), offers.end(), &mine));
  }

  void take(int rank, int peer, int channel, std::span<std::byte> message) {
    std::unique_lock lock(mutex_);
    std::deque<offer*>& offers = offers_[{peer, rank, channel}];
    if (!await(lock, rank, "a message from rank " + std::to_string(peer) + " on channel " + std::to_string(channel),
               [&] { return !offers.empty(); }))
      return;
    offer& theirs = *offers.front();
    offers.pop_front();
    if (theirs.bytes.size() == message.size())
      std::copy(theirs.bytes.begin(), theirs.bytes.end(), message.begin());
    else
      fail(rank, errc::wrong_message,
           "expected " + std::to_string(message.size()) + " bytes on channel " + std::to_string(channel) + ", rank " +
               std::to_string(peer) + " sent " + std::to_string(theirs.bytes.size()));
    theirs.taken = true;
    changed_.notify_all();
  }

  /// What every member gives to the n-th collective of a group; nothing when the rank is stopped.
  std::optional<parts> swap(int rank, const std::vector<int>& group, std::size_t at, std::size_t members,
                            std::uint64_t nth, std::span<const std::byte> own) {
    std::unique_lock lock(mutex_);
    if (stopped(rank)) return std::nullopt;
    collective& e = collectives_[{group, nth}];
    e.from.resize(members);
    e.from[at].assign(own.begin(), own.end());
    ++e.came;
    changed_.notify_all();
    if (!await(lock, rank, "all ranks of a collective", [&] { return e.came == members; })) return std::nullopt;
    parts all = e.from;
    if (++e.left == members) collectives_.erase({group, nth});
    return all;
  }

  // Of the rank's thread.

  /// Where errors of its streams come to light. A rank that has aborted waits here for the others.
  result<void> status(int rank) {
    if (!next_step_begins(rank))
      return error{errc::timed_out, waited() + "all ranks to leave the step that was aborted"};
    if (ask(rank) == entry::aborted) return gate_.why();
    const std::lock_guard lock(mutex_);
    if (of(rank).failed) return *of(rank).failed;
    return slimpack::success();
  }

  bool next_step_begins(int rank) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline(), [&] { return ask(rank) != entry::early; });
  }

  void drain(int rank) {
    of(rank).compute.finish();
    for (auto& [where, stream] : of(rank).communication) stream->finish();
  }

  void abort(int rank, std::string_view reason) {
    if (!next_step_begins(rank)) return;
    gate_.raise(static_cast<std::size_t>(rank), reason);
    changed();
    drain(rank);
    {
      const std::lock_guard lock(mutex_);
      of(rank).failed.reset();
    }
    of(rank).collectives.clear();
    gate_.leave(static_cast<std::size_t>(rank), [this] {
      const std::lock_guard lock(mutex_);
      collectives_.clear();
    });
    changed();
  }

  options options_;
  detail::step_gate gate_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<address, std::deque<offer*>> offers_;  // by source, destination and channel
  std::map<std::pair<std::vector<int>, std::uint64_t>, collective> collectives_;
  std::vector<std::unique_ptr<device>> devices_;  // last: their streams use all others
};

}  // namespace slimpack

#endif
