#ifndef SLIMPACK_SERVICE_ASYNC_PLANNER_HPP
#define SLIMPACK_SERVICE_ASYNC_PLANNER_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/detail/thrown.hpp>
#include <slimpack/service/plan_ticket.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack {

/// Plans batches ahead on a thread of its own: batch n + 1 is planned while n trains.
///
///   slimpack::async_planner ahead{plan_batch};
///   slimpack::plan_ticket next = ahead.submit(lengths_of(0));
///   for (int step = 0; step < steps; ++step) {
///     const slimpack::plan now = next.get().value();
///     next = ahead.submit(lengths_of(step + 1));
///     train(now);
///   }
///
/// Planner       of all replicas, or of the group of one (replica_planner): then tickets give rank_plans
/// Order         batches are planned one after the other, as submitted; the planner itself may use several threads
/// Back-pressure besides the batch at work `queue` batches may wait; submit waits until there is room for one more
/// Limits        of time: plan_ticket::hurry, which marks a plan as truncated; marks of the planner itself are replaced
/// Errors        of planning, and exceptions: delivered by the ticket's get
/// Destruction   cancels what waits and what is at work, and joins the thread; a search that looks at its stop token
///               ends soon
template <batch_planner Planner>
class async_planner {
  using made = made_by<Planner>;
  using job_type = detail::plan_job<made>;

 public:
  using ticket = basic_plan_ticket<made>;  ///< of plans, or of rank_plans

  /// Errors    std::system_error: no thread can be started
  explicit async_planner(Planner plan_batch, std::size_t queue = 1)
      : plan_batch_(std::move(plan_batch)),
        most_(std::max<std::size_t>(queue, 1)),
        worker_([this](const std::stop_token& over) { work(over); }) {}
  async_planner(const async_planner&) = delete;
  async_planner& operator=(const async_planner&) = delete;
  ~async_planner() {
    worker_.request_stop();
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<job_type>& job : queue_) job->cancel();
    if (at_work_) at_work_->cancel();
  }

  /// Puts a batch into the queue, once there is room. May be called from several threads.
  [[nodiscard]] ticket submit(std::vector<tokens> lengths) {
    auto job = std::make_shared<job_type>(std::move(lengths));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.size() < most_; });
    queue_.push_back(job);
    changed_.notify_all();
    return ticket(std::move(job));
  }

 private:
  void work(const std::stop_token& over) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, over, [this] { return !queue_.empty(); }) && !over.stop_requested()) {
      at_work_ = std::move(queue_.front());
      queue_.pop_front();
      changed_.notify_all();
      lock.unlock();
      plan_one(*at_work_);
      lock.lock();
      at_work_.reset();
    }
  }

  void plan_one(job_type& job) {
    if (job.answered()) return;  // cancelled
    std::optional<result<made>> found;
    std::exception_ptr thrown = detail::thrown_by([&] { found.emplace(plan_batch_(job.lengths(), job.stop())); });
    if (found && *found) part_of(found->value()).truncated = job.stop().stop_requested();
    job.answer(std::move(found), std::move(thrown));
  }

  Planner plan_batch_;
  std::size_t most_;
  std::mutex mutex_;  // guards the three below
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<job_type>> queue_;
  std::shared_ptr<job_type> at_work_;
  std::jthread worker_;  // last: it ends before what it uses
};

}  // namespace slimpack

#endif
