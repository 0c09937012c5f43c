#include <slimpack/testing/stage_compute_laws.hpp>

#include "../adoption/example_models.hpp"
#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace slimpack::stage_compute_laws_test {
namespace {

using numbers = tests::keyed<adopt::attention>;
using message = std::span<const std::byte>;

testing::report tried(const auto& model, int cases = 6, bool evaluates = false) {
  const testing::report r =
      testing::stage_compute_laws(model, {.cases = cases, .stages = 2, .one_model = false, .evaluates = evaluates});
  EXPECT_EQ(r.checks(8) > 0, evaluates);
  EXPECT_GT(r.checks(2), 0);
  EXPECT_TRUE(!r.failures().empty() || r.checks(1) > 0);  // what breaks a law before is not tried to fail
  return r;
}

/// Some failure says this sentence.
bool says(const testing::report& r, std::string_view sentence) {
  return std::any_of(r.failures().begin(), r.failures().end(),
                     [&](const testing::failure& f) { return f.line.find(sentence) != std::string::npos; });
}

TEST(StageComputeLawsReport, AcceptsTheModelsOfTheExamples) {
  constexpr int few = tests::under_sanitizer ? 2 : 6;
  const testing::report two = tried(tests::numbers_under_test<>{}, few, true);
  EXPECT_TRUE(two) << two;
  const testing::report autograd = tried(tests::autograd_under_test{}, few, true);
  EXPECT_TRUE(autograd) << autograd;
  const testing::report packs = tried(tests::graph_packs_under_test{}, few);
  EXPECT_TRUE(packs) << packs;
  const testing::report fixed = tried(tests::fixed_under_test{}, few);
  EXPECT_TRUE(fixed) << fixed;
  const testing::report arena = tried(tests::arena_under_test{}, few);
  EXPECT_TRUE(arena) << arena;
  const testing::report shared = tried(tests::shared_autograd_under_test{}, few);
  EXPECT_TRUE(shared) << shared;
  const testing::report calls = tried(tests::shared_calls_under_test{}, few, true);
  EXPECT_TRUE(calls) << calls;
  EXPECT_GT(tests::shared_calls_under_test::stage::most_pieces, 2U);  // rows that run on several threads
  const testing::report shared_arena =
      testing::stage_compute_laws(tests::shared_under_test{}, {.cases = few, .stages = 1});
  EXPECT_TRUE(shared_arena) << shared_arena;
}

struct overwrites : numbers {
  result<void> backward(const piece& p, message in, outgoing& out) {
    da = db = dc = 0;
    return numbers::backward(p, in, out);
  }
};
TEST(StageComputeLawsReport, FindsGradientsThatOverwriteThoseBefore) {
  const testing::report r = tried(tests::numbers_under_test<overwrites>{});
  EXPECT_TRUE(says(r, "gradients of cut sequences are those of whole ones")) << r;
}

struct overwrites_each_step : numbers {
  void begin_step(const step_outline&) { da = db = dc = 0; }
};
TEST(StageComputeLawsReport, FindsStepsThatDropTheGradientsOfTheLast) {
  const testing::report r = tried(tests::numbers_under_test<overwrites_each_step>{});
  EXPECT_TRUE(says(r, "gradients of two steps add up, in either order")) << r;
  EXPECT_FALSE(says(r, "gradients of cut sequences are those of whole ones")) << r;
}

struct forgets_its_prefix : numbers {
  result<void> forward(const piece& p, message in, outgoing& out) {
    std::vector<row>& kept = rows[with_key(p).slice.sequence];
    std::vector<row> before = std::exchange(kept, {});
    result<void> done = numbers::forward(p, in, out);
    kept.insert(kept.begin(), before.begin(), before.end());
    return done;
  }
};
TEST(StageComputeLawsReport, FindsSlicesThatForgetTheirPrefix) {
  const testing::report r = tried(tests::numbers_under_test<forgets_its_prefix>{});
  EXPECT_TRUE(says(r, "the loss of cut sequences is that of whole ones")) << r;
}

struct forgets_later_slices : numbers {
  result<void> backward(const piece& p, message in, outgoing& out) {
    result<void> done = numbers::backward(p, in, out);
    for (row& r : rows[with_key(p).slice.sequence]) r.dkey = r.dvalue = 0;
    return done;
  }
};
TEST(StageComputeLawsReport, FindsGradientsThatDoNotCrossTheBordersOfSlices) {
  const testing::report r = tried(tests::numbers_under_test<forgets_later_slices>{});
  EXPECT_GT(r.broken(2), 0) << r;
  EXPECT_FALSE(says(r, "the loss of")) << r;
}

struct weighs_itself : numbers {  // a mean over the piece
  result<void> forward(piece p, message in, outgoing& out) { return p.loss_weight = 1, numbers::forward(p, in, out); }
  result<void> backward(piece p, message in, outgoing& out) { return p.loss_weight = 1, numbers::backward(p, in, out); }
};
TEST(StageComputeLawsReport, FindsAWeightThatIsNotUsed) {
  const testing::report r = tried(tests::numbers_under_test<weighs_itself>{});
  EXPECT_TRUE(says(r, "gradients of cut sequences are those of whole ones")) << r;
}

/// Its data-parallel hooks reduce in each call, or so often in the call that is said to be the last.
template <bool Early, int Times>
struct with_hooks : numbers {
  int reduced{};
  result<void> backward(const piece& p, message in, outgoing& out) {
    reduced += Early || p.last_of_chunk ? Times : 0;
    return numbers::backward(p, in, out);
  }
  [[nodiscard]] int reductions(int) const { return reduced; }
};
TEST(StageComputeLawsReport, AcceptsHooksThatReduceInTheLastCall) {
  const testing::report r = tried(tests::numbers_under_test<with_hooks<false, 1>>{});
  EXPECT_TRUE(r) << r;
}
TEST(StageComputeLawsReport, FindsHooksThatReduceEarlyOrTwice) {
  const testing::report early = tried(tests::numbers_under_test<with_hooks<true, 1>>{});
  EXPECT_TRUE(says(early, "hook reduced the gradients of chunk 0 too early")) << early;
  const testing::report twice = tried(tests::numbers_under_test<with_hooks<false, 2>>{});
  EXPECT_TRUE(says(twice, "hook reduced the gradients of chunk 0 2 times in a step")) << twice;
}

struct never_weighs_nothing : numbers {  // right, but for the piece that a replica without work runs
  result<void> backward(piece p, message in, outgoing& out) {
    if (p.loss_weight == 0) p.loss_weight = 0.1;
    return numbers::backward(p, in, out);
  }
};
TEST(StageComputeLawsReport, FindsGradientsOfWhatHasNoWeight) {
  const testing::report r = tried(tests::numbers_under_test<never_weighs_nothing>{});
  EXPECT_TRUE(says(r, "what has no weight has no gradient")) << r;
  EXPECT_FALSE(says(r, "gradients of cut sequences are those of whole ones")) << r;
}

struct discards_nothing : numbers {
  void discard(const piece&) {}
};
TEST(StageComputeLawsReport, FindsWhatOutlivesAStepThatFailed) {
  const testing::report r = tried(tests::numbers_under_test<discards_nothing>{});
  EXPECT_GT(r.broken(1), 0) << r;
}

struct drops_nothing : numbers {
  void abort_step() {}
};
TEST(StageComputeLawsReport, FindsGradientsThatOutliveAnAbort) {
  const testing::report r = tried(tests::numbers_under_test<drops_nothing>{});
  EXPECT_TRUE(says(r, "a step that failed leaves nothing to the next")) << r;
  EXPECT_EQ(r.broken(2), 0) << r;
}

struct says_nothing : numbers {
  result<void> backward(const piece& p, message in, outgoing& out) {
    outgoing nowhere;
    return numbers::backward(p, in, out.wanted() ? nowhere : out);
  }
};
TEST(StageComputeLawsReport, FindsMessagesThatAreNotWritten) {
  const testing::report r = tried(tests::numbers_under_test<says_nothing>{});
  EXPECT_TRUE(says(r, "nothing was written, although a peer waits")) << r;
}

/// One stage has one layer, two have two: not one model, whatever the options say.
TEST(StageComputeLawsReport, FindsStagesThatAreNotOneModel) {
  const testing::report r = testing::stage_compute_laws(tests::numbers_under_test<>{}, {.cases = 1, .stages = 2});
  EXPECT_TRUE(says(r, "gradients over stages are those of one stage")) << r;
}

/// Gives for each token the logarithm of the likelihood of the next one. Kernel: what an evaluation makes of it.
template <class Kernel>
struct with_likelihoods : numbers {
  edge_values edges{};
  bool evaluates{};
  void begin_step(const step_outline& o) { edges = {}, evaluates = o.forward_only; }
  result<void> forward(const piece& p, message in, outgoing& out) {
    result<void> done = numbers::forward(p, in, out);
    if (out.wanted() || p.loss_weight == 0) return done;
    const sequence_id content = with_key(p).slice.sequence;
    for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t) {
      const double miss = rows[content][static_cast<std::size_t>(t)].y - adopt::wave(content, t + 1);
      edges.add(p.slice.sequence, {t + 1}, evaluates ? Kernel::of(miss) : -miss * miss / 2);
    }
    return done;
  }
  void log_probabilities(edge_values& to) const { to.add(edges); }
};
struct same_kernel {
  static double of(double miss) { return -miss * miss / 2; }
};
struct kernel_in_float {
  static double of(double miss) { return -static_cast<float>(miss) * static_cast<float>(miss) / 2; }
};
TEST(StageComputeLawsReport, TriesWhatOffersLogProbabilitiesInAnEvaluation) {
  const testing::report r = testing::stage_compute_laws(tests::numbers_under_test<with_likelihoods<same_kernel>>{},
                                                        {.cases = 4, .stages = 2, .one_model = false});
  EXPECT_TRUE(r) << r;
  EXPECT_GT(r.checks(8), 0);
}
TEST(StageComputeLawsReport, FindsLogProbabilitiesOfAnotherKernel) {
  const testing::report r = testing::stage_compute_laws(tests::numbers_under_test<with_likelihoods<kernel_in_float>>{},
                                                        {.cases = 4, .stages = 2, .one_model = false});
  EXPECT_TRUE(says(r,
                   "an evaluation by the plan of a step has the bits of its log-probabilities: first other that of "
                   "the edge to token 1 of sequence "))
      << r;
  EXPECT_FALSE(says(r, "has the bits of its loss")) << r;
  EXPECT_EQ(r.broken(2), 0) << r;
}

/// The sum of a step, but in an evaluation one that is rounded.
struct other_loss : numbers {
  bool evaluates{};
  void begin_step(const step_outline& o) { evaluates = o.forward_only; }
  [[nodiscard]] double loss() const { return evaluates ? static_cast<float>(sum) : sum; }
};
TEST(StageComputeLawsReport, FindsTheLossOfAnotherKernel) {
  const testing::report r = tried(tests::numbers_under_test<other_loss>{}, 4, true);
  EXPECT_TRUE(says(r, "an evaluation by the plan of a step has the bits of its loss")) << r;
  EXPECT_EQ(r.broken(2), 0) << r;
}

struct gives_no_likelihoods : numbers {
  void log_probabilities(edge_values&) const {}
};
TEST(StageComputeLawsReport, FindsLogProbabilitiesThatAreMissing) {
  const testing::report r = testing::stage_compute_laws(tests::numbers_under_test<gives_no_likelihoods>{},
                                                        {.cases = 4, .stages = 2, .one_model = false});
  EXPECT_TRUE(says(r, "log_probabilities gives 0 edges from the tokens [")) << r;
}

TEST(StageComputeLawsReport, IsTheSameForTheSameSeed) {
  const testing::report once = tried(tests::numbers_under_test<overwrites>{});
  const testing::report again = tried(tests::numbers_under_test<overwrites>{});
  ASSERT_EQ(once.failures().size(), again.failures().size());
  for (std::size_t i = 0; i < once.failures().size(); ++i) EXPECT_EQ(once.failures()[i].line, again.failures()[i].line);
}

}  // namespace
}  // namespace slimpack::stage_compute_laws_test
