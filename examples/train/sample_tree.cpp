#include "sample_tree.hpp"

#include <slimpack/core/batch_view.hpp>

#include <algorithm>
#include <utility>

namespace train {

using slimpack::forest;
using slimpack::sample_end;
using slimpack::sequence;
using slimpack::sequence_id;
using slimpack::target_run;

sample_tree::sample_tree(forest tree, bool is_flat)
    : tree_(std::move(tree)), sequences_(slimpack::batch_view(tree_).sequences()), is_flat_(is_flat) {
  for (const sequence& s : sequences_) {
    tokens_ += s.length;
    longest_ = std::max(longest_, s.end());
  }
  for (const sample_end& e : tree_.samples) {
    flat_tokens_.value += e.at.value * std::int64_t{e.count};
    ends_.insert(ends_.end(), e.count, {e.sequence, e.at});
  }
  is_flat_ ? flatten() : void(planned_ = tree_);
}

/// A target that several samples train on is one of the first of them, for all.
void sample_tree::flatten() {
  std::vector<std::pair<slimpack::tokens, std::size_t>> taken;  // of each run, up to where; and the run
  for (std::size_t i = 0; i < tree_.targets.size(); ++i) taken.push_back({tree_.targets[i].begin, i});
  for (std::uint32_t i = 0; i < ends_.size(); ++i) {
    planned_.lengths.push_back(ends_[i].at);
    planned_.samples.push_back({{i}, ends_[i].at});
    std::vector<sequence_id> path;
    for (sequence_id s = ends_[i].sequence; s != slimpack::no_parent; s = sequences_[s.value].parent) path.push_back(s);
    for (auto s = path.rbegin(); s != path.rend(); ++s)
      for (auto& [from, k] : taken) {
        target_run run = tree_.targets[k];
        const slimpack::tokens end = std::min(run.begin + run.length, ends_[i].at);
        if (run.sequence != *s || from >= end) continue;
        planned_.targets.push_back({{i}, from, end - from, run.count, run.weight});
        from = end;
      }
  }
}

std::uint8_t tree_texts::next_byte() {
  if (at_ == texts_[document_].size()) document_ = (document_ + 1) % texts_.size(), at_ = 0;
  return texts_[document_][at_++];
}

std::vector<corpus::document> tree_texts::next() {
  paths_.clear();
  for (const sequence& s : samples_.sequences_) {
    std::vector<std::uint8_t> path;
    if (!s.is_root()) path = paths_[s.parent.value];
    while (path.size() < static_cast<std::size_t>(s.end().value)) path.push_back(next_byte());
    paths_.push_back(std::move(path));
  }
  std::vector<corpus::document> all;
  if (!samples_.is_flat_) {
    for (const std::vector<std::uint8_t>& path : paths_) all.emplace_back(path);
  } else {
    for (const sample_end& e : samples_.ends_)
      all.push_back(corpus::document(paths_[e.sequence.value]).first(static_cast<std::size_t>(e.at.value)));
  }
  return all;
}

}  // namespace train
