#ifndef SLIMPACK_TESTS_TRANSPORTS_WORK_STREAM_HPP
#define SLIMPACK_TESTS_TRANSPORTS_WORK_STREAM_HPP

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace slimpack {

/// A point in a stream's work, as a CUDA event.
class stream_event {
 public:
  void set() {
    {
      const std::lock_guard lock(mutex_);
      reached_ = true;
    }
    changed_.notify_all();
  }
  [[nodiscard]] bool query() const {
    const std::lock_guard lock(mutex_);
    return reached_;
  }
  void wait() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool reached_{};
};

/// Work that runs one job after the other in a thread of its own, out of step with the host that enqueues it, as a
/// CUDA stream runs kernels.
class work_stream {
 public:
  work_stream() : worker_([this] { run(); }) {}
  work_stream(const work_stream&) = delete;
  work_stream& operator=(const work_stream&) = delete;
  ~work_stream() {
    enqueue(nullptr);
    worker_.join();
  }

  /// Returns at once; what the work uses must live until the stream has run it.
  void enqueue(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_one();
  }

  /// Reached when all work enqueued so far has run.
  [[nodiscard]] std::shared_ptr<stream_event> record() {
    auto point = std::make_shared<stream_event>();
    enqueue([point] { point->set(); });
    return point;
  }

  /// Work enqueued from now on comes after an event of another stream. The host does not wait.
  void wait(std::shared_ptr<stream_event> other) {
    enqueue([other] { other->wait(); });
  }

  /// The host waits until all work enqueued so far has run.
  void finish() { record()->wait(); }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !queue_.empty(); });
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      if (!work) return;
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::thread worker_;  // last: it uses all others
};

}  // namespace slimpack

#endif
