#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>
#include <slimpack/solvers/refined.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace slimpack::faulty_costs_test {
namespace {

enum class hook : unsigned char {
  time,
  pack,
  overhead,
  call_overhead,
  message,
  exchange,
  weight_time,
  useful,
  collectives,
  least,
  kept,
  memory,
  covers,
  lending,
  vocabulary_time,
  vocabulary_message,
  gradient_buckets,
  reduce_time,
  like
};

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

/// Times of costs::quadratic, but for questions that `wrong` has another answer to. Answers every hook.
struct faulty {
  using rule = std::function<std::optional<double>(hook, const slice&, pass, int part)>;

  costs::quadratic sound{.per_pack = {6.4e-5}, .hop = {2.4e-5}};
  rule wrong;

  [[nodiscard]] double or_wrong(double given, hook h, const slice& s, pass p, int part) const {
    return wrong(h, s, p, part).value_or(given);
  }
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return {or_wrong(sound.time(s, p, part).value, hook::time, s, p, part)};
  }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds sum = overhead(p, part);
    for (const slice& s : pack) sum += time(s, p, part);
    return pack.empty() ? sum : seconds{or_wrong(sum.value, hook::pack, pack.front(), p, part)};
  }
  [[nodiscard]] seconds overhead(pass p, int part) const { return {or_wrong(6.4e-5, hook::overhead, {}, p, part)}; }
  [[nodiscard]] seconds call_overhead(pass p, int part) const {
    return {or_wrong(1e-6, hook::call_overhead, {}, p, part)};
  }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const {
    return {or_wrong(2.4e-5, hook::message, {{}, {0}, size}, p, part)};
  }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const {
    return {or_wrong(1e-5, hook::exchange, mine.empty() ? slice{row.sequence, {0}, row.end} : mine.front(), p, part)};
  }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return {or_wrong(sound.weight_time(s, part).value, hook::weight_time, s, pass::backward, part)};
  }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const {
    return {or_wrong(sound.time(s, p, part).value, hook::useful, s, p, part)};
  }
  [[nodiscard]] seconds collectives(const slice& s, pass p, int part) const {
    return {or_wrong(sound.time(s, p, part).value * 0.1, hook::collectives, s, p, part)};
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const {
    return {or_wrong(sound.time(s, p, part).value, hook::least, s, p, part)};
  }
  [[nodiscard]] bytes kept(const slice& s, int stage) const {
    return {or_wrong(static_cast<double>(s.length.value), hook::kept, s, pass::forward, stage)};
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    memory_rates held{.fixed = 1e6, .live_token = 8};
    held.gradient_token = or_wrong(4, hook::memory, {}, pass::forward, stage);
    return held;
  }
  [[nodiscard]] seconds covers(const slice& s, pass p, int part) const {
    return {or_wrong(sound.time(s, p, part).value * 0.1, hook::covers, s, p, part)};
  }
  [[nodiscard]] loan_messages lending(const loan& l, int part) const {
    const seconds each{or_wrong(1e-6, hook::lending, l.queries, l.pass(), part)};
    return {.layers = 2, .context = {1e-6}, .queries = {1e-6}, .results = each};
  }
  [[nodiscard]] seconds vocabulary_time(tokens size, instruction_kind call, int stage) const {
    const double given = 1e-5 + 1e-8 * static_cast<double>(size.value);
    return {
        or_wrong(given, hook::vocabulary_time, {{static_cast<std::uint32_t>(call)}, {0}, size}, pass::forward, stage)};
  }
  [[nodiscard]] seconds vocabulary_message(tokens size, message_kind rows, int stage) const {
    return {or_wrong(1e-6, hook::vocabulary_message, {{static_cast<std::uint32_t>(rows)}, {0}, size}, pass::forward,
                     stage)};
  }
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const {
    return kept_buckets(or_wrong(1e-4, hook::gradient_buckets, {}, pass::backward, part));
  }
  [[nodiscard]] seconds reduce_time() const { return {or_wrong(1e-3, hook::reduce_time, {}, pass::backward, 0)}; }
  [[nodiscard]] int like(int part) const {
    const double given = or_wrong(part, hook::like, {}, pass::forward, part);
    return std::abs(given) < 1e6 ? static_cast<int>(given) : -1;
  }

 private:
  /// A bucket whose gradients take so long, for as long as the program runs: models keep what they give.
  static std::span<const gradient_bucket> kept_buckets(double scatter) {
    static std::mutex mutex;
    static std::map<std::uint64_t, std::array<gradient_bucket, 1>> kept;
    const std::lock_guard lock(mutex);
    return kept.try_emplace(std::bit_cast<std::uint64_t>(scatter), std::array{gradient_bucket{0, {scatter}, {1e-4}}})
        .first->second;
  }
};

/// Offers only what it must: packs are priced by their slices.
struct plainly_faulty {
  faulty inside;
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const { return inside.time(s, p, part); }
};

/// A long sequence that replicas may share, and short ones.
const std::vector<tokens> mixed{{20000}, {3000}, {700}, {128}, {100}, {513}, {4096}, {1}, {2900}, {60}};

struct combination {
  const char* name;
  std::function<result<plan>(const faulty&, const shape&)> planned;
  bool cuts{true};        ///< asks about slices that begin inside a sequence
  bool chunks{};          ///< runs two chunks a stage
  bool apart{};           ///< asks about weight gradients
  bool shares{};          ///< of a giant sequence
  bool spreads{};         ///< the vocabulary over the stages
  bool offers_all{true};  ///< hooks of a cost model
};

template <class Slicer, class Solver, class Schedule, class Wrap = faulty>
auto with(Slicer slicer, Solver solver, Schedule schedule) {
  return [=](const faulty& cost, const shape& on) {
    if constexpr (std::is_same_v<Wrap, faulty>)
      return planner{on, slicer, cost, solver, schedule}(mixed);
    else
      return planner{on, slicer, Wrap{cost}, solver, schedule}(mixed);
  };
}

const std::vector<combination>& combinations() {
  static const solvers::two_phase quick{.effort = {20'000, 40}, .threads = 2};
  static const std::vector<combination> all{
      {.name = "two_phase", .planned = with(slicers::equal_cost{}, quick, schedules::list{}), .shares = true},
      {.name = "two_phase of a plain model",
       .planned = with<slicers::equal_cost, solvers::two_phase, schedules::list, plainly_faulty>({}, quick, {}),
       .offers_all = false},
      {.name = "uniform and zero_bubble",
       .planned = with(slicers::uniform{{1024}}, quick, schedules::zero_bubble{}),
       .apart = true},
      {.name = "whole and 1F1B", .planned = with(slicers::whole{}, quick, schedules::one_f_one_b{}), .cuts = false},
      {.name = "equal_cost and interleaved 1F1B",
       .planned = with(slicers::equal_cost{}, quick, schedules::one_f_one_b{}),
       .chunks = true},
      {.name = "refined", .planned = with(slicers::equal_cost{}, solvers::refined{quick}, schedules::list{})},
      {.name = "megatron",
       .planned = with(slicers::whole{}, solvers::megatron{}, schedules::one_f_one_b{}),
       .cuts = false},
      {.name = "dp_balanced",
       .planned = with(slicers::whole{}, solvers::dp_balanced{}, schedules::list{}),
       .cuts = false},
      {.name = "karmarkar_karp",
       .planned = with(slicers::whole{}, solvers::karmarkar_karp{}, schedules::list{}),
       .cuts = false},
      {.name = "two_phase of a spread vocabulary",
       .planned = with(slicers::equal_cost{}, quick, schedules::list{}),
       .chunks = true,
       .spreads = true},
      {.name = "slimpipe that lends",
       .planned =
           with(slicers::uniform{}, solvers::slimpipe{.slices = 4, .lending = attention_lending::level, .stages = 2},
                schedules::one_f_one_b{.lead = 2})},
      {.name = "chunked", .planned = with(slicers::uniform{{1024}}, solvers::chunked{}, schedules::list{})},
  };
  return all;
}

const combination& named(std::string_view name) {
  for (const combination& c : combinations())
    if (c.name == name) return c;
  throw std::invalid_argument("no combination has this name");
}

shape shape_for(const combination& c, int replicas) {
  return {.stages = 2,
          .replicas = replicas,
          .chunks = c.chunks ? 2 : 1,
          .vocabulary = c.spreads ? vocabulary::spread : vocabulary::last};
}

/// Planning ends with a sentence that holds these words.            Returns  the sentence
std::string expect_refused(const combination& c, const faulty::rule& wrong, int replicas,
                           std::vector<std::string> words) {
  SCOPED_TRACE(std::string(c.name) + " on " + std::to_string(replicas) + " replicas");
  const result<plan> made = c.planned(faulty{.wrong = wrong}, shape_for(c, replicas));
  EXPECT_FALSE(made);
  if (made) return {};
  EXPECT_EQ(made.error().code, errc::invalid_input);
  for (const std::string& word : words)
    EXPECT_NE(made.error().detail.find(word), std::string::npos) << "no \"" << word << "\": " << made.error().detail;
  return made.error().detail;
}

TEST(FaultyCosts, AreNamedWhereOnlyShortSlicesHaveNoTime) {
  for (const combination& c : combinations())
    for (const int replicas : {1, 2})
      for (const double wrong : {nan, inf, -1e-3, 1e300})
        expect_refused(c,
                       [&](hook h, const slice& s, pass, int) {
                         return h == hook::time && s.length < tokens{1000} ? std::optional{wrong} : std::nullopt;
                       },
                       replicas, {"slice [", "of sequence ", " on part ", "times must be from 0 to 1e12 s"});
}

TEST(FaultyCosts, AreNamedInOnePassOnOnePart) {
  for (const combination& c : combinations())
    expect_refused(c,
                   [&](hook h, const slice& s, pass p, int part) {
                     return h == hook::time && s.length < tokens{1000} && p == pass::backward && part == 1
                                ? std::optional{nan}
                                : std::nullopt;
                   },
                   2, {"the cost model gives nan s for slice [", "backward on part 1;"});
}

TEST(FaultyCosts, AreNamedWhereOneLengthHasNoTime) {
  for (const combination& c : combinations())
    expect_refused(c,
                   [&](hook h, const slice& s, pass, int) {
                     return h == hook::time && s.length == tokens{100} ? std::optional{-inf} : std::nullopt;
                   },
                   1, {"the cost model gives -inf s for slice [0, 100) of sequence 4, 100 tokens, "});
}

TEST(FaultyCosts, AreNamedWhereOnlyCutSlicesHaveNoTime) {
  for (const combination& c : combinations()) {
    if (!c.cuts) continue;
    const std::string told =
        expect_refused(c,
                       [&](hook h, const slice& s, pass, int) {
                         return h == hook::time && s.begin > tokens{0} ? std::optional{nan} : std::nullopt;
                       },
                       2, {"nan s for slice [", " tokens, ", " on part "});
    // Which of them is asked about first, is for the search to choose: one that a sequence of the batch has.
    unsigned long long begin = 0, end = 0, sequence = mixed.size();
    ASSERT_EQ(std::sscanf(told.c_str(), "the cost model gives nan s for slice [%llu, %llu) of sequence %llu,", &begin,
                          &end, &sequence),
              3)
        << told;
    ASSERT_LT(sequence, mixed.size()) << told;
    EXPECT_LT(0u, begin) << told;
    EXPECT_LT(begin, end) << told;
    EXPECT_LE(end, static_cast<unsigned long long>(mixed[sequence].value)) << told;
  }
}

/// Wrong for all but the longest sequence, which is asked about before planning begins.
faulty::rule wrong_in(hook at, double wrong) {
  return [=](hook h, const slice& s, pass, int part) {
    return h == at && part == 1 && s.length < tokens{20000} ? std::optional{wrong} : std::nullopt;
  };
}

TEST(FaultyCosts, AreNamedInEveryHook) {
  const combination& search = combinations()[0];
  const combination& apart = combinations()[2];
  const combination& spread = named("two_phase of a spread vocabulary");
  const combination& lends = named("slimpipe that lends");
  for (const double wrong : {nan, -1.0}) {
    expect_refused(search, wrong_in(hook::pack, wrong), 1,
                   {" s for a pack of ", " slices, the first slice [", " on part 1; times"});
    expect_refused(search, wrong_in(hook::message, wrong), 1,
                   {" s for the message of ", " tokens, ", " on part 1; times"});
    expect_refused(search, wrong_in(hook::useful, wrong), 1,
                   {" s for the useful time of slice [0, ", " on part 1; times"});
    expect_refused(search, wrong_in(hook::collectives, wrong), 1,
                   {" s for the collectives of slice [0, ", " on part 1; times"});
    expect_refused(search, wrong_in(hook::least, wrong), 1, {" s for the least time of slice [", " on part 1; times"});
    expect_refused(apart, wrong_in(hook::weight_time, wrong), 1,
                   {" s for the weight gradients of slice [", " on part 1; times"});
    expect_refused(search, wrong_in(hook::kept, wrong), 1,
                   {" bytes for what is kept of slice [", ", on stage 1; amounts of memory"});
    expect_refused(search, wrong_in(hook::memory, wrong), 1,
                   {" bytes for a rate of memory_rates, on stage 1; amounts"});
    expect_refused(search, wrong_in(hook::covers, wrong), 2,
                   {" s for what is covered by slice [", " on part 1; times"});
    expect_refused(lends, wrong_in(hook::lending, wrong), 1, {" s for the message of ", " on part 1; times"});
    expect_refused(spread, wrong_in(hook::vocabulary_time, wrong), 1,
                   {" s for a spread vocabulary and a pack of ", " tokens, on stage 1; times"});
    expect_refused(spread, wrong_in(hook::vocabulary_message, wrong), 1,
                   {" s for the message of ", " tokens, ", " on part 1; times"});
    expect_refused(search, wrong_in(hook::gradient_buckets, wrong), 2,
                   {" s for a bucket of gradients of part 1; times"});
    expect_refused(
        search,
        [&](hook h, const slice&, pass, int) { return h == hook::reduce_time ? std::optional{wrong} : std::nullopt; },
        2, {" s for the reduction of gradients; times"});
  }
}

TEST(FaultyCosts, AreNamedWhereAPartIsLikeNone) {
  for (const combination& c : combinations())
    for (const int wrong : {-1, 2, 100'000}) {
      if (!c.offers_all) continue;
      expect_refused(c,
                     [&](hook h, const slice&, pass, int part) {
                       return h == hook::like && part == 1 ? std::optional<double>(wrong) : std::nullopt;
                     },
                     2,
                     {"the cost model says that part 1 is like part " + std::to_string(wrong) +
                      "; like must be from 0 to the part itself"});
    }
}

/// Right until planning has begun: before, each of two parts is asked once.
struct late_like : costs::quadratic {
  int wrong{};
  std::shared_ptr<std::atomic<int>> asked = std::make_shared<std::atomic<int>>();
  [[nodiscard]] int like(int part) const { return ++*asked <= 2 ? part : wrong; }
};

TEST(FaultyCosts, AreNamedWhereAPartIsLaterLikeNone) {
  for (const int wrong : {-1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    const result<plan> made = planner{shape{.stages = 2}, slicers::equal_cost{}, late_like{{}, wrong}}(mixed);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, errc::invalid_input);
    EXPECT_NE(made.error().detail.find(" is like part " + std::to_string(wrong) + "; like must be"), std::string::npos)
        << made.error().detail;
  }
}

/// Right until planning has begun: before, two parts are asked in both passes, alone and in a pack.
struct late_call_overhead : costs::quadratic {
  double wrong{};
  std::shared_ptr<int> asked = std::make_shared<int>();
  [[nodiscard]] seconds call_overhead(pass, int) const { return {++*asked <= 8 ? 0 : wrong}; }
};

TEST(FaultyCosts, AreNamedInTheOverheadOfACall) {
  for (const double wrong : {nan, -1.0}) {
    const result<plan> made = planner{shape{.stages = 2}, slicers::equal_cost{}, late_call_overhead{{}, wrong}}(mixed);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().detail.find(" s for the overhead of a call, "), std::string::npos) << made.error().detail;
  }
}

TEST(FaultyCosts, AreNamedWhereOnlySomeExchangesHaveNoTime) {
  const combination& search = combinations()[0];
  expect_refused(search,
                 [&](hook h, const slice& s, pass, int) {
                   return h == hook::exchange && s.end() > tokens{128} ? std::optional{nan} : std::nullopt;
                 },
                 2, {"nan s for the exchange among 2 replicas of slice [", "of sequence 0, "});
}

/// Whether a refusal says which law of cost models the prices break, since a step would be faster than their own bound.
bool names_a_law(const std::string& said) {
  return said.rfind("the cost model contradicts itself: ", 0) == 0 &&
         said.find("It breaks cost_model law ") != std::string::npos;
}

/// Answers that change from question to question, and hold to no law, to the hooks up to `last`.
void expect_an_end(std::uint64_t seed, hook last) {
  std::cout << "seed " << seed << std::endl;  // at once: what is tested is that planning ends
  std::mt19937_64 random(seed);
  const double answers[] = {nan, inf, -inf, -1.0, 1e300, 0.0, -0.0, 1e-300, 1e12, 1e13, 5e-324};
  for (int trial = 0; trial < 30 / tests::one_in; ++trial) {
    const std::uint64_t salt = random();
    const std::uint64_t often = std::uint64_t{1} << (random() % 14);
    const bool only_times = random() % 2 == 0;  // answers that are times, and keep no law
    const faulty::rule wrong = [=, &answers](hook h, const slice& s, pass p, int part) -> std::optional<double> {
      if (h > last) return std::nullopt;
      std::uint64_t mix = salt;
      for (const std::uint64_t v : {static_cast<std::uint64_t>(h), static_cast<std::uint64_t>(s.begin.value),
                                    static_cast<std::uint64_t>(s.length.value), static_cast<std::uint64_t>(p),
                                    static_cast<std::uint64_t>(part)})
        mix = (mix ^ v) * 0x9e3779b97f4a7c15u, mix ^= mix >> 29;
      if (mix % often != 0) return std::nullopt;
      const double given = answers[(mix >> 20) % std::size(answers)];
      return only_times && !(given >= 0 && given <= 1e12) ? 1e-4 * static_cast<double>((mix >> 24) % 1000) : given;
    };
    for (const combination& c : combinations()) {
      const result<plan> made = c.planned(faulty{.wrong = wrong}, shape_for(c, 1 + trial % 2));
      if (made) {
        EXPECT_TRUE(std::isfinite(made.value().step_time.value)) << c.name << " in trial " << trial;
      } else {
        EXPECT_EQ(made.error().code, errc::invalid_input) << c.name << " in trial " << trial;
        const std::string& said = made.error().detail;
        const bool not_given =
            c.spreads && said.find(": make it for a shape with vocabulary::spread") != std::string::npos;
        EXPECT_TRUE(not_given || said.find(" must be ") != std::string::npos || names_a_law(said))
            << c.name << ": " << said;
      }
    }
  }
}

TEST(FaultyCosts, OfAnyKindEndInAPlanOrASentence) { expect_an_end(std::random_device{}(), hook::like); }

// Times of a vocabulary that are no numbers are taken for such as were not given.
TEST(FaultyCosts, WithoutAVocabularysTimesEndInASentenceOfTheirOwn) { expect_an_end(2457199895, hook::like); }

// Bounds and useful work count with what a spread vocabulary takes for one token, for all and for those of a sequence.
TEST(FaultyCosts, OfAVocabularyThatContradictThemselvesAreNamed) { expect_an_end(3162169800, hook::like); }

TEST(FaultyCosts, AreNamedWhereAVocabularyTakesLongerForASequenceThanForThePacks) {
  const combination& spread = named("two_phase of a spread vocabulary");
  const std::string step = "the cost model contradicts itself: by it the step takes ";
  const auto wrong_for = [&](tokens size) -> faulty::rule {
    return [=](hook h, const slice& s, pass, int) {
      return h == hook::vocabulary_time && s.length == size ? std::optional{100.0} : std::nullopt;
    };
  };
  for (const int replicas : {1, 2}) {
    expect_refused(
        spread, wrong_for({700}), replicas,
        {step, " s of all stages, but its useful work ",
         "It breaks cost_model law 4 (besides what a pack costs, tokens take no longer in several packs than in one): ",
         " on stage 0, besides that, a pack of each sequence takes "});
    expect_refused(spread, wrong_for({1}), replicas,
                   {step,
                    "It breaks cost_model law 3 (time does not fall as a pack grows): embed on stage 0, of 1 tokens "
                    "takes 100 s, of "});
    tokens all{};
    for (const tokens length : mixed) all += length;
    expect_refused(spread, wrong_for(all), replicas,
                   {step, " s, but no less than ",
                    "It breaks cost_model law 4 (a pack of more tokens takes no longer than several that have these "
                    "together): ",
                    ", a pack of all tokens takes 100 s, the plan's packs together "});
  }
}

// Sequences of 1e12 s and quanta of next to none: packs of equal work were tried down to the smallest numbers.
TEST(FaultyCosts, WhoseEqualPacksBecomeEndlesslySmallComeToAnEnd) { expect_an_end(67, hook::memory); }

// 0.7 times the smallest number is the smallest number. As many slices as there are quanta take no longer than one
// does: by law 4 such prices contradict themselves.
TEST(FaultyCosts, TooSmallToBecomeSmallerEndInAPlanOrALaw) {
  for (const combination& c : combinations()) {
    const faulty::rule least = [](hook h, const slice&, pass, int) {
      return h == hook::kept || h == hook::memory ? std::nullopt : std::optional{5e-324};
    };
    const result<plan> made = c.planned(faulty{.wrong = least}, shape_for(c, 1));
    EXPECT_TRUE(made || names_a_law(made.error().detail)) << c.name;
  }
}

/// A solver that knows one cost model, and no other.
struct for_quadratic {
  [[nodiscard]] result<solution> solve(const problem& batch, const slicers::equal_cost& slicer,
                                       const costs::quadratic& cost, const schedules::list& schedule) const {
    return solvers::megatron{}.solve(batch, slicer, cost, schedule);
  }
};

TEST(CheckedTimes, LeaveASolverForOneModelThatModel) {
  const planner plan_batch{shape{.stages = 2}, slicers::equal_cost{}, costs::quadratic{}, for_quadratic{},
                           schedules::list{}};
  const planner general{shape{.stages = 2}, slicers::equal_cost{}, costs::quadratic{}, solvers::megatron{},
                        schedules::list{}};
  EXPECT_EQ(plan_batch(mixed).value().hash, general(mixed).value().hash);
}

}  // namespace
}  // namespace slimpack::faulty_costs_test
