#ifndef SLIMPACK_TRANSPORTS_THREADS_HPP
#define SLIMPACK_TRANSPORTS_THREADS_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/threads_world.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace slimpack::transports {

/// Ranks that are threads of one process: the default where slimpack is embedded, and what tests run over.
///
///   transports::threads world{ranks};
///   auto transport = world.endpoint(rank);  // in the thread of that rank
///
/// A message is copied once, from the sender's buffer to the receiver's, by whoever comes second: so a send whose
/// receive is posted is through when it returns, and otherwise its buffer is read once the receiver comes. Nobody needs
/// the other's help to go on, and messages cost no allocation once a channel has had as many on their way before.
///
/// Requires  channels are small numbers from 0 on (tables are as long as the largest), their buffers live until wait,
///           test or abort has said that they are free, and each rank has one thread at a time
/// Errors    invalid_input: no such peer or channel. wrong_message: on the receiver, the sizes of the two sides differ;
///           the channel carries nothing more until the step is aborted. timed_out, aborted: laws 4 and 5 of transport.
///           A rank that has aborted and starts the next step waits for those that have not, as long as for a message
/// Complexity  one atomic operation per message and side, and the copy
class threads {
 public:
  struct options {
    seconds time_out{30};  ///< how long a rank waits for another
    seconds spin{50e-6};   ///< of it at a core's expense, which saves the time to wake up; with more ranks than cores
                           ///< a spinning rank lets others run
  };

  /// A message on its way; one made without a transport is through. Valid until its rank aborts.
  class handle {
   public:
    handle() = default;

   private:
    friend class threads;
    detail::rendezvous* on_{};
    std::uint64_t index_{};
    std::uint64_t step_{};
    bool receives_{};
  };

  /// What one rank sends and receives with: a `transport`, cheap to copy.
  class port {
   public:
    using handle = threads::handle;

    [[nodiscard]] int rank() const noexcept { return static_cast<int>(rank_); }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(world_->size()); }

    [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> bytes) {
      return post(side::sender, peer, channel, [&](detail::rendezvous& r) { return r.send(bytes); });
    }

    [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> bytes) {
      return post(side::receiver, peer, channel, [&](detail::rendezvous& r) { return r.receive(bytes); });
    }

    [[nodiscard]] result<bool> test(const handle& h) {
      if (h.on_ == nullptr) return true;
      if (gone(h)) return world_->gate().why();
      if (!h.on_->complete(h.index_)) return false;
      if (mismatched(h)) return wrong_message(h);
      return true;
    }

    [[nodiscard]] result<void> wait(const handle& h) {
      if (h.on_ == nullptr) return success();
      if (!gone(h) && !h.on_->complete(h.index_) &&
          !waits().wait_until([&] { return h.on_->complete(h.index_) || gone(h); }, world_->patience()))
        return timed_out(h);
      if (gone(h)) return world_->gate().why();
      if (mismatched(h)) return wrong_message(h);
      return success();
    }

    /// Stops the step on every rank; `reason` is what the others' calls then say, unless one was given before. A rank
    /// that is stopped calls it, too: each rank once per step. Once all have, the world is as new. Until then a rank
    /// that has aborted is before the next step, and waits for it as send does where it aborts that one already.
    void abort(std::string_view reason) {
      if (!next_step_begins()) return;  // in vain: there are ranks that never left the last one
      world_->abort(rank_, reason);
    }

   private:
    friend class threads;
    using side = detail::rendezvous::side;
    using entry = detail::step_gate::entry;
    static constexpr int most_channels = 1 << 16;

    port(std::shared_ptr<detail::threads_world> world, std::size_t rank) : world_(std::move(world)), rank_(rank) {}

    template <class Post>
    [[nodiscard]] result<handle> post(side s, int peer, int channel, const Post& post_on) {
      if (peer < 0 || peer >= size() || channel < 0 || channel >= most_channels) return no_such(peer, channel);
      if (world_->gate().ask(rank_) != entry::open)
        if (result<void> entered = enter_step(); !entered) return std::move(entered).error();
      detail::rendezvous& on =
          world_->channel(rank_, s, static_cast<std::size_t>(peer), static_cast<std::size_t>(channel));
      handle h;
      h.on_ = &on;
      h.index_ = on.next(s);
      h.step_ = world_->gate().step(rank_);
      h.receives_ = s == side::receiver;
      switch (post_on(on)) {
        case detail::rendezvous::met::now:
          world_->waits(peer).wake();
          break;
        case detail::rendezvous::met::not_yet:
          break;
        case detail::rendezvous::met::never:
          return world_->gate().why();
      }
      return h;
    }

    [[nodiscard]] result<void> enter_step() {
      if (!next_step_begins()) return never_left();
      if (world_->gate().ask(rank_) == entry::aborted) return world_->gate().why();
      return success();
    }

    [[nodiscard]] bool next_step_begins() {
      const auto begins = [this] { return world_->gate().ask(rank_) != entry::early; };
      return begins() || waits().wait_until(begins, world_->patience());
    }

    /// Its step is over, or stopped.
    [[nodiscard]] bool gone(const handle& h) const noexcept {
      return h.step_ != world_->gate().step(rank_) || world_->gate().ask(rank_) != entry::open;
    }
    [[nodiscard]] static bool mismatched(const handle& h) noexcept {
      return h.receives_ && h.on_->mismatched(h.index_);
    }
    [[nodiscard]] detail::parking& waits() noexcept { return world_->waits(rank()); }

    [[nodiscard]] error no_such(int peer, int channel) const {
      return {errc::invalid_input, "peer " + std::to_string(peer) + ", channel " + std::to_string(channel) +
                                       ": there are " + std::to_string(size()) + " ranks and " +
                                       std::to_string(most_channels) + " channels"};
    }
    [[nodiscard]] static error wrong_message(const handle& h) {
      const auto [sent, expected] = h.on_->mismatched_sizes();
      return {errc::wrong_message, "rank " + std::to_string(h.on_->source()) + " sent " + std::to_string(sent) +
                                       " bytes on channel " + std::to_string(h.on_->number()) + " where rank " +
                                       std::to_string(h.on_->destination()) + " expected " + std::to_string(expected)};
    }
    [[nodiscard]] error timed_out(const handle& h) const {
      return {errc::timed_out,
              waited() +
                  (h.receives_ ? "for a message from rank " + std::to_string(h.on_->source())
                               : "for rank " + std::to_string(h.on_->destination()) + " to take a message") +
                  " on channel " + std::to_string(h.on_->number())};
    }
    [[nodiscard]] error never_left() const {
      return {errc::timed_out, waited() + "for rank " + std::to_string(world_->gate().straggler(rank_)) +
                                   " to leave the step that was aborted"};
    }
    [[nodiscard]] std::string waited() const {
      char text[64];
      const std::chrono::duration<double> time = world_->patience().time_out;
      std::snprintf(text, sizeof text, "rank %d waited %g s ", rank(), time.count());
      return text;
    }

    std::shared_ptr<detail::threads_world> world_;
    std::size_t rank_;
  };

  explicit threads(int ranks) : threads(ranks, options{}) {}
  threads(int ranks, options o)
      : world_(std::make_shared<detail::threads_world>(
            static_cast<std::size_t>(ranks),
            detail::patience{detail::patience::from(o.time_out), detail::patience::from(o.spin),
                             static_cast<unsigned>(ranks) > std::thread::hardware_concurrency()})) {
    SLIMPACK_ASSERT(ranks > 0, "a world has at least one rank");
  }

  [[nodiscard]] int size() const noexcept { return static_cast<int>(world_->size()); }

  /// Lives on when the world is gone. Requires   0 <= rank < size()
  [[nodiscard]] port endpoint(int rank) const {
    SLIMPACK_ASSERT(rank >= 0 && rank < size(), "a rank of this world");
    return {world_, static_cast<std::size_t>(rank)};
  }

 private:
  std::shared_ptr<detail::threads_world> world_;
};

}  // namespace slimpack::transports

#endif
