#include "../laws/cases.hpp"
#include "../support/shared_and_tied.hpp"
#include "lending_plan.hpp"

#include <slimpack/core/soundness/is_sound.hpp>
#include <slimpack/executors/lending/loan_traffic.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::lending_test {
namespace {

using tests::exact_batch;
using stage_type = train::model_stage<double>;

plan planned(std::span<const tokens> lengths, const shape& on, int slices, attention_lending lending) {
  const plan p = tests::lending_plan(lengths, on, slices, lending);
  std::ostringstream laws;
  laws << testing::plan_laws(p, tests::vocabulary_cost());
  EXPECT_TRUE(laws.str().find("failed") == std::string::npos) << laws.str();
  return p;
}

struct found {
  double error{};
  std::int64_t messages{}, bytes_sent{};
};

/// Runs a step on threads. Checks that what each rank sends is what the plan says.
found run(const exact_batch& batch, const plan& p) {
  transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
  std::vector<found> all(static_cast<std::size_t>(tests::ranks_of(p)));
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    found& own = all[static_cast<std::size_t>(rank)];
    own.error = batch.error_of<stage_type>(p, endpoint).value();
    stage_type again(batch.model, p.shape, rank % p.shape.stages, batch.documents(), 7);
    const step_report step = executors::packflow{.step = 2}.execute(p, again, endpoint).value();
    const int stage = rank % p.shape.stages;
    const executors::loan_traffic says =
        executors::loan_traffic_of(p.replicas[static_cast<std::size_t>(rank / p.shape.stages)].loans,
                                   static_cast<std::uint32_t>(stage), stage_type::loans(batch.model, p.shape, stage));
    EXPECT_EQ(step.loan_messages, says.messages.forward + says.messages.backward);
    EXPECT_EQ(step.lent.value, static_cast<double>(says.bytes.forward + says.bytes.backward));
    own.messages = step.loan_messages, own.bytes_sent = static_cast<std::int64_t>(step.lent.value);
  });
  found sum;
  for (const found& one : all)
    sum.error = std::max(sum.error, one.error), sum.messages += one.messages, sum.bytes_sent += one.bytes_sent;
  return sum;
}

TEST(Lending, LossAndGradientsAreThoseOfUncutSequences) {
  double worst = 0;
  std::int64_t messages = 0, sent = 0;
  std::size_t all = 0, lend = 0;
  int plans = 0, k = 0;
  for (const int stages : {2, 3, 4})
    for (const int chunks : {1, 2})
      for (const int replicas : {1, 2})
        for (const attention_lending lending : {attention_lending::pairs, attention_lending::level}) {
          if (!tests::is_tried(k++, 5)) continue;
          const shape on{.stages = stages, .replicas = replicas, .chunks = chunks, .quantum = {4}};
          const exact_batch batch = tests::batch_to_lend(static_cast<std::uint64_t>(stages), on, 1 + (chunks == 1));
          const plan p = planned(batch.lengths, on, 2 * stages, lending);
          const found step = run(batch, p);
          EXPECT_LT(step.error, 1e-11) << stages << " stages, " << chunks << " chunks, " << replicas << " replicas, "
                                       << name_of(lending);
          const tests::lock_step_count steps = tests::lock_steps_of(p);
          worst = std::max(worst, step.error), messages += step.messages, sent += step.bytes_sent;
          all += steps.all, lend += steps.lending, ++plans;
        }
  std::printf("%d plans, %zu of %zu lock steps lend, %lld messages of %lld bytes, largest relative error %.2g\n", plans,
              lend, all, static_cast<long long>(messages), static_cast<long long>(sent), worst);
  EXPECT_GE(2 * lend, all);
}

// The vocabulary spread over the stages, uniform slices, a lead of 2 and lent attention: SlimPipe whole.
TEST(Lending, IsExactWhereTheVocabularyIsSpread) {
  double worst = 0;
  int k = 0;
  std::size_t all = 0, lend = 0;
  for (const int stages : {2, 3, 4})
    for (const int chunks : {1, 2})
      for (const attention_lending lending : {attention_lending::pairs, attention_lending::level}) {
        if (!tests::is_tried(k++, 5)) continue;
        const shape on{.stages = stages, .chunks = chunks, .quantum = {4}, .vocabulary = vocabulary::spread};
        const exact_batch batch = tests::batch_to_lend(static_cast<std::uint64_t>(stages), on, 1);
        const plan p = planned(batch.lengths, on, 2 * stages, lending);
        const double error = run(batch, p).error;
        EXPECT_LT(error, 1e-11) << stages << " stages, " << chunks << " chunks, " << name_of(lending);
        const tests::lock_step_count steps = tests::lock_steps_of(p);
        worst = std::max(worst, error), all += steps.all, lend += steps.lending;
      }
  std::printf("%zu of %zu lock steps lend, largest relative error %.2g\n", lend, all, worst);
  EXPECT_GE(2 * lend, all);
}

// In float the order of sums shows in a loss: an evaluation in which stages kept all attention to themselves had other
// bits than the step.
TEST(Lending, AnEvaluationLendsWhatTheForwardsOfItsStepLend) {
  std::int64_t messages = 0;
  for (const int stages : {2, 3, 4})
    for (const int chunks : {1, 2})
      for (const attention_lending lending : {attention_lending::pairs, attention_lending::level}) {
        const shape on{.stages = stages, .chunks = chunks, .quantum = {4}};
        const exact_batch batch = tests::batch_to_lend(static_cast<std::uint64_t>(stages), on, 1);
        const plan p = planned(batch.lengths, on, 2 * stages, lending);
        transports::threads world{stages, {.time_out = {60}}};
        std::vector<std::int64_t> sent(static_cast<std::size_t>(stages));
        tests::on_every_rank(stages, [&](int stage) {
          auto endpoint = world.endpoint(stage);
          train::model_stage<float> own(batch.model, on, stage, batch.documents(), 7);
          const step_report step = executors::packflow{}.execute(p, own, endpoint).value();
          const step_report alone = executors::packflow{.step = 1}.evaluate(p, own, endpoint).value();
          EXPECT_EQ(alone.loss_sum, step.loss_sum)
              << stages << " stages, " << chunks << " chunks, " << name_of(lending);
          EXPECT_EQ(own.held(), bytes{});
          const executors::loan_traffic says =
              executors::loan_traffic_of(p.replicas[0].loans, static_cast<std::uint32_t>(stage),
                                         train::model_stage<float>::loans(batch.model, on, stage));
          EXPECT_EQ(alone.loan_messages, says.messages.forward);
          EXPECT_EQ(alone.lent.value, static_cast<double>(says.bytes.forward));
          sent[static_cast<std::size_t>(stage)] = alone.loan_messages;
        });
        for (const std::int64_t one : sent) messages += one;
      }
  EXPECT_GT(messages, 0);
}

/// Stages lend, and two replicas share a sequence whose rows lie behind slices of one that is `own` tokens long. The
/// plan is made by hand: solvers share or lend.
struct shared_plan {
  plan made;
  std::size_t mixed{};  // packs that lend or help, and have a row
};
shared_plan shared(const shape& on, std::int64_t own) {
  std::vector<tokens> lengths{{96}, {96}};
  lengths.insert(lengths.end(), 4, tokens{own});
  lengths.insert(lengths.end(), 4, tokens{96 - own});
  const plan before = tests::lending_plan(lengths, on, 2 * on.stages, attention_lending::level);
  for (std::uint32_t one = 6; one < 9; ++one) {
    shared_plan found{before};
    if (tests::owner_of(before, {one}) == tests::owner_of(before, {9})) continue;
    tests::share(found.made, {one});
    found.mixed = tests::lend_beside_rows(found.made);
    if (found.mixed > 0 && is_sound(found.made)) return found;
  }
  return {};
}

TEST(Lending, IsExactWhereReplicasShareRowsInTheSamePacks) {
  double worst = 0;
  std::size_t mixed = 0;
  int k = 0;
  for (const int stages : {2, 3})
    for (const int chunks : {1, 2})
      for (const std::int64_t own : {36, 60}) {
        if (!tests::is_tried(k++, 3)) continue;
        const shape on{.stages = stages, .replicas = 2, .chunks = chunks, .quantum = {4}};
        const shared_plan p = shared(on, own);
        ASSERT_GT(p.mixed, 0u) << stages << " stages, " << chunks << " chunks, " << own << " tokens";
        train::config model = tests::small_model;
        model.layers = on.parts();
        const exact_batch batch(static_cast<std::uint64_t>(46 + k), model, on.quantum, p.made.lengths);
        transports::threads world{tests::ranks_of(p.made), {.time_out = {60}}};
        for (const executors::row_calls rows : {executors::row_calls::joined, executors::row_calls::apart})
          tests::on_every_rank(tests::ranks_of(p.made), [&](int rank) {
            auto endpoint = world.endpoint(rank);
            const double error = batch.error_of<stage_type>(p.made, endpoint, {.rows = rows}).value();
            EXPECT_LT(error, 1e-11) << stages << " stages, " << chunks << " chunks, " << own << " tokens";
            if (rank == 0) worst = std::max(worst, error);
          });
        mixed += p.mixed;
      }
  std::printf("%zu packs have rows and lend or help, largest relative error of rank 0 %.2g\n", mixed, worst);
}

// Rows are run before what is lent, in a call of their own.
TEST(Lending, IsRefusedInPacksThatHaveNothingButRows) {
  const shape on{.stages = 2, .replicas = 2, .quantum = {4}};
  plan p = tests::lending_plan(std::vector<tokens>(8, {96}), on, 4, attention_lending::level);
  std::uint32_t one = 0;
  while (tests::owner_of(p, {one}) == tests::owner_of(p, {7})) ++one;
  tests::share(p, {one});
  const exact_batch batch(1, tests::small_model, on.quantum, p.lengths);
  transports::threads world{4, {.time_out = {60}}};
  std::vector<std::string> said(4);
  tests::on_every_rank(4, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    said[static_cast<std::size_t>(rank)] = batch.error_of<stage_type>(p, endpoint).error().detail;
  });
  EXPECT_NE(said[0].find("has nothing but rows that replicas share, which are not run beside it: lend nothing in lock "
                         "steps that have it, or plan with lending none"),
            std::string::npos)
      << said[0];
}

// A compute that does not say that it can is told what to plan instead.
class lends_nothing : public stage_type {
 public:
  static constexpr bool lends_attention = false;
  using stage_type::model_stage;
};
TEST(Lending, IsRefusedWhereTheComputeCannot) {
  const shape on{.stages = 2, .quantum = {4}};
  const exact_batch batch = tests::batch_to_lend(1, on, 1);
  const plan p = planned(batch.lengths, on, 4, attention_lending::level);
  transports::threads world{2, {.time_out = {60}}};
  std::vector<std::string> said(2);
  tests::on_every_rank(2, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    said[static_cast<std::size_t>(rank)] = batch.error_of<lends_nothing>(p, endpoint).error().detail;
  });
  EXPECT_NE(said[0].find("the plan's stages lend each other attention, the compute does not say lends_attention = "
                         "true: plan with lending none"),
            std::string::npos)
      << said[0];
}

// The last stage answers with wider rows than the others take.
class wide_lender : public stage_type {
 public:
  template <class... Rest>
  wide_lender(const train::config& c, const shape& on, int stage, Rest&&... rest)
      : stage_type(c, on, stage, std::forward<Rest>(rest)...), wide_(stage + 1 == on.stages) {}
  [[nodiscard]] loan_format loans(std::uint32_t chunk) const {
    loan_format format = stage_type::loans(chunk);
    if (wide_) format.answered.forward.front().format.width += 1;
    return format;
  }

 private:
  bool wide_;
};
TEST(Lending, StagesWithMessagesOfDifferentSizesDoNotBegin) {
  const shape on{.stages = 3, .quantum = {4}};
  const exact_batch batch = tests::batch_to_lend(1, on, 1);
  const plan p = planned(batch.lengths, on, 6, attention_lending::level);
  transports::threads world{3, {.time_out = {60}}};
  std::vector<std::string> said(3);
  tests::on_every_rank(3, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    said[static_cast<std::size_t>(rank)] = batch.error_of<wide_lender>(p, endpoint).error().detail;
  });
  EXPECT_NE(
      said[0].find("ranks 0 and 2 send different messages in packs that stages run together: forward 5 messages of "),
      std::string::npos)
      << said[0];
}

// Five messages a pair and layer forward, nine backward.
TEST(Lending, SendsFiveMessagesForwardAndNineBackward) {
  const shape on{.stages = 4, .quantum = {4}};
  const std::vector<tokens> lengths{{96}, {96}};
  const plan p = planned(lengths, on, 8, attention_lending::pairs);
  train::config model = tests::small_model;
  model.layers = 8;
  by_pass<std::int64_t> loans;
  for (const loan& l : p.replicas[0].loans) ++loans[l.pass()];
  by_pass<std::int64_t> messages;
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const executors::loan_traffic says =
        executors::loan_traffic_of(p.replicas[0].loans, stage, stage_type::loans(model, on, static_cast<int>(stage)));
    for (const pass way : both_passes) messages[way] += says.messages[way];
  }
  EXPECT_GT(loans.forward, 0);
  EXPECT_EQ(messages.forward, 2 * 5 * loans.forward);
  EXPECT_EQ(messages.backward, 2 * 9 * loans.backward);
}

}  // namespace
}  // namespace slimpack::lending_test
