#ifndef SLIMPACK_TRANSPORTS_DETAIL_MAILBOX_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_MAILBOX_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/sentences.hpp>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace slimpack::detail {

/// Bytes owned by whoever holds them, uninitialised when made.
struct owned_bytes {
  owned_bytes() = default;
  explicit owned_bytes(std::size_t n) : memory(new std::byte[n]), size(n) {}
  explicit owned_bytes(std::span<const std::byte> from) : owned_bytes(from.size()) {
    if (size > 0) std::memcpy(memory.get(), from.data(), size);
  }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {memory.get(), size}; }

  std::unique_ptr<std::byte[]> memory;
  std::size_t size{};
};

/// Where messages that have come meet the receives of one rank. Its steps are counted from 0; a message belongs to the
/// one in which it was sent, and waits here if this rank has not come to that yet. Any thread may call.
class mailbox {
  struct receive {
    int peer{};
    int channel{};
    std::uint64_t step{};
    std::span<std::byte> into;
    std::optional<std::size_t> came;  ///< the size of its message
  };

 public:
  /// A receive; or, made without one, what is through.
  class handle {
    friend class mailbox;
    std::shared_ptr<receive> receive_;
  };

  struct ended_step {
    std::uint64_t step{};
    std::string reason;
  };

  /// Why no call can succeed, if so.
  [[nodiscard]] std::optional<error> stopped() const {
    const std::lock_guard lock(mutex_);
    return why_stopped();
  }

  [[nodiscard]] std::uint64_t step() const {
    const std::lock_guard lock(mutex_);
    return step_;
  }

  [[nodiscard]] result<handle> post(int peer, int channel, std::span<std::byte> into) {
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

  void deliver(int peer, int channel, std::uint64_t step, owned_bytes payload) {
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

  [[nodiscard]] result<bool> test(const handle& h) const {
    const std::lock_guard lock(mutex_);
    return answer(h);
  }

  [[nodiscard]] result<void> wait(const handle& h, seconds time_out) {
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

  /// For a message of so many bytes that begins to come: the receive that it is for, if that was posted with this size. The caller
  /// fills its buffer.
  [[nodiscard]] std::optional<handle> claim(int peer, int channel, std::uint64_t step, std::size_t size) {
    const std::lock_guard lock(mutex_);
    if (step != step_) return std::nullopt;
    route& l = routes_[{peer, channel}];
    if (l.posted.empty() || l.posted.front()->into.size() != size) return std::nullopt;
    handle h;
    h.receive_ = std::move(l.posted.front());
    l.posted.pop_front();
    return h;
  }
  [[nodiscard]] static std::span<std::byte> buffer_of(const handle& h) noexcept { return h.receive_->into; }
  [[nodiscard]] static route_name route_of(const handle& h) noexcept { return {h.receive_->peer, h.receive_->channel, true}; }
  /// A claimed receive has its message.
  void fill(const handle& h) {
    const std::lock_guard lock(mutex_);
    h.receive_->came = h.receive_->into.size();
  }

  /// Forgets this step's receives and messages. The reason is that of the first to abort.
  ended_step end_step(std::string_view reason) {
    const std::lock_guard lock(mutex_);
    reason_ = aborted_steps_ > step_ ? heard_ : std::string(reason);
    ++step_;
    for (auto& [where, l] : routes_) {
      l.posted.clear();
      while (!l.arrived.empty() && l.arrived.front().step < step_) l.arrived.pop_front();
    }
    return {step_ - 1, reason_};
  }

  /// Why nothing more can be sent to a peer, if so.
  [[nodiscard]] std::optional<error> left(int peer) const {
    const std::lock_guard lock(mutex_);
    if (left_.count(peer) == 0) return std::nullopt;
    return error{errc::transport_failed, "rank " + std::to_string(peer) + " has left"};
  }

  /// What becomes of an operation of a step that this rank has ended.
  [[nodiscard]] error ended() const {
    const std::lock_guard lock(mutex_);
    return {errc::aborted, reason_};
  }

  /// Another rank has ended a step. One that is over here, too, is no news.
  void hear_of_abort(std::uint64_t step, std::string reason) {
    const std::lock_guard lock(mutex_);
    if (step < step_ || step < aborted_steps_) return;
    aborted_steps_ = step + 1;
    heard_ = std::move(reason);
    news_.notify_all();
  }

  /// A peer cannot be reached any more.
  void lose(std::string why) {
    const std::lock_guard lock(mutex_);
    if (!lost_) lost_ = error{errc::transport_failed, std::move(why)};
    news_.notify_all();
  }

  /// A peer sends nothing more, as agreed.
  void leave(int peer) {
    const std::lock_guard lock(mutex_);
    left_.insert(peer);
    news_.notify_all();
  }

 private:
  struct message {
    std::uint64_t step{};
    owned_bytes payload;
  };
  /// Of one peer and channel.
  struct route {
    std::deque<std::shared_ptr<receive>> posted;  ///< without a message yet
    std::deque<message> arrived;                  ///< without a receive yet
  };

  static void give(receive& r, const owned_bytes& payload) {
    r.came = payload.size;
    if (payload.size == r.into.size() && payload.size > 0)
      std::memcpy(r.into.data(), payload.memory.get(), payload.size);
  }

  [[nodiscard]] std::optional<error> why_stopped() const {
    if (aborted_steps_ > step_) return error{errc::aborted, heard_};
    return lost_;
  }

  [[nodiscard]] result<bool> answer(const handle& h) const {
    if (!h.receive_) return true;
    const receive& r = *h.receive_;
    if (r.step != step_) return error{errc::aborted, reason_};
    if (r.came == r.into.size()) return true;
    if (r.came) return wrong_size(*r.came, r.into.size(), r.peer, r.channel);
    if (std::optional<error> why = why_stopped()) return *std::move(why);
    if (left_.count(r.peer) != 0) return error{errc::transport_failed, "rank " + std::to_string(r.peer) + " has left"};
    return false;
  }

  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::map<std::pair<int, int>, route> routes_;
  std::uint64_t step_{};
  std::uint64_t aborted_steps_{};  ///< by other ranks
  std::string heard_;              ///< why, the last of them
  std::string reason_;             ///< why this rank's last step was aborted
  std::optional<error> lost_;
  std::set<int> left_;
};

}  // namespace slimpack::detail

#endif
