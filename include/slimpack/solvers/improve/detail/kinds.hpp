#ifndef SLIMPACK_SOLVERS_IMPROVE_DETAIL_KINDS_HPP
#define SLIMPACK_SOLVERS_IMPROVE_DETAIL_KINDS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/partition.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/solvers/improve/detail/candidates.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/search_budget.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/size_ratios.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

/// Candidates that are tried before chance has its turn: what a walk would take long to find.
namespace slimpack::detail {

/// The first candidate. Where it does not fit: smaller packs need less memory beside the longest sequence. Packs of one
/// slice need the least, since then, with one chunk, no sequence waits for another: whatever fits alone fits.
/// No sequence is cut into more slices than most_cuts.
inline result<seconds> consider_first(candidates& tried, const partition_rule& start) {
  // Of a sequence: more take gigabytes, to save few tokens. It is no search option, as it tunes nothing: it keeps a
  // plan of any batch from taking all of the planner's own memory.
  constexpr std::int64_t most_cuts = 65536;
  const solvers::search_options& o = tried.options();
  const tokens finest = tried.batch().shape.quantum;
  const std::int64_t quanta = tried.packs().longest().length.value / finest.value;
  const tokens quantum = finest * (1 + quanta / most_cuts);
  result<seconds> made = tried.consider(start);
  for (double share = o.smaller_first; !made && made.error().code == errc::out_of_memory;
       share *= o.tuning.smaller_step) {
    const bool least = share * tried.packs().share() < 1;  // short sequences share packs of less than a quantum
    partition_rule small = start;
    small.front = 1, small.quantum = quantum;
    for (solvers::size_ratios* p : {&small.sizes.forward, &small.sizes.backward})
      for (double* size : {&p->steady, &p->turn_least, &p->before, &p->after}) *size *= least ? 0 : share;
    made = tried.consider(small);
    if (least) break;
  }
  return made;
}

/// Where weight gradients run apart, what is left of a backward takes about as long as a forward: packs of as many
/// tokens in both passes keep the stages in step, and can be larger, since weight gradients fill what stages wait.
/// Which size is best depends on how packs meet on the stages.
inline void consider_alike(candidates& tried, const partition_rule& even) {
  const solvers::search_options& o = tried.options();
  partition_rule alike = even;
  alike.sizes.backward = alike.sizes.forward;
  for (std::uint32_t i = 0; i < o.tuning.alike_sizes && !tried.spent(); ++i) {
    static_cast<void>(tried.consider(alike));
    for (const pass p : both_passes)
      alike.sizes[p].steady *= o.tuning.alike_step, alike.sizes[p].ramp_least *= o.tuning.alike_step;
  }
  tried.vary([&](partition_rule& c) { c.sizes.forward.ramp_least *= o.tuning.even_ramp; });
}

/// Tries even packs, unless the best has taken less than they will.
inline void consider_even(candidates& tried, tokens quantum) {
  if (tried.spent()) return;
  const auto even = tried.even(quantum);
  if (!even) return;
  const seconds before = tried.of_best();
  if (even->least < before) static_cast<void>(tried.consider(even->of));
  if (tried.schedule().weights() == weight_gradients::apart) consider_alike(tried, even->of);
  if (tried.of_best() == before) return;
  const solvers::search_options& o = tried.options();
  tried.vary([&](partition_rule& c) {
    c.sizes.forward.ramp_least *= o.tuning.even_ramp, c.sizes.backward.ramp_least *= o.tuning.even_ramp;
  });
  tried.vary([&](partition_rule& c) { c.crowding = o.tuning.crowding; });
}

/// Tries some steps that the walk would take long to find. Where packs cost more than their slices tell, or are
/// cut up among chunks, they had better be of one size; and where times do not add up, fewer cuts may be faster.
inline void consider_kinds(candidates& tried) {
  const solvers::search_options& o = tried.options();
  const tokens quantum = tried.batch().shape.quantum;
  const bool chunked = tried.batch().shape.chunks > 1;
  const bool cuts_cost = tried.packs().cuts_cost();
  if (tried.packs().has_pack_times() || chunked) consider_even(tried, quantum);
  if (cuts_cost || chunked) consider_even(tried, longest_supported);
  if (cuts_cost)
    for (const tokens coarse : {quantum * o.tuning.coarse_first, quantum * o.tuning.coarse_second, longest_supported})
      tried.vary([&](partition_rule& c) { c.quantum = std::min(coarse, longest_supported); });
  tried.vary([&](partition_rule& c) { c.sizes.backward.steady *= o.tuning.larger_backward; });
  tried.vary([](partition_rule& c) { c.front = 1; });
}

/// Tries the packs of solvers::megatron, and be it beyond the budget, unless they cannot be the fastest, or are more
/// than the quickest search could simulate.
inline void consider_whole(candidates& tried) {
  if (tried.stopped()) return;
  const seconds limit = tried.fastest().makespan * (1 + 1e-9);  // sums in another order are rounded otherwise
  std::optional<partition> packs = tried.packs().whole(limit, tried.packs_within(solvers::search_budget::fast().tasks));
  if (packs) static_cast<void>(tried.score_as_given(*std::move(packs)));
}

}  // namespace slimpack::detail

#endif
