#ifndef SLIMPACK_TESTING_SLICER_LAWS_HPP
#define SLIMPACK_TESTING_SLICER_LAWS_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/report.hpp>

#include <algorithm>
#include <cstdint>

namespace slimpack::testing {

namespace detail {

/// What a pack may have left: from nothing to more than the sequence needs, by time and by tokens.
template <class Cost>
cut_budget any_budget(generator& random, const sequence& s, pass p, tokens quantum, const Cost& cost) {
  const seconds all = cost.time(s.whole(), p, 0);
  cut_budget left{};
  left.quantum = quantum;
  left.time = all * (random.once_in(4) ? -0.1 : random.once_in(2) ? random.ratio() / 16 : 1.5 * random.ratio());
  left.size = {random.between(0, random.once_in(2) ? 4 * quantum.value : 2 * s.length.value)};
  left.empty = random.once_in(2);
  return left;
}

/// Asks until the sequence is through; a refusal is answered with an empty pack that has room for all of it.
template <class Slicer, class Cost>
void cut_through(report& r, const Slicer& slicer, const Cost& cost, const sequence& s, pass p, tokens quantum,
                 generator& random) {
  const Slicer copy = slicer;
  const bool forward = p == pass::forward;
  tokens at = s.whole().entry(p);
  const tokens goal = s.whole().exit(p);
  bool refused = false;
  while (at != goal) {
    cut_budget left = any_budget(random, s, p, quantum, cost);
    if (refused) left.empty = true, left.size = s.length + tokens{random.between(0, quantum.value)};
    const slice given = slicer.next(s, at, p, left, cost);
    const slice again = copy.next(s, at, p, left, cost);
    r.check(5, given == again, "equal questions get equal slices", "given", given, "then", again, p);
    const bool room = left.empty && left.size >= s.length;
    r.check(4, given.length > tokens{0} || !room, "an empty pack with room for the whole sequence gets some slice",
            "sequence of", s.length, "at", at, p, "room for", left.size, "and", left.time, "s");
    if (given.length == tokens{0}) {
      if (room) return;  // law 4 is broken: it would refuse for ever
      refused = true;
      continue;
    }
    r.check(3, given.length <= left.size, "a slice never exceeds the budget's size", "slice", given, p, "room for",
            left.size);
    const bool within = given.begin >= s.begin && given.length > tokens{0} && given.end() <= s.end();
    const bool adjacent = given.sequence == s.id && within && (forward ? given.begin : given.end()) == at;
    r.check(1, adjacent, "slices tile the sequence, in order of the pass", "slice", given, p, "at", at, "of sequence",
            s.id, "with", s.length, "tokens");
    if (!adjacent) return;
    at = forward ? given.end() : given.begin;
    const bool cut_ok = at == goal || (at - s.begin).value % quantum.value == 0;
    r.check(2, cut_ok, "cuts fall on multiples of the quantum from the sequence's first token, or on its ends", "slice",
            given, p, "of", s.whole(), "quantum", quantum);
    if (!cut_ok) return;
    refused = false;
  }
}

}  // namespace detail

/// Checks the laws of slimpack::slicer: sequences of edge and random lengths, roots and such as begin at a random
/// depth, are cut through, forward and backward, under random budgets of time and tokens. Run it with every cost model
/// that the slicer is to be used with.
///
/// Law 4 asks for a slice where the pack is empty and has room for the whole sequence, whatever its time budget:
/// that is what a slicer which never cuts needs. A slicer that cuts may well give some with less room.
///
/// Returns   a report, which converts to bool; a test has to assert it: EXPECT_TRUE(found) << found
///           (testing/report.hpp)
/// Errors    none: what the slicer throws passes through            Complexity  O(cases * longest / quantum) questions
template <slicer Slicer, cost_model Cost>
[[nodiscard]] report slicer_laws(const Slicer& slicer, const Cost& cost, options o = {}) {
  report r("slicer laws", o.seed);
  generator random(o.seed);
  std::uint32_t id = 0;
  for (const tokens length : trial_lengths(o, random)) {
    const sequence root{{id++}, length}, inner{{id}, length, random.length(o.longest), {id - 1}};
    for (const sequence& s : {root, inner})
      for (const pass p : {pass::forward, pass::backward})
        for (const tokens quantum : {o.quantum, tokens{random.between(1, 2 * o.quantum.value)}})
          if (length.value / quantum.value <= 8192) detail::cut_through(r, slicer, cost, s, p, quantum, random);
  }
  return r;
}

}  // namespace slimpack::testing

#endif
