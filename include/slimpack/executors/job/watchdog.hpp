#ifndef SLIMPACK_EXECUTORS_JOB_WATCHDOG_HPP
#define SLIMPACK_EXECUTORS_JOB_WATCHDOG_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/job/step_watch.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace slimpack::executors {

/// A step_watch over a transport of all ranks of the job, with a thread of its own on each. It is made once, on every
/// rank:
///
///   executors::watchdog world{transports::mpi(MPI_COMM_WORLD)};        // MPI_THREAD_MULTIPLE
///   executors::packflow run{.world = &world};
///   run.execute(plan, compute, transport);                             // over this tensor rank's own transport
///
/// Ranks agree on the step and its plan before the first instruction, and that it succeeded everywhere before execute
/// returns: no optimizer runs where another rank's step failed. In between the thread listens. When a rank fails, or a
/// call of its compute does not return in time, each rank hears why within milliseconds: its next call of the compute
/// is not made, and where one runs, the thread calls the compute's interrupt(), once. A compute that offers none, and
/// one whose call goes on all the same, is named to packflow's sink: execute cannot return before the call does.
///
/// Agreement takes ceil(log2 of the ranks) rounds of one message each (dissemination barrier).
/// Transport any; this thread alone calls it. One that cannot be called beside others says so (transports/hooks.hpp,
///           allows_threads), and no step begins
/// Errors    those of step_watch; invalid_input: the ranks of the job are no multiple of the plan's
template <transport Transport>
class watchdog final : public step_watch {
 public:
  struct options {
    seconds time_out{60};  ///< the longest that one call of a compute takes, and that ranks begin or end a step apart
  };

  explicit watchdog(Transport world) : watchdog(std::move(world), options{}) {}
  watchdog(Transport world, options o)
      : world_(std::move(world)),
        time_out_(std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(o.time_out.value))),
        grace_(std::min<clock::duration>(time_out_ / 4, std::chrono::seconds(1))),
        thread_([this] { run(); }) {}
  ~watchdog() override {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    news_.notify_all();
    thread_.join();
  }

  result<void> begin(const watched_step& step, rank_of_step rank, int ranks) override {
    if (result<void> allowed = allows_threads(world_); !allowed) return allowed;
    if (ranks < 1 || world_.size() % ranks != 0)
      return error{errc::invalid_input, "the watchdog's transport has " + std::to_string(world_.size()) +
                                            " ranks, the plan " + std::to_string(ranks) + ": a job has a multiple"};
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return now_ == phase::idle; });
    step_ = step;
    rank_ = std::move(rank);
    return go(lock, phase::beginning, phase::running);
  }

  result<void> enter() override {
    const std::lock_guard lock(mutex_);
    if (heard_) return *heard_;
    called_ = clock::now();
    in_call_ = true;
    return success();
  }
  void leave() noexcept override {
    const std::lock_guard lock(mutex_);
    in_call_ = false;
  }

  result<void> end() override {
    std::unique_lock lock(mutex_);
    return go(lock, phase::ending, phase::idle);
  }

  error fail(error why) override {
    if (!allows_threads(world_)) return why;  // then no step has begun
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return now_ != phase::closed; });  // of the step before
    if (now_ != phase::failed) {
      failed_ = std::move(why);
      now_ = phase::failing;
      news_.notify_all();
      news_.wait(lock, [this] { return now_ == phase::failed; });
    }
    return *heard_;
  }

  void close() override {
    if (!allows_threads(world_)) return;
    {
      const std::lock_guard lock(mutex_);
      now_ = phase::closed;
    }
    news_.notify_all();
  }

 private:
  using clock = std::chrono::steady_clock;
  using handle = typename Transport::handle;
  static constexpr std::chrono::milliseconds nap{1};
  static constexpr int alarm_channel = 2;  // those before are of the beginning and the end of a step

  /// Of the step. failing: this rank's has failed, the others are to be told; failed: it is known why; closed: its last
  /// call is over.
  enum class phase { idle, beginning, running, ending, failing, failed, closed };

  /// Called by the rank's thread, which waits until this one has come to the end of a phase.
  result<void> go(std::unique_lock<std::mutex>& lock, phase through, phase to) {
    if (heard_) return *heard_;
    now_ = through;
    came_ = clock::now();
    news_.notify_all();
    news_.wait(lock, [&] { return now_ != through; });
    if (now_ == to) return success();
    return *heard_;
  }

  // What follows is of the watchdog's thread.

  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [this] { return now_ != phase::idle || leaving_; });
      if (now_ == phase::idle) return;
      lock.unlock();
      result<void> through = step();
      lock.lock();
      if (!through) stop(lock, std::move(through).error());
      now_ = phase::idle;
      in_call_ = interrupted_ = named_ = false;
      heard_.reset();
      sends_.clear();
      received_.clear();
      lock.unlock();
      news_.notify_all();
    }
  }

  result<void> step() {
    if (now() == phase::failing) return failed_;
    if (result<void> armed = arm(); !armed) return armed;
    if (result<void> agreed = meet(0, phase::beginning, "has begun step " + std::to_string(step_.number)); !agreed)
      return agreed;
    if (const std::lock_guard lock(mutex_); now_ == phase::beginning) now_ = phase::running;
    news_.notify_all();
    result<void> ended = meet(1, phase::ending, "has ended step " + std::to_string(step_.number));
    if (ended) disarm();
    return ended;
  }

  /// Posts a receive that nobody answers before the end of the step: where this rank waits for no other's message, it
  /// tells of aborts all the same.
  result<void> arm() {
    result<handle> armed = world_.receive(world_.rank(), alarm_channel, std::span(&rung_, 1));
    if (!armed) return std::move(armed).error();
    alarm_ = std::move(armed).value();
    return success();
  }
  /// Answers it, so that between steps the transport has nothing to do. The step has ended on all ranks: what goes
  /// wrong from here on is another rank's next step, and this rank's next call says so.
  void disarm() {
    static constexpr std::byte end{};  // not here: where the wait fails, the transport may still read it
    result<handle> told = world_.send(world_.rank(), alarm_channel, std::span(&end, 1));
    if (told && world_.wait(told.value())) (void)world_.wait(alarm_);
  }

  /// A dissemination barrier. In round k a rank sends to the one 2^k ranks after it that all up to 2^k - 1 before it
  /// are here. The messages hold the step: where two ranks have others, so have two neighbours, who find it in round 0.
  /// here      the phase in which this rank has come to it
  result<void> meet(int channel, phase here, const std::string& what) {
    const int size = world_.size();
    for (int distance = 1; distance < size || distance == 1; distance *= 2)
      if (result<void> met = meet(channel, here, distance % size, what); !met) return met;
    for (message& m : sends_)
      for (;;) {
        result<bool> through = world_.test(m.on);
        if (!through) return std::move(through).error();
        if (through.value()) break;
        if (result<void> rested = rest(true, "a message to another rank of the job has not left"); !rested)
          return rested;
      }
    sends_.clear();
    return success();
  }

  /// A round of it.
  result<void> meet(int channel, phase here, int distance, const std::string& what) {
    const int size = world_.size(), to = (world_.rank() + distance) % size,
              from = (world_.rank() + size - distance) % size;
    watched_step& theirs = received_.emplace_back();  // not here: what an aborted step posted may write until abort
                                                      // returns
    result<handle> coming = world_.receive(from, channel, std::as_writable_bytes(std::span(&theirs, 1)));
    if (!coming) return std::move(coming).error();
    for (bool sent = false, came = false;;) {
      const phase at = now();
      if (!sent && at == here) {
        message& m = sends_.emplace_back();
        m.step = step_;
        result<handle> going = world_.send(to, channel, std::as_bytes(std::span(&m.step, 1)));
        if (!going) return std::move(going).error();
        m.on = std::move(going).value();
        sent = true;
      }
      result<bool> through = world_.test(came ? alarm_ : coming.value());
      if (!through) return std::move(through).error();
      came = came || through.value();
      if (at == phase::failing) return failed_;  // and nobody has failed before
      if (result<void> in_time = look_at_call(); !in_time) return in_time;
      if (sent && came) return agrees(from, theirs);
      if (result<void> rested = rest(
              sent, "no word that rank " + std::to_string(from) + " of the job's " + std::to_string(size) + ' ' + what);
          !rested)
        return rested;
    }
  }

  [[nodiscard]] result<void> agrees(int from, const watched_step& theirs) const {
    if (theirs == step_) return success();
    const std::string ranks = "ranks " + std::to_string(world_.rank()) + " and " + std::to_string(from) +
                              " of the job's " + std::to_string(world_.size());
    if (theirs.number != step_.number)
      return error{errc::disagreement, ranks + " run different steps: " + std::to_string(step_.number) + " and " +
                                           std::to_string(theirs.number)};
    return error{errc::disagreement,
                 ranks + (theirs.plan != step_.plan ? " run different plans" : ": one trains, the other evaluates")};
  }

  /// Waits a moment for news of this rank; hardly at all just after it has come, when the others are likely to be near.
  /// here      whether it has
  /// Errors    timed_out: long ago, and the others are late
  result<void> rest(bool here, const std::string& late) {
    std::unique_lock lock(mutex_);
    const clock::duration waited = clock::now() - came_;
    if (here && waited > time_out_)
      return error{errc::timed_out, rank_.place() + ": " + late + " in " + text_of(time_out_)};
    if (here && waited < nap) {
      lock.unlock();
      std::this_thread::yield();
      return success();
    }
    const phase before = now_;
    news_.wait_for(lock, nap, [&] { return now_ != before; });
    return success();
  }

  result<void> look_at_call() {
    const std::lock_guard lock(mutex_);
    if (!in_call_ || clock::now() - called_ < time_out_) return success();
    return error{errc::timed_out, rank_.place() + ": its compute has not returned for " + text_of(time_out_)};
  }

  /// Tells and hears: from here on the step has failed on all ranks. Returns when this one has closed it.
  void stop(std::unique_lock<std::mutex>& lock, error why) {
    now_ = phase::failed;
    heard_ = std::move(why);
    interrupt();
    lock.unlock();
    news_.notify_all();
    const clock::time_point told = clock::now();
    world_.abort(heard_->detail);
    lock.lock();
    while (now_ != phase::closed) {
      interrupt();
      if (in_call_ && !named_ && clock::now() - told > grace_) {
        named_ = true;
        if (rank_.sink)
          rank_.sink(rank_.place() + ": waits in its compute, " +
                     (rank_.interrupt ? "which goes on after interrupt()" : "which offers no interrupt()") +
                     ", so that execute cannot return: " + heard_->detail);
      }
      news_.wait_for(lock, nap);
    }
  }

  /// Requires   the mutex: so the call does not end meanwhile
  void interrupt() {
    if (!in_call_ || interrupted_ || !rank_.interrupt) return;
    interrupted_ = true;
    rank_.interrupt();
  }

  [[nodiscard]] phase now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  [[nodiscard]] static std::string text_of(clock::duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
  }

  struct message {
    watched_step step;
    handle on;
  };

  Transport world_;
  clock::duration time_out_;
  clock::duration grace_;  ///< how long a call may go on after the step has failed, before it is named
  mutable std::mutex mutex_;
  std::condition_variable news_;
  phase now_{phase::idle};
  clock::time_point came_;  ///< when this rank came to begin, or to end
  bool leaving_{};
  watched_step step_;
  rank_of_step rank_;
  bool in_call_{};
  clock::time_point called_;
  bool interrupted_{};
  bool named_{};
  std::optional<error> heard_;  ///< why the step has failed
  error failed_;                ///< why this rank's step has, where it is failing
  std::deque<message> sends_;
  std::deque<watched_step> received_;
  std::byte rung_{};  ///< where the alarm would be received
  handle alarm_;
  std::thread thread_;  // last: it uses all others
};

}  // namespace slimpack::executors

#endif
