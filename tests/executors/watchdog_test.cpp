#include <slimpack/executors/job/watchdog.hpp>

#include <slimpack/transports/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::watchdog_test {
namespace {

using executors::watched_step;
using dog = executors::watchdog<transports::threads::port>;

dog::rank_of_step named(std::string name, std::function<void()> interrupt = nullptr,
                        std::function<void(std::string_view)> sink = nullptr) {
  return {[name = std::move(name)] { return name; }, std::move(interrupt), std::move(sink)};
}

/// A job with a watchdog on each rank.
class job {
 public:
  explicit job(int ranks, seconds time_out = {20}) : world_(ranks, {.time_out = {20}}) {
    for (int r = 0; r < ranks; ++r) dogs_.push_back(std::make_unique<dog>(world_.endpoint(r), dog::options{time_out}));
  }
  /// Calls what(rank, its watchdog) on a thread per rank, and returns when all have.
  void on_all(const std::function<void(int, dog&)>& what) {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < dogs_.size(); ++r)
      threads.emplace_back([&, r] { what(static_cast<int>(r), *dogs_[r]); });
  }

 private:
  transports::threads world_;
  std::vector<std::unique_ptr<dog>> dogs_;
};

/// What each rank of two reports of a step that they begin differently; the next one is right.
std::vector<error> refusals(const watched_step& first, const watched_step& second) {
  job two(2);
  std::vector<error> told(2);
  two.on_all([&](int rank, dog& watch) {
    const result<void> begun = watch.begin(rank == 0 ? first : second, named("rank"), 1);
    EXPECT_FALSE(begun);
    if (!begun) told[static_cast<std::size_t>(rank)] = watch.fail(begun.error());
    watch.close();
    EXPECT_TRUE(watch.begin({1, 9}, named("rank"), 1));
    EXPECT_TRUE(watch.end());
  });
  return told;
}

// Also of numbers of ranks that are no power of two, and of a rank alone.
TEST(Watchdog, NoRankBeginsOrEndsAStepBeforeAllHaveComeTo) {
  for (const int ranks : {1, 2, 3, 5}) {
    job all(ranks);
    std::atomic<int> beginning{0}, ending{0};
    all.on_all([&](int rank, dog& watch) {
      for (int step = 1; step <= 3; ++step) {
        if (rank == step % ranks) std::this_thread::sleep_for(std::chrono::milliseconds(3));  // who is late
        ++beginning;
        EXPECT_TRUE(watch.begin({7, step}, named("rank"), 1));
        EXPECT_GE(beginning, ranks * step);
        EXPECT_TRUE(watch.enter());
        watch.leave();
        ++ending;
        EXPECT_TRUE(watch.end());
        EXPECT_GE(ending, ranks * step);
      }
    });
  }
}

TEST(Watchdog, RanksThatBeginDifferentStepsBeginNone) {
  const auto expect = [](const watched_step& other, const std::string& first, const std::string& second) {
    for (const error& e : refusals({1, 4, 0}, other))  // one finds it, or both do
      EXPECT_TRUE(e.detail == "ranks 0 and 1 of the job's 2 run " + first ||
                  e.detail == "ranks 1 and 0 of the job's 2 run " + second)
          << e.detail;
  };
  expect({1, 5, 0}, "different steps: 4 and 5", "different steps: 5 and 4");
  expect({2, 4, 0}, "different plans", "different plans");
  for (const error& e : refusals({1, 4, 0}, {1, 4, 1})) {
    EXPECT_TRUE(e.code == errc::disagreement || e.code == errc::aborted);
    EXPECT_NE(e.detail.find(" of the job's 2: one trains, the other evaluates"), std::string::npos) << e.detail;
  }
}

TEST(Watchdog, TellsAllRanksWhyOneHasFailedAndTheNextStepRuns) {
  job three(3);
  std::atomic<int> begun{0};
  three.on_all([&](int rank, dog& watch) {
    ASSERT_TRUE(watch.begin({1, 1}, named("rank"), 1));
    ++begun;
    if (rank == 2) {
      while (begun < 3) std::this_thread::yield();                // or others would be told before they have begun
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // rank 1 has rank 0's word by now, and waits for no
                                                                  // other
      const error own = watch.fail({errc::out_of_memory, "rank 2: no room"});
      EXPECT_EQ(own.code, errc::out_of_memory);
      EXPECT_EQ(own.detail, "rank 2: no room");
    } else {
      result<void> told = success();
      for (int calls = 0; rank == 1 && told && calls < 10'000; ++calls) {  // a second or more
        told = watch.enter();
        if (told) watch.leave();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      EXPECT_EQ(static_cast<bool>(told), rank == 0) << "rank 1 was not told between two calls";
      if (told) told = watch.end();
      ASSERT_FALSE(told);
      EXPECT_EQ(told.error().code, errc::aborted);
      EXPECT_EQ(told.error().detail, "rank 2: no room");
      EXPECT_EQ(watch.fail({errc::compute_failed, "a consequence"}).detail, "rank 2: no room");
    }
    watch.close();
    EXPECT_TRUE(watch.begin({1, 2}, named("rank"), 1));
    EXPECT_TRUE(watch.end());
  });
}

// Rank 1's call waits for something that rank 0, which has failed, never does.
TEST(Watchdog, InterruptsACallOnceWhereAnotherRankHasFailed) {
  job two(2);
  std::atomic<int> interrupts{0};
  std::atomic<bool> waits{false};
  two.on_all([&](int rank, dog& watch) {
    ASSERT_TRUE(
        watch.begin({1, 1}, named("rank", rank == 1 ? std::function<void()>([&] { ++interrupts; }) : nullptr), 2));
    if (rank == 1) {
      ASSERT_TRUE(watch.enter());
      waits = true;
      while (interrupts == 0) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(4));  // a call that takes its time to end is not
                                                                  // interrupted again
      watch.leave();
    }
    while (!waits) std::this_thread::yield();
    EXPECT_EQ(watch.fail({errc::compute_failed, rank == 0 ? "rank 0: no kernel" : "interrupted"}).detail,
              "rank 0: no kernel");
    watch.close();
  });
  EXPECT_EQ(interrupts, 1);
}

TEST(Watchdog, DoesNotWaitForARankThatIsLate) {
  job two(2, {.02});
  two.on_all([](int rank, dog& watch) {
    if (rank == 1) return;
    const result<void> begun = watch.begin({1, 3}, named("rank 0"), 1);
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, errc::timed_out);
    EXPECT_EQ(begun.error().detail, "rank 1 has not begun step 3 in 20 ms");
    EXPECT_EQ(watch.fail(begun.error()).code, errc::timed_out);
    watch.close();
  });
}

TEST(Watchdog, EndsAStepWhoseCallDoesNotReturnAndNamesTheCall) {
  job one(1, {.02});
  one.on_all([](int, dog& watch) {
    std::atomic<bool> told{false};
    std::string sink;
    const auto hear = [&](std::string_view text) { sink = text, told = true; };
    ASSERT_TRUE(watch.begin({1, 1}, named("rank 0, F0", nullptr, hear), 1));
    ASSERT_TRUE(watch.enter());
    while (!told) std::this_thread::yield();
    watch.leave();
    const error why = watch.enter().error();
    EXPECT_EQ(why.detail.find("rank 0, F0: its compute has not returned for "), 0u) << why.detail;
    EXPECT_NE(why.detail.find(" ms, and offers no interrupt()"), std::string::npos) << why.detail;
    EXPECT_EQ(watch.fail({errc::compute_failed, "later"}).code, errc::timed_out);
    watch.close();
    EXPECT_EQ(sink, "rank 0, F0: waits in its compute, which offers no interrupt(), so that execute cannot return: " +
                        why.detail);
  });
}

TEST(Watchdog, AJobIsAMultipleOfThePlansRanks) {
  job three(3);
  three.on_all([](int, dog& watch) {
    for (const int ranks : {2, 0, 4}) {
      const result<void> begun = watch.begin({}, named("here"), ranks);
      ASSERT_FALSE(begun);
      EXPECT_EQ(begun.error().code, errc::invalid_input);
      EXPECT_EQ(begun.error().detail,
                "the watchdog's transport has 3 ranks, the plan " + std::to_string(ranks) + ": a job has a multiple");
    }
    EXPECT_TRUE(watch.begin({}, named("here"), 3));
    EXPECT_TRUE(watch.end());
  });
}

/// A transport that another thread may not call.
struct of_one_thread : transports::threads::port {
  using port = transports::threads::port;
  explicit of_one_thread(port p) : port(std::move(p)) {}
  [[nodiscard]] result<void> allows_threads() const { return error{errc::invalid_input, "made for one thread"}; }
};

TEST(Watchdog, BeginsNoStepOverATransportOfOneThread) {
  transports::threads world(1);
  executors::watchdog<of_one_thread> watch{of_one_thread(world.endpoint(0))};
  const result<void> begun = watch.begin({}, {[] { return std::string("here"); }, nullptr, nullptr}, 1);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().detail, "made for one thread");
  EXPECT_EQ(watch.fail({errc::invalid_input, "of this rank alone"}).detail, "of this rank alone");
  watch.close();
}

}  // namespace
}  // namespace slimpack::watchdog_test
