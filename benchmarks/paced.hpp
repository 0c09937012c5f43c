#ifndef SLIMPACK_BENCHMARKS_PACED_HPP
#define SLIMPACK_BENCHMARKS_PACED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/transports/threads.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// Ranks on threads, with one channel that is as slow as a wire: a message on it comes no earlier than its bytes over
/// the bandwidth after both sides have posted it. Messages do not delay each other, and take no processor time on their
/// way.
/// Units     bandwidth in bytes per second; 0: as fast as threads are
class paced {
  using clock = std::chrono::steady_clock;

 public:
  paced(int ranks, int channel, double bandwidth)
      : world_(ranks, {.time_out = {120}}), channel_(channel), bandwidth_(bandwidth) {}

  class port {
   public:
    struct handle {
      slimpack::transports::threads::handle of;
      std::size_t bytes{};  // of a message on the wire that this side receives
      std::size_t number{};
      int from{};
      clock::time_point posted{};
    };

    [[nodiscard]] int rank() const { return port_.rank(); }
    [[nodiscard]] int size() const { return port_.size(); }
    slimpack::result<handle> send(int peer, int channel, std::span<const std::byte> bytes) {
      if (channel == world_->channel_) world_->sent(rank(), peer);
      return wrapped(port_.send(peer, channel, bytes), {});
    }
    slimpack::result<handle> receive(int peer, int channel, std::span<std::byte> bytes) {
      handle made{{}, channel == world_->channel_ ? bytes.size() : 0, 0, peer, clock::now()};
      if (made.bytes > 0) made.number = received_[peer]++;
      return wrapped(port_.receive(peer, channel, bytes), made);
    }
    slimpack::result<bool> test(handle& h) {
      slimpack::result<bool> came = port_.test(h.of);
      return came && came.value() && h.bytes > 0 ? slimpack::result<bool>(world_->arrival(h, rank()) <= clock::now())
                                                 : came;
    }
    slimpack::result<void> wait(handle& h) {
      slimpack::result<void> came = port_.wait(h.of);
      if (came && h.bytes > 0) std::this_thread::sleep_until(world_->arrival(h, rank()));
      return came;
    }
    void abort(std::string_view reason) { port_.abort(reason); }

   private:
    friend class paced;
    port(paced& world, int rank) : world_(&world), port_(world.world_.endpoint(rank)) {}
    static slimpack::result<handle> wrapped(slimpack::result<slimpack::transports::threads::handle> posted,
                                            handle made) {
      if (!posted) return std::move(posted).error();
      made.of = posted.value();
      return made;
    }

    paced* world_;
    slimpack::transports::threads::port port_;
    std::map<int, std::size_t> received_;  // by peer
  };

  [[nodiscard]] port endpoint(int rank) { return {*this, rank}; }

 private:
  void sent(int from, int to) {
    const auto now = clock::now();
    const std::lock_guard lock(mutex_);
    sends_[{from, to}].push_back(now);
  }
  /// Requires  that it has been sent
  [[nodiscard]] clock::time_point arrival(const port::handle& h, int to) {
    const std::lock_guard lock(mutex_);
    const auto both = std::max(h.posted, sends_[{h.from, to}][h.number]);
    return bandwidth_ > 0 ? both + std::chrono::duration_cast<clock::duration>(
                                       std::chrono::duration<double>(static_cast<double>(h.bytes) / bandwidth_))
                          : both;
  }

  slimpack::transports::threads world_;
  int channel_;
  double bandwidth_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::vector<clock::time_point>> sends_;
};

#endif
