#ifndef SLIMPACK_TRANSPORTS_BLOCKING_HPP
#define SLIMPACK_TRANSPORTS_BLOCKING_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/transports/detail/link/link_threads.hpp>
#include <slimpack/transports/detail/sentences.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace slimpack::transports {

/// A transport over a trainer's own send and receive that wait.
///
///   struct my_link {
///     bool send(int peer, std::span<const std::byte> bytes);  // false: this peer cannot be reached any more
///     bool receive(int peer, std::span<std::byte> bytes);     // all of them, or false
///     void close();                                           // optional: makes all calls return false, now and later
///   };
///   transports::blocking transport{my_link{...}, rank, size};
///
/// send may wait until the peer receives. It is called by one thread per peer, receive by another, for all peers at
/// once, never by the trainer's own; each receive asks for what one send gave, in order. The threads of receives start
/// at once, for all peers, since an abort may come from any; those of sends with the first message. Messages are copied
/// once on each side, and each is led by a header of 24 bytes.
///
/// Nothing here waits for a peer but wait itself: a send is through when it returns, an abort ends the step on this
/// rank at once and tells the others, and what comes late of an aborted step is dropped. A peer that cannot be reached
/// fails everything that waits, on any peer, since no step can end without it.
///
/// The end: each rank says good-bye to each, so the destructor returns when all ranks have come to theirs. After the
/// time-out it closes the link; the threads of a link that cannot be closed are then left to themselves.
///
/// Requires  a link that throws nothing, and ranks on one kind of machine; every rank aborts each step that one aborts
/// Errors    transport_failed: the peer that is lost; wrong_message: another size than the receiver's; timed_out;
/// aborted;
///           invalid_input: no such peer
template <class Link>
requires(detail::waits_for_bytes<Link> || detail::unmet<"a link offers bool send(int peer, span<const byte>) and bool "
                                                        "receive(int peer, span<byte>)">()) class blocking {
 public:
  struct options {
    seconds time_out{60};
  };

  /// A message on its way. Those of an aborted step say so.
  using handle = detail::mail_handle;

  blocking(Link link, int rank, int size) : blocking(std::move(link), rank, size, options{}) {}
  blocking(Link link, int rank, int size, options o)
      : threads_(detail::link_threads::of(std::make_unique<detail::link_behind<Link>>(std::move(link)), rank, size)),
        rank_(rank),
        size_(size),
        options_(o) {}
  blocking(blocking&&) noexcept = default;
  blocking& operator=(blocking&&) = delete;
  ~blocking() {
    if (threads_) threads_->end(options_.time_out);
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> data) {
    if (!detail::is_rank(peer, size_)) return detail::no_such_rank(peer, size_);
    return threads_->send(peer, channel, data);
  }

  /// Requires   nobody touches the bytes until the message is through
  [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> data) {
    if (!detail::is_rank(peer, size_)) return detail::no_such_rank(peer, size_);
    return threads_->receive(peer, channel, data);
  }

  [[nodiscard]] result<bool> test(const handle& h) { return threads_->test(h); }
  [[nodiscard]] result<void> wait(const handle& h) { return threads_->wait(h, options_.time_out); }

  /// Ends the step here, and tells all ranks. All of them call it.
  void abort(std::string_view reason) { threads_->abort(reason); }

 private:
  std::shared_ptr<detail::link_threads> threads_;
  int rank_;
  int size_;
  options options_;
};

}  // namespace slimpack::transports

#endif
