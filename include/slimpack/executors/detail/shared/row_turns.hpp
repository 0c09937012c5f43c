#ifndef SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_TURNS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SHARED_ROW_TURNS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/detail/thrown.hpp>
#include <slimpack/executors/piece.hpp>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What is thrown out of meet() when the row has failed elsewhere. It is no std::exception, so that handlers of errors
/// leave it alone; catch (...) rethrows it.
struct left_row {};

/// The pieces of a row, each on a thread of its own, of which one runs at a time. The first is on the caller's, so that
/// this thread is deep in its call when all have met, and makes the exchange there.
class row_turns {
 public:
  using exchange = std::function<result<void>(int layer)>;

  row_turns(std::span<const piece> row, exchange made) : row_(row), exchange_(std::move(made)), strands_(row.size()) {}

  /// call(i): runs piece i, as result<void>; on_thread(): gives what is held meanwhile on another thread than this one
  template <class Call, class OnThread>
  result<void> run(const Call& call, const OnThread& on_thread) {
    const auto whole = [&](std::size_t k) {
      strands_[k].thread_id = std::this_thread::get_id();
      guarded([&]() -> result<void> {
        if (k == 0) return call(k);
        [[maybe_unused]] const auto held = on_thread();
        return call(k);
      });
      strands_[k].ended = true;
    };
    begin_ = [&](std::size_t k) { strands_[k].thread = std::thread([&, k] { whole(k), give_turn(0); }); };
    whole(0);
    guarded([&]() -> result<void> {
      for (std::size_t k = 1; k < row_.size() && !over_; ++k)
        if (go_on(k); !over_ && !strands_[k].ended) return apart(k, " has ended");
      return success();
    });
    over_ = true;
    for (std::size_t k = 1; k < row_.size(); ++k) {
      if (!strands_[k].thread.joinable()) continue;
      if (!strands_[k].ended) go_on(k);
      strands_[k].thread.join();
    }
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    if (failed_) return *std::move(failed_);
    return success();
  }

  /// Called by piece i. Returns when all have met in this layer, and the exchange is made.
  void meet(std::size_t i, int layer) {
    if (!over_ && std::this_thread::get_id() != strands_[i].thread_id)
      guarded([&] {
        return result<void>(error{errc::out_of_order, name_of(i) + " meets on another thread than its own"});
      });
    if (over_) leave();
    strands_[i].layer = layer;
    if (i == 0)
      meet_all();
    else
      give_turn(0), await_turn(i);
    if (over_) leave();
  }

 private:
  struct strand {
    std::thread thread;
    std::thread::id thread_id;
    int layer{};  // in which it has met
    bool ended{};
  };

  void meet_all() {
    guarded([this]() -> result<void> {
      const std::string first = " meets in layer " + std::to_string(strands_[0].layer);
      for (std::size_t k = 1; k < row_.size(); ++k) {
        go_on(k);
        if (over_) return success();
        if (strands_[k].ended || strands_[k].layer != strands_[0].layer) return apart(k, first);
      }
      return exchange_(strands_[0].layer);
    });
  }

  /// What went wrong first ends the row; what follows from it is not told.
  template <class Work>
  void guarded(const Work& work) {
    result<void> done = success();
    std::exception_ptr thrown = thrown_by([&] { done = work(); });
    if (over_ || (!thrown && done)) return;
    over_ = true;
    thrown_ = std::move(thrown);
    if (!thrown_) failed_ = std::move(done).error();
  }

  /// Lets piece k run until it meets or ends.
  void go_on(std::size_t k) {
    give_turn(k);
    if (!strands_[k].thread.joinable()) begin_(k);
    await_turn(0);
  }
  void give_turn(std::size_t to) {
    const std::lock_guard lock(mutex_);
    turn_ = to;
    passed_.notify_all();
  }
  void await_turn(std::size_t of) {
    std::unique_lock lock(mutex_);
    passed_.wait(lock, [&] { return turn_ == of; });
  }

  [[noreturn]] static void leave() {
#ifdef __cpp_exceptions
    throw left_row{};
#else
    std::terminate();
#endif
  }

  [[nodiscard]] std::string name_of(std::size_t i) const {
    const slice& s = row_[i].slice;
    return "sequence " + std::to_string(s.sequence.value) + " [" + std::to_string(s.begin.value) + ", " +
           std::to_string(s.end().value) + ')';
  }
  /// Piece k is elsewhere than the first.
  [[nodiscard]] error apart(std::size_t k, const std::string& first) const {
    return {
        errc::out_of_order,
        name_of(k) +
            (strands_[k].ended ? std::string(" has ended") : " meets in layer " + std::to_string(strands_[k].layer)) +
            " where " + name_of(0) + first + ": all pieces of a row meet in the same layers, in one order"};
  }

  std::span<const piece> row_;
  exchange exchange_;
  std::function<void(std::size_t)> begin_;
  std::mutex mutex_;  // of turn_; whose turn it is has all else
  std::condition_variable passed_;
  std::size_t turn_{};
  std::vector<strand> strands_;
  bool over_{};
  std::optional<error> failed_;
  std::exception_ptr thrown_;
};

}  // namespace slimpack::detail

#endif
