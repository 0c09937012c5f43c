#ifndef SLIMPACK_TESTING_COST_MODEL_LAWS_HPP
#define SLIMPACK_TESTING_COST_MODEL_LAWS_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/report.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::testing {

namespace detail {

/// Sums of the same numbers in another order differ in the last digits; a broken law differs in the first ones.
inline constexpr double rounding = 1e-9;

[[nodiscard]] inline bool is_time(seconds t) { return std::isfinite(t.value) && t.value >= 0; }
[[nodiscard]] inline bool at_most(seconds a, seconds b) { return a.value <= b.value * (1 + rounding); }
/// a >= b, both differences of times up to `of`
[[nodiscard]] inline bool at_least(seconds a, seconds b, seconds of) {
  return a.value >= b.value - rounding * of.value;
}
[[nodiscard]] inline bool about(double a, double b) {
  return std::abs(a - b) <= rounding * std::max(std::abs(a), std::abs(b));
}

/// A question to a cost model, to be asked again.
struct priced {
  slice what;
  slimpack::pass pass{};
  int part{};
  seconds answer;
};

/// Law 3: time, least time and backward without weight gradients of a slice, beside those of smaller and larger ones.
template <class Cost>
void check_growth(report& r, const Cost& cost, const slice& s, pass p, int part, const options& o) {
  const auto compare = [&](const slice& less, const slice& more, const char* time, const char* least,
                           const char* without) {
    const seconds t = cost.time(less, p, part), u = cost.time(more, p, part);
    r.check(3, at_most(t, u), time, "slice", less, "takes", t, "slice", more, "takes", u, p, "on part", part);
    const seconds a = least_time(cost, less, p, part), b = least_time(cost, more, p, part);
    r.check(3, at_most(a, b), least, "slice", less, "at least", a, "slice", more, "at least", b, p, "on part", part);
    if (p == pass::forward) return;
    const seconds v = t - weight_time(cost, less, part), w = u - weight_time(cost, more, part);
    r.check(3, at_least(w, v, u), without, "slice", less, "takes", v, "slice", more, "takes", w, "on part", part);
  };
  compare({s.sequence, {0}, s.length}, s, "time is no less than that of as many tokens without a prefix",
          "least times are no less than those of as many tokens without a prefix",
          "backward without weight gradients takes no less than that of as many tokens without a prefix");
  for (const tokens more : {tokens{1}, o.quantum, s.length}) {
    compare(s, {s.sequence, s.begin, s.length + more}, "time does not fall when a slice grows at its end",
            "least times do not fall when a slice grows at its end",
            "backward without weight gradients does not fall when a slice grows at its end");
    if (!has_borders(cost))
      compare(s, {s.sequence, s.begin + more, s.length},
              "time does not fall when a slice's prefix grows, unless the model declares borders",
              "least times do not fall when a slice's prefix grows, unless the model declares borders",
              "backward without weight gradients does not fall when a slice's prefix grows, unless the model declares "
              "borders");
    if (const tokens before = std::min(more, s.begin); o.analytic && before > tokens{})
      compare(s, {s.sequence, s.begin - before, before + s.length},
              "time does not fall when a slice grows at its front",
              "least times do not fall when a slice grows at its front",
              "backward without weight gradients does not fall when a slice grows at its front");
  }
}

template <class Cost>
void check_slice(report& r, const Cost& cost, const slice& s, pass p, int part) {
  const seconds t = cost.time(s, p, part);
  r.check(1, is_time(t), "times are finite and not negative", "time", t, "of slice", s, p, "on part", part);
  const seconds useful = useful_time(cost, s, p, part);
  r.check(1, is_time(useful) && at_most(useful, t), "the useful share of a time is from 0 to all of it", "useful",
          useful, "of", t, "for slice", s, p, "on part", part);
  const seconds collectives = collective_time(cost, s, p, part);
  r.check(1, is_time(collectives) && at_most(collectives, useful), "collectives take from 0 to all of the useful share",
          "collectives", collectives, "of", useful, "for slice", s, p, "on part", part);
  if (p == pass::backward) {
    const seconds weights = weight_time(cost, s, part);
    r.check(1, is_time(weights) && at_most(weights, t), "the weight gradients take from 0 to all of a backward time",
            "weights", weights, "of", t, "for slice", s, "on part", part);
  }
  const seconds least = least_time(cost, s, p, part);
  r.check(1, is_time(least) && at_most(least, t), "what a slice costs at least is from 0 to all of a time", "least",
          least, "of", t, "for slice", s, p, "on part", part);
  const seconds covered = covered_time(cost, s, p, part);
  r.check(1, is_time(covered) && at_most(covered, t), "what a slice runs beside exchanges is from 0 to all of a time",
          "covered", covered, "of", t, "for slice", s, p, "on part", part);
}

/// What the slices of a pack take together.
template <class Cost>
void check_pack(report& r, const Cost& cost, std::span<const slice> pack, pass p, int part) {
  seconds largest{};  // of its members
  seconds least = pack_overhead(cost, p, part);
  seconds rest{};  // the largest without its weight gradients
  seconds weights{};
  for (const slice& each : pack) {
    const seconds t = cost.time(each, p, part);
    const seconds own = p == pass::backward ? weight_time(cost, each, part) : seconds{};
    largest = std::max(largest, t);
    least += least_time(cost, each, p, part);
    rest = std::max(rest, t - own);
    weights += own;
  }
  const seconds overhead = pack_overhead(cost, p, part);
  const seconds together = pack_time(cost, pack, p, part);
  const seconds calls = call_overhead_of(cost, p, part) * static_cast<double>(pack.size());
  r.check(2, is_time(together) && at_most(overhead + largest, together),
          "a pack costs no less than its overhead and its largest member", "pack of", pack.size(), "slices takes",
          together, "its overhead", overhead, "its largest member", largest, p, "on part", part);
  r.check(2, at_most(least + calls, together),
          "a pack costs no less than its overhead, the least times of its slices and their calls", "pack of",
          pack.size(), "slices takes", together, "these", least + calls, p, "on part", part);
  r.check(2, at_least(together - weights, overhead + rest, together),
          "without weight gradients, a pack costs no less than its overhead and any member", "pack of", pack.size(),
          "slices takes", together - weights, "overhead", overhead, "a member", rest, p, "on part", part);
}

/// Bytes, like times, are finite and not negative.
template <class Cost>
void check_kept(report& r, const Cost& cost, const slice& s) {
  const bytes b = kept_of(cost, s, 0);
  r.check(1, std::isfinite(b.value) && b >= bytes{}, "what a piece keeps is finite and not negative", "piece", s,
          "keeps", b, "on stage 0");
}

template <class Cost>
void check_messages(report& r, const Cost& cost, tokens size, pass p, int part) {
  const seconds overhead = pack_overhead(cost, p, part);
  r.check(1, is_time(overhead), "times are finite and not negative", "overhead", overhead, p, "on part", part);
  const seconds call = call_overhead_of(cost, p, part);
  r.check(1, is_time(call), "times are finite and not negative", "overhead of a call", call, p, "on part", part);
  const seconds t = message_time(cost, size, p, part);
  r.check(1, is_time(t), "times are finite and not negative", "message of", size, "tokens takes", t, p, "from part",
          part);
  const seconds u = message_time(cost, size + size, p, part);
  r.check(3, at_most(t, u), "a message does not get faster as it grows", "tokens", size, "take", t, "twice as many", u,
          p, "from part", part);
}

/// A part that another one is asked instead of answers as that.
template <class Cost>
void check_like(report& r, const Cost& cost, std::span<const slice> pack, pass p, int part) {
  const int like = like_of(cost, part);
  r.check(5, 0 <= like && like <= part, "a part is like no later one", "part", part, "is like", like);
  if (like < 0 || like >= part) return;
  const auto same = [&](seconds own, seconds other) {
    r.check(5, own == other, "a part answers as the one that it is like", "part", part, "says", own, "part", like,
            "says", other, p);
  };
  same(pack_overhead(cost, p, part), pack_overhead(cost, p, like));
  same(pack_time(cost, pack, p, part), pack_time(cost, pack, p, like));
  for (const slice& s : pack) {
    same(cost.time(s, p, part), cost.time(s, p, like));
    same(least_time(cost, s, p, part), least_time(cost, s, p, like));
    same(weight_time(cost, s, part), weight_time(cost, s, like));
    same(covered_time(cost, s, p, part), covered_time(cost, s, p, like));
  }
}

/// What the slices of a sequence that is cut at random take, beside the whole.
template <class Cost>
void check_cuts(report& r, const Cost& cost, const sequence& s, pass p, int part, const options& o, generator& random) {
  const slice whole = s.whole();
  seconds sum{};      // of least times
  seconds without{};  // weight gradients
  seconds counted{};  // of that, by bounds
  for (tokens at{0}; at < s.length;) {
    const std::int64_t quanta = random.between(1, s.length.value / o.quantum.value / 4 + 1);
    const slice cut{s.id, at, std::min(o.quantum * quanta, s.length - at)};
    sum += least_time(cost, cut, p, part);
    if (p == pass::backward) {
      without += cost.time(cut, p, part) - weight_time(cost, cut, part);
      counted += least_time(cost, cut, p, part) - least_weight_time(cost, cut, part);
    }
    at = cut.end();
  }
  const seconds uncut = least_time(cost, whole, p, part);
  if (o.analytic)
    r.check(4, about(sum.value, uncut.value), "the times of a sequence's slices add up to its own", "sum", sum, "uncut",
            uncut, "for", s.length, "tokens", p, "on part", part);
  if (p == pass::forward) return;
  const seconds weights = least_weight_time(cost, whole, part);
  r.check(2, at_least(without, uncut - weights, uncut),
          "slices take no less, without weight gradients, than the least of their sequence without its own", "slices",
          without, "sequence", uncut, "less", weights, "for", s.length, "tokens on part", part);
  if (!o.analytic) return;
  const seconds rest = cost.time(whole, p, part) - weight_time(cost, whole, part);
  r.check(4, at_least(rest, counted, uncut),
          "a sequence takes no less, without weight gradients, than the least of its slices without their own",
          "sequence", rest, "slices", counted, "for", s.length, "tokens on part", part);
}

}  // namespace detail

/// Checks the laws of slimpack::cost_model on edge cases and random slices, packs and sequences, on parts 0..parts-1.
/// Law 4 and growth at the front are for analytic models; give `{.analytic = false}` for one that interpolates
/// measurements. Where a model offers `least`, it is these times that add up.
/// Laws 1 to 3 are also asked of the hooks that a model offers (costs/hooks.hpp), for the lower bounds rest on them.
///
/// A cost model of your own, tested in ten lines and in any test framework:
///
///   #include <slimpack/testing/cost_model_laws.hpp>
///   #include <iostream>
///   struct linear_only {
///     slimpack::seconds time(const slimpack::slice& s, slimpack::pass p, int) const {
///       return {(p == slimpack::pass::forward ? 1e-6 : 2e-6) * static_cast<double>(s.length.value)};
///     }
///   };
///   int main() {
///     const slimpack::testing::report found = slimpack::testing::cost_model_laws(linear_only{});
///     std::cout << found;       // one line per broken law, with the numbers that break it
///     return found ? 0 : 1;     // GoogleTest: EXPECT_TRUE(found) << found;
///   }
///
/// Returns   a report, which converts to bool; a test has to assert it: EXPECT_TRUE(found) << found
///           (testing/report.hpp)
/// Errors    none: what the model throws passes through            Complexity  O(cases * parts) questions
template <cost_model Cost>
[[nodiscard]] report cost_model_laws(const Cost& cost, int parts = 1, options o = {}) {
  report r("cost_model laws", o.seed);
  generator random(o.seed);
  std::vector<detail::priced> asked;
  std::uint32_t id = 0;
  for (const tokens length : trial_lengths(o, random)) {
    const sequence s{{id++}, length};
    for (int part = 0; part < parts; ++part) {
      for (const pass p : {pass::forward, pass::backward}) {
        const slice whole = s.whole();
        const slice part_of_it = random.slice_of(s, o.quantum);
        for (const slice& each : {whole, part_of_it}) {
          detail::check_slice(r, cost, each, p, part);
          detail::check_growth(r, cost, each, p, part, o);
          // Of the first stage: how many there are, a number of parts does not say.
          if constexpr (slimpack::detail::keeps_by_piece<Cost>)
            if (part == 0) detail::check_kept(r, cost, each);
          asked.push_back({each, p, part, cost.time(each, p, part)});
        }
        detail::check_messages(r, cost, part_of_it.length, p, part);

        std::vector<slice> pack;
        for (std::int64_t members = random.between(1, 8); members > 0; --members)
          pack.push_back(random.slice_of({{id++}, random.length(o.longest)}, o.quantum));
        detail::check_pack(r, cost, pack, p, part);
        detail::check_like(r, cost, pack, p, part);
        detail::check_cuts(r, cost, s, p, part, o, random);
      }
    }
  }
  const Cost copy = cost;
  for (std::size_t i = asked.size(); i-- > 0;) {
    const detail::priced& q = asked[i];
    const seconds again = copy.time(q.what, q.pass, q.part);
    r.check(5, again == q.answer, "equal questions get equal answers", "slice", q.what, "took", q.answer, "then", again,
            q.pass, "on part", q.part);
  }
  return r;
}

}  // namespace slimpack::testing

#endif
