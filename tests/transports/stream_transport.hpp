#ifndef SLIMPACK_TESTS_TRANSPORTS_STREAM_TRANSPORT_HPP
#define SLIMPACK_TESTS_TRANSPORTS_STREAM_TRANSPORT_HPP

#include "stream_world.hpp"

#include <slimpack/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack {

/// A transport that completes out of band and out of step with its caller, as NCCL communicators on CUDA streams do:
/// each rank has a stream for compute, and one for every peer, channel and direction, each a thread. The host enqueues
/// and goes on; send and receive come after the compute enqueued before them, wait orders compute after a message and
/// does not block, finish blocks until all is done. Errors of streams come to light at later calls, finish at the
/// latest.
///
///   stream_world world{ranks, {.seed = 7}};
///   stream_transport transport = world.endpoint(rank);     // in the thread of that rank; the world outlives it
///   transport.stream().enqueue([in, out] { kernel(in, out); });
///
/// A stage compute for it keeps a reference to stream() and does all its work in closures that it enqueues there: when
/// forward returns, nothing may have been read or written yet. So what a closure reads or writes (messages, states)
/// must stay until a later closure, or until finish. A kernel runs even in a step that is aborted, on whatever its
/// input holds.
class stream_transport {
 public:
  class handle {
    friend class stream_transport;
    std::shared_ptr<stream_event> done_;
    std::uint64_t step_{};
  };

  stream_transport(stream_world& world, int rank) : world_(&world), rank_(rank) {}

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return world_->size(); }
  [[nodiscard]] work_stream& stream() { return world_->of(rank_).compute; }

  result<handle> send(int peer, int channel, std::span<const std::byte> message) {
    return post({peer, channel, 0},
                [w = world_, me = rank_, peer, channel, message] { w->give(me, peer, channel, message); });
  }

  result<handle> receive(int peer, int channel, std::span<std::byte> message) {
    return post({peer, channel, 1},
                [w = world_, me = rank_, peer, channel, message] { w->take(me, peer, channel, message); });
  }

  result<bool> test(handle& h) {
    if (result<void> r = status(h); !r) return std::move(r).error();
    if (!h.done_->query()) return false;
    if (result<void> r = status(h); !r) return std::move(r).error();  // it may be done because it failed
    return true;
  }

  result<void> wait(handle& h) {
    if (result<void> r = status(h); !r) return r;
    stream().wait(h.done_);
    return slimpack::success();
  }

  result<void> finish() {
    if (result<void> r = world_->status(rank_); !r) return r;
    world_->drain(rank_);
    return world_->status(rank_);
  }

  void abort(std::string_view reason) { world_->abort(rank_, reason); }

  /// Between hosts: the streams go on meanwhile.
  result<void> all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    if (result<void> r = world_->status(rank_); !r) return r;
    const std::vector<int> hosts{-1};
    const auto parts = world_->swap(rank_, hosts, static_cast<std::size_t>(rank_), static_cast<std::size_t>(size()),
                                    world_->of(rank_).collectives[hosts]++, own);
    if (!parts) return world_->status(rank_);
    for (std::size_t r = 0; r < parts->size(); ++r)
      std::copy((*parts)[r].begin(), (*parts)[r].end(), all.begin() + static_cast<std::ptrdiff_t>(r * own.size()));
    return slimpack::success();
  }

  /// Of device memory: in order of the compute stream, so the sums are there for later work, or after finish.
  template <class T>
  result<void> all_reduce(std::span<T> data, std::span<const int> members) {
    if (result<void> r = world_->status(rank_); !r) return r;
    const std::vector<int> group(members.begin(), members.end());
    const std::uint64_t nth = world_->of(rank_).collectives[group]++;
    stream().enqueue([w = world_, me = rank_, data, group, nth] {
      const auto at = static_cast<std::size_t>(std::find(group.begin(), group.end(), me) - group.begin());
      const auto parts = w->swap(me, group, at, group.size(), nth, std::as_bytes(data));
      if (!parts) return;
      std::fill(data.begin(), data.end(), T{});
      for (const std::vector<std::byte>& part : *parts)
        for (std::size_t i = 0; i < data.size(); ++i) {
          T term{};
          std::memcpy(&term, &part[i * sizeof(T)], sizeof(T));
          data[i] += term;
        }
    });
    return slimpack::success();
  }

 private:
  template <class Work>
  result<handle> post(const stream_world::address& where, Work work) {
    if (result<void> r = world_->status(rank_); !r) return std::move(r).error();
    stream_world::device& mine = world_->of(rank_);
    std::unique_ptr<work_stream>& on = mine.communication[where];
    if (!on) on = std::make_unique<work_stream>();
    on->wait(mine.compute.record());
    if (mine.random.once_in(3)) {
      const std::chrono::duration<double> late(mine.random.ratio() * world_->options_.delay.value);
      on->enqueue([late] { std::this_thread::sleep_for(late); });
    }
    on->enqueue(std::move(work));
    handle h;
    h.done_ = on->record();
    h.step_ = world_->gate_.step(static_cast<std::size_t>(rank_));
    return h;
  }

  /// Of the step that a handle is of.
  result<void> status(const handle& h) {
    if (h.step_ != world_->gate_.step(static_cast<std::size_t>(rank_))) return world_->gate_.why();
    return world_->status(rank_);
  }

  stream_world* world_;
  int rank_;
};

inline stream_transport stream_world::endpoint(int rank) {
  return {*this, rank};
}

}  // namespace slimpack

#endif
