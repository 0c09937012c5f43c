#ifndef SLIMPACK_SERVICE_PLAN_TICKET_HPP
#define SLIMPACK_SERVICE_PLAN_TICKET_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
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

}  // namespace slimpack

#endif
