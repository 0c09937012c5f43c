#ifndef SLIMPACK_EXECUTORS_JOB_WATCHDOG_HPP
#define SLIMPACK_EXECUTORS_JOB_WATCHDOG_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/detail/inquiry.hpp>
#include <slimpack/executors/detail/job_signals.hpp>
#include <slimpack/executors/job/step_watch.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::executors {

/// A step_watch over a transport of all ranks of the job, with a thread of its own on each. Each makes one, once:
///
///   executors::watchdog world{transports::mpi(MPI_COMM_WORLD)};        // MPI_THREAD_MULTIPLE
///   executors::packflow run{.world = &world};
///   run.execute(plan, compute, transport);                             // over this tensor rank's own transport
///
/// Ranks agree on the step and its plan before the first instruction, and that it succeeded everywhere before execute
/// returns: no optimizer runs where another rank's step failed. In between the thread listens. When a rank fails, each
/// rank hears why within milliseconds: its next call of the compute is not made, and where one runs, the thread calls
/// the compute's interrupt(), once.
///
/// When a rank is late, those that wait for it notice it as it does: a call of the compute or a wait of a transport
/// takes longer than the time-out. Whoever notices asks all ranks, and each interrupts its own call. Whose call ends
/// within the grace (a quarter of the time-out, at most a second) has waited for another. Whose does not, is named on
/// all ranks, and in its own packflow's sink, as execute cannot return before. Who has not answered in two graces is
/// named before all others: its process has ended. Where calls of several ranks go on, or all were ended, or computes
/// offer no interrupt(), it is one of these, and errors list them. So two graces after one has noticed, each rank knows
/// why, in the same words; in the plan's transport it waits until another rank of that ends it, or its time-out does.
///
/// Agreement takes ceil(log2 of the ranks) rounds of one message each (dissemination barrier), and the end of a step as
/// many messages more, at once.
/// Transport any; this thread alone calls it. One that cannot be called beside others says so (transports/hooks.hpp,
///           allows_threads), and no step begins
/// Errors    those of step_watch; invalid_input: the ranks of the job are no multiple of the plan's
template <transport Transport>
class watchdog final : public step_watch {
 public:
  struct options {
    seconds time_out{60};  ///< the longest that one call of a compute takes, and that ranks begin or end a step apart
    std::function<int(int)> trainer_rank{};  ///< the trainer's number of a rank of the job, alike on all: how errors
                                             ///< name it. Empty: the transport's
  };

  explicit watchdog(Transport world) : watchdog(std::move(world), options{}) {}
  watchdog(Transport world, options o)
      : world_(std::move(world)),
        signals_(world_, std::move(o.trainer_rank)),
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
    has_begun_ = true;
    return go(lock, phase::beginning, phase::running);
  }

  result<void> enter() override {
    std::unique_lock lock(mutex_);
    has_come_ = asks_;  // where a rank is late the step fails, and it is known soon why
    news_.wait(lock, [this] { return !asks_ || heard_; });
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
      if (is_interrupted_)
        has_failed_ = true;  // because of that
      else
        failed_ = std::move(why), failed_at_ = clock::now(), now_ = phase::failing;
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

  /// Of the step. failing: this rank's has failed, the others are to be told; failed: it is known why; closed: its last
  /// call is over.
  enum class phase { idle, beginning, running, ending, failing, failed, closed };

  /// Called by the rank's thread, which waits until this one has come to the end of a phase.
  result<void> go(std::unique_lock<std::mutex>& lock, phase through, phase to) {
    if (heard_) return *heard_;
    has_come_ = true;
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
      if (!through && through.error().code == errc::timed_out && has_begun_)
        through = ask_all(std::move(through).error());
      lock.lock();
      if (!through) stop(lock, std::move(through).error());
      now_ = phase::idle;
      in_call_ = is_interrupted_ = is_named_ = asks_ = has_begun_ = has_come_ = has_failed_ = false;
      heard_.reset();
      received_.clear();
      signals_.reset();
      lock.unlock();
      news_.notify_all();
    }
  }

  result<void> step() {
    if (result<void> armed = signals_.arm(); !armed) return armed;
    if (result<void> agreed = meet(0, phase::beginning, "has begun step " + std::to_string(step_.number)); !agreed)
      return agreed;
    if (const std::lock_guard lock(mutex_); now_ == phase::beginning) now_ = phase::running;
    news_.notify_all();
    if (result<void> ended = meet(1, phase::ending, "has ended step " + std::to_string(step_.number)); !ended)
      return ended;
    return disarm();
  }

  /// Tells others, so that between steps the transport has nothing to do. The step has ended on all ranks: what goes
  /// wrong from here on is another rank's next step, and this rank's next call says so. But where another asks now who
  /// is late, this one answers.
  result<void> disarm() {
    if (!signals_.ring(false)) return success();
    for (const clock::time_point ended = clock::now(); clock::now() - ended < time_out_;) {
      const result<void> quiet = signals_.listen();
      if (!quiet) return quiet.error().code == errc::timed_out ? quiet : success();
      const result<bool> left = signals_.have_left();
      if (!left || (left.value() && signals_.have_all_rung())) break;
      std::this_thread::yield();
    }
    return success();
  }

  /// A dissemination barrier. In round k a rank sends to the one 2^k ranks after it that all up to 2^k - 1 before it
  /// are here. The messages hold the step: where two ranks have others, so have two neighbours, who find it in round 0.
  /// here      the phase in which this rank has come to it
  result<void> meet(int channel, phase here, const std::string& what) {
    const int size = world_.size();
    for (int distance = 1; distance < size || distance == 1; distance *= 2)
      if (result<void> met = meet(channel, here, distance % size, what); !met) return met;
    for (;;) {
      result<bool> left = signals_.have_left();
      if (!left) return std::move(left).error();
      if (left.value()) return success();
      if (result<void> quiet = signals_.listen(); !quiet) return quiet;
      if (result<void> rested = rest(true, "a message to another rank of the job has not left"); !rested) return rested;
    }
  }

  /// A round of it.
  result<void> meet(int channel, phase here, int distance, const std::string& what) {
    const int size = world_.size(), to = (world_.rank() + distance) % size,
              from = (world_.rank() + size - distance) % size;
    watched_step& theirs = received_.emplace_back();  // not here: what an aborted step posted may write until abort
                                                      // returns
    result<handle> coming = world_.receive(from, channel, std::as_writable_bytes(std::span(&theirs, 1)));
    if (!coming) return signals_.named(std::move(coming).error());
    for (bool sent = false, came = false;;) {
      const phase at = now();
      if (!sent && at == here) {
        if (result<void> going = signals_.send(to, channel, std::as_bytes(std::span(&step_, 1))); !going) return going;
        sent = true;
      }
      if (!came) {
        result<bool> through = world_.test(coming.value());
        if (!through) return signals_.named(std::move(through).error());
        came = through.value();
      }
      if (result<void> quiet = signals_.listen(); !quiet) return quiet;
      if (at == phase::failing && !may_follow()) return failed_;  // and nobody has failed before
      if (result<void> in_time = look_at_call(); !in_time) return in_time;
      if (sent && came) return agrees(from, theirs);
      if (result<void> rested = rest(sent, "no word that rank " + signals_.number(from) + of_job() + ' ' + what);
          !rested)
        return rested;
    }
  }

  /// Whether this rank may have failed because another has, of which it is about to hear: whose step has failed may
  /// leave, so that others lose it.
  [[nodiscard]] bool may_follow() const {
    return failed_.code == errc::transport_failed && clock::now() - failed_at_ < grace_;
  }

  [[nodiscard]] result<void> agrees(int from, const watched_step& theirs) const {
    if (theirs == step_) return success();
    const std::string ranks = "ranks " + signals_.number(world_.rank()) + " and " + signals_.number(from) + of_job();
    return error{errc::disagreement,
                 ranks + (theirs.number != step_.number ? " run different steps: " + std::to_string(step_.number) +
                                                              " and " + std::to_string(theirs.number)
                          : theirs.plan != step_.plan ? std::string(" run different plans")
                                                      : std::string(": one trains, the other evaluates"))};
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
    news_.wait_for(lock, nap, [this, before = now_] { return now_ != before; });
    return success();
  }

  result<void> look_at_call() {
    const std::lock_guard lock(mutex_);
    if (!in_call_ || clock::now() - called_ < time_out_) return success();
    return error{errc::timed_out, rank_.place() + ": its compute has not returned for " + text_of(time_out_)};
  }

  /// A rank is late: asks all what they do, and gives what is then the error of the step on all.
  /// late      what this rank knows of it; without a word: nothing, since another rank asks
  error ask_all(error late) {
    const std::string place = begin_asking();
    const auto own_sign = [&]() -> result<detail::rank_sign> {
      const auto has_failed = [this] { return now_ == phase::failing && failed_.code != errc::timed_out; };
      std::unique_lock lock(mutex_);
      if (news_.wait_for(lock, nap, has_failed)) return failed_;
      if (now_ == phase::failing && late.detail.empty()) late = failed_;
      return sign_of_this(!late.detail.empty());
    };
    const result<detail::answers> all = signals_.ask(asked_, grace_, own_sign);
    if (!all) return all.error();
    const detail::suspects& found = all.value().found;
    if (found.ranks.empty())
      return late.detail.empty() ? error{errc::timed_out, place + ": a rank of the job is late"} : late;
    const auto number = [this](int r) { return signals_.number(r); };
    const auto name = [&](int r) { return r == world_.rank() ? place : "rank " + number(r); };
    return {errc::timed_out,
            found.sentence(all.value().signs, name, number,
                           asked_in_ == phase::beginning
                               ? "has not begun step " + std::to_string(step_.number) + " in " + text_of(time_out_)
                               : "has given no sign of life in " + text_of(2 * grace_))};
  }
  /// Gives the name of this rank, and what it does where its own thread waits meanwhile.
  std::string begin_asking() {
    const std::lock_guard lock(mutex_);
    asks_ = true;
    asked_ = clock::now();
    ran_ = in_call_ ? asked_ - called_ : clock::duration{};
    was_in_call_ = in_call_;
    asked_in_ = now_;
    interrupt();
    return in_call_ || now_ != phase::running ? rank_.place() : "rank " + signals_.number(world_.rank());
  }
  /// Requires   the mutex
  [[nodiscard]] detail::rank_sign sign_of_this(bool knows) const {
    using sign = detail::rank_sign;
    const auto ms = static_cast<std::int32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(ran_).count());
    const sign waits{sign::waits, knows ? 1 : 0};
    if (!was_in_call_) return waits;
    const bool has_waited = clock::now() - asked_ > grace_;
    if (in_call_) return !has_waited ? sign{} : sign{is_interrupted_ ? sign::deaf : sign::without_end, ms};
    if (has_failed_) return {sign::returned, ms};
    return has_come_ || !is_interrupted_ || has_waited ? waits : sign{};
  }

  /// Tells and hears: from here on the step has failed on all ranks. Returns when this one has closed it.
  void stop(std::unique_lock<std::mutex>& lock, error why) {
    now_ = phase::failed;
    heard_ = std::move(why);
    interrupt();
    lock.unlock();
    news_.notify_all();
    const clock::time_point since = asks_ ? asked_ : clock::now();
    world_.abort(heard_->detail);
    lock.lock();
    while (now_ != phase::closed) {
      interrupt();
      if (in_call_ && !is_named_ && clock::now() - since > grace_) {
        is_named_ = true;
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
    if (!in_call_ || is_interrupted_ || !rank_.interrupt) return;
    is_interrupted_ = true;
    rank_.interrupt();
  }

  [[nodiscard]] phase now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  [[nodiscard]] static std::string text_of(clock::duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
  }
  [[nodiscard]] std::string of_job() const { return " of the job's " + std::to_string(world_.size()); }

  Transport world_;
  detail::job_signals<Transport> signals_;
  clock::duration time_out_;
  clock::duration grace_;  ///< how long a call may go on after the step has failed, before it is named
  mutable std::mutex mutex_;
  std::condition_variable news_;
  phase now_{phase::idle};
  bool leaving_{};
  watched_step step_;
  rank_of_step rank_;
  clock::time_point came_, called_, failed_at_;  ///< when this rank came to begin, or to end; its call began; it failed
  bool has_begun_{}, in_call_{}, is_interrupted_{}, is_named_{};
  bool asks_{};  ///< since a rank is late, all are asked; from `asked_` on, in the phase asked_in_
  clock::time_point asked_;
  phase asked_in_{};
  bool was_in_call_{};  ///< then, in one that had run for `ran_`
  clock::duration ran_{};
  bool has_come_{}, has_failed_{};  ///< to the next call, the beginning or the end; after interrupt()
  std::optional<error> heard_;      ///< why the step has failed
  error failed_;                    ///< why this rank's step has, where it is failing
  std::deque<watched_step> received_;
  std::thread thread_;  // last: it uses all others
};

}  // namespace slimpack::executors

#endif
