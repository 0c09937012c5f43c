#ifndef SLIMPACK_TESTS_EXECUTORS_ONE_AT_A_TIME_HPP
#define SLIMPACK_TESTS_EXECUTORS_ONE_AT_A_TIME_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// Ranks whose transfers run one at a time: of each rank only the one that it issued first, on whatever channel, may
/// move, when the other side has issued it first, too. Nothing moves while any rank can still run, and then the one
/// that moves is drawn at random. Where no rank can run and nothing may move, every rank is told so: stricter than any
/// network. Channel 0 is for agreement before and after a step, and moves at once.
class one_at_a_time {
  struct operation {
    int rank{};
    int peer{};
    int channel{};
    bool sends{};
    const std::byte* from{};
    std::byte* to{};
    std::size_t size{};
    bool done{};
  };
  using shared_operation = std::shared_ptr<operation>;

 public:
  one_at_a_time(int ranks, std::uint64_t seed)
      : queues_(static_cast<std::size_t>(ranks)), running_(ranks), random_(seed) {}

  class port {
   public:
    using handle = shared_operation;
    port(one_at_a_time& world, int rank) : world_(&world), rank_(rank) {}
    port(const port&) = delete;
    port& operator=(const port&) = delete;
    ~port() { world_->leave(); }

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return static_cast<int>(world_->queues_.size()); }
    result<handle> send(int peer, int channel, std::span<const std::byte> bytes) {
      return world_->issue({rank_, peer, channel, true, bytes.data(), nullptr, bytes.size()});
    }
    result<handle> receive(int peer, int channel, std::span<std::byte> bytes) {
      return world_->issue({rank_, peer, channel, false, nullptr, bytes.data(), bytes.size()});
    }
    result<bool> test(handle& h) { return world_->is_done(h); }
    result<void> wait(handle& h) { return world_->wait(h); }
    void abort(std::string_view reason) { world_->stop(reason); }

   private:
    one_at_a_time* world_;
    int rank_;
  };

  [[nodiscard]] port endpoint(int rank) { return port(*this, rank); }

 private:
  result<shared_operation> issue(operation one) {
    const std::lock_guard lock(mutex_);
    if (stopped_) return why();
    auto made = std::make_shared<operation>(one);
    if (one.channel == 0)
      agree(made);
    else
      queues_[static_cast<std::size_t>(one.rank)].push_back(made);
    return made;
  }

  static bool match(const operation& a, const operation& b) {
    return a.rank == b.peer && b.rank == a.peer && a.channel == b.channel && a.sends != b.sends;
  }
  static void move(operation& a, operation& b) {
    const operation& sender = a.sends ? a : b;
    const operation& receiver = a.sends ? b : a;
    std::copy_n(sender.from, std::min(sender.size, receiver.size), receiver.to);
    a.done = b.done = true;
  }

  void agree(const shared_operation& made) {
    agreement_.push_back(made);
    for (const shared_operation& other : agreement_) {
      if (!match(*made, *other)) continue;
      move(*made, *other);
      break;
    }
    std::erase_if(agreement_, [](const shared_operation& o) { return o->done; });
    changed_.notify_all();
  }

  result<bool> is_done(const shared_operation& h) {
    const std::lock_guard lock(mutex_);
    if (stopped_ && !h->done) return why();
    return h->done;
  }

  result<void> wait(const shared_operation& h) {
    std::unique_lock lock(mutex_);
    waiting_.push_back(h);
    while (!h->done && !stopped_) {
      if (static_cast<int>(waiting_.size()) < running_ || !stuck() || advance())
        changed_.wait(
            lock, [&] { return h->done || stopped_ || (static_cast<int>(waiting_.size()) == running_ && stuck()); });
    }
    std::erase(waiting_, h);
    if (!h->done) return why();
    return success();
  }

  [[nodiscard]] bool stuck() const {
    return std::none_of(waiting_.begin(), waiting_.end(), [](const shared_operation& h) { return h->done; });
  }

  /// Moves one message after the other until some rank can run. Whether one can.
  bool advance() {
    while (stuck()) {
      std::vector<std::pair<std::size_t, std::size_t>> ready;
      for (std::size_t a = 0; a < queues_.size(); ++a)
        for (std::size_t b = a; b < queues_.size(); ++b)
          if (!queues_[a].empty() && !queues_[b].empty() && a != b && match(*queues_[a].front(), *queues_[b].front()))
            ready.emplace_back(a, b);
      if (ready.empty()) {
        stopped_ = true;
        why_ = "no transfer is first on both of its ranks";
        changed_.notify_all();
        return false;
      }
      const auto [a, b] =
          ready[static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(ready.size()) - 1))];
      move(*queues_[a].front(), *queues_[b].front());
      queues_[a].pop_front();
      queues_[b].pop_front();
    }
    changed_.notify_all();
    return true;
  }

  void stop(std::string_view reason) {
    const std::lock_guard lock(mutex_);
    if (!stopped_) why_ = reason;
    stopped_ = true;
    changed_.notify_all();
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }
  [[nodiscard]] error why() const { return {errc::aborted, why_}; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<shared_operation>> queues_;  // per rank, in the order issued
  std::vector<shared_operation> agreement_;
  std::vector<shared_operation> waiting_;
  int running_;
  bool stopped_{};
  std::string why_;
  testing::generator random_;
};

}  // namespace slimpack::tests

#endif
