#ifndef SLIMPACK_TRANSPORTS_DETAIL_BLOCKING_LINK_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_BLOCKING_LINK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/transports/detail/any_link.hpp>
#include <slimpack/transports/detail/frame.hpp>
#include <slimpack/transports/detail/mailbox.hpp>

#include <chrono>
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
class blocking_link : public std::enable_shared_from_this<blocking_link> {
 public:
  blocking_link(std::unique_ptr<any_link> link, int rank, int size);
  blocking_link(const blocking_link&) = delete;
  blocking_link& operator=(const blocking_link&) = delete;
  ~blocking_link();

  void start();

  [[nodiscard]] mailbox& mail() noexcept { return mail_; }

  result<mailbox::handle> send(int peer, int channel, std::span<const std::byte> data);

  void abort(std::string_view reason);

  /// Says good-bye and waits for that of the others.
  void end(std::chrono::nanoseconds time_out);

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
  bool wait_for_threads(std::chrono::nanoseconds time_out);
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

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/transports/impl/blocking_link.ipp>
#endif

#endif
