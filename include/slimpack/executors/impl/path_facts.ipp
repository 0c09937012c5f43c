#ifndef SLIMPACK_EXECUTORS_IMPL_PATH_FACTS_IPP
#define SLIMPACK_EXECUTORS_IMPL_PATH_FACTS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/forest/uncut.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/executors/detail/piece_list.hpp>
#include <slimpack/executors/detail/script/path_facts.hpp>
#include <slimpack/executors/piece.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL path_facts::path_facts(const plan& p)
    : order_(batch_of(p)), told_(std::make_shared<told>()), targets_(p.targets), copies_(p.copies) {
  if (!p.parents.empty()) find_paths(p.parents);
  count_samples(p);
}

/// Depth first, a sequence's path begins like those of its leaves: each leaf's path is kept once, for all above it.
SLIMPACK_DECL void path_facts::find_paths(std::span<const sequence_id> parents) {
  const std::size_t all = parents.size();
  above_.resize(all), first_child_.resize(all), next_child_.resize(all);
  for (auto s = static_cast<std::uint32_t>(all); s-- > 0;) {
    if (parents[s] == no_parent) continue;
    std::uint32_t& first = first_child_[parents[s].value];
    next_child_[s] = first;
    first = s;
  }
  std::vector<std::uint32_t> path;  // of the sequence at hand, it included
  std::vector<std::uint32_t> open;  // to come, the next one last
  for (auto s = static_cast<std::uint32_t>(all); s-- > 0;)
    if (parents[s] == no_parent) open.push_back(s);
  while (!open.empty()) {
    const std::uint32_t s = open.back();
    open.pop_back();
    while (!path.empty() && path.back() != parents[s].value) path.pop_back();
    path.push_back(s);
    const std::size_t siblings = open.size();
    for (std::uint32_t child = first_child_[s]; child != 0; child = next_child_[child]) open.push_back(child);
    std::reverse(open.begin() + static_cast<std::ptrdiff_t>(siblings), open.end());
    if (first_child_[s] != 0) continue;
    const auto begin = static_cast<std::uint32_t>(told_->above.size());
    for (std::uint32_t depth = 0; depth < path.size(); ++depth) {
      above_[path[depth]] = {begin, depth};
      if (depth + 1 < path.size()) told_->above.push_back(order_.of({path[depth]}).whole());
    }
  }
}

/// Samples are those of the batch, whatever paths were cut. Where it does not say where they end, one does with each of
/// its leaves.
SLIMPACK_DECL void path_facts::count_samples(const plan& p) {
  const result<uncut_forest> from = uncut(batch_of(p), p.copies);
  if (!from) return;  // the plan is not sound
  const slice_order batch{batch_view(from.value())};
  told_->ends = p.samples;
  for (std::uint32_t s = 0; p.samples.empty() && s < batch.size(); ++s)
    if (batch.children({s}) == 0) told_->ends.push_back({{s}, batch.of({s}).end()});
  through_.resize(order_.size());
  for (const sample_end& e : told_->ends) through_[e.sequence.value] += e.count;
  for (auto s = static_cast<std::uint32_t>(batch.size()); s-- > 0;)
    if (const sequence& one = batch.of({s}); !one.is_root()) through_[one.parent.value] += through_[s];
}

SLIMPACK_DECL piece path_facts::piece_of(const slice& s) const {
  const sequence& of = order_.of(s.sequence);
  piece made{
      .slice = s, .sequence_length = of.length, .own_begin = of.begin, .own_end = of.end(), .sequence_begin = of.begin};
  const auto copy = std::lower_bound(copies_.begin(), copies_.end(), s.sequence,
                                     [](const path_copy& c, sequence_id id) { return c.sequence < id; });
  made.home_begin = copy != copies_.end() && copy->sequence == s.sequence ? copy->until : of.begin;
  if (!above_.empty()) {
    const part above = above_[s.sequence.value];
    made.prefix = std::span<const slice>(told_->above).subspan(above.begin, above.count);
  }
  const std::vector<sample_end>& ends = told_->ends;
  const auto behind = [&](tokens at) {
    return std::upper_bound(ends.begin(), ends.end(), at, [&](tokens place, const sample_end& e) {
      return s.sequence != e.sequence ? s.sequence < e.sequence : place < e.at;
    });
  };
  const auto first = behind(s.begin), last = behind(s.end());
  made.ends = std::span<const sample_end>(first, last);
  made.samples = through_[s.sequence.value];
  for (auto before = first; before != ends.begin() && (before - 1)->sequence == s.sequence; --before)
    made.samples -= (before - 1)->count;
  return made;
}

template <class Visit>
void path_facts::each_edge(const slice& s, const Visit& visit) const {
  const auto first_of = [&](sequence_id id) {
    return std::lower_bound(targets_.begin(), targets_.end(), id,
                            [](const target_run& run, sequence_id one) { return run.sequence < one; });
  };
  const auto visit_part = [&](target_run run, tokens begin, tokens end) {
    const tokens last = std::min(end, run.begin + run.length);
    run.begin = std::max(begin, run.begin);
    run.length = last - run.begin;
    if (run.length > tokens{}) visit(run);
  };
  for (auto run = first_of(s.sequence); run != targets_.end() && run->sequence == s.sequence; ++run)
    visit_part(*run, s.begin + tokens{1}, s.end() + tokens{1});
  if (first_child_.empty() || !order_.is_last(s, pass::forward)) return;
  for (std::uint32_t child = first_child_[s.sequence.value]; child != 0; child = next_child_[child])
    if (const auto run = first_of({child}); run != targets_.end() && run->sequence == sequence_id{child})
      visit_part(*run, s.end(), s.end() + tokens{1});
}

SLIMPACK_DECL void path_facts::add_edges(piece_list& forward, piece_list& backward) {
  if (!has_targets()) return;
  std::size_t count = 0;
  for (const piece_list* const list : {&forward, &backward})
    for (const piece& one : list->pieces) each_edge(one.slice, [&](const target_run&) { ++count; });
  std::vector<target_run>& edges = told_->edges;
  edges.reserve(count);  // spans into it stay
  for (piece_list* const list : {&forward, &backward})
    for (piece& one : list->pieces) {
      const std::size_t begin = edges.size();
      each_edge(one.slice, [&](const target_run& run) { edges.push_back(run); });
      one.edges = std::span<const target_run>(edges).subspan(begin);
    }
}

}  // namespace slimpack::detail

#endif
