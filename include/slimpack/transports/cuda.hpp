#ifndef SLIMPACK_TRANSPORTS_CUDA_HPP
#define SLIMPACK_TRANSPORTS_CUDA_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/devices/streams.hpp>
#include <slimpack/transports/detail/device_world.hpp>
#include <slimpack/transports/detail/sentences.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::transports {

/// Ranks that are threads of one process, with messages in memory of devices: copies and events, for one GPU, or
/// several that reach each other's memory.
///
///   devices::cuda gpu;
///   transports::cuda<devices::cuda> world{{gpu, gpu}};       // two ranks on one GPU
///   auto transport = world.endpoint(rank).value();           // in the thread of that rank
///   kernel<<<1, 1, 0, transport.stream().get()>>>(...);      // all of a compute's work goes there
///
/// The k-th send of a channel meets the k-th receive; whoever comes second issues the copy, on a stream of the
/// receiver. It comes after the work that both have issued, and wait lets later work come after it. So a device waits
/// for copies and kernels alone, never for a host, and no order of sends and receives can hold it up for ever. A host
/// waits in wait until the other side has been posted, and for work to end in finish and abort, where it asks again and
/// again. Sums are added on the host, in pinned memory and in order of rank: for tests and single machines. A trainer
/// of many GPUs has NCCL.
/// Requires   what a compute works on with is issued on stream(); devices outlive their kernels
/// Errors     invalid_input: no such peer. wrong_message: on the receiver, sizes of the two sides differ. timed_out,
///            aborted: laws 4 and 5 of transport. The device's own
template <streams Device>
class cuda {
 public:
  struct options {
    seconds time_out{30};  ///< how long a rank waits for another, and for the work of its device
  };

  /// A message on its way.
  class handle {
    friend class cuda;
    std::shared_ptr<typename detail::device_world<Device>::meeting> met_;
    std::uint64_t step_{};
    bool receives_{};
  };

  class port {
   public:
    using handle = cuda::handle;
    static constexpr bool device_memory = true;

    [[nodiscard]] int rank() const noexcept { return static_cast<int>(rank_); }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(world_->size()); }
    [[nodiscard]] Device& device() noexcept { return world_->of(rank_).device; }
    /// Where the rank's compute issues its work.
    [[nodiscard]] const typename Device::stream& stream() const noexcept { return *world_->of(rank_).compute; }

    [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> message) {
      return post(
          peer,
          [&](const typename Device::event& ready) {
            return world_->send(rank_, static_cast<std::size_t>(peer), channel, message, ready);
          },
          false);
    }
    [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> message) {
      return post(
          peer,
          [&](const typename Device::event& ready) {
            return world_->receive(rank_, static_cast<std::size_t>(peer), channel, message, ready);
          },
          true);
    }
    [[nodiscard]] result<bool> test(const handle& h) {
      if (result<void> open = world_->status(rank_, h.step_); !open) return std::move(open).error();
      const result<bool> met = world_->has_met(*h.met_, h.receives_);
      if (!met || !met.value()) return met;
      return device().query(*h.met_->done);
    }
    [[nodiscard]] result<void> wait(const handle& h) {
      if (result<void> open = world_->status(rank_, h.step_); !open) return open;
      if (result<void> met = world_->await(rank_, *h.met_, h.receives_); !met) return met;
      return device().wait(stream(), *h.met_->done);
    }
    /// Until the work of the compute and all messages have ended.
    [[nodiscard]] result<void> finish() {
      if (result<void> open = world_->status(rank_); !open) return open;
      return world_->finish(rank_);
    }
    /// A point in the compute's work, and the time from one to another that have been reached.
    using time_mark = typename Device::event;
    [[nodiscard]] result<time_mark> mark() { return device().record(stream()); }
    [[nodiscard]] result<seconds> between(const time_mark& from, const time_mark& to) {
      return device().elapsed(from, to);
    }

    /// Stops the step on every rank; each calls it.
    void abort(std::string_view reason) { world_->abort(rank_, reason); }

    /// Of host memory.
    [[nodiscard]] result<void> all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
      if (result<void> open = world_->status(rank_); !open) return open;
      std::vector<int> everyone;
      for (int r = 0; r < size(); ++r) everyone.push_back(r);
      auto parts = world_->swap(rank_, everyone, {{own.begin(), own.end()}, nullptr, std::nullopt});
      if (!parts) return std::move(parts).error();
      for (std::size_t r = 0; r < parts.value().size(); ++r)
        std::copy(parts.value()[r].bytes.begin(), parts.value()[r].bytes.end(),
                  all.begin() + static_cast<std::ptrdiff_t>(r * own.size()));
      return success();
    }

    /// Of memory that the device reads: the sums are there for later work of the stream, or after finish.
    template <class T>
    [[nodiscard]] result<void> all_reduce(std::span<T> data, std::span<const int> members) {
      if (result<void> open = world_->status(rank_); !open) return open;
      using memory = typename Device::memory;
      const std::span<std::byte> bytes = std::as_writable_bytes(data);
      const auto room = [&]() -> result<std::shared_ptr<memory>> {
        result<memory> made = device().allocate_pinned(std::max<std::size_t>(bytes.size(), 1));
        if (!made) return std::move(made).error();
        return std::make_shared<memory>(std::move(made).value());
      };
      const auto own = room(), sum = room();
      if (!own) return own.error();
      if (!sum) return sum.error();
      if (result<void> read = device().copy(stream(), as_span(*own.value()).first(bytes.size()), bytes); !read)
        return read;
      const auto ready = device().record(stream());
      if (!ready) return ready.error();
      const std::vector<int> group(members.begin(), members.end());
      auto parts = world_->swap(rank_, group, {{}, own.value(), ready.value()});
      if (!parts) return std::move(parts).error();
      std::vector<T*> terms;
      for (auto& part : parts.value()) {
        if (result<void> ordered = device().wait(stream(), *part.ready); !ordered) return ordered;
        terms.push_back(reinterpret_cast<T*>(as_span(*part.memory).data()));
        world_->of(rank_).kept.push_back(part.memory);
      }
      world_->of(rank_).kept.push_back(sum.value());
      T* const into = reinterpret_cast<T*>(as_span(*sum.value()).data());
      const std::size_t count = data.size();
      const auto add = [terms, into, count] {
        for (std::size_t i = 0; i < count; ++i) {
          T total{};
          for (const T* term : terms) total += term[i];
          into[i] = total;
        }
      };
      if (result<void> added = device().run(stream(), add); !added) return added;
      return device().copy(stream(), bytes, as_span(*sum.value()).first(bytes.size()));
    }

   private:
    friend class cuda;
    port(std::shared_ptr<detail::device_world<Device>> world, std::size_t rank)
        : world_(std::move(world)), rank_(rank) {}

    template <class Post>
    result<handle> post(int peer, const Post& post_with, bool receives) {
      if (!detail::is_rank(peer, size())) return detail::no_such_rank(peer, size());
      if (result<void> open = world_->status(rank_); !open) return std::move(open).error();
      const auto ready = device().record(stream());
      if (!ready) return ready.error();
      auto met = post_with(ready.value());
      if (!met) return std::move(met).error();
      handle h;
      h.met_ = std::move(met).value();
      h.step_ = world_->step(rank_);
      h.receives_ = receives;
      return h;
    }

    std::shared_ptr<detail::device_world<Device>> world_;
    std::size_t rank_;
  };

  /// devices: of each rank                Requires  at least one
  explicit cuda(std::vector<Device> devices) : cuda(std::move(devices), options{}) {}
  cuda(std::vector<Device> devices, options o)
      : world_(std::make_shared<detail::device_world<Device>>(std::move(devices), o.time_out)) {
    SLIMPACK_ASSERT(world_->size() > 0, "a world has at least one rank");
  }

  [[nodiscard]] int size() const noexcept { return static_cast<int>(world_->size()); }

  /// Lives on when the world is gone. Called in the rank's thread, whose GPU is set.   Requires   0 <= rank < size()
  [[nodiscard]] result<port> endpoint(int rank) const {
    if (result<void> made = world_->open(static_cast<std::size_t>(rank)); !made) return std::move(made).error();
    return port{world_, static_cast<std::size_t>(rank)};
  }

 private:
  std::shared_ptr<detail::device_world<Device>> world_;
};

}  // namespace slimpack::transports

#endif
