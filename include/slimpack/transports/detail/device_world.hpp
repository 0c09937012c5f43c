#ifndef SLIMPACK_TRANSPORTS_DETAIL_DEVICE_WORLD_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_DEVICE_WORLD_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/parking.hpp>
#include <slimpack/transports/detail/polling.hpp>
#include <slimpack/transports/detail/sentences.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What the ranks of transports::cuda share: messages of which one side has come, and a seat for each rank. Under one
/// mutex, but for what a seat says is of its rank's thread.
template <class Device>
class device_world {
 public:
  using event = typename Device::event;
  using stream = typename Device::stream;
  using memory = typename Device::memory;

  /// A message of which one side has come, or both: then `done` is the event of its copy.
  struct meeting {
    std::span<const std::byte> from;
    std::span<std::byte> to;
    std::size_t sender{};
    int channel{};
    std::optional<event> ready;  // of the side that came first
    std::optional<event> done;
    std::optional<error> wrong;  // the receiver's
  };
  using message = std::shared_ptr<meeting>;

  /// What a member gives to a collective.
  struct part {
    std::vector<std::byte> bytes;
    std::shared_ptr<typename Device::memory> memory;
    std::optional<event> ready;
  };

  struct seat {
    Device device;
    std::optional<stream> compute, incoming;
    // Of the rank's thread:
    std::vector<std::pair<message, bool>> open;             // those that may use its buffers, and whether it receives
                                                            // them
    std::vector<std::shared_ptr<memory>> kept;              // until finish
    std::map<std::vector<int>, std::uint64_t> collectives;  // so far, by group
  };

  device_world(std::vector<Device> devices, seconds time_out) : time_out_(time_out), gate_(devices.size()) {
    for (Device& d : devices) seats_.push_back({std::move(d), {}, {}, {}, {}, {}});
  }

  [[nodiscard]] std::size_t size() const noexcept { return seats_.size(); }
  [[nodiscard]] seat& of(std::size_t rank) noexcept { return seats_[rank]; }
  [[nodiscard]] std::uint64_t step(std::size_t rank) const noexcept { return gate_.step(rank); }

  /// Makes a rank's streams.
  result<void> open(std::size_t rank) {
    seat& own = of(rank);
    const std::lock_guard lock(mutex_);
    for (std::optional<stream>* const one : {&own.compute, &own.incoming}) {
      if (*one) continue;
      auto made = own.device.make_stream();
      if (!made) return std::move(made).error();
      one->emplace(std::move(made).value());
    }
    changed_.notify_all();
    return success();
  }

  /// Whether a rank is in a step that nobody has stopped. One that has aborted waits here for the others.
  result<void> status(std::size_t rank) {
    if (!next_step_begins(rank))
      return error_of_ranks(errc::timed_out, waited_for(time_out_) + "rank ",
                            own_rank{static_cast<int>(gate_.straggler(rank))}, " to leave the step that was aborted");
    if (gate_.ask(rank) == step_gate::entry::aborted) return gate_.why();
    return success();
  }
  result<void> status(std::size_t rank, std::uint64_t of_step) {
    if (of_step != gate_.step(rank)) return gate_.why();
    return status(rank);
  }

  result<message> send(std::size_t rank, std::size_t peer, int channel, std::span<const std::byte> bytes,
                       const event& ready) {
    const std::lock_guard lock(mutex_);
    return post(rank, waiting_[{rank, peer, channel}], true, ready, peer,
                [&](meeting& m) { m.from = bytes, m.sender = rank, m.channel = channel; });
  }
  result<message> receive(std::size_t rank, std::size_t peer, int channel, std::span<std::byte> bytes,
                          const event& ready) {
    const std::lock_guard lock(mutex_);
    return post(rank, waiting_[{peer, rank, channel}], false, ready, rank,
                [&](meeting& m) { m.to = bytes, m.sender = peer, m.channel = channel; });
  }

  [[nodiscard]] result<bool> has_met(const meeting& m, bool receives) {
    const std::lock_guard lock(mutex_);
    if (receives && m.wrong) return *m.wrong;
    return m.done.has_value();
  }

  /// Until the other side has been posted.
  result<void> await(std::size_t rank, const meeting& m, bool receives) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, patience::from(time_out_),
                                        [&] { return m.done || (receives && m.wrong) || !is_open(rank); });
    if (!is_open(rank)) return gate_.why();
    if (receives && m.wrong) return *m.wrong;
    if (came) return success();
    const std::string on = " on channel " + std::to_string(m.channel);
    if (!receives) return error{errc::timed_out, waited_for(time_out_) + "a message to be taken" + on};
    return error_of_ranks(errc::timed_out, waited_for(time_out_) + "a message from rank ",
                          own_rank{static_cast<int>(m.sender)}, on);
  }

  /// Until all work of a rank has ended.
  result<void> finish(std::size_t rank) {
    for (const auto& [m, receives] : of(rank).open)
      if (result<void> met = await(rank, *m, receives); !met) return met;
    if (result<void> ended = drain(rank); !ended) return ended;
    of(rank).kept.clear();
    return success();
  }

  void abort(std::size_t rank, std::string_view reason) {
    if (!next_step_begins(rank)) return;  // in vain: there are ranks that never left the last one
    {
      const std::lock_guard lock(mutex_);
      gate_.raise(rank, reason);
      for (auto& [where, sides] : waiting_)
        std::erase_if(sides.first, [&](const message& m) { return is_of(rank, m); });
      changed_.notify_all();
    }
    (void)drain(rank);
    of(rank).kept.clear();
    of(rank).collectives.clear();
    const std::lock_guard lock(mutex_);
    gate_.leave(rank, [this] {
      waiting_.clear();
      collectives_.clear();
    });
    changed_.notify_all();
  }

  /// What every member gives to this collective of a group, in order.
  result<std::vector<part>> swap(std::size_t rank, const std::vector<int>& group, part own) {
    std::unique_lock lock(mutex_);
    const std::pair key{group, of(rank).collectives[group]++};
    collective& all = collectives_[key];
    all.from.resize(group.size());
    all.from[static_cast<std::size_t>(std::find(group.begin(), group.end(), static_cast<int>(rank)) - group.begin())] =
        std::move(own);
    ++all.came;
    changed_.notify_all();
    const bool came =
        changed_.wait_for(lock, patience::from(time_out_), [&] { return !is_open(rank) || all.came == group.size(); });
    if (!is_open(rank)) return gate_.why();
    if (!came) return error{errc::timed_out, waited_for(time_out_) + "all ranks of a collective"};
    std::vector<part> parts = all.from;
    if (++all.left == group.size()) collectives_.erase(key);
    return parts;
  }

 private:
  struct collective {
    std::vector<part> from;
    std::size_t came{};
    std::size_t left{};
  };
  /// Messages of one channel of which one side has come, and whether that is the sender.
  using queue = std::pair<std::deque<message>, bool>;

  [[nodiscard]] bool is_open(std::size_t rank) const noexcept { return gate_.ask(rank) == step_gate::entry::open; }
  [[nodiscard]] bool is_of(std::size_t rank, const message& m) {
    const auto& own = of(rank).open;
    return std::any_of(own.begin(), own.end(), [&](const auto& one) { return one.first == m; });
  }

  template <class Fill>
  result<message> post(std::size_t rank, queue& at, bool sends, const event& ready, std::size_t receiver,
                       const Fill& fill) {
    if (!is_open(rank)) return gate_.why();
    seat& own = of(rank);
    std::erase_if(own.open, [&](const auto& one) {
      if (!one.first->done || one.first->wrong) return false;
      const auto through = own.device.query(*one.first->done);
      return through && through.value();
    });
    if (at.first.empty() || at.second == sends) {
      message m = std::make_shared<meeting>();
      fill(*m);
      m->ready = ready;
      at.second = sends;
      at.first.push_back(m);
      own.open.emplace_back(m, !sends);
      return m;
    }
    message m = at.first.front();
    at.first.pop_front();
    fill(*m);
    own.open.emplace_back(m, !sends);
    if (result<void> issued = copy(*m, ready, of(receiver)); !issued) return std::move(issued).error();
    changed_.notify_all();
    return m;
  }

  result<void> copy(meeting& m, const event& ready, seat& to) {
    for (const event* const before : {&std::as_const(*m.ready), &ready})
      if (result<void> ordered = to.device.wait(*to.incoming, *before); !ordered) return ordered;
    if (m.from.size() != m.to.size())
      m.wrong = error_of_ranks(
          errc::wrong_message,
          "expected " + std::to_string(m.to.size()) + " bytes on channel " + std::to_string(m.channel) + ", rank ",
          own_rank{static_cast<int>(m.sender)}, " sent " + std::to_string(m.from.size()));
    else if (result<void> copied = to.device.copy(*to.incoming, m.to, m.from); !copied)
      return copied;
    auto done = to.device.record(*to.incoming);
    if (!done) return std::move(done).error();
    m.done.emplace(std::move(done).value());
    return success();
  }

  /// Until nothing that has been issued uses memory of a rank.
  result<void> drain(std::size_t rank) {
    seat& own = of(rank);
    std::vector<event> ends;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [m, receives] : own.open)
        if (m->done) ends.push_back(*m->done);
    }
    auto end = own.device.record(*own.compute);
    if (!end) return std::move(end).error();
    ends.push_back(std::move(end).value());
    for (const event& one : ends) {
      polling poll(time_out_);
      for (;;) {
        const result<bool> reached = own.device.query(one);
        if (!reached) return reached.error();
        if (reached.value()) break;
        if (!poll.again()) return error{errc::timed_out, waited_for(time_out_) + "the work of its device"};
      }
    }
    own.open.clear();
    return success();
  }

  bool next_step_begins(std::size_t rank) {
    if (gate_.ask(rank) != step_gate::entry::early) return true;
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience::from(time_out_),
                             [&] { return gate_.ask(rank) != step_gate::entry::early; });
  }

  const seconds time_out_;
  step_gate gate_;
  std::mutex mutex_;  // taken before the gate's
  std::condition_variable changed_;
  std::map<std::tuple<std::size_t, std::size_t, int>, queue> waiting_;  // by source, destination and channel
  std::map<std::pair<std::vector<int>, std::uint64_t>, collective> collectives_;
  std::vector<seat> seats_;
};

}  // namespace slimpack::detail

#endif
