#include "sample_tree.hpp"

#include <slimpack/core/forest/batch_view.hpp>

#include <algorithm>
#include <utility>

namespace train {

using slimpack::forest;
using slimpack::sample_end;
using slimpack::sequence;
using slimpack::sequence_id;
using slimpack::target_run;

sample_tree::sample_tree(forest tree) : tree_(std::move(tree)), sequences_(slimpack::batch_view(tree_).sequences()) {
  for (const sequence& s : sequences_) longest_ = std::max(longest_, s.end());
  for (const sample_end& e : tree_.samples) ends_.insert(ends_.end(), e.count, {e.sequence, e.at});
  flatten();
}

void sample_tree::flatten() {
  std::vector<std::pair<slimpack::tokens, std::size_t>> taken;  // of each run, up to where; and the run
  for (std::size_t i = 0; i < tree_.targets.size(); ++i) taken.push_back({tree_.targets[i].begin, i});
  for (std::uint32_t i = 0; i < ends_.size(); ++i) {
    flat_.lengths.push_back(ends_[i].at);
    flat_.samples.push_back({{i}, ends_[i].at});
    std::vector<sequence_id> path;
    for (sequence_id s = ends_[i].sequence; s != slimpack::no_parent; s = sequences_[s.value].parent) path.push_back(s);
    for (auto s = path.rbegin(); s != path.rend(); ++s)
      for (auto& [from, k] : taken) {
        target_run run = tree_.targets[k];
        const slimpack::tokens end = std::min(run.begin + run.length, ends_[i].at);
        if (run.sequence != *s || from >= end) continue;
        flat_.targets.push_back({{i}, from, end - from, run.count, run.weight});
        from = end;
      }
  }
}

std::vector<std::vector<std::uint8_t>> sample_tree::paths(const corpus& texts, std::size_t& from) const {
  const auto bytes = static_cast<std::size_t>(texts.tokens().value);
  std::size_t document = 0, at = from % bytes;
  while (at >= texts[document].size()) at -= texts[document++].size();
  std::vector<std::vector<std::uint8_t>> all;
  for (const sequence& s : sequences_) {
    std::vector<std::uint8_t>& path = all.emplace_back();
    if (!s.is_root()) path = std::vector<std::uint8_t>(all[s.parent.value]);
    for (std::int64_t t = 0; t < s.length.value; ++t, ++from) {
      if (at == texts[document].size()) document = (document + 1) % texts.size(), at = 0;
      path.push_back(texts[document][at++]);
    }
  }
  return all;
}

std::vector<corpus::document> sample_tree::flat_of(std::span<const corpus::document> paths) const {
  std::vector<corpus::document> all;
  for (const sample_end& e : ends_) all.push_back(paths[e.sequence.value].first(static_cast<std::size_t>(e.at.value)));
  return all;
}

}  // namespace train
