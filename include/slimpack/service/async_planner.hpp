#ifndef SLIMPACK_SERVICE_ASYNC_PLANNER_HPP
#define SLIMPACK_SERVICE_ASYNC_PLANNER_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/detail/thrown.hpp>

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

namespace detail {

/// A batch on its way to a plan, shared by the ticket and by the thread that plans it. Answered once: what comes after
/// the first answer is dropped.
template <class Plan>
class plan_job {
 public:
  explicit plan_job(std::vector<tokens> lengths) : lengths_(std::move(lengths)) {}

  [[nodiscard]] const std::vector<tokens>& lengths() const noexcept { return lengths_; }
  [[nodiscard]] std::stop_token stop() const { return stop_.get_token(); }
  void hurry() { stop_.request_stop(); }

  void answer(std::optional<result<Plan>> found, std::exception_ptr thrown) {
    const std::lock_guard lock(mutex_);
    if (answered_) return;
    answered_ = true;
    found_ = std::move(found);
    thrown_ = std::move(thrown);
    changed_.notify_all();
  }
  void cancel() {
    answer(error{errc::cancelled, "planning was cancelled"}, nullptr);
    hurry();
  }

  [[nodiscard]] bool answered() const {
    const std::lock_guard lock(mutex_);
    return answered_;
  }
  /// The answer, which leaves; whoever asks again is told so.
  result<Plan> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return answered_; });
    std::optional<result<Plan>> found =
        std::exchange(found_, error{errc::invalid_input, "this plan was fetched before"});
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    return *std::move(found);
  }

 private:
  const std::vector<tokens> lengths_;
  std::stop_source stop_;
  mutable std::mutex mutex_;  // guards those below
  std::condition_variable changed_;
  bool answered_{};
  std::optional<result<Plan>> found_;
  std::exception_ptr thrown_;
};

}  // namespace detail

/// The plan of a submitted batch, to be fetched when it is needed (async_planner.hpp). Outlives the planner that gave
/// it. A ticket that is dropped does not cancel its batch.
/// Plan      plan, or rank_plan where a rank plans its own group (replica_planner)
template <class Plan>
class basic_plan_ticket {
 public:
  /// Tickets come from async_planner::submit.
  explicit basic_plan_ticket(std::shared_ptr<detail::plan_job<Plan>> job) : job_(std::move(job)) {}

  /// Waits for the plan, which leaves with the first call; so does what planning threw, which is thrown.
  /// Errors    those of the planner; cancelled: by `cancel`, or the async_planner is gone; invalid_input: the plan was
  ///           fetched before, from this ticket or a copy of it
  [[nodiscard]] result<Plan> get() { return job_->wait(); }

  /// Whether get answers without waiting.
  [[nodiscard]] bool ready() const { return job_->answered(); }

  /// Asks the search to end now with its best: get answers soon, with a plan marked as truncated. As under any
  /// wall-clock limit, one rank plans and the others get its plan. A batch still in the queue is planned in its turn,
  /// shortly. Plans that nobody hurried are not marked: they are what the planner gives without a limit.
  void hurry() { job_->hurry(); }

  /// Takes the batch back, in the queue or at work: get answers at once, with errc::cancelled, unless the plan was
  /// there before.
  void cancel() { job_->cancel(); }

 private:
  std::shared_ptr<detail::plan_job<Plan>> job_;
};

using plan_ticket = basic_plan_ticket<plan>;
using rank_plan_ticket = basic_plan_ticket<rank_plan>;

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
