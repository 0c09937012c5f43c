#ifndef SLIMPACK_PRICING_DETAIL_FORWARD_ALONE_HPP
#define SLIMPACK_PRICING_DETAIL_FORWARD_ALONE_HPP

#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/refine.hpp>

#include <utility>

namespace slimpack::detail {

/// A plan of steps without all that is backward: its forward packs in their order, to evaluate by. They are cut into
/// the pieces that a step calls forward with, and stages are tied as there, so that a compute is given
/// the same and answers with the same bits. Times are the plan's, for the order of transfers; what only whole plans
/// have is left out. common_cuts: whether a step cuts its pieces where either pass cuts
/// Requires  slices that lie within their sequences            Complexity  O(size of the plan)
[[nodiscard]] inline plan forward_alone(const plan& p, bool common_cuts) {
  plan alone;
  alone.lengths = p.lengths;
  alone.parents = p.parents;
  alone.copies = p.copies;
  alone.samples = p.samples;
  alone.targets = p.targets;
  alone.shape = p.shape;
  for (const replica_plan& from : p.replicas) {
    replica_plan& to = alone.replicas.emplace_back();
    to.sequences = from.sequences;
    to.partition.forward = common_cuts ? common_refinement(from.partition).forward : from.partition.forward;
    to.times.calls[pass::forward] = from.times.calls[pass::forward];
    to.times.messages[pass::forward] = from.times.messages[pass::forward];
    to.times.before.forward = from.times.before.forward;
    for (const program& code : from.programs) {
      program& kept = to.programs.emplace_back();
      for (const instruction& i : code)
        if (i.is_pass() && i.pass() == pass::forward) kept.push_back(i);
    }
    copy_ties(from, to, true);
  }
  for (merge m : p.merges) {
    m.backward.clear();
    alone.merges.push_back(std::move(m));
  }
  return alone;
}

}  // namespace slimpack::detail

#endif
