#ifndef SLIMPACK_TRANSPORTS_IMPL_THREADS_IPP
#define SLIMPACK_TRANSPORTS_IMPL_THREADS_IPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/transports/detail/sentences.hpp>
#include <slimpack/transports/threads.hpp>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace slimpack::transports {

SLIMPACK_DECL threads::threads(int ranks, options o)
    : world_(std::make_shared<detail::threads_world>(
          static_cast<std::size_t>(ranks),
          detail::patience{detail::patience::from(o.time_out), detail::patience::from(o.spin),
                           static_cast<unsigned>(ranks) > std::thread::hardware_concurrency()})) {
  SLIMPACK_ASSERT(ranks > 0, "a world has at least one rank");
}

template <class Post>
result<threads::handle> threads::port::post(side s, int peer, int channel, const Post& post_on) {
  if (peer < 0 || peer >= size() || channel < 0 || channel >= most_channels) return no_such(peer, channel);
  if (world_->gate().ask(rank_) != entry::open)
    if (result<void> entered = enter_step(); !entered) return std::move(entered).error();
  detail::rendezvous& on = world_->channel(rank_, s, static_cast<std::size_t>(peer), static_cast<std::size_t>(channel));
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

SLIMPACK_DECL result<threads::handle> threads::port::send(int peer, int channel, std::span<const std::byte> bytes) {
  return post(side::sender, peer, channel, [&](detail::rendezvous& r) { return r.send(bytes); });
}

SLIMPACK_DECL result<threads::handle> threads::port::receive(int peer, int channel, std::span<std::byte> bytes) {
  return post(side::receiver, peer, channel, [&](detail::rendezvous& r) { return r.receive(bytes); });
}

SLIMPACK_DECL result<bool> threads::port::test(const handle& h) {
  if (h.on_ == nullptr) return true;
  if (gone(h)) return world_->gate().why();
  if (!h.on_->complete(h.index_)) return false;
  if (mismatched(h)) return wrong_message(h);
  return true;
}

SLIMPACK_DECL result<void> threads::port::wait(const handle& h) {
  if (h.on_ == nullptr) return success();
  if (!gone(h) && !h.on_->complete(h.index_) &&
      !waits().wait_until([&] { return h.on_->complete(h.index_) || gone(h); }, world_->patience()))
    return timed_out(h);
  if (gone(h)) return world_->gate().why();
  if (mismatched(h)) return wrong_message(h);
  return success();
}

SLIMPACK_DECL void threads::port::abort(std::string_view reason) {
  if (!next_step_begins()) return;  // in vain: there are ranks that never left the last one
  world_->abort(rank_, reason);
}

SLIMPACK_DECL result<void> threads::port::enter_step() {
  if (!next_step_begins()) return never_left();
  if (world_->gate().ask(rank_) == entry::aborted) return world_->gate().why();
  return success();
}

SLIMPACK_DECL bool threads::port::next_step_begins() {
  const auto begins = [this] { return world_->gate().ask(rank_) != entry::early; };
  return begins() || waits().wait_until(begins, world_->patience());
}

SLIMPACK_DECL bool threads::port::gone(const handle& h) const noexcept {
  return h.step_ != world_->gate().step(rank_) || world_->gate().ask(rank_) != entry::open;
}

SLIMPACK_DECL bool threads::port::mismatched(const handle& h) noexcept {
  return h.receives_ && h.on_->mismatched(h.index_);
}

SLIMPACK_DECL error threads::port::no_such(int peer, int channel) const {
  return {errc::invalid_input, "peer " + std::to_string(peer) + ", channel " + std::to_string(channel) +
                                   ": there are " + std::to_string(size()) + " ranks and " +
                                   std::to_string(most_channels) + " channels"};
}

SLIMPACK_DECL error threads::port::wrong_message(const handle& h) {
  const auto [sent, expected] = h.on_->mismatched_sizes();
  return error_of_ranks(
      errc::wrong_message, "rank ", own_rank{h.on_->source()},
      " sent " + std::to_string(sent) + " bytes on channel " + std::to_string(h.on_->number()) + " where rank ",
      own_rank{h.on_->destination()}, " expected " + std::to_string(expected));
}

SLIMPACK_DECL error threads::port::timed_out(const handle& h) const {
  const std::string on = " on channel " + std::to_string(h.on_->number());
  return h.receives_ ? timed_out_after("a message from rank ", h.on_->source(), on)
                     : timed_out_after("rank ", h.on_->destination(), " to take a message" + on);
}

SLIMPACK_DECL error threads::port::never_left() const {
  return timed_out_after("rank ", static_cast<int>(world_->gate().straggler(rank_)),
                         " to leave the step that was aborted");
}

SLIMPACK_DECL error threads::port::timed_out_after(const char* what, int other, const std::string& then) const {
  const std::chrono::duration<double> time = world_->patience().time_out;
  return error_of_ranks(errc::timed_out, "rank ", own_rank{rank()},
                        ' ' + slimpack::detail::waited_for({time.count()}) + what, own_rank{other}, then);
}

}  // namespace slimpack::transports

#endif
