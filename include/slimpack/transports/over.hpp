#ifndef SLIMPACK_TRANSPORTS_OVER_HPP
#define SLIMPACK_TRANSPORTS_OVER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/transports/detail/group_frames.hpp>
#include <slimpack/transports/detail/mailbox.hpp>
#include <slimpack/transports/detail/polling.hpp>
#include <slimpack/transports/detail/sentences.hpp>
#include <slimpack/transports/hooks.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace slimpack::transports {

/// A transport over a trainer's own group of ranks whose sends and receives do not wait, as libraries like MPI have
/// them. It starts no thread.
///
///   struct my_group {
///     using request = ...;                                                // movable
///     int rank() const;
///     int size() const;
///     result<request> isend(int peer, std::span<const std::byte> bytes);  // which stay until it has ended
///     result<request> irecv(int peer, std::span<std::byte> bytes);        // as many as one isend gave, in order
///     result<bool> test(request& r);                                      // whether it has ended; then, and after an
///                                                                         // error, not asked again
///     result<bool> cancel(request& r);                                    // optional, of a receive: true if nothing
///                                                                         // of it has come or will; false if all
///                                                                         // has. Either way its buffer is free
///     result<void> allows_threads() const;                                // optional, as of transports
///                                                                         // (transports/hooks.hpp)
///   };
///   transports::over transport{my_group{...}};
///
/// After an error of test or cancel the group uses the buffer no more. It throws nothing.
///
/// Channels are not needed: each message is led by a header of 24 bytes, in a message of its own. A receive of a header
/// is always posted for every peer, so an abort is heard whenever it comes.
///
/// What is sent is copied first, since an abort must free the caller's buffer at once and no send can be taken back
/// safely. What is received is written where it belongs if the group has cancel and its receive was posted before it
/// came; otherwise it is copied, too. An abort waits for nobody: what comes late of an aborted step is dropped, what
/// comes early of the next is kept.
///
/// Progress: messages move only while calls of this transport are made, or as far as the group moves them by itself.
/// The receive of a message's bytes is posted by a call of the receiver after the header has come.
///
/// The end: each rank says good-bye to each, so the destructor returns when all ranks have come to theirs. After the
/// time-out memory that the group may still write to is left to it.
///
/// Requires  each operation was waited for, tested true or aborted when the transport is destroyed; ranks on one kind
///           of machine; every rank aborts each step that one aborts; nobody else sends or receives over the group
/// Errors    transport_failed: the group's own sentence, or a peer that has left; wrong_message: another size than the
///           receiver's; timed_out; aborted; invalid_input: no such peer
template <class Group>
requires(detail::posts_bytes<Group> ||
         detail::unmet<
             "a group offers a type request, int rank() const, int size() const, result<request> isend(peer, "
             "span<const byte>), result<request> irecv(peer, span<byte>), result<bool> test(request&)">()) class over {
 public:
  struct options {
    seconds time_out{60};
  };

  /// A message on its way. Those of an aborted step say so.
  class handle {
    friend class over;
    std::shared_ptr<typename detail::group_frames<Group>::sent_message> sent_;  // if it is sent to another rank
    detail::mailbox::handle received_;
  };

  explicit over(Group group) : over(std::move(group), options{}) {}
  over(Group group, options o)
      : frames_(std::make_unique<detail::group_frames<Group>>(std::move(group))), options_(o) {}
  over(over&&) noexcept = default;
  over& operator=(over&&) = delete;
  ~over() {
    if (frames_ && !frames_->end(options_.time_out)) (void)frames_.release();
  }

  [[nodiscard]] int rank() const { return frames_->rank(); }
  [[nodiscard]] int size() const { return frames_->size(); }
  [[nodiscard]] result<void> allows_threads() const { return slimpack::allows_threads(frames_->group()); }

  [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> data) {
    if (!detail::is_rank(peer, size())) return detail::no_such_rank(peer, size());
    auto sent = frames_->send(peer, channel, data);
    if (!sent) return std::move(sent).error();
    handle h;
    h.sent_ = std::move(sent).value();
    return h;
  }

  /// Requires   nobody touches the bytes until the message is through
  [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> data) {
    if (!detail::is_rank(peer, size())) return detail::no_such_rank(peer, size());
    auto posted = frames_->mail().post(peer, channel, data);
    if (!posted) return std::move(posted).error();
    handle h;
    h.received_ = std::move(posted).value();
    return h;
  }

  [[nodiscard]] result<bool> test(const handle& h) {
    return h.sent_ ? frames_->test(*h.sent_) : frames_->test(h.received_);
  }
  [[nodiscard]] result<void> wait(const handle& h) {
    for (detail::polling poll(options_.time_out);;) {
      result<bool> through = test(h);
      if (!through) return std::move(through).error();
      if (through.value()) return success();
      if (!poll.again()) return late(h);
    }
  }

  /// Ends the step here, and tells all ranks. All of them call it.
  void abort(std::string_view reason) { frames_->abort(reason); }

 private:
  [[nodiscard]] error late(const handle& h) const {
    return detail::late_message(
        h.sent_ ? detail::route_name{h.sent_->peer, h.sent_->channel, false} : detail::mailbox::route_of(h.received_),
        options_.time_out);
  }

  std::unique_ptr<detail::group_frames<Group>> frames_;
  options options_;
};

}  // namespace slimpack::transports

#endif
