#ifndef SLIMPACK_TESTING_TRANSPORT_TRIAL_HPP
#define SLIMPACK_TESTING_TRANSPORT_TRIAL_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/report.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::testing::detail {

/// Memory of messages that a trial fills and reads on the host: each its own.
template <class Transport>
class trial_memory {
 public:
  explicit trial_memory(Transport&) {}

  [[nodiscard]] result<std::span<std::byte>> take(std::size_t size) { return std::span(taken_.emplace_back(size)); }
  /// All that was taken is free.
  void forget() { taken_.clear(); }

 private:
  std::deque<std::vector<std::byte>> taken_;
};

/// Where messages are those of a device: pinned memory, which host and device both touch. It is taken from a few large
/// blocks, since a host that asks for some may have to wait for the device, where a transfer may wait for a rank's next
/// call.
template <class Transport>
requires(slimpack::detail::moves_device_memory<Transport>()) class trial_memory<Transport> {
 public:
  explicit trial_memory(Transport& t) : transport_(&t) {}

  [[nodiscard]] result<std::span<std::byte>> take(std::size_t size) {
    const std::size_t room = (size + alignment - 1) / alignment * alignment;
    while (block_ < blocks_.size() && as_span(blocks_[block_]).size() - used_ < room) ++block_, used_ = 0;
    if (block_ == blocks_.size()) {
      auto made = transport_->device().allocate_pinned(std::max(room, block_size));
      if (!made) return std::move(made).error();
      blocks_.push_back(std::move(made).value());
    }
    const std::span<std::byte> taken = as_span(blocks_[block_]).subspan(used_, size);
    used_ += room;
    return taken;
  }
  void forget() { block_ = used_ = 0; }

 private:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t block_size = std::size_t{1} << 26;

  using memory = typename std::remove_cvref_t<decltype(std::declval<Transport&>().device())>::memory;
  Transport* transport_;
  std::deque<memory> blocks_;
  std::size_t block_{}, used_{};
};

}  // namespace slimpack::testing::detail

namespace slimpack::testing {

/// How hard a transport is tried; the same on every rank.
struct transport_options {
  std::uint64_t seed{1};
  int cases{10};                              ///< random rounds of each kind
  std::size_t largest{std::size_t{1} << 20};  ///< bytes of the largest message
  seconds time_out{};                         ///< what the transport was given as its own; 0 leaves law 5 out
};

namespace detail {

/// The i-th word of a key's bytes, which no other key gives.
inline std::uint64_t word(std::uint64_t key, std::uint64_t i) noexcept {
  std::uint64_t x = key + (i + 1) * 0x9E3779B97F4A7C15U;  // splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

inline void fill(std::span<std::byte> to, std::uint64_t key) {
  for (std::size_t at = 0, i = 0; at < to.size(); at += sizeof(std::uint64_t), ++i) {
    const std::uint64_t w = word(key, i);
    std::memcpy(&to[at], &w, std::min(sizeof w, to.size() - at));
  }
}

[[nodiscard]] inline bool filled(std::span<const std::byte> from, std::uint64_t key) {
  for (std::size_t at = 0, i = 0; at < from.size(); at += sizeof(std::uint64_t), ++i) {
    const std::uint64_t w = word(key, i);
    if (std::memcmp(&from[at], &w, std::min(sizeof w, from.size() - at)) != 0) return false;
  }
  return true;
}

/// What transport_laws does its part of a trial with: messages whose bytes tell where they come from, posted by this
/// rank. Ranks draw the same numbers from `common_`, so each knows what the others do.
template <transport Transport>
class transport_trial {
 protected:
  using handle = typename Transport::handle;
  using clock = std::chrono::steady_clock;

  static constexpr int rounds = 6;
  static constexpr int channels = 3;
  static constexpr std::size_t margin = 64;

  transport_trial(Transport& t, transport_options o)
      : t_(t),
        o_(o),
        rank_(t.rank()),
        size_(t.size()),
        common_(o.seed),
        own_(word(o.seed, static_cast<std::uint64_t>(rank_))),
        report_("transport laws on rank " + std::to_string(rank_), o.seed),
        memory_(t) {}

  struct sent {
    std::span<std::byte> bytes;
    std::optional<handle> posted{};
  };

  /// With a margin on either side, in which nothing may be written.
  struct expected {
    explicit expected(std::span<std::byte> with_margins) : all(with_margins) { fill(all, margin_key); }
    [[nodiscard]] std::span<std::byte> bytes() const { return all.subspan(margin, all.size() - 2 * margin); }
    [[nodiscard]] bool holds(std::uint64_t key) const {
      std::vector<std::byte> like(all.size());
      fill(like, margin_key);
      fill(std::span(like).subspan(margin, bytes().size()), key);
      return std::equal(like.begin(), like.end(), all.begin());
    }
    static constexpr std::uint64_t margin_key = 7;
    std::span<std::byte> all;
    std::optional<handle> posted{};
  };

  struct message {
    int source{};
    int destination{};
    int channel{};
    std::size_t size{};
    std::uint64_t key{};
    int sent_in{};    // rounds
    int posted_in{};  // its receive
    std::array<int, 2> waited_in{};
  };

  [[nodiscard]] int next() const { return (rank_ + 1) % size_; }
  [[nodiscard]] int previous() const { return (rank_ + size_ - 1) % size_; }
  [[nodiscard]] std::uint64_t any_key() {
    return static_cast<std::uint64_t>(common_.between(0, std::numeric_limits<std::int64_t>::max() - 1));
  }
  [[nodiscard]] std::size_t any_size(std::size_t most) {
    return static_cast<std::size_t>(common_.length({static_cast<std::int64_t>(std::min(most, o_.largest))}).value);
  }
  [[nodiscard]] std::size_t large() const { return std::min(o_.largest, std::size_t{1} << 20); }
  [[nodiscard]] int any_rank() { return static_cast<int>(common_.between(0, size_ - 1)); }
  static std::uint64_t of_rank(std::uint64_t key, int rank) { return word(key, static_cast<std::uint64_t>(rank)); }

  result<sent*> post_send(int peer, int channel, std::size_t size, std::uint64_t key) {
    auto memory = memory_.take(size);
    if (!memory) return std::move(memory).error();
    sent& s = sends_.emplace_back(sent{memory.value()});
    fill(s.bytes, key);
    auto posted = t_.send(peer, channel, s.bytes);
    if (!posted) return std::move(posted).error();
    s.posted.emplace(std::move(posted).value());
    return &s;
  }

  result<expected*> post_receive(int peer, int channel, std::size_t size) {
    auto memory = memory_.take(size + 2 * margin);
    if (!memory) return std::move(memory).error();
    expected& e = receives_.emplace_back(memory.value());
    auto posted = t_.receive(peer, channel, e.bytes());
    if (!posted) return std::move(posted).error();
    e.posted.emplace(std::move(posted).value());
    return &e;
  }

  /// Waits for a message, or asks until it is through.
  result<void> complete(handle& h, bool ask) {
    const auto begin = clock::now();
    while (ask && clock::now() - begin < std::chrono::duration<double>(patience())) {
      result<bool> through = t_.test(h);
      if (!through) return std::move(through).error();
      if (through.value()) return success();
      std::this_thread::yield();
    }
    return t_.wait(h);
  }
  [[nodiscard]] double patience() const { return o_.time_out > seconds{} ? o_.time_out.value : 60; }

  /// Every rank's bytes, into gathered_.
  result<void> gather(std::span<const std::byte> own) {
    mine_.assign(own.begin(), own.end());
    gathered_.assign(own.size() * static_cast<std::size_t>(size_), std::byte{0xAA});
    return all_gather(t_, std::span<const std::byte>(mine_), std::span(gathered_));
  }

  /// No rank returns before all have come.
  result<void> meet() {
    const std::byte here{};
    return gather(std::span(&here, 1));
  }

  struct both {
    expected* in{};
    sent* out{};
  };

  /// To the next rank and from the previous one; `apart`: only when all ranks have posted the one, the other follows.
  /// In an order of all these messages, that of their senders, where the transport wants one: then the arguments do not
  /// matter.
  result<both> post_both(int channel, std::size_t size, std::uint64_t key, bool receive_first, bool apart) {
    if constexpr (slimpack::detail::keeps_plan_order<Transport>()) receive_first = previous() < rank_, apart = false;
    both b;
    for (const bool receives_now : {receive_first, !receive_first}) {
      if (receives_now) {
        result<expected*> in = post_receive(previous(), channel, size);
        if (!in) return std::move(in).error();
        b.in = in.value();
      } else {
        result<sent*> out = post_send(next(), channel, size, of_rank(key, rank_));
        if (!out) return std::move(out).error();
        b.out = out.value();
      }
      if (!apart || receives_now != receive_first) continue;
      if (receives_now) {
        result<bool> through = t_.test(*b.in->posted);
        if (!through) return std::move(through).error();
        report_.check(3, !through.value(), "test does not say that a message came before it was sent", "rank", rank_);
      }
      if (result<void> met = meet(); !met) return std::move(met).error();
    }
    return b;
  }

  result<void> wait_for_both(both& b) {
    if (result<void> came = t_.wait(*b.in->posted); !came) return came;
    if (result<void> went = t_.wait(*b.out->posted); !went) return went;
    return finish(t_);
  }

  /// Messages among all ranks, in an order that each channel keeps; what they wait for in a round is posted by then.
  std::vector<message> draw_script() {
    std::map<std::array<int, 3>, std::vector<message>> by_channel;
    for (int i = 0; i < 24 * size_; ++i) {
      const std::array<int, 3> where{any_rank(), any_rank(), static_cast<int>(common_.between(1, channels))};
      by_channel[where].push_back({where[0], where[1], where[2], any_size(std::size_t{1} << 16), any_key(), 0, 0, {}});
    }
    std::vector<message> script;
    for (auto& [where, messages] : by_channel) {
      std::vector<int> sent_in, posted_in;
      for (std::size_t i = 0; i < messages.size(); ++i) {
        sent_in.push_back(static_cast<int>(common_.between(0, rounds - 1)));
        posted_in.push_back(static_cast<int>(common_.between(0, rounds - 1)));
      }
      std::sort(sent_in.begin(), sent_in.end());
      std::sort(posted_in.begin(), posted_in.end());
      for (std::size_t i = 0; i < messages.size(); ++i) {
        message& m = messages[i];
        m.sent_in = sent_in[i];
        m.posted_in = posted_in[i];
        for (int& w : m.waited_in) w = static_cast<int>(common_.between(std::max(m.sent_in, m.posted_in), rounds - 1));
        script.push_back(m);
      }
    }
    return script;
  }

  void forget() {
    sends_.clear();
    receives_.clear();
    memory_.forget();
  }

  Transport& t_;
  const transport_options o_;
  const int rank_;
  const int size_;
  generator common_;  // every rank draws the same numbers from it
  generator own_;
  report report_;
  trial_memory<Transport> memory_;  // lives until the transport has let go of it, which after an error means until its
                                    // abort
  std::deque<sent> sends_;
  std::deque<expected> receives_;
  std::vector<std::byte> mine_;
  std::vector<std::byte> gathered_;
};

}  // namespace detail

}  // namespace slimpack::testing

#endif
