#ifndef SLIMPACK_DEVICES_DETAIL_HOST_MACHINE_HPP
#define SLIMPACK_DEVICES_DETAIL_HOST_MACHINE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The devices of devices::host: queues of operations. A thread runs those of a queue one after the other; all are
/// under one mutex. A transfer at the head of its queue holds it up until the other side is at the head of its own.
class host_machine {
 public:
  using clock = std::chrono::steady_clock;

  /// A point in the work of a queue.
  struct mark {
    std::size_t queue{};
    bool reached{};
    clock::time_point when{};
  };

  /// One side of a transfer: the n-th that goes one way on a wire meets the n-th that comes there.
  struct transfer {
    std::uint64_t wire{};
    int from{};
    int to{};
    bool sends{};
    std::span<const std::byte> source{};  ///< where it sends
    std::span<std::byte> target{};        ///< where it receives
    std::uint64_t number{};               ///< given at issue
    bool done{};
  };

  struct operation {
    std::string name;
    std::function<void()> work{};
    std::shared_ptr<mark> waits{};
    std::shared_ptr<mark> sets{};
    std::vector<transfer> moves{};
  };

  host_machine(std::size_t devices, std::uint64_t seed, seconds delay, bool in_issue_order)
      : delay_(delay), in_issue_order_(in_issue_order), state_(seed), first_(devices) {
    if (in_issue_order)
      for (std::size_t d = 0; d < devices; ++d) first_[d] = add_lane(d);
  }
  host_machine(const host_machine&) = delete;
  host_machine& operator=(const host_machine&) = delete;
  ~host_machine() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      wake_all();
    }
    for (auto& one : queues_) one->worker.join();
  }

  /// The queue of a new stream.
  [[nodiscard]] std::size_t queue_of(std::size_t device) {
    const std::lock_guard lock(mutex_);
    return in_issue_order_ ? first_[device] : add_lane(device);
  }

  void issue(std::size_t on, operation o) {
    const std::lock_guard lock(mutex_);
    for (transfer& t : o.moves) {
      t.number = issued_[{t.wire, t.from, t.to, t.sends}]++;
      pending_.emplace(key_of(t, t.sends), queues_[on].get());
    }
    queues_[on]->operations.push_back(std::move(o));
    queues_[on]->woken.notify_one();
    // Only a transfer that some queue waits for can close a cycle.
    for (const transfer& t : queues_[on]->operations.back().moves)
      if (work_queue* const other = other_side(t);
          other != nullptr && other->is_held && !cycle_ && at_its_front(*other, t) != nullptr)
        find_cycle(*other);
  }

  [[nodiscard]] bool reached(const mark& m) {
    const std::lock_guard lock(mutex_);
    return m.reached;
  }
  void await(const mark& m) {
    std::unique_lock lock(mutex_);
    reached_.wait(lock, [&] { return m.reached; });
  }

  [[nodiscard]] std::uint64_t new_wire() {
    const std::lock_guard lock(mutex_);
    return ++wires_;
  }
  /// From now on nothing moves on it, and what waits there goes on.
  void cut(std::uint64_t wire) {
    const std::lock_guard lock(mutex_);
    cut_.push_back(wire);
    wake_all();
  }
  /// The first transfer on a wire whose two sides differ in size.
  [[nodiscard]] std::optional<error> mismatch(std::uint64_t wire) {
    const std::lock_guard lock(mutex_);
    const auto found = mismatches_.find(wire);
    return found == mismatches_.end() ? std::nullopt : std::optional(found->second);
  }

  /// The cycle in which operations wait for each other, if they do. Nothing moves any more after it.
  [[nodiscard]] std::optional<error> cycle() {
    const std::lock_guard lock(mutex_);
    return cycle_;
  }

 private:
  struct work_queue {
    std::size_t device{};
    std::deque<operation> operations;  // its front is running, or waits to run
    std::condition_variable woken;
    bool is_held{};  // its front waits for others
    std::thread worker;
  };
  using side = std::tuple<std::uint64_t, int, int, bool>;
  using key = std::pair<side, std::uint64_t>;

  /// Under the mutex, or before there are others.
  std::size_t add_lane(std::size_t device) {
    queues_.push_back(std::make_unique<work_queue>());
    queues_.back()->device = device;
    work_queue* const made = queues_.back().get();
    made->worker = std::thread([this, made] { work(*made); });
    return queues_.size() - 1;
  }

  void work(work_queue& own) {
    std::unique_lock lock(mutex_);
    for (;;) {
      own.woken.wait(lock, [&] { return !own.operations.empty() || stopped_; });
      if (own.operations.empty()) return;
      operation& o = own.operations.front();
      if (o.work || !o.moves.empty()) pause(lock);
      hold(lock, own, [&] { return !o.waits || o.waits->reached; });
      hold(lock, own, [&] { return move(o); });
      if (o.work && !cycle_) {  // behind a cycle memory may be gone
        lock.unlock();
        o.work();
        lock.lock();
      }
      if (o.sets) {
        o.sets->when = clock::now();
        o.sets->reached = true;
        reached_.notify_all();
        for (const auto& one : queues_)
          if (one->is_held && one->operations.front().waits == o.sets) one->woken.notify_one();
      }
      const operation ended = std::move(o);  // what it holds is let go outside of the lock
      own.operations.pop_front();
      lock.unlock();
      (void)ended;
      lock.lock();
    }
  }

  [[nodiscard]] std::uint64_t draw() noexcept {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15U;  // splitmix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }

  /// Sometimes others go first.
  void pause(std::unique_lock<std::mutex>& lock) {
    if (draw() % 8 != 0) return;
    const std::chrono::duration<double> late(delay_.value * static_cast<double>(draw() % 1024) / 1024);
    lock.unlock();
    std::this_thread::sleep_for(late);
    lock.lock();
  }

  /// Until it is ready, or never will be.
  template <class Ready>
  void hold(std::unique_lock<std::mutex>& lock, work_queue& own, const Ready& ready) {
    while (!ready() && !cycle_ && !stopped_) {
      find_cycle(own);
      own.is_held = true;
      if (!cycle_) own.woken.wait(lock);
      own.is_held = false;
    }
  }

  void wake_all() {
    for (const auto& one : queues_) one->woken.notify_one();
  }

  [[nodiscard]] bool is_cut(const transfer& t) const {
    return std::find(cut_.begin(), cut_.end(), t.wire) != cut_.end();
  }

  /// Moves what both sides have come to; true when nothing of the operation is left. Of those that could move, the seed
  /// says with which to begin.
  bool move(operation& o) {
    if (o.moves.empty()) return true;
    if (cycle_) return false;
    const std::size_t first = static_cast<std::size_t>(draw() % o.moves.size());
    for (std::size_t i = 0; i < o.moves.size(); ++i) {
      transfer& t = o.moves[(first + i) % o.moves.size()];
      if (t.done) continue;
      if (is_cut(t)) {
        end(t);
        continue;
      }
      work_queue* const other = other_side(t);
      transfer* const u = other == nullptr ? nullptr : at_its_front(*other, t);
      if (u == nullptr) continue;
      hand_over(t.sends ? t : *u, t.sends ? *u : t);
      end(t), end(*u);
      other->woken.notify_one();
    }
    return std::all_of(o.moves.begin(), o.moves.end(), [](const transfer& t) { return t.done; });
  }

  void end(transfer& t) {
    t.done = true;
    pending_.erase(key_of(t, t.sends));
  }

  static key key_of(const transfer& t, bool sends) { return {{t.wire, t.from, t.to, sends}, t.number}; }

  /// Where the other side of a transfer has been issued, and has not ended; or null.
  [[nodiscard]] work_queue* other_side(const transfer& t) const {
    const auto found = pending_.find(key_of(t, !t.sends));
    return found == pending_.end() ? nullptr : found->second;
  }
  /// The other side of a transfer, if the queue has come to it.
  static transfer* at_its_front(work_queue& other, const transfer& t) {
    for (transfer& u : other.operations.front().moves)
      if (!u.done && key_of(u, u.sends) == key_of(t, !t.sends)) return &u;
    return nullptr;
  }

  void hand_over(const transfer& out, const transfer& in) {
    if (out.source.size() == in.target.size())
      std::copy(out.source.begin(), out.source.end(), in.target.begin());
    else
      mismatches_.emplace(
          out.wire, error_of_ranks(errc::wrong_message, "rank ", own_rank{static_cast<int>(in.to)},
                                   " expected " + std::to_string(in.target.size()) + " bytes, rank ",
                                   own_rank{static_cast<int>(in.from)}, " sent " + std::to_string(out.source.size())));
  }

  /// Streams wait for each other where the other side of a transfer, or an event, has been issued behind one that waits
  /// for this queue in turn. What has not been issued may still be.
  void find_cycle(const work_queue& from) {
    std::vector<const work_queue*> seen{&from}, path{&from};
    if (!leads_to(from, from, seen, path)) return;
    std::string text = "operations wait for each other:";
    for (const work_queue* one : path)
      text += " device " + std::to_string(one->device) + " is at " + one->operations.front().name + ";";
    text.back() = '.';
    cycle_ = error{errc::cyclic_schedule, text};
    wake_all();
  }

  /// A queue seen before does not lead to the goal, or the search would have ended there.
  bool leads_to(const work_queue& goal, const work_queue& at, std::vector<const work_queue*>& seen,
                std::vector<const work_queue*>& path) const {
    for (const work_queue* next : held_up_by(at)) {
      if (next == &goal) return true;
      if (std::find(seen.begin(), seen.end(), next) != seen.end()) continue;
      seen.push_back(next);
      path.push_back(next);
      if (leads_to(goal, *next, seen, path)) return true;
      path.pop_back();
    }
    return false;
  }

  [[nodiscard]] std::vector<const work_queue*> held_up_by(const work_queue& at) const {
    std::vector<const work_queue*> found;
    if (at.operations.empty()) return found;
    const operation& head = at.operations.front();
    if (head.waits && !head.waits->reached) found.push_back(queues_[head.waits->queue].get());
    for (const transfer& t : head.moves)
      if (work_queue* const other = t.done ? nullptr : other_side(t);
          other != nullptr && at_its_front(*other, t) == nullptr)
        found.push_back(other);
    return found;
  }

  const seconds delay_;
  const bool in_issue_order_;
  std::mutex mutex_;
  std::condition_variable reached_;
  std::uint64_t state_;
  std::map<side, std::uint64_t> issued_;
  std::map<key, work_queue*> pending_;  // transfers that have been issued and have not ended
  std::map<std::uint64_t, error> mismatches_;
  std::vector<std::uint64_t> cut_;
  std::uint64_t wires_{};
  std::optional<error> cycle_;
  bool stopped_{};
  std::vector<std::unique_ptr<work_queue>> queues_;
  std::vector<std::size_t> first_;  // of each device, where all its streams share one
};

}  // namespace slimpack::detail

#endif
