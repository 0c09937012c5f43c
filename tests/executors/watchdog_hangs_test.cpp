#include <slimpack/executors/job/watchdog.hpp>

#include <slimpack/testing/generator.hpp>
#include <slimpack/transports/threads.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::watchdog_hangs_test {
namespace {

using std::chrono::steady_clock;

/// A transport whose rank may die: from then on it neither says nor hears anything.
struct mortal_port {
  using port = transports::threads::port;
  using handle = port::handle;
  port own;
  std::shared_ptr<std::atomic<bool>> is_dead = std::make_shared<std::atomic<bool>>(false);

  [[nodiscard]] int rank() const { return own.rank(); }
  [[nodiscard]] int size() const { return own.size(); }
  result<handle> send(int peer, int channel, std::span<const std::byte> data) {
    if (*is_dead) return handle{};
    return own.send(peer, channel, data);
  }
  result<handle> receive(int peer, int channel, std::span<std::byte> data) {
    if (*is_dead) return handle{};
    return own.receive(peer, channel, data);
  }
  result<bool> test(handle& h) {
    if (*is_dead) return false;
    return own.test(h);
  }
  result<void> wait(handle& h) { return own.wait(h); }
  void abort(std::string_view reason) {
    if (!*is_dead) own.abort(reason);
  }
};
using dog = executors::watchdog<mortal_port>;

/// What a rank does in its step.
enum class role {
  deaf,     ///< a call that interrupt() does not end
  hangs,    ///< a call that waits for nobody, and that interrupt() ends
  dies,     ///< a call in the middle of which the process ends
  victim,   ///< a call that waits for another rank, as in an all-reduce
  waits,    ///< waits in its transport, which gives up after the time-out
  computes  ///< short calls, one after the other
};

constexpr double time_out = .4;
constexpr auto grace = std::chrono::milliseconds(100);

/// A step of ranks with roles.
struct step {
  std::vector<role> roles;
  std::vector<int> number;  ///< the trainer's of each rank
  bool offers_interrupt{};
  std::atomic<bool> released{false};
  std::vector<error> told;
  std::vector<steady_clock::duration> took;

  void run() {
    const std::size_t ranks = roles.size();
    told.resize(ranks), took.resize(ranks);
    transports::threads world(static_cast<int>(ranks), {.time_out = {1}});
    std::vector<std::unique_ptr<dog>> dogs;
    std::vector<std::shared_ptr<std::atomic<bool>>> is_dead;
    const auto name = [this](int r) { return number[static_cast<std::size_t>(r)]; };
    for (std::size_t r = 0; r < ranks; ++r) {
      mortal_port port{world.endpoint(static_cast<int>(r))};
      is_dead.push_back(port.is_dead);
      dogs.push_back(std::make_unique<dog>(std::move(port), dog::options{seconds{time_out}, name}));
    }
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < ranks; ++r) threads.emplace_back([&, r] { rank(r, *dogs[r], *is_dead[r]); });
    std::this_thread::sleep_for(std::chrono::duration<double>(time_out) + 4 * grace);  // all know why by then
    released = true;
  }

  /// Whether it is in a call for long.
  [[nodiscard]] static bool calls(role one) { return one == role::hangs || one == role::victim || one == role::deaf; }

 private:
  void rank(std::size_t r, dog& watch, std::atomic<bool>& is_dead) {
    std::atomic<bool> interrupted{false};
    const std::string place = "rank " + std::to_string(number[r]) + ", F0";
    ASSERT_TRUE(watch.begin({1, 1},
                            {[&] { return place; },
                             offers_interrupt ? std::function<void()>([&] { interrupted = true; }) : nullptr, nullptr},
                            1));
    const auto began = steady_clock::now();
    const auto nap = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    error why{errc::compute_failed, place + ": a collective was interrupted"};
    const role own = roles[r];
    if (own == role::waits) {
      std::this_thread::sleep_for(std::chrono::duration<double>(time_out));
      why = {errc::timed_out, place + ": waited for a message"};
    }
    while (own == role::computes) {
      if (const result<void> entered = watch.enter(); !entered) {
        why = entered.error();
        break;
      }
      nap(), nap();
      watch.leave();
      nap();
    }
    if (calls(own) || own == role::dies) {
      ASSERT_TRUE(watch.enter());
      is_dead = own == role::dies;
      while (!released && (own == role::deaf || own == role::dies || !interrupted)) nap();
      watch.leave();
    }
    told[r] = watch.fail(why);
    took[r] = steady_clock::now() - began;
    watch.close();
  }
};

/// Ranks of the trainer's that a text names after "rank" or "ranks", in rising order.
std::vector<int> named(const std::string& text) {
  std::vector<int> found;
  const std::size_t at = text.find("rank"), end = std::min(text.find(": "), text.find(" has given"));
  for (std::size_t k = at; k < end && k < text.size(); ++k)
    if (text[k] >= '0' && text[k] <= '9' && text[k - 1] == ' ') found.push_back(std::stoi(text.substr(k)));
  std::sort(found.begin(), found.end());
  return found;
}

// Of each kind of culprit, among ranks of any other role: all say the same of the same ranks, and the culprit is among
// them, alone where that can be known.
TEST(WatchdogHangs, AllRanksNameWhoHangs) {
  constexpr std::uint64_t seed = 54;
  testing::generator random(seed);
  steady_clock::duration longest{};
  const int cases = tests::steps(12);
  for (int n = 0; n < cases; ++n) {
    const auto ranks = static_cast<std::size_t>(random.between(2, 9)),
               bad = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(ranks) - 1));
    step one;
    one.offers_interrupt = n % 4 != 3;
    const role culprit = std::array{role::deaf, role::hangs, role::dies, role::hangs}[static_cast<std::size_t>(n % 4)];
    std::vector<int> in_calls;
    for (std::size_t r = 0; r < ranks; ++r) {
      const role other = std::array{role::victim, role::victim, role::waits,
                                    role::computes}[static_cast<std::size_t>(random.between(0, 3))];
      one.roles.push_back(r == bad ? culprit : other);
      const auto with = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(r)));
      one.number.push_back(0);
      one.number[r] = one.number[with], one.number[with] = 50 + static_cast<int>(r);
    }
    if (std::find_if(one.roles.begin(), one.roles.end(),
                     [](role r) { return r == role::victim || r == role::waits; }) == one.roles.end())
      one.roles[(bad + 1) % ranks] = role::victim;  // or nobody would notice who dies
    for (std::size_t r = 0; r < ranks; ++r)
      if (step::calls(one.roles[r])) in_calls.push_back(one.number[r]);
    std::sort(in_calls.begin(), in_calls.end());
    one.run();
    SCOPED_TRACE("seed " + std::to_string(seed) + ", case " + std::to_string(n) + ", " + std::to_string(ranks) +
                 " ranks, rank " + std::to_string(one.number[bad]));
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::string& text = one.told[r].detail;
      if (r == bad && culprit == role::dies) continue;  // it is not there any more
      if (n % 2 == 1)
        EXPECT_EQ(named(text), in_calls) << text;  // all were ended, or none can be: it is one of them
      else
        EXPECT_EQ(named(text), std::vector{one.number[bad]}) << text;
      EXPECT_NE(text.find(culprit == role::dies   ? "has given no sign of life in 200 ms"
                          : culprit == role::deaf ? "goes on after interrupt()"
                          : one.offers_interrupt  ? "ended by interrupt()"
                                                  : "no interrupt()"),
                std::string::npos)
          << text;
      if (culprit != role::deaf || r != bad)
        if (one.offers_interrupt || !step::calls(one.roles[r])) longest = std::max(longest, one.took[r]);
    }
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
  std::printf("%d hangs and deaths: ranks know why after %lld ms at most, time-out 400, grace 100\n", cases,
              static_cast<long long>(ms));
  EXPECT_LT(ms, 600 + 1000);  // two graces after the time-out, and a machine that does other work
}

// Who has not been late fails for its own reason, whatever runs on other ranks.
TEST(WatchdogHangs, AFailureIsNoHang) {
  transports::threads world(2, {.time_out = {20}});
  dog first(mortal_port{world.endpoint(0)}, {seconds{20}}), second(mortal_port{world.endpoint(1)}, {seconds{20}});
  const auto begin = [](dog& watch) {
    return watch.begin({1, 1}, {[] { return std::string("here"); }, nullptr, nullptr}, 1).has_value();
  };
  std::optional<error> heard;
  std::atomic<bool> has_begun{false};
  std::jthread other([&] {
    EXPECT_TRUE(begin(second));
    while (!has_begun) std::this_thread::yield();
    heard = second.fail({errc::out_of_memory, "no room"});
    second.close();
  });
  EXPECT_TRUE(begin(first));
  has_begun = true;
  EXPECT_EQ(first.end().error().detail, "no room");
  first.close();
  other.join();
  EXPECT_EQ(heard->code, errc::out_of_memory);
}

}  // namespace
}  // namespace slimpack::watchdog_hangs_test
