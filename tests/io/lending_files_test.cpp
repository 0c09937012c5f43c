#include <slimpack/basic_planner.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/io/timeline.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace lending_files_test {
namespace {

using namespace slimpack;

plan lending(int chunks) {
  const shape on{.stages = 4, .chunks = chunks, .quantum = {16}};
  const auto recipe = baselines::slimpipe(on, {}, 8, attention_lending::level);
  const std::vector<tokens> lengths{{1024}, {500}, {300}, {1024}};
  return basic_planner{
      on, recipe.slicer, costs::quadratic{}, recipe.solver, recipe.schedule, simulators::sweep{}}(lengths)
      .value();
}

std::string file_of(const plan& p) {
  std::ostringstream out;
  io::write_plan(out, p).value();
  return out.str();
}

TEST(LendingFiles, ReadBackAsTheyWereWritten) {
  for (const int chunks : {1, 2}) {
    const plan p = lending(chunks);
    std::istringstream in(file_of(p));
    EXPECT_NE(in.str().find("\"slimpack-plan/2\""), std::string::npos);
    const plan read = io::read_plan(in).value();
    EXPECT_EQ(read.hash, p.hash);
    EXPECT_EQ(read.replicas[0].loans, p.replicas[0].loans);
    EXPECT_EQ(file_of(read), in.str());
  }
}

// A plan that lends nothing keeps its bytes.
TEST(LendingFiles, HaveNoLoansWhereThereAreNone) {
  plan p = lending(1);
  p.replicas[0].loans.clear();
  p.hash = hash_of(p);
  EXPECT_NE(file_of(p).find("\"slimpack-plan/1\""), std::string::npos);
  EXPECT_EQ(file_of(p).find("loans"), std::string::npos);
}

TEST(LendingFiles, SayWhatIsNoLoan) {
  const plan p = lending(1);
  const auto refusal = [&](auto&& change) {
    plan changed = p;
    change(changed.replicas[0].loans.front());
    changed.hash = hash_of(changed);
    std::istringstream in(file_of(changed));
    return io::read_plan(in).error().detail;
  };
  const auto says = [&](const std::string& text, auto&& change) {
    const std::string said = refusal(change);
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  says("another stage, in the lender's pass", [](loan& l) { l.helper.stage = l.lender.stage; });
  says("a slice of the lender's pack", [](loan& l) { l.queries.length.value -= 1; });
  says("tokens before the queries", [](loan& l) { l.context.begin = l.queries.begin; });
  says("the next oldest keys", [](loan& l) { l.context.begin.value += 1, l.context.length.value -= 1; });
  says("in the lender's lock step", [](loan& l) { l.helper.what.pack.value += 1; });
}

// Every loan is sound, and each program for itself: together they wait for each other.
TEST(LendingFiles, OfStagesThatWaitForEachOtherAreRefused) {
  plan p = lending(1);
  const loan& first = p.replicas[0].loans.front();
  program& code = p.replicas[0].programs[first.helper.stage];
  const auto at = std::find(code.begin(), code.end(), first.helper.what);
  const auto last = std::find(code.begin(), code.end(), instruction{instruction_kind::backward, {2}});
  std::rotate(at, at + 1, last + 1);  // what the helper runs then comes behind backwards that wait for it
  p.hash = hash_of(p);
  std::istringstream in(file_of(p));
  const std::string said = io::read_plan(in).error().detail;
  EXPECT_NE(said.find("replicas whose stages can run"), std::string::npos) << said;
}

TEST(LendingFiles, PagesShowWhoLends) {
  const plan p = lending(2);
  std::ostringstream page;
  io::write_timeline(page, std::vector<plan>{p}).value();
  EXPECT_NE(page.str().find("\"loans\":[[0,"), std::string::npos);
}

}  // namespace
}  // namespace lending_files_test
