#ifndef SLIMPACK_TRANSPORTS_IMPL_MAILBOX_IPP
#define SLIMPACK_TRANSPORTS_IMPL_MAILBOX_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/mailbox.hpp>
#include <slimpack/transports/detail/sentences.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace slimpack::detail {

SLIMPACK_DECL mailbox::mailbox() = default;
SLIMPACK_DECL mailbox::~mailbox() = default;

SLIMPACK_DECL std::optional<error> mailbox::stopped() const {
  const std::lock_guard lock(mutex_);
  return why_stopped();
}

SLIMPACK_DECL std::uint64_t mailbox::step() const {
  const std::lock_guard lock(mutex_);
  return step_;
}

SLIMPACK_DECL result<bool> mailbox::test(const handle& h) const {
  const std::lock_guard lock(mutex_);
  return answer(h);
}

SLIMPACK_DECL void mailbox::fill(const handle& h) {
  const std::lock_guard lock(mutex_);
  h.receive_->came = h.receive_->into.size();
}

SLIMPACK_DECL std::optional<error> mailbox::left(int peer) const {
  const std::lock_guard lock(mutex_);
  if (left_.count(peer) == 0) return std::nullopt;
  return has_left(peer);
}

SLIMPACK_DECL error mailbox::ended() const {
  const std::lock_guard lock(mutex_);
  return {errc::aborted, reason_};
}

SLIMPACK_DECL void mailbox::leave(int peer) {
  const std::lock_guard lock(mutex_);
  left_.insert(peer);
  news_.notify_all();
}

SLIMPACK_DECL void mailbox::give(receive& r, const owned_bytes& payload) {
  r.came = payload.size;
  if (payload.size == r.into.size() && payload.size > 0) std::memcpy(r.into.data(), payload.memory.get(), payload.size);
}

SLIMPACK_DECL error mailbox::has_left(int peer) {
  return error_of_ranks(errc::transport_failed, "rank ", own_rank{peer}, " has left");
}

SLIMPACK_DECL std::optional<error> mailbox::why_stopped() const {
  if (aborted_steps_ > step_) return error{errc::aborted, heard_};
  return lost_;
}

SLIMPACK_DECL result<mailbox::handle> mailbox::post(int peer, int channel, std::span<std::byte> into) {
  const std::lock_guard lock(mutex_);
  if (std::optional<error> why = why_stopped()) return *std::move(why);
  handle h;
  h.receive_ = std::make_shared<receive>();
  *h.receive_ = {peer, channel, step_, into, std::nullopt};
  route& l = routes_[{peer, channel}];
  if (l.arrived.empty() || l.arrived.front().step != step_) {
    l.posted.push_back(h.receive_);
  } else {
    give(*h.receive_, l.arrived.front().payload);
    l.arrived.pop_front();
  }
  return h;
}

SLIMPACK_DECL void mailbox::deliver(int peer, int channel, std::uint64_t step, owned_bytes payload) {
  const std::lock_guard lock(mutex_);
  if (step < step_) return;
  route& l = routes_[{peer, channel}];
  if (step == step_ && !l.posted.empty()) {
    give(*l.posted.front(), payload);
    l.posted.pop_front();
    news_.notify_all();
  } else {
    message m;
    m.step = step;
    m.payload = std::move(payload);
    l.arrived.push_back(std::move(m));
  }
}

SLIMPACK_DECL result<void> mailbox::wait(const handle& h, seconds time_out) {
  std::unique_lock lock(mutex_);
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::llround(time_out.value * 1e9));
  for (bool in_time = true;; in_time = news_.wait_until(lock, end) == std::cv_status::no_timeout) {
    result<bool> through = answer(h);
    if (!through) return std::move(through).error();
    if (through.value()) return success();
    if (!in_time) break;
  }
  return late_message(route_of(h), time_out);
}

SLIMPACK_DECL std::optional<mailbox::handle> mailbox::claim(int peer, int channel, std::uint64_t step,
                                                            std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (step != step_) return std::nullopt;
  route& l = routes_[{peer, channel}];
  if (l.posted.empty() || l.posted.front()->into.size() != size) return std::nullopt;
  handle h;
  h.receive_ = std::move(l.posted.front());
  l.posted.pop_front();
  return h;
}

SLIMPACK_DECL mailbox::ended_step mailbox::end_step(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  reason_ = aborted_steps_ > step_ ? heard_ : std::string(reason);
  ++step_;
  for (auto& [where, l] : routes_) {
    l.posted.clear();
    while (!l.arrived.empty() && l.arrived.front().step < step_) l.arrived.pop_front();
  }
  return {step_ - 1, reason_};
}

SLIMPACK_DECL void mailbox::hear_of_abort(std::uint64_t step, std::string reason) {
  const std::lock_guard lock(mutex_);
  if (step < step_ || step < aborted_steps_) return;
  aborted_steps_ = step + 1;
  heard_ = std::move(reason);
  news_.notify_all();
}

SLIMPACK_DECL void mailbox::lose(int peer, std::string_view why) {
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = error_of_ranks(errc::transport_failed, "rank ", own_rank{peer}, why);
  news_.notify_all();
}

SLIMPACK_DECL result<bool> mailbox::answer(const handle& h) const {
  if (!h.receive_) return true;
  const receive& r = *h.receive_;
  if (r.step != step_) return error{errc::aborted, reason_};
  if (r.came == r.into.size()) return true;
  if (r.came) return wrong_size(*r.came, r.into.size(), r.peer, r.channel);
  if (std::optional<error> why = why_stopped()) return *std::move(why);
  if (left_.count(r.peer) != 0) return has_left(r.peer);
  return false;
}

}  // namespace slimpack::detail

#endif
