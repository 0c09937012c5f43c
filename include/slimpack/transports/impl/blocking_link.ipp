#ifndef SLIMPACK_TRANSPORTS_IMPL_BLOCKING_LINK_IPP
#define SLIMPACK_TRANSPORTS_IMPL_BLOCKING_LINK_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/link/link_threads.hpp>
#include <slimpack/transports/detail/mailbox.hpp>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The threads of a link: one per peer that receives, and one that sends from a queue.
class blocking_link final : public link_threads, public std::enable_shared_from_this<blocking_link> {
 public:
  blocking_link(std::unique_ptr<any_link> link, int rank, int size);
  ~blocking_link() override;

  void start();

  [[nodiscard]] result<mail_handle> send(int peer, int channel, std::span<const std::byte> data) override;
  [[nodiscard]] result<mail_handle> receive(int peer, int channel, std::span<std::byte> data) override {
    return mail_.post(peer, channel, data);
  }
  [[nodiscard]] result<bool> test(const mail_handle& h) override { return mail_.test(h); }
  [[nodiscard]] result<void> wait(const mail_handle& h, seconds time_out) override { return mail_.wait(h, time_out); }
  void abort(std::string_view reason) override;
  void end(seconds time_out) override;

 private:
  struct frame {
    frame_header head;
    owned_bytes payload;
  };
  struct outbox {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<frame> frames;
    bool has_thread{};
  };

  template <class Call>
  void for_each_peer(Call call);
  /// Only the trainer's thread starts others.
  template <class Work>
  void run(Work work);

  [[nodiscard]] outbox& outbox_of(int peer) { return outboxes_[static_cast<std::size_t>(peer)]; }
  bool wait_for_threads(seconds time_out);
  void queue(int peer, frame f);
  void send_all(int peer);
  void receive_all(int peer);

  std::unique_ptr<any_link> link_;
  int rank_;
  mailbox mail_;
  std::vector<outbox> outboxes_;  // never grows
  std::vector<std::thread> threads_;
  std::mutex running_mutex_;
  std::condition_variable all_ended_;
  int running_{};
};

SLIMPACK_DECL blocking_link::blocking_link(std::unique_ptr<any_link> link, int rank, int size)
    : link_(std::move(link)), rank_(rank), outboxes_(static_cast<std::size_t>(size)) {}

SLIMPACK_DECL blocking_link::~blocking_link() = default;

template <class Call>
void blocking_link::for_each_peer(Call call) {
  for (int peer = 0; peer < static_cast<int>(outboxes_.size()); ++peer)
    if (peer != rank_) call(peer);
}

template <class Work>
void blocking_link::run(Work work) {
  {
    const std::lock_guard lock(running_mutex_);
    ++running_;
  }
  threads_.emplace_back([self = shared_from_this(), work] {
    work(*self);
    const std::lock_guard lock(self->running_mutex_);
    --self->running_;
    self->all_ended_.notify_all();
  });
}

SLIMPACK_DECL void blocking_link::start() {
  for_each_peer([&](int peer) { run([peer](blocking_link& self) { self.receive_all(peer); }); });
}

SLIMPACK_DECL std::shared_ptr<link_threads> link_threads::of(std::unique_ptr<any_link> link, int rank, int size) {
  auto made = std::make_shared<blocking_link>(std::move(link), rank, size);
  made->start();
  return made;
}

SLIMPACK_DECL result<mail_handle> blocking_link::send(int peer, int channel, std::span<const std::byte> data) {
  if (std::optional<error> why = mail_.stopped()) return *std::move(why);
  if (peer == rank_)
    mail_.deliver(peer, channel, mail_.step(), owned_bytes(data));
  else
    queue(peer, {{frame_kind::message, channel, mail_.step(), data.size()}, owned_bytes(data)});
  return mail_handle{};
}

SLIMPACK_DECL void blocking_link::abort(std::string_view reason) {
  const mailbox::ended_step ended = mail_.end_step(reason);
  for_each_peer([&](int peer) {
    outbox& to = outbox_of(peer);
    {
      const std::lock_guard lock(to.mutex);
      std::erase_if(to.frames, [](const frame& f) { return f.head.what == frame_kind::message; });
    }
    queue(peer, {{frame_kind::abort, 0, ended.step, ended.reason.size()},
                 owned_bytes(std::as_bytes(std::span(ended.reason)))});
  });
}

SLIMPACK_DECL void blocking_link::end(seconds time_out) {
  for_each_peer([&](int peer) { queue(peer, {{frame_kind::good_bye, 0, 0, 0}, {}}); });
  if (!wait_for_threads(time_out) && !link_->close()) {
    for (std::thread& t : threads_) t.detach();  // each holds this object
    return;
  }
  for (std::thread& t : threads_) t.join();
}

SLIMPACK_DECL bool blocking_link::wait_for_threads(seconds time_out) {
  std::unique_lock lock(running_mutex_);
  return all_ended_.wait_for(lock, std::chrono::nanoseconds(std::llround(time_out.value * 1e9)),
                             [&] { return running_ == 0; });
}

SLIMPACK_DECL void blocking_link::queue(int peer, frame f) {
  outbox& to = outbox_of(peer);
  {
    const std::lock_guard lock(to.mutex);
    to.frames.push_back(std::move(f));
  }
  to.filled.notify_one();
  if (!std::exchange(to.has_thread, true)) run([peer](blocking_link& self) { self.send_all(peer); });
}

SLIMPACK_DECL void blocking_link::send_all(int peer) {
  outbox& from = outbox_of(peer);
  for (;;) {
    std::unique_lock lock(from.mutex);
    from.filled.wait(lock, [&] { return !from.frames.empty(); });
    const frame next = std::move(from.frames.front());
    from.frames.pop_front();
    lock.unlock();
    const bool sent = link_->send(peer, std::as_bytes(std::span(&next.head, 1))) &&
                      (next.payload.size == 0 || link_->send(peer, next.payload.bytes()));
    if (!sent) return mail_.lose(peer, " takes no messages any more");
    if (next.head.what == frame_kind::good_bye) return;
  }
}

SLIMPACK_DECL void blocking_link::receive_all(int peer) {
  for (;;) {
    frame_header head;
    if (!link_->receive(peer, std::as_writable_bytes(std::span(&head, 1)))) return mail_.lose(peer, " is gone");
    if (head.what == frame_kind::good_bye) return mail_.leave(peer);
    if (!head.is_known()) return mail_.lose(peer, " sends bytes that are no message");
    owned_bytes payload(static_cast<std::size_t>(head.size));
    if (head.size > 0 && !link_->receive(peer, payload.bytes()))
      return mail_.lose(peer, " is gone in the middle of a message");
    if (head.what == frame_kind::message)
      mail_.deliver(peer, head.channel, head.step, std::move(payload));
    else
      mail_.hear_of_abort(head.step, {reinterpret_cast<const char*>(payload.memory.get()), payload.size});
  }
}

}  // namespace slimpack::detail

#endif
