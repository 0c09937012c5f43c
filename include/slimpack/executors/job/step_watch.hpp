#ifndef SLIMPACK_EXECUTORS_JOB_STEP_WATCH_HPP
#define SLIMPACK_EXECUTORS_JOB_STEP_WATCH_HPP

#include <slimpack/core/error.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace slimpack::executors {

/// What all ranks of a job must have in common before a step's first instruction, whichever transport runs it.
struct watched_step {
  std::uint64_t plan{};         ///< hash of the plan, or of the division where each rank plans its own group
  std::int64_t number{};        ///< as the trainer counts steps
  std::int64_t forward_only{};  ///< 1: an evaluation
  friend bool operator==(const watched_step&, const watched_step&) = default;
};

/// How a step on one rank tells the other ranks of the job that it failed, and hears of theirs, where they run plans
/// over several transports: tensor ranks. packflow takes one (its `world`); watchdog.hpp has one over a transport, and
/// a trainer that has a channel of its own for errors derives another.
///
/// In a step packflow calls begin, then enter and leave around each call of the compute, then end. Where the step
/// fails, it calls fail at any place before that, and close when no call of the compute runs any more. All are made on
/// the thread that called packflow. A step that fails on one rank fails on all: the next may begin when each has called
/// close.
class step_watch {
 public:
  step_watch() = default;
  step_watch(const step_watch&) = delete;
  step_watch& operator=(const step_watch&) = delete;
  virtual ~step_watch() = default;

  /// Of the rank on which a step runs. All of it may be asked and called from another thread, between enter and leave.
  struct rank_of_step {
    std::function<std::string()> place;          ///< which rank it is, and what it runs
    std::function<void()> interrupt;             ///< ends what a call of the compute waits for; null: it cannot be
    std::function<void(std::string_view)> sink;  ///< for what a result cannot say, since it does not return; may
                                                 ///< be null
  };

  /// Returns when all ranks of the job have begun this step.
  /// ranks     of the transport that the plan is run over: those of the job are a multiple
  /// Errors    disagreement: other ranks begin another step; timed_out; aborted: another rank failed
  virtual result<void> begin(const watched_step&, rank_of_step, int ranks) = 0;
  /// Before each call of the compute. Errors    aborted: another rank failed
  virtual result<void> enter() = 0;
  virtual void leave() noexcept = 0;
  /// Returns when the step has succeeded on all ranks of the job.
  virtual result<void> end() = 0;

  /// This rank's step failed: other ranks are told, unless they know. Returns the error to report: this one, as it is,
  /// or another that it is a consequence of: of a rank which failed before, or for which a call was interrupted. What
  /// the compute threw is thrown on in the first case alone.
  virtual error fail(error why) = 0;
  /// After fail: no call of the compute runs.
  virtual void close() = 0;
};

}  // namespace slimpack::executors

namespace slimpack::detail {

/// While it lives, a call of the compute runs, if allowed.
class watched_call {
 public:
  /// watch: may be null, all is allowed then
  explicit watched_call(executors::step_watch* watch) : watch_(watch) {
    if (watch_ != nullptr) entered_ = watch_->enter();
  }
  watched_call(const watched_call&) = delete;
  watched_call& operator=(const watched_call&) = delete;
  ~watched_call() {
    if (watch_ != nullptr && entered_) watch_->leave();
  }

  [[nodiscard]] bool allowed() const noexcept { return entered_.has_value(); }
  /// Requires   not allowed
  [[nodiscard]] const error& why() const { return entered_.error(); }

 private:
  executors::step_watch* watch_;
  result<void> entered_{success()};
};

/// Makes a call of the compute, of which a watch may have to end what it waits for; an error where the call is not
/// allowed.
/// watch     may be null
template <class Call>
auto watched(executors::step_watch* watch, const Call& call) -> decltype(call()) {
  const watched_call here(watch);
  if (!here.allowed()) return here.why();
  return call();
}

}  // namespace slimpack::detail

#endif
