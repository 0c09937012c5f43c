#include <slimpack/executors/job/watchdog.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"
#include "tensor_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::tensor_faults_test {
namespace {

using adopt_tensor::row;
using rows = std::vector<row>;
using std::chrono::steady_clock;

/// deaf: a hang that interrupt() does not end; endless: of computes that offer none
enum class fault { none, throws, errs, hangs, deaf, endless };

/// As exceptions of libraries that add the calls which led to them.
constexpr const char* made_to_throw =
    "made to throw\nException raised from here (most recent call first):\nframe #0: main";

/// The stage of examples/adopt_tensor.cpp, which goes wrong in the n-th call of its compute, before its all-reduce or
/// in it.
struct faulty : adopt_tensor::stage {
  fault wrong{};
  bool in_all_reduce{};
  int calls_left{-1};
  std::atomic<bool>* released{};
  std::atomic<int> interrupts{};
  bool throws_when_interrupted{};

  void connect(adopt_tensor::all_reduce& group, std::size_t rank) {
    sum_up = [this, &group, rank](rows& values) {
      if (in_all_reduce && calls_left-- == 0 && !went_well()) return false;
      if (group(rank, values)) return true;
      if (throws_when_interrupted) throw std::runtime_error("a collective was interrupted");
      return false;
    };
    end_sum = [this, &group, rank] { ++interrupts, group.end(rank); };
  }
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (!in_all_reduce && calls_left-- == 0 && !went_well()) return error{errc::compute_failed, "made to fail"};
    return stage::forward(p, in, out);
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (!in_all_reduce && calls_left-- == 0 && !went_well()) return error{errc::compute_failed, "made to fail"};
    return stage::backward(p, in, out);
  }

  void reset() {
    for (adopt_tensor::head& h : own.own) {
      for (auto& matrix : h.din)
        for (row& r : matrix) r = {};
      for (row& r : h.dout) r = {};
    }
    sum = 0, wrong = fault::none, calls_left = -1, in_all_reduce = throws_when_interrupted = false, interrupts = 0;
    texts.clear();
  }
  [[nodiscard]] std::vector<row> gradients() const {
    std::vector<row> all;
    for (const adopt_tensor::head& h : own.own) {
      for (const auto& matrix : h.din) all.insert(all.end(), matrix.begin(), matrix.end());
      all.insert(all.end(), h.dout.begin(), h.dout.end());
    }
    return all;
  }

 private:
  bool went_well() {
    if (wrong == fault::throws) throw std::runtime_error(made_to_throw);
    while (wrong == fault::hangs ? interrupts == 0 : wrong >= fault::deaf && !*released)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return false;
  }
};

/// The same without interrupt().
struct endless {
  static constexpr backward_cuts cuts = backward_cuts::any;
  faulty* of{};
  [[nodiscard]] message_format format() const { return of->format(); }
  [[nodiscard]] double loss() const { return of->loss(); }
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) { return of->forward(p, in, out); }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return of->backward(p, in, out);
  }
  void discard(const piece& p) { of->discard(p); }
};

constexpr std::size_t stages = 2, replicas = 2, tensor = 2, places = stages * replicas, ranks = places * tensor;

/// Eight ranks as threads: two tensor ranks of two stages of two replicas, with a watchdog each.
class job {
 public:
  /// numbers: the trainer's, of each rank
  job(seconds time_out, std::vector<int> numbers)
      : number(std::move(numbers)), time_out_(time_out), world_(static_cast<int>(ranks), {.time_out = time_out}) {
    for (std::size_t t = 0; t < tensor; ++t)
      groups_.emplace_back(static_cast<int>(places), transports::threads::options{.time_out = time_out});
    for (std::size_t r = 0; r < ranks; ++r) {
      all.push_back(std::make_unique<faulty>());
      all[r]->own.own = tests::heads_of(r / tensor % stages, r % tensor, tensor);
      all[r]->released = &released;
      dogs_.push_back(std::make_unique<dog>(world_.endpoint(static_cast<int>(r)), dog::options{time_out, by_number()}));
    }
  }

  struct ended {
    result<step_report> report{error{}};
    std::string sink;  ///< all that it heard
    bool threw{};
    steady_clock::duration took{};
  };

  /// One step. plans: of each tensor rank
  std::vector<ended> step(const std::array<const plan*, tensor>& plans, std::int64_t step_number,
                          const std::vector<std::size_t>& stuck = {}) {
    released = false;
    sums_.clear();  // one that was ended is of no use any more
    for (std::size_t g = 0; g < places; ++g) sums_.push_back(std::make_unique<adopt_tensor::all_reduce>(tensor));
    for (std::size_t r = 0; r < ranks; ++r) all[r]->connect(*sums_[r / tensor], r % tensor);
    std::vector<std::future<ended>> running;
    for (std::size_t r = 0; r < ranks; ++r)
      running.push_back(std::async(std::launch::async,
                                   [this, &plans, step_number, r] { return run(*plans[r % tensor], step_number, r); }));
    std::vector<ended> all_ended(ranks);
    for (std::size_t r = 0; r < ranks; ++r)
      if (std::find(stuck.begin(), stuck.end(), r) == stuck.end()) all_ended[r] = running[r].get();
    if (!stuck.empty())
      std::this_thread::sleep_for(std::chrono::duration<double>(time_out_.value / 2));  // watchdogs name them meanwhile
    released = true;
    for (const std::size_t r : stuck) sums_[r / tensor]->end(r % tensor);
    for (const std::size_t r : stuck) all_ended[r] = running[r].get();
    return all_ended;
  }

  std::vector<int> number;
  std::atomic<bool> released{};
  bool offers_interrupt{true};
  std::vector<std::unique_ptr<faulty>> all;

 private:
  using dog = executors::watchdog<transports::threads::port>;

  [[nodiscard]] std::function<int(int)> by_number() const {
    return [this](int r) { return number[static_cast<std::size_t>(r)]; };
  }

  ended run(const plan& p, std::int64_t step_number, std::size_t r) {
    ended e;
    std::mutex heard;
    auto port = groups_[r % tensor].endpoint(static_cast<int>(r / tensor));
    const executors::packflow runs{
        .step = step_number,
        .sink =
            [&](std::string_view text) {
              const std::lock_guard lock(heard);
              e.sink += std::string(text) + '\n';
            },
        .trainer_rank = [this, r](int of) { return number[static_cast<std::size_t>(of) * tensor + r % tensor]; },
        .world = dogs_[r].get()};
    const auto begin = steady_clock::now();
    try {
      endless without{all[r].get()};
      e.report = offers_interrupt ? runs.execute(p, *all[r], port) : runs.execute(p, without, port);
    } catch (const std::exception& thrown) {
      e.threw = true;
      e.report = error{errc::compute_failed, thrown.what()};
    }
    e.took = steady_clock::now() - begin;
    return e;
  }

  seconds time_out_;
  transports::threads world_;
  std::vector<transports::threads> groups_;
  std::vector<std::unique_ptr<adopt_tensor::all_reduce>> sums_;  // of each place, for a step
  std::vector<std::unique_ptr<dog>> dogs_;
};

plan made(const std::vector<tokens>& lengths) {
  return planner_for<adopt_tensor::stage>({.stages = stages, .replicas = replicas, .tensor = tensor, .quantum = {4}})(
             lengths)
      .value();
}

bool says(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

/// The trainer's numbers: any.
std::vector<int> drawn_numbers(testing::generator& random) {
  std::vector<int> number(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto with = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(r)));
    number[r] = number[with], number[with] = 40 + static_cast<int>(r);
  }
  return number;
}

/// The numbers of ranks that a text has, in its order: those after "rank" or "ranks".
std::vector<int> named_ranks(const std::string& text) {
  std::vector<int> found;
  static const std::regex ranks_of("ranks? ((?:[0-9]+(?:, | and )?)+)"), number("[0-9]+");
  for (std::sregex_iterator at(text.begin(), text.end(), ranks_of), end; at != end; ++at) {
    const std::string list = (*at)[1];
    for (std::sregex_iterator one(list.begin(), list.end(), number); one != end; ++one)
      found.push_back(std::stoi((*one)[0]));
  }
  return found;
}

TEST(TensorFaults, EndAllRanksInTimeAndTheNextStepIsExact) {
  const plan p = made({{9}, {6}, {22}, {1}, {5}});
  const seconds time_out{1};
  constexpr std::uint64_t seed = 20;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  testing::generator random(seed);
  job on(time_out, drawn_numbers(random));
  std::vector<std::vector<row>> right;
  double loss = 0;
  for (const auto& one : on.all) one->reset();
  for (const job::ended& e : on.step({&p, &p}, 0)) {
    ASSERT_TRUE(e.report) << e.report.error().detail;
    loss = e.report.value().loss_sum;
  }
  const tests::undivided whole(stages, p.lengths);
  EXPECT_NEAR(loss, whole.loss, 1e-12 * whole.loss);
  for (const auto& one : on.all) right.push_back(one->gradients());

  std::map<fault, int> tried;
  steady_clock::duration longest{};
  std::int64_t step = 0;
  for (int n = 0, steps = tests::steps(tests::under_sanitizer ? 20 : 50); n < steps; ++n) {
    const auto bad = static_cast<std::size_t>(random.between(0, ranks - 1));
    constexpr std::array kinds{fault::throws, fault::throws, fault::throws, fault::errs, fault::errs,
                               fault::errs,   fault::hangs,  fault::deaf,   fault::deaf, fault::endless};
    const fault wrong = kinds[static_cast<std::size_t>(random.between(0, 9))];
    for (const auto& one : on.all) one->reset();
    faulty& culprit = *on.all[bad];
    culprit.wrong = wrong, culprit.in_all_reduce = random.once_in(2),
    culprit.calls_left = static_cast<int>(random.between(0, 5));
    for (const auto& one : on.all) one->throws_when_interrupted = random.once_in(2);
    on.offers_interrupt = wrong != fault::endless;
    std::vector<std::size_t> stuck;
    if (wrong == fault::deaf || wrong == fault::endless) stuck.push_back(bad);
    if (wrong == fault::endless) stuck.push_back(bad ^ 1);  // waits for it in the all-reduce
    SCOPED_TRACE("step " + std::to_string(n) + ": rank " + std::to_string(bad) + ", fault " +
                 std::to_string(static_cast<int>(wrong)) + (culprit.in_all_reduce ? " in its all-reduce" : "") +
                 ", call " + std::to_string(culprit.calls_left));
    const std::vector<job::ended> all = on.step({&p, &p}, ++step, stuck);
    if (culprit.calls_left >= 0) continue;  // its program has fewer calls
    ++tried[wrong];
    const bool in_sum = culprit.in_all_reduce;
    const int named = on.number[bad], peer = on.number[bad ^ 1];
    for (std::size_t r = 0; r < ranks; ++r) {
      ASSERT_FALSE(all[r].report) << "rank " << r;
      std::string text = all[r].report.error().detail;
      if (std::find(stuck.begin(), stuck.end(), r) == stuck.end()) longest = std::max(longest, all[r].took);
      EXPECT_EQ(all[r].threw, wrong == fault::throws && r == bad) << text;
      EXPECT_LE(on.all[r]->interrupts, 1);
      if (all[r].threw) {
        EXPECT_EQ(text, made_to_throw);
        text = all[r].sink.substr(0, all[r].sink.find('\n'));
      }
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      const std::vector<int> told = named_ranks(text);
      if (wrong == fault::throws || wrong == fault::errs) {
        EXPECT_TRUE(says(text, wrong == fault::throws ? "made to throw"
                               : in_sum               ? "the all-reduce failed"
                                                      : "made to fail"))
            << "rank " << r << ": " << text;
        EXPECT_EQ(told, std::vector{named}) << text;
        EXPECT_TRUE(says(text, ": sequence ")) << text;
        if (wrong == fault::throws) {
          EXPECT_TRUE(says(text, "made to throw (and 2 lines more)")) << text;
        }
      } else if (wrong == fault::deaf) {
        EXPECT_EQ(told, std::vector{named}) << text;
        EXPECT_TRUE(says(text, "goes on after interrupt()")) << text;
      } else {  // who hangs and who waits for it look alike
        EXPECT_TRUE(says(text, wrong == fault::hangs ? "were ended by interrupt()" : "offer no interrupt()")) << text;
        EXPECT_TRUE(told == (std::vector{named, peer}) || told == (std::vector{peer, named})) << text;
      }
    }
    if (wrong >= fault::deaf) {
      EXPECT_TRUE(says(all[bad].sink, wrong == fault::deaf ? "goes on after interrupt()" : "offers no interrupt()"))
          << all[bad].sink;
    }
    if (wrong == fault::hangs) {
      EXPECT_EQ(culprit.interrupts, 1);
    }
    if (n % 4 != 0) continue;
    for (const auto& one : on.all) one->reset();
    const std::vector<job::ended> next = on.step({&p, &p}, ++step);
    for (std::size_t r = 0; r < ranks; ++r) {
      ASSERT_TRUE(next[r].report) << next[r].report.error().detail;
      EXPECT_EQ(next[r].report.value().loss_sum, loss);
      EXPECT_EQ(on.all[r]->gradients(), right[r]);
      EXPECT_EQ(on.all[r]->interrupts, 0);
    }
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
  std::printf(
      "%d throws, %d errors, %d hangs, %d deaf and %d endless hangs on 8 ranks: the last ended after %lld ms, time-out "
      "1000, grace 250\n",
      tried[fault::throws], tried[fault::errs], tried[fault::hangs], tried[fault::deaf], tried[fault::endless],
      static_cast<long long>(ms));
  EXPECT_LT(ms, 2500);  // two graces more, and a machine that does other work
}

/// A compute that offers no interrupt(), and whose only call takes a while.
struct slow {
  adopt_tensor::stage own;
  static constexpr backward_cuts cuts = backward_cuts::any;
  [[nodiscard]] message_format format() const { return own.format(); }
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    return own.forward(p, in, out);
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    return own.backward(p, in, out);
  }
  void discard(const piece& p) { own.discard(p); }
};

TEST(TensorFaults, ACallThatCannotBeInterruptedIsNamed) {
  transports::threads job(1), alike(1);
  executors::watchdog<transports::threads::port> dog{job.endpoint(0), {seconds{.05}}};
  const plan p = planner_for<adopt_tensor::stage>({.quantum = {4}})(std::vector<tokens>{{9}}).value();
  slow one;
  one.own.own.own = tests::heads_of(0, 0, 1);
  one.own.sum_up = [](rows&) { return true; };
  std::mutex heard;
  std::string sink;
  const executors::packflow run{.sink =
                                    [&](std::string_view text) {
                                      const std::lock_guard lock(heard);
                                      sink += std::string(text) + '\n';
                                    },
                                .world = &dog};
  auto port = alike.endpoint(0);
  const result<step_report> step = run.execute(p, one, port);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, errc::timed_out);
  const std::string how_long = "rank 0 (replica 0, stage 0), F0: its compute has not returned for ";
  const std::size_t at = step.error().detail.find(how_long);
  ASSERT_NE(at, std::string::npos) << step.error().detail;
  EXPECT_GE(std::stoi(step.error().detail.substr(at + how_long.size())), 50) << step.error().detail;
  EXPECT_TRUE(says(step.error().detail, " ms")) << step.error().detail;
  EXPECT_TRUE(says(sink,
                   "rank 0 (replica 0, stage 0), F0: waits in its compute, which offers no interrupt(), so that "
                   "execute cannot return"))
      << sink;
}

TEST(TensorFaults, TensorRanksThatHoldDifferentPlansOrStepsRunNothing) {
  const plan p = made({{9}, {6}, {22}, {1}, {5}});
  const plan q = made({{9}, {6}, {22}, {1}, {6}});
  testing::generator random(21);
  job on({5}, drawn_numbers(random));
  for (const auto& one : on.all) one->reset(), one->calls_left = 0, one->wrong = fault::throws;
  for (const job::ended& e : on.step({&p, &q}, 1)) {
    ASSERT_FALSE(e.report);
    EXPECT_TRUE(says(e.report.error().detail, "run different plans")) << e.report.error().detail;
  }
}

}  // namespace
}  // namespace slimpack::tensor_faults_test
