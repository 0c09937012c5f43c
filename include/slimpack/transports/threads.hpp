#ifndef SLIMPACK_TRANSPORTS_THREADS_HPP
#define SLIMPACK_TRANSPORTS_THREADS_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/rendezvous.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

    [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> bytes);

    [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> bytes);

    [[nodiscard]] result<bool> test(const handle& h);

    [[nodiscard]] result<void> wait(const handle& h);

    /// Stops the step on every rank; `reason` is what the others' calls then say, unless one was given before. A rank
    /// that is stopped calls it, too: each rank once per step. Once all have, the world is as new. Until then a rank
    /// that has aborted is before the next step, and waits for it as send does where it aborts that one already.
    void abort(std::string_view reason);

   private:
    friend class threads;
    using side = detail::rendezvous::side;
    using entry = detail::step_gate::entry;
    static constexpr int most_channels = 1 << 16;

    port(std::shared_ptr<detail::threads_world> world, std::size_t rank) : world_(std::move(world)), rank_(rank) {}

    template <class Post>
    [[nodiscard]] result<handle> post(side s, int peer, int channel, const Post& post_on);

    [[nodiscard]] result<void> enter_step();

    [[nodiscard]] bool next_step_begins();

    /// Its step is over, or stopped.
    [[nodiscard]] bool gone(const handle& h) const noexcept;
    [[nodiscard]] static bool mismatched(const handle& h) noexcept;
    [[nodiscard]] detail::parking& waits() noexcept { return world_->waits(rank()); }

    [[nodiscard]] error no_such(int peer, int channel) const;
    [[nodiscard]] static error wrong_message(const handle& h);
    [[nodiscard]] error timed_out(const handle& h) const;
    [[nodiscard]] error never_left() const;
    [[nodiscard]] error timed_out_after(const char* what, int other, const std::string& then) const;

    std::shared_ptr<detail::threads_world> world_;
    std::size_t rank_;
  };

  explicit threads(int ranks) : threads(ranks, options{}) {}
  threads(int ranks, options o);

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

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/transports/impl/threads.ipp>
#endif

#endif
