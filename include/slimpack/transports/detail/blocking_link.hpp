#ifndef SLIMPACK_TRANSPORTS_DETAIL_BLOCKING_LINK_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_BLOCKING_LINK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/frame.hpp>
#include <slimpack/transports/detail/link/link_threads.hpp>
#include <slimpack/transports/detail/mailbox.hpp>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
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

}  // namespace slimpack::detail

#endif
