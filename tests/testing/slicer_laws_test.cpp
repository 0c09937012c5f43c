#include <slimpack/costs/quadratic.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/testing/slicer_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>

namespace slimpack::slicer_laws_test {
namespace {

/// Exactly the laws given are broken.
void expect_broken(const auto& slicer, std::initializer_list<int> laws) {
  const testing::report r = testing::slicer_laws(slicer, costs::quadratic{}, {.cases = 30, .longest = {16384}});
  for (int law = 1; law <= 5; ++law)
    EXPECT_EQ(r.broken(law) > 0, std::find(laws.begin(), laws.end(), law) != laws.end()) << "law " << law << '\n' << r;
}

struct skips {  // a quantum is left out of every long sequence
  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left, const Cost& cost) const {
    slice given = slicers::whole{}.next(s, at, p, left, cost);
    if (given.length > left.quantum) given.begin += left.quantum, given.length -= left.quantum;
    return given;
  }
};
struct other_sequence {
  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left, const Cost& cost) const {
    slice given = slicers::whole{}.next(s, at, p, left, cost);
    ++given.sequence.value;
    return given;
  }
};
struct forward_only {  // cuts from the front, whatever the pass
  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass, const cut_budget& left, const Cost& cost) const {
    return slicers::equal_cost{}.next(s, at == s.end() ? s.begin : at, pass::forward, left, cost);
  }
};
struct beyond_the_end {
  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left, const Cost&) const {
    const tokens n = std::min(left.size, left.quantum);
    return p == pass::forward ? slice{s.id, at, n} : slice{s.id, at - n, n};
  }
};

TEST(SlicerLawsReport, FindsSlicesThatDoNotTile) {
  expect_broken(skips{}, {1});
  expect_broken(other_sequence{}, {1});
  expect_broken(forward_only{}, {1});
  EXPECT_GT(testing::slicer_laws(beyond_the_end{}, costs::quadratic{}, {.cases = 30}).broken(1), 0);
}

struct anywhere {  // takes what there is room for
  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left, const Cost&) const {
    const tokens n = std::min(left.size, p == pass::forward ? s.end() - at : at - s.begin);
    return p == pass::forward ? slice{s.id, at, n} : slice{s.id, at - n, n};
  }
};

struct from_the_root {  // cuts where the path has multiples of the quantum, and not its sequence
  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left, const Cost&) const {
    const tokens room = std::min(left.size, p == pass::forward ? s.end() - at : at - s.begin), q = left.quantum;
    const bool all = p == pass::forward ? at + room == s.end() : at - room == s.begin;
    const tokens cut{p == pass::forward ? (at + room).value / q.value * q.value
                                        : ((at - room).value + q.value - 1) / q.value * q.value};
    const tokens n = all ? room : std::max(tokens{}, p == pass::forward ? cut - at : at - cut);
    return p == pass::forward ? slice{s.id, at, n} : slice{s.id, at - n, n};
  }
};

TEST(SlicerLawsReport, FindsCutsOffTheQuantum) {
  expect_broken(anywhere{}, {2});
  expect_broken(from_the_root{}, {2});
}

struct blind {  // to the room that is left
  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, cut_budget left, const Cost& cost) const {
    left.size = s.length;
    return slicers::uniform{.at_most = {512}}.next(s, at, p, left, cost);
  }
};

TEST(SlicerLawsReport, FindsSlicesThatExceedTheRoom) { expect_broken(blind{}, {3}); }

struct strict {  // never over the budget of time, not even in an empty pack
  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, cut_budget left, const Cost& cost) const {
    left.empty = false;
    return slicers::equal_cost{}.next(s, at, p, left, cost);
  }
};

TEST(SlicerLawsReport, FindsRefusalsOfAnEmptyPack) { expect_broken(strict{}, {4}); }

struct alternating {
  std::shared_ptr<int> asked = std::make_shared<int>(0);
  template <class Cost>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left, const Cost& cost) const {
    return slicers::uniform{.at_most = {(*asked)++ % 2 == 0 ? 1024 : 2048}}.next(s, at, p, left, cost);
  }
};

TEST(SlicerLawsReport, FindsAnswersThatChange) { expect_broken(alternating{}, {5}); }

TEST(SlicerLawsReport, AcceptsALawfulSlicer) { expect_broken(slicers::uniform{.at_most = {384}}, {}); }

}  // namespace
}  // namespace slimpack::slicer_laws_test
