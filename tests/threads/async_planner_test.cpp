#include <slimpack/planner.hpp>
#include <slimpack/service/async_planner.hpp>
#include <slimpack/service/plan_cache.hpp>

#include "../solvers/batches.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::async_planner_test {
namespace {

using namespace std::chrono_literals;
using tests::lengths_of;

/// What a test sees of the planner below, and tells it.
struct control {
  std::atomic<int> begun{0};
  std::atomic<int> finished{0};
  std::atomic<bool> open{false};
};

/// Works on a batch until it is let go or asked to stop; the plan says which.
struct gated {
  control* gate;

  result<plan> operator()(std::span<const tokens> lengths, const std::stop_token& stop) const {
    ++gate->begun;
    while (!gate->open && !stop.stop_requested()) std::this_thread::yield();
    ++gate->finished;
    if (lengths.empty()) return error{errc::invalid_input, "an empty batch"};
    if (lengths[0] == tokens{13}) throw std::runtime_error("thirteen");
    plan p;
    p.lengths.assign(lengths.begin(), lengths.end());
    return p;
  }
};

void wait_until(const auto& condition) {
  while (!condition()) std::this_thread::yield();
}

TEST(AsyncPlanner, GivesThePlansOfItsPlanner) {
  const planner plan_batch{shape{.stages = 4}};
  async_planner ahead{plan_batch};
  std::optional<plan_ticket> next;
  for (std::int64_t step = 0; step < 6; ++step) {
    const std::vector<tokens> lengths = lengths_of({30000 + step, 500, 500, 70});
    next = ahead.submit(lengths);
    const plan made = next->get().value();
    EXPECT_EQ(made.hash, plan_batch(lengths).value().hash);
    EXPECT_FALSE(made.truncated);
  }
}

TEST(AsyncPlanner, PlansWhileItsCallerGoesOn) {
  control gate;
  async_planner ahead{gated{&gate}};
  plan_ticket ticket = ahead.submit(lengths_of({1}));
  wait_until([&] { return gate.begun == 1; });
  EXPECT_FALSE(ticket.ready());
  gate.open = true;
  EXPECT_TRUE(ticket.get());
  EXPECT_TRUE(ticket.ready());
}

TEST(AsyncPlanner, PlansInTheOrderOfSubmission) {
  std::vector<std::int64_t> order;  // written by one thread, read after the last get
  async_planner ahead{[&](std::span<const tokens> lengths, const std::stop_token&) -> result<plan> {
                        order.push_back(lengths[0].value);
                        return plan{};
                      },
                      8};
  std::vector<plan_ticket> tickets;
  for (std::int64_t i = 0; i < 20; ++i) tickets.push_back(ahead.submit(lengths_of({i})));
  for (auto t = tickets.rbegin(); t != tickets.rend(); ++t) EXPECT_TRUE(t->get());
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

// One batch at work and two in the queue: the fourth must wait until the first is done.
TEST(AsyncPlanner, LetsNoMoreBatchesWaitThanItsQueueHolds) {
  control gate;
  async_planner ahead{gated{&gate}, 2};
  plan_ticket first = ahead.submit(lengths_of({1}));
  wait_until([&] { return gate.begun == 1; });
  std::vector<plan_ticket> queued;
  for (int i = 0; i < 2; ++i) queued.push_back(ahead.submit(lengths_of({2})));
  std::atomic<bool> through{false};
  std::jthread fourth([&] {
    plan_ticket last = ahead.submit(lengths_of({4}));
    through = true;
    EXPECT_TRUE(last.get());
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(through);
  gate.open = true;
  wait_until([&] { return through.load(); });
  EXPECT_GE(gate.finished, 1);
  EXPECT_TRUE(first.get());
  for (plan_ticket& t : queued) EXPECT_TRUE(t.get());
}

TEST(AsyncPlanner, DeliversErrorsAndExceptionsAtGet) {
  control gate;
  gate.open = true;
  async_planner ahead{gated{&gate}, 3};
  plan_ticket refused = ahead.submit({});
  plan_ticket thrown = ahead.submit(lengths_of({13}));
  plan_ticket planned = ahead.submit(lengths_of({14}));
  EXPECT_EQ(refused.get().error().detail, "an empty batch");
  EXPECT_THROW(static_cast<void>(thrown.get()), std::runtime_error);
  EXPECT_EQ(planned.get().value().lengths, lengths_of({14}));
}

TEST(AsyncPlanner, NeverPlansWhatIsCancelledInTheQueue) {
  control gate;
  async_planner ahead{gated{&gate}, 2};
  plan_ticket first = ahead.submit(lengths_of({1}));
  plan_ticket second = ahead.submit(lengths_of({2}));
  plan_ticket third = ahead.submit(lengths_of({3}));
  second.cancel();
  EXPECT_EQ(second.get().error().code, errc::cancelled);  // while the first is still at work
  gate.open = true;
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(third.get());
  EXPECT_EQ(gate.begun, 2);
}

TEST(AsyncPlanner, EndsTheSearchOfWhatIsCancelledAtWork) {
  control gate;
  async_planner ahead{gated{&gate}};
  plan_ticket ticket = ahead.submit(lengths_of({1}));
  wait_until([&] { return gate.begun == 1; });
  ticket.cancel();
  EXPECT_EQ(ticket.get().error().code, errc::cancelled);
  wait_until([&] { return gate.finished == 1; });  // though nobody opened
}

TEST(AsyncPlanner, EndsWithItsBestWhenHurried) {
  control gate;
  async_planner ahead{gated{&gate}};
  plan_ticket ticket = ahead.submit(lengths_of({1}));
  wait_until([&] { return gate.begun == 1; });
  ticket.hurry();
  EXPECT_TRUE(ticket.get().value().truncated);
}

TEST(AsyncPlanner, CancelsAllAndJoinsWhenDestroyed) {
  control gate;
  std::vector<plan_ticket> tickets;
  {
    async_planner ahead{gated{&gate}, 3};
    for (int i = 0; i < 4; ++i) tickets.push_back(ahead.submit(lengths_of({1})));
    wait_until([&] { return gate.begun == 1; });
  }
  EXPECT_EQ(gate.begun, 1);
  EXPECT_EQ(gate.finished, 1);
  for (plan_ticket& t : tickets) EXPECT_EQ(t.get().error().code, errc::cancelled);
}

TEST(AsyncPlanner, TakesBatchesFromSeveralThreads) {
  plan_cache cached{planner{shape{.stages = 2}}};
  async_planner ahead{std::ref(cached), 2};
  const std::uint64_t hash = cached(lengths_of({900, 80})).value().hash;
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) right += ahead.submit(lengths_of({900, 80})).get().value().hash == hash;
      });
  }
  EXPECT_EQ(right, 40);
}

}  // namespace
}  // namespace slimpack::async_planner_test
