#ifndef SLIMPACK_TRANSPORTS_MPI_HPP
#define SLIMPACK_TRANSPORTS_MPI_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/mpi_communicator.hpp>
#include <slimpack/transports/detail/polling.hpp>
#include <slimpack/transports/detail/sentences.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::transports {

/// Messages between the ranks of an MPI communicator.
///
/// MPI stays the trainer's: it is initialised before and finalised after, at MPI_THREAD_FUNNELED or above, and its
/// ranks are the transport's ranks. Any communicator will do, one that MPI_Comm_split made too. It is duplicated, so
/// these messages meet no others; making a transport is therefore collective. Every error code becomes a result.
///
/// Matching: a posted receive is handed to MPI when its message is there and has the right size, since Open MPI 4.1
/// writes past a buffer that is too short for a message above the eager limit. Every call that waits looks for the
/// messages of all receives. Sums over ranks go over messages as well (transports/hooks.hpp), which abort can stop; a
/// collective of MPI it cannot.
///
/// Abort: every rank is told, forgets its receives, and takes in and drops what others still send until each of them
/// has said that nothing more comes. abort returns when that has happened; all ranks must therefore call it, as ranks
/// that are woken do. So no rank can be further ahead than another's abort, and what it sends there comes after the
/// last that is dropped. Where a peer says nothing within abort_time_out (it is dead, or computes longer than that), no
/// later call succeeds: each answers transport_failed. A long message from such a peer that had begun to arrive may
/// then still write to its buffer, since MPI cannot take it back.
///
/// Progress: MPI moves messages above its eager limit (4 KiB in shared memory, 64 KiB over TCP, by Open MPI's defaults)
/// only while both ends are inside calls.
///
/// Requires  each operation was waited for, tested true or aborted when the transport is destroyed
/// Errors    transport_failed: MPI's own sentence; wrong_message: another size than the receiver's; timed_out; aborted;
///           invalid_input: no such peer or channel, or 2 GiB and more in one message
class mpi {
 public:
  struct options {
    seconds time_out{60};                     ///< more than a rank computes between two calls
    std::optional<seconds> abort_time_out{};  ///< how long abort waits for others to abort, too; time_out where not
                                              ///< given. It may be short where a watchdog ends calls of the compute
                                              ///< (executors/job/watchdog.hpp)
  };

  /// A message on its way. Once it is through, test goes on saying so.
  class handle {
    friend class mpi;
    std::size_t slot_{};
    std::uint64_t serial_{};
  };

  explicit mpi(MPI_Comm communicator) : mpi(communicator, options{}) {}
  mpi(MPI_Comm communicator, options o) : communicator_(communicator), options_(o) {
    int code = communicator_.code();
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(communicator_.get(), &rank_);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(communicator_.get(), &size_);
    if (code == MPI_SUCCESS)
      channels_ = detail::largest_tag(communicator_.get()) - 1;
    else
      give_up({errc::transport_failed, detail::mpi_message(code)});
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// Errors    invalid_input: MPI was initialised for fewer threads
  [[nodiscard]] result<void> allows_threads() const {
    int level = MPI_THREAD_SINGLE;
    if (const int code = MPI_Query_thread(&level); code != MPI_SUCCESS)
      return error{errc::transport_failed, detail::mpi_message(code)};
    if (level >= MPI_THREAD_MULTIPLE) return success();
    return error{errc::invalid_input,
                 "MPI was initialised for calls of one thread at a time: a transport with a thread of its own needs "
                 "MPI_Init_thread with MPI_THREAD_MULTIPLE"};
  }

  /// Requires   the bytes stay as they are until the message is through
  [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> data) {
    if (std::optional<error> wrong = refused(peer, channel, data.size())) return *std::move(wrong);
    operation o{MPI_REQUEST_NULL, ++serial_, peer, channel, data.size(), nullptr, {}, state::under_way};
    if (const int code = MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, peer, channel,
                                   communicator_.get(), &o.request);
        code != MPI_SUCCESS)
      return fail(code);
    return keep(o);
  }

  /// Requires   nobody touches the bytes until the message is through
  [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> data) {
    if (std::optional<error> wrong = refused(peer, channel, data.size())) return *std::move(wrong);
    route& from = route_of(peer, channel);
    const handle h = keep({MPI_REQUEST_NULL, ++serial_, peer, channel, data.size(), data.data(), {}, state::posted});
    from.posted.push_back(h.slot_);
    return h;
  }

  /// Whether the message is through. Calls in a loop also hear of another rank's abort.
  [[nodiscard]] result<bool> test(handle& h) {
    if (h.serial_ < first_serial_) return error{errc::aborted, reason_};
    if (stopped_) return *stopped_;
    if (operations_[h.slot_].serial != h.serial_) return true;
    const operation& o = operations_[h.slot_];
    if (o.now == state::posted) match(route_of(o.peer, o.channel));
    int done = 0;
    if (o.now == state::under_way) note(MPI_Test(&operations_[h.slot_].request, &done, MPI_STATUS_IGNORE));
    if (o.now == state::refused) {
      const operation wrong = retire(h.slot_);
      return detail::wrong_size(wrong.came, wrong.size, wrong.peer, wrong.channel);
    }
    if (!done) look_around();
    if (stopped_) return *stopped_;
    if (done) retire(h.slot_);
    return done != 0;
  }

  /// Returns when the message is through.
  [[nodiscard]] result<void> wait(handle& h) {
    detail::polling poll(options_.time_out);
    for (;;) {
      result<bool> done = test(h);
      if (!done) return std::move(done).error();
      if (done.value()) return success();
      if (!poll.again()) {
        const operation& o = operations_[h.slot_];
        return detail::late_message({o.peer, o.channel, o.into != nullptr}, options_.time_out);
      }
    }
  }

  /// Ends the step on every rank; returns when the next can begin here. All ranks call it, see above.
  void abort(std::string_view reason) {
    if (broken_) return;
    const bool told = stopped_ && stopped_->code == errc::aborted;
    reason_ = told ? stopped_->detail : std::string(reason.substr(0, longest_reason));
    stopped_.reset();
    fall_silent();
    operations_.clear();
    free_.clear();
    routes_.clear();
    first_serial_ = ++serial_;
  }

 private:
  static constexpr std::size_t longest_reason = 1024;  // short enough for MPI to send it at once
  static constexpr std::uint32_t looks_per_probe = 32;

  enum class state : unsigned char { posted, under_way, refused };

  struct operation {
    MPI_Request request{MPI_REQUEST_NULL};
    std::uint64_t serial{};
    int peer{};
    int channel{};
    std::size_t size{};
    std::byte* into{};   ///< where a receive writes
    std::size_t came{};  ///< the size of a message that was refused
    state now{};
  };

  /// Receives of one peer and channel without a message yet, by slot, in order.
  struct route {
    int peer{};
    int channel{};
    std::deque<std::size_t> posted;
  };

  /// A message of the transport's own, or one that nobody wants.
  struct loose {
    MPI_Request request{MPI_REQUEST_NULL};
    std::unique_ptr<std::byte[]> memory;
  };

  // Channels are tags; the last two are the transport's own.
  [[nodiscard]] int reason_tag() const noexcept { return channels_; }
  [[nodiscard]] int silence_tag() const noexcept { return channels_ + 1; }

  [[nodiscard]] std::optional<error> refused(int peer, int channel, std::size_t size) const {
    if (stopped_) return stopped_;
    if (!detail::is_rank(peer, size_)) return detail::no_such_rank(peer, size_);
    if (channel < 0 || channel >= channels_)
      return error{errc::invalid_input,
                   "channel " + std::to_string(channel) + " where MPI has tags for " + std::to_string(channels_)};
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      return error{errc::invalid_input, "a message of " + std::to_string(size) + " bytes, 2147483647 is the most"};
    return std::nullopt;
  }

  [[nodiscard]] route& route_of(int peer, int channel) {
    return routes_.try_emplace({peer, channel}, route{peer, channel, {}}).first->second;
  }

  handle keep(const operation& o) {
    handle h;
    h.serial_ = o.serial;
    h.slot_ = operations_.size();
    if (free_.empty()) {
      operations_.push_back(o);
    } else {
      h.slot_ = free_.back();
      free_.pop_back();
      operations_[h.slot_] = o;
    }
    return h;
  }

  operation retire(std::size_t slot) {
    free_.push_back(slot);
    return std::exchange(operations_[slot], operation{});
  }

  /// Gives a route's receives the messages that have come.
  void match(route& from) {
    while (!from.posted.empty()) {
      MPI_Message message{};
      MPI_Status status;
      const std::optional<std::size_t> size = probe(from.peer, from.channel, message, status);
      if (!size) return;
      operation& o = operations_[from.posted.front()];
      from.posted.pop_front();
      o.came = *size;
      o.now = o.came == o.size ? state::under_way : state::refused;
      if (o.now == state::under_way)
        note(MPI_Imrecv(o.into, static_cast<int>(o.size), MPI_BYTE, &message, &o.request));
      else
        drop(message, o.came);
    }
  }

  /// The size of the next message, if one is there.
  [[nodiscard]] std::optional<std::size_t> probe(int peer, int with_tag, MPI_Message& message, MPI_Status& status) {
    int found = 0;
    int size = 0;
    if (!note(MPI_Improbe(peer, with_tag, communicator_.get(), &found, &message, &status)) || !found)
      return std::nullopt;
    note(MPI_Get_count(&status, MPI_BYTE, &size));
    return static_cast<std::size_t>(size);
  }

  void drop(MPI_Message& message, std::size_t size) {
    loose& l = loose_.emplace_back();
    l.memory = std::make_unique<std::byte[]>(size);
    note(MPI_Imrecv(l.memory.get(), static_cast<int>(size), MPI_BYTE, &message, &l.request));
  }

  /// What a call does that has to wait: looks for the messages of one route after the other, and now and then for an
  /// abort.
  void look_around() {
    if (stopped_) return;
    auto next = routes_.upper_bound(looked_at_);
    if (next == routes_.end()) next = routes_.begin();
    if (next != routes_.end()) {
      looked_at_ = next->first;
      match(next->second);
    }
    if (++looks_ % looks_per_probe != 0) return;
    MPI_Message message{};
    MPI_Status status;
    const std::optional<std::size_t> size = probe(MPI_ANY_SOURCE, reason_tag(), message, status);
    if (!size) return;
    std::string reason(*size, ' ');
    if (note(MPI_Mrecv(reason.data(), static_cast<int>(*size), MPI_BYTE, &message, &status)))
      stopped_ = error{errc::aborted, std::move(reason)};
  }

  /// Tells every rank, this one too, and lets all that is under way come to its end. An error of MPI leaves the
  /// transport broken, but the other ranks are told all the same.
  void fall_silent() {
    for (const operation& o : operations_)
      if (o.request != MPI_REQUEST_NULL) loose_.push_back({o.request, nullptr});
    std::vector<int> talking;
    for (int peer = 0; peer < size_; ++peer) {
      tell(peer, reason_tag(), reason_);
      tell(peer, silence_tag(), {});
      talking.push_back(peer);
    }
    detail::polling poll(options_.abort_time_out.value_or(options_.time_out));
    for (;;) {
      std::erase_if(talking, [&](int peer) { return fell_silent(peer); });
      std::erase_if(loose_, [&](loose& l) {
        int done = 0;
        return !note(MPI_Test(&l.request, &done, MPI_STATUS_IGNORE)) || done;
      });
      if (talking.empty() && loose_.empty()) break;
      if (!poll.again())
        return give_up(talking.empty()
                           ? error{errc::transport_failed, "messages of an aborted step did not end in time"}
                           : error_of_ranks(errc::transport_failed, "rank ", own_rank{talking.front()},
                                            " did not end an aborted step in time"));
    }
    if (stopped_) give_up({errc::transport_failed, std::move(stopped_->detail)});
  }

  void tell(int peer, int with_tag, std::string_view text) {
    loose& l = loose_.emplace_back();
    l.memory = std::make_unique<std::byte[]>(text.size());
    if (!text.empty()) std::memcpy(l.memory.get(), text.data(), text.size());
    note(MPI_Isend(l.memory.get(), static_cast<int>(text.size()), MPI_BYTE, peer, with_tag, communicator_.get(),
                   &l.request));
  }

  /// Drops a peer's next message. True when nothing more comes from it.
  [[nodiscard]] bool fell_silent(int peer) {
    MPI_Message message{};
    MPI_Status status;
    const std::optional<std::size_t> size = probe(peer, MPI_ANY_TAG, message, status);
    if (size) drop(message, *size);
    return size ? status.MPI_TAG == silence_tag() : stopped_.has_value();
  }

  /// True where MPI has succeeded; otherwise its first error is what calls answer until the step is aborted.
  bool note(int code) {
    if (code != MPI_SUCCESS && !stopped_) stopped_ = error{errc::transport_failed, detail::mpi_message(code)};
    return code == MPI_SUCCESS;
  }

  error fail(int code) {
    note(code);
    return *stopped_;
  }

  void give_up(error why) {
    broken_ = true;
    stopped_ = std::move(why);
    communicator_.abandon();
    if (!loose_.empty()) new std::vector<loose>(std::move(loose_));  // for ever: MPI may still read and write there
  }

  detail::mpi_communicator communicator_;
  options options_;
  int rank_{};
  int size_{};
  int channels_{};
  std::vector<operation> operations_;
  std::vector<std::size_t> free_;  ///< slots of operations that are through
  std::map<std::pair<int, int>, route> routes_;
  std::vector<loose> loose_;
  std::uint64_t serial_{};
  std::uint64_t first_serial_{1};  ///< of the operations of this step
  std::pair<int, int> looked_at_{};
  std::uint32_t looks_{};
  std::optional<error> stopped_;  ///< what every call answers
  bool broken_{};                 ///< and always will
  std::string reason_;            ///< of the last abort
};

}  // namespace slimpack::transports

#endif
