#include <slimpack/executors/packflow.hpp>
#include <slimpack/executors/row_traffic.hpp>

#include "../laws/cases.hpp"
#include "everywhere.hpp"
#include "one_at_a_time.hpp"
#include "planned.hpp"
#include "shared_prefix_model.hpp"

#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>
#include <slimpack/testing/detail/random_sharers.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::packflow_sharing_test {
namespace {

result<plan> shared_plan(const shape& on, std::span<const tokens> lengths, std::uint32_t sharers,
                         exchange how = exchange::keep) {
  return tests::planned(
      on, lengths, slicers::equal_cost{},
      solvers::two_phase{
          .effort = solvers::search_budget::fast(), .most_sharers = sharers, .exchanges = exchange_set::only(how)},
      schedules::list{});
}

constexpr exchange all_exchanges[]{exchange::keep, exchange::queries, exchange::ring};

using by_exchange = std::map<exchange, int>;

template <class Compute>
class PackflowSharing : public ::testing::Test {};
using forms =
    ::testing::Types<shared_prefix_stage<backward_cuts::any>, shared_prefix_stage<backward_cuts::forward_cuts>,
                     shared_prefix_graphs<false>, shared_prefix_graphs<true>>;
TYPED_TEST_SUITE(PackflowSharing, forms);

// Numbers are integers that doubles hold exactly, so equality is meant to the last bit.
TYPED_TEST(PackflowSharing, GivesTheGradientsOfUncutSequences) {
  by_exchange plans{}, shared{};
  int n = 0;
  for (int seed = 1; seed <= 9; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const exchange how = all_exchanges[seed % 3];
    for (const shape& on :
         {shape{.stages = 1, .replicas = 2}, shape{.stages = 2, .replicas = 2}, shape{.stages = 3, .replicas = 3},
          shape{.stages = 1, .replicas = 4}, shape{.stages = 2, .replicas = 4}, shape{.stages = 4, .replicas = 2}}) {
      shape fine = on;
      fine.quantum = {random.between(1, 4)};
      std::vector<tokens> lengths{{random.between(120, 200)}};
      for (int i = 0; i < 6; ++i) lengths.push_back({random.between(1, 24)});
      if (seed % 2 == 0) lengths.push_back({random.between(80, 160)});
      if (!tests::is_tried(n++)) continue;
      const result<plan> made = shared_plan(fine, lengths, static_cast<std::uint32_t>(on.replicas), how);
      ASSERT_TRUE(made) << made.error().detail;
      const plan& p = made.value();
      ++plans[how];
      shared[how] += static_cast<int>(p.merges.size());
      std::vector<TypeParam> stages = tests::one_per_rank<TypeParam>(p);
      const auto reports = tests::run_everywhere(p, stages);
      const prefix_model::gradients expected = prefix_model::whole(lengths, on.parts() * 2);
      for (std::size_t rank = 0; rank < reports.size(); ++rank) {
        ASSERT_TRUE(reports[rank]) << reports[rank].error().detail << ", seed " << seed << ", " << on.stages << " x "
                                   << on.replicas;
        EXPECT_EQ(reports[rank].value().loss_sum, expected.loss) << "seed " << seed;
        for (std::size_t k = 0; k < stages[rank].gradient().size(); ++k)
          EXPECT_EQ(stages[rank].gradient()[k], expected.weight[static_cast<std::size_t>(stages[rank].part(0)) * 2 + k])
              << "rank " << rank << ", seed " << seed;
      }
    }
  }
  for (const exchange how : all_exchanges)
    EXPECT_GT(shared[how], plans[how] / 2 - 1)
        << "sequences must be shared by " << name_of(how) << " for this to show anything";
}

// One order of all transfers cannot wait for itself, even if of each rank only the transfer that it issued first may
// move.
TYPED_TEST(PackflowSharing, RunsOverATransportThatMovesOneMessageAtATime) {
  by_exchange plans{}, shared{};
  for (int seed = 1; seed <= tests::steps(60); ++seed) {
    if (!tests::is_tried(seed)) continue;
    testing::generator random(static_cast<std::uint64_t>(seed));
    const exchange how = all_exchanges[seed % 3];
    const std::int64_t deepest = how == exchange::ring ? 1 + seed % 4 / 3 : 3;  // a sequence of one row is for few
                                                                                // stages
    shape on{.stages = static_cast<int>(random.between(1, deepest)),
             .replicas = static_cast<int>(random.between(2, 4)),
             .quantum = {random.between(1, 4)}};
    std::vector<tokens> lengths{{random.between(60, 120)}};
    for (int i = 0; i < 6; ++i) lengths.push_back({random.between(1, 24)});
    if (random.once_in(2)) lengths.push_back({random.between(40, 90)});
    const result<plan> made = shared_plan(on, lengths, static_cast<std::uint32_t>(random.between(2, on.replicas)), how);
    ASSERT_TRUE(made) << made.error().detail;
    const plan& p = made.value();
    ++plans[how];
    shared[how] += !p.merges.empty();
    std::vector<TypeParam> stages = tests::one_per_rank<TypeParam>(p);
    tests::one_at_a_time world(tests::ranks_of(p), static_cast<std::uint64_t>(seed));
    const auto reports = tests::run_everywhere(world, std::vector<const plan*>(stages.size(), &p), stages);
    const prefix_model::gradients expected = prefix_model::whole(lengths, on.parts() * 2);
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
      ASSERT_TRUE(reports[rank]) << reports[rank].error().detail << ", seed " << seed << ", " << on.stages << " x "
                                 << on.replicas;
      EXPECT_EQ(reports[rank].value().loss_sum, expected.loss) << "seed " << seed;
      for (std::size_t k = 0; k < stages[rank].gradient().size(); ++k)
        EXPECT_EQ(stages[rank].gradient()[k], expected.weight[static_cast<std::size_t>(stages[rank].part(0)) * 2 + k])
            << "rank " << rank << ", seed " << seed;
    }
  }
  for (const exchange how : all_exchanges)
    EXPECT_GT(shared[how], plans[how] * 2 / 5 - 1) << name_of(how) << " of " << plans[how];
}

// What no solver here makes: rows of which some sharers have nothing, in random packs.
TYPED_TEST(PackflowSharing, RunsRowsOfWhichSharersHaveNothing) {
  const int cases = tests::cases(60);
  int shared = 0, absent = 0;
  for (int seed = 1; seed <= cases; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(1, 3)),
                   .replicas = static_cast<int>(random.between(2, 4)),
                   .quantum = {random.between(1, 4)}};
    std::vector<tokens> lengths{{random.between(30, 60)}};
    for (int i = 0; i < 3; ++i) lengths.push_back({random.between(1, 24)});
    solution given = testing::random_sharers(lengths, on, random);
    random.shuffle(given.merges);
    const plan p =
        planner{on, slicers::equal_cost{}, costs::quadratic{}, testing::detail::solution_as_given{&given}}(lengths)
            .value();
    shared += !p.merges.empty();
    for (const merge& m : p.merges)
      for (const pass way : both_passes)
        for (const auto& row : m.of(way)) absent += static_cast<int>(std::count(row.begin(), row.end(), merge::none));
    std::vector<TypeParam> stages = tests::one_per_rank<TypeParam>(p);
    tests::one_at_a_time world(tests::ranks_of(p), static_cast<std::uint64_t>(seed));
    const auto reports = tests::run_everywhere(world, std::vector<const plan*>(stages.size(), &p), stages);
    const prefix_model::gradients expected = prefix_model::whole(lengths, on.parts() * 2);
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
      ASSERT_TRUE(reports[rank]) << reports[rank].error().detail << ", seed " << seed << ", " << on.stages << " x "
                                 << on.replicas;
      EXPECT_EQ(reports[rank].value().loss_sum, expected.loss) << "seed " << seed;
      for (std::size_t k = 0; k < stages[rank].gradient().size(); ++k)
        EXPECT_EQ(stages[rank].gradient()[k], expected.weight[static_cast<std::size_t>(stages[rank].part(0)) * 2 + k])
            << "rank " << rank << ", seed " << seed;
    }
  }
  std::cout << cases << " plans, " << shared << " shared, sharers without tokens of a row " << absent << " times\n";
  EXPECT_GT(absent, cases);
}

/// Counts what a rank sends on the channel of rows; everything else is the port's.
class counting_port {
 public:
  using handle = transports::threads::handle;
  counting_port(transports::threads::port port, int channel) : port_(std::move(port)), channel_(channel) {}
  std::int64_t messages{};
  std::int64_t bytes{};

  [[nodiscard]] int rank() const { return port_.rank(); }
  [[nodiscard]] int size() const { return port_.size(); }
  result<handle> send(int peer, int channel, std::span<const std::byte> data) {
    if (channel == channel_) ++messages, bytes += static_cast<std::int64_t>(data.size());
    return port_.send(peer, channel, data);
  }
  result<handle> receive(int peer, int channel, std::span<std::byte> data) {
    return port_.receive(peer, channel, data);
  }
  result<bool> test(handle& h) { return port_.test(h); }
  result<void> wait(handle& h) { return port_.wait(h); }
  void abort(std::string_view reason) { port_.abort(reason); }

 private:
  transports::threads::port port_;
  int channel_;
};

TEST(RowTraffic, IsWhatTravelsToTheByte) {
  by_exchange shared{};
  for (int seed = 1; seed <= 9; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const exchange how = all_exchanges[seed % 3];
    for (const shape& on :
         {shape{.stages = 1, .replicas = 2, .quantum = {3}}, shape{.stages = 2, .replicas = 3, .quantum = {4}},
          shape{.stages = 1, .replicas = 4, .quantum = {2}}}) {
      const std::vector<tokens> lengths{{random.between(120, 200)}, {random.between(1, 40)}, {random.between(1, 40)}};
      const solution given = testing::random_sharers(lengths, on, random, how);
      const plan p = random.once_in(2) ? shared_plan(on, lengths, static_cast<std::uint32_t>(on.replicas), how).value()
                                       : planner{on, slicers::equal_cost{}, costs::quadratic{},
                                                 testing::detail::solution_as_given{&given}}(lengths)
                                             .value();
      shared[how] += static_cast<int>(p.merges.size());
      auto stages = tests::one_per_rank<shared_prefix_stage<backward_cuts::any>>(p);
      transports::threads world{tests::ranks_of(p), {.time_out = {20}}};
      tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
        counting_port port(world.endpoint(rank), 1 + 2 * on.chunks);
        shared_prefix_stage<backward_cuts::any>& stage = stages[static_cast<std::size_t>(rank)];
        const result<step_report> step = executors::packflow{}.execute(p, stage, port);
        ASSERT_TRUE(step) << step.error().detail;
        const row_format format = stage.rows(0);
        const executors::row_traffic sent = executors::row_traffic_of(p, rank, {&format, 1}).value();
        EXPECT_EQ(port.bytes, sent.bytes.forward + sent.bytes.backward) << "rank " << rank << ", seed " << seed;
        EXPECT_EQ(port.messages, sent.messages.forward + sent.messages.backward);
        EXPECT_EQ(step.value().exchanged, bytes{static_cast<double>(port.bytes)});
        std::size_t most = 0;  // keep: to each of the others in each layer of a row
        for (const merge& m : p.merges)
          if (std::find(m.replicas.begin(), m.replicas.end(), static_cast<std::uint32_t>(rank / on.stages)) !=
              m.replicas.end())
            most += (m.forward.size() + m.backward.size()) * (m.replicas.size() - 1) * 2;
        EXPECT_TRUE(how != exchange::keep || port.messages <= static_cast<std::int64_t>(most));
      });
    }
  }
  for (const exchange one : all_exchanges) EXPECT_GT(shared[one], 4) << name_of(one);
}

/// One that goes wrong in the first shared row of a rank, in one way or another.
class failing_sharer : public shared_prefix_stage<backward_cuts::any> {
 public:
  enum class fault {
    none,
    throws,
    short_rows,
    takes_first,
    skips_a_layer,
    wrong_layer,
    silent,
    owes_short,
    gives_queries,
    launches_kept,
    rotates_first,
    short_sums,
    stays_out,
    comes_home_late
  };
  failing_sharer(int stage, int stages, int chunks) : shared_prefix_stage(stage, stages, chunks) {}
  fault wrong{};

  using shared_prefix_stage::backward;
  using shared_prefix_stage::forward;

  result<void> forward(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing& with) {
    const std::vector<double> rows(static_cast<std::size_t>(length_of(with.own()).value), 1.0);
    switch (wrong) {
      case fault::throws:
        throw std::runtime_error("the layer broke");
      case fault::short_rows:
        (void)with.give(0, as_span(rows).first(8 * (rows.size() - 1)));
        return success();
      case fault::takes_first:
        return with.take(0).has_value() ? success() : result<void>(error{errc::compute_failed, "lost"});
      case fault::skips_a_layer:
        if (result<void> given = with.give(0, as_span(rows)); !given) return given;
        if (result<std::span<const std::byte>> taken = with.take(0); !taken) return std::move(taken).error();
        return out.put(rows);
      case fault::wrong_layer:
        return with.give(1, as_span(rows));
      case fault::gives_queries:
        return with.give(0, as_span(rows));
      case fault::launches_kept:
        return with.launch(0, as_span(rows));
      case fault::rotates_first:
        return with.rotate(0, as_span(rows)) ? success() : result<void>(error{errc::compute_failed, "lost"});
      case fault::short_sums:
        if (result<void> launched = with.launch(0, as_span(rows)); !launched) return launched;
        return with.rotate(0, as_span(rows).first(8)) ? success() : result<void>(error{errc::compute_failed, "lost"});
      case fault::stays_out:
        if (result<void> launched = with.launch(0, as_span(rows)); !launched) return launched;
        return out.put(rows);
      case fault::comes_home_late:
        if (result<void> launched = with.launch(0, as_span(rows)); !launched) return launched;
        if (const result<parcel> next = with.rotate(0, as_span(rows)); !next) return next.error();
        return with.launch(1, as_span(rows));
      case fault::silent:
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        break;
      default:
        break;
    }
    return shared_prefix_stage::forward(row, in, out, with);
  }
  result<void> backward(std::span<const piece> row, std::span<const std::byte> in, outgoing& out, sharing& with) {
    if (wrong == fault::owes_short) return with.owe(1, {});
    return shared_prefix_stage::backward(row, in, out, with);
  }

 private:
  static tokens length_of(std::span<const slice> slices) {
    tokens sum{};
    for (const slice& s : slices) sum += s.length;
    return sum;
  }
};

// Every rank ends, with one line that says where; nothing is held, and the next step over the same transport is exact.
TEST(PackflowSharingFailures, EndOnEveryRankWithOneLine) {
  const std::vector<tokens> lengths{{160}, {12}, {7}};
  using fault = failing_sharer::fault;
  struct expectation {
    fault wrong;
    const char* says;
    exchange how{exchange::keep};
  };
  for (const expectation& each :
       {expectation{fault::throws, "(replica 1, stage 0), F"},
        {fault::short_rows, "sequence 0, layer 0, rows given: "},
        {fault::takes_first, "sequence 0, layer 0, rows taken before it was given"},
        {fault::skips_a_layer,
         "the compute returned before layer 1 of sequence 0 was given and taken, which others wait for"},
        {fault::wrong_layer, "sequence 0, layer 1, rows given where layer 0 comes next"},
        {fault::silent, "from rank 71 (replica 1): "},
        {fault::owes_short, "sequence 0, layer 1, rows owed: 0 bytes, where the plan has"},
        {fault::gives_queries,
         "sequence 0, layer 0, rows given, where the plan's exchange is queries: launch and rotate", exchange::queries},
        {fault::launches_kept,
         "sequence 0, layer 0, rows launched, where the plan's exchange is keep: give and take, owe and due"},
        {fault::rotates_first, "sequence 0, layer 0, rows sent on before they were launched", exchange::ring},
        {fault::short_sums, "sequence 0, layer 0, rows added up: 8 bytes, where the plan has", exchange::queries},
        {fault::stays_out,
         "the compute returned before layer 0 of sequence 0 was sent round and came home, which others wait for",
         exchange::queries},
        {fault::comes_home_late, "sequence 0, layer 1, rows launched before the layer before was done with",
         exchange::queries},
        {fault::throws, "(replica 1, stage 0), F", exchange::queries},
        {fault::silent, "from rank 71 (replica 1): ", exchange::queries}}) {
    const fault wrong = each.wrong;
    const std::string says = each.says;
    // Of two stages, it is the next one that notices silence first.
    for (int stages_each = 1; stages_each <= (wrong == fault::silent ? 1 : 2); ++stages_each) {
      const plan p = shared_plan({.stages = stages_each, .replicas = 2, .quantum = {4}}, lengths, 2, each.how).value();
      if (each.how == exchange::ring && p.merges.empty()) continue;  // one row suits no second stage
      ASSERT_EQ(p.merges.size(), 1u);
      const auto ranks = static_cast<std::size_t>(tests::ranks_of(p));
      const std::size_t failing = ranks / 2;
      transports::threads world{tests::ranks_of(p), {.time_out = {0.3}}};
      std::vector<failing_sharer> stages = tests::one_per_rank<failing_sharer>(p);
      stages[failing].wrong = wrong;
      std::vector<std::string> lines(ranks);
      tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
        const auto at = static_cast<std::size_t>(rank);
        auto endpoint = world.endpoint(rank);
        try {
          const executors::packflow run{.trainer_rank = [](int of) { return 70 + of; }};
          const result<step_report> step = run.execute(p, stages[at], endpoint);
          lines[at] = step ? "no error" : step.error().detail;
        } catch (const std::runtime_error& e) {
          lines[at] = std::string("threw ") + e.what();
        }
      });
      EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                              [&](const std::string& line) { return line.find(says) != std::string::npos; }))
          << says << "; rank 0: " << lines[0] << "; rank " << failing << ": " << lines[failing];
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_NE(lines[rank], "no error") << says;
        EXPECT_EQ(stages[rank].held(), bytes{0}) << says << ", rank " << rank;
        EXPECT_TRUE(rank == failing || lines[rank].find("rank ") != std::string::npos) << lines[rank];
      }
      EXPECT_EQ(lines[failing] == "threw the layer broke", wrong == fault::throws) << lines[failing];

      for (failing_sharer& stage : stages) stage.wrong = fault::none, stage.zero();
      const auto again = tests::run_everywhere(world, std::vector<const plan*>(ranks, &p), stages);
      for (const result<step_report>& step : again) {
        ASSERT_TRUE(step) << step.error().detail << " after " << says;
        EXPECT_EQ(step.value().loss_sum, prefix_model::whole(lengths, p.shape.parts() * 2).loss);
      }
    }
  }
}

/// Breaks off in its n-th shared row, whichever pass it is of.
template <bool ByPack>
class breaking_graphs : public shared_prefix_graphs<ByPack> {
 public:
  using base = shared_prefix_graphs<ByPack>;
  using state = typename base::state;
  breaking_graphs(int stage, int stages, int chunks) : base(stage, stages, chunks) {}
  int left{-1};

  using base::backward;
  using base::forward;
  result<void> forward(std::span<const piece> row, std::span<state> states, std::span<const std::byte> in,
                       outgoing& out, sharing& with) {
    if (left-- == 0) return error{errc::compute_failed, "as asked"};
    return base::forward(row, states, in, out, with);
  }
  result<void> backward(std::span<const piece> row, std::span<state> states, std::span<const std::byte> in,
                        outgoing& out, sharing& with) {
    if (left-- == 0) {
      for (std::size_t k = 0; k < row.size(); ++k) this->discard(row[k], states[k]);  // it has them: none comes again
      return error{errc::compute_failed, "as asked"};
    }
    return base::backward(row, states, in, out, with);
  }
};

template <class Compute>
class PackflowSharedStates : public ::testing::Test {};
using with_states = ::testing::Types<breaking_graphs<false>, breaking_graphs<true>>;
TYPED_TEST_SUITE(PackflowSharedStates, with_states);

TYPED_TEST(PackflowSharedStates, ComeBackOnceWhereverARowBreaksOff) {
  const std::vector<tokens> lengths{{160}, {12}, {7}};
  const plan p = shared_plan({.stages = 2, .replicas = 2, .quantum = {4}}, lengths, 2).value();
  ASSERT_EQ(p.merges.size(), 1u);
  const auto rows = static_cast<int>(p.merges[0].forward.size() + p.merges[0].backward.size());
  ASSERT_GT(rows, 4);
  for (int row = 0; row <= rows; ++row) {  // the last of them never comes
    std::vector<TypeParam> stages = tests::one_per_rank<TypeParam>(p);
    stages[2].left = row;
    const auto reports = tests::run_everywhere(p, stages);
    for (std::size_t rank = 0; rank < stages.size(); ++rank) {
      EXPECT_EQ(reports[rank].has_value(), row == rows) << "row " << row << ", rank " << rank;
      EXPECT_EQ(stages[rank].live(), 0) << "row " << row << ", rank " << rank;
      EXPECT_EQ(stages[rank].held(), bytes{0}) << "row " << row << ", rank " << rank;
    }
  }
}

/// One of another row size than its peers.
class wide_sharer : public shared_prefix_stage<backward_cuts::any> {
 public:
  wide_sharer(int stage, int stages, int chunks) : shared_prefix_stage(stage, stages, chunks) {}
  std::int64_t width{1};
  [[nodiscard]] row_format rows(std::uint32_t chunk) const {
    row_format all = shared_prefix_stage::rows(chunk);
    return {all.layers, {width, element_type::float64}, all.gradients, {}, {}};
  }
};

TEST(PackflowSharingFailures, RanksWithRowsOfDifferentSizesDoNotBegin) {
  const std::vector<tokens> lengths{{160}, {12}, {7}};
  const plan p = shared_plan({.stages = 1, .replicas = 2, .quantum = {4}}, lengths, 2).value();
  std::vector<wide_sharer> stages = tests::one_per_rank<wide_sharer>(p);
  stages[1].width = 3;
  for (const result<step_report>& step : tests::run_everywhere(p, stages)) {
    ASSERT_FALSE(step);
    EXPECT_EQ(
        step.error().detail,
        "ranks 0 and 1 send rows that replicas share in different sizes: 8 and 8 bytes a token and layer, layers 2 and "
        "24 and 8 bytes a token and layer, layers 2");
  }
}

}  // namespace
}  // namespace slimpack::packflow_sharing_test
