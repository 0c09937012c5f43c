#ifndef SLIMPACK_TRANSPORTS_DETAIL_MAILBOX_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_MAILBOX_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/sentences.hpp>

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

/// What the ranks of a transport send each other over a stream of bytes without channels: this, then `size` bytes.
/// No other program begins a message with one of these numbers.
enum class frame_kind : std::uint32_t { message = 0x736c6d01, abort = 0x736c6d02, good_bye = 0x736c6d03 };

struct frame_header {
  frame_kind what{};
  std::int32_t channel{};
  std::uint64_t step{};
  std::uint64_t size{};

  [[nodiscard]] bool is_known() const noexcept {
    return what == frame_kind::message || what == frame_kind::abort || what == frame_kind::good_bye;
  }
};

/// A receive of a mailbox; or, made without one, what is through.
class mail_handle {
  friend class mailbox;
  struct receive {
    int peer{};
    int channel{};
    std::uint64_t step{};
    std::span<std::byte> into;
    std::optional<std::size_t> came;  ///< the size of its message
  };
  std::shared_ptr<receive> receive_;
};

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
  using receive = mail_handle::receive;

 public:
  using handle = mail_handle;

  mailbox();
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;
  ~mailbox();

  struct ended_step {
    std::uint64_t step{};
    std::string reason;
  };

  /// Why no call can succeed, if so.
  [[nodiscard]] std::optional<error> stopped() const;

  [[nodiscard]] std::uint64_t step() const;

  [[nodiscard]] result<handle> post(int peer, int channel, std::span<std::byte> into);

  void deliver(int peer, int channel, std::uint64_t step, owned_bytes payload);

  [[nodiscard]] result<bool> test(const handle& h) const;

  [[nodiscard]] result<void> wait(const handle& h, seconds time_out);

  /// For a message of so many bytes that begins to come: the receive that it is for, if that was posted with this size.
  /// The caller fills its buffer.
  [[nodiscard]] std::optional<handle> claim(int peer, int channel, std::uint64_t step, std::size_t size);
  [[nodiscard]] static std::span<std::byte> buffer_of(const handle& h) noexcept { return h.receive_->into; }
  [[nodiscard]] static route_name route_of(const handle& h) noexcept {
    return {h.receive_->peer, h.receive_->channel, true};
  }
  /// A claimed receive has its message.
  void fill(const handle& h);

  /// Forgets this step's receives and messages. The reason is that of the first to abort.
  ended_step end_step(std::string_view reason);

  /// Why nothing more can be sent to a peer, if so.
  [[nodiscard]] std::optional<error> left(int peer) const;

  /// What becomes of an operation of a step that this rank has ended.
  [[nodiscard]] error ended() const;

  /// Another rank has ended a step. One that is over here, too, is no news.
  void hear_of_abort(std::uint64_t step, std::string reason);

  /// A peer cannot be reached any more.            why: what goes on the sentence that begins with it
  void lose(int peer, std::string_view why);

  /// A peer sends nothing more, as agreed.
  void leave(int peer);

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

  static void give(receive& r, const owned_bytes& payload);

  [[nodiscard]] static error has_left(int peer);
  [[nodiscard]] std::optional<error> why_stopped() const;

  [[nodiscard]] result<bool> answer(const handle& h) const;

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

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/transports/impl/mailbox.ipp>
#endif

#endif
