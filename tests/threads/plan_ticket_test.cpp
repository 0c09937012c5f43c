#include <slimpack/service/async_planner.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::plan_ticket_test {
namespace {

/// What an async_planner has of a batch: the job that it answers, and the ticket that it gives.
struct submitted {
  std::shared_ptr<detail::plan_job<plan>> job = std::make_shared<detail::plan_job<plan>>(std::vector<tokens>{{7}, {5}});
  plan_ticket ticket{job};

  void answer(bool truncated = false) {
    plan made;
    made.lengths = job->lengths(), made.truncated = truncated;
    job->answer(std::move(made), nullptr);
  }
};

void expect_fetched(plan_ticket& again) {
  EXPECT_TRUE(again.ready());
  const result<plan> second = again.get();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::invalid_input);
  EXPECT_EQ(second.error().detail, "this plan was fetched before");
}

TEST(PlanTicket, IsReadyOnceThereIsAnAnswer) {
  submitted batch;
  EXPECT_FALSE(batch.ticket.ready());
  batch.answer();
  EXPECT_TRUE(batch.ticket.ready());
  EXPECT_EQ(batch.ticket.get().value().lengths, (std::vector<tokens>{{7}, {5}}));
}

TEST(PlanTicket, WaitsForItsAnswer) {
  submitted batch;
  std::atomic<bool> answering{false};
  const std::jthread planning([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    answering = true;
    batch.answer();
  });
  EXPECT_TRUE(batch.ticket.get());
  EXPECT_TRUE(answering);
}

TEST(PlanTicket, GivesAPlanAnErrorOrWhatWasThrownOnceToAllCopies) {
  for (const int kind : {0, 1, 2}) {
    submitted batch;
    plan_ticket copy = batch.ticket;
    if (kind == 0) {
      batch.answer();
      EXPECT_TRUE(batch.ticket.get());
    } else if (kind == 1) {
      batch.job->answer(error{errc::out_of_memory, "too long"}, nullptr);
      EXPECT_EQ(batch.ticket.get().error().detail, "too long");
    } else {
      batch.job->answer(std::nullopt, std::make_exception_ptr(std::runtime_error("thirteen")));
      EXPECT_THROW(static_cast<void>(batch.ticket.get()), std::runtime_error);
    }
    expect_fetched(batch.ticket);
    expect_fetched(copy);
  }
}

TEST(PlanTicket, KeepsTheFirstOfTwoAnswers) {
  submitted batch;
  batch.job->answer(error{errc::invalid_input, "first"}, nullptr);
  batch.answer();
  EXPECT_EQ(batch.ticket.get().error().detail, "first");
}

TEST(PlanTicket, CancelledIsAnsweredAtOnceAndTheSearchIsAskedToStop) {
  submitted batch;
  batch.ticket.cancel();
  EXPECT_TRUE(batch.job->stop().stop_requested());
  batch.answer();  // too late
  const result<plan> none = batch.ticket.get();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::cancelled);
  EXPECT_EQ(none.error().detail, "planning was cancelled");
}

TEST(PlanTicket, CancelledTooLateKeepsItsPlan) {
  submitted batch;
  batch.answer();
  batch.ticket.cancel();
  EXPECT_TRUE(batch.ticket.get());
}

// The planner marks what it gives after that; the ticket only asks.
TEST(PlanTicket, HurriedAsksToStopAndWaitsForTheBest) {
  submitted batch;
  EXPECT_FALSE(batch.job->stop().stop_requested());
  batch.ticket.hurry();
  EXPECT_TRUE(batch.job->stop().stop_requested());
  EXPECT_FALSE(batch.ticket.ready());
  batch.answer(true);
  EXPECT_TRUE(batch.ticket.get().value().truncated);
}

TEST(PlanTicket, DroppedCancelsNothing) {
  submitted batch;
  std::optional<plan_ticket> dropped = batch.ticket;
  dropped.reset();
  EXPECT_FALSE(batch.job->stop().stop_requested());
  EXPECT_FALSE(batch.job->answered());
}

TEST(PlanTicket, OutlivesThePlannerThatGaveIt) {
  submitted batch;
  batch.answer();
  batch.job.reset();
  EXPECT_TRUE(batch.ticket.get());
}

TEST(PlanTicket, OfARanksPartGivesThePart) {
  static_assert(std::is_same_v<decltype(std::declval<rank_plan_ticket&>().get()), result<rank_plan>>);
  const auto job = std::make_shared<detail::plan_job<rank_plan>>(std::vector<tokens>{});
  rank_plan_ticket ticket{job};
  rank_plan made;
  made.division = 9;
  job->answer(std::move(made), nullptr);
  EXPECT_EQ(ticket.get().value().division, 9u);
}

}  // namespace
}  // namespace slimpack::plan_ticket_test
