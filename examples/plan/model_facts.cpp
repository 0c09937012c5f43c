#include "model_facts.hpp"

#include "texts.hpp"

#include <slimpack/costs/model/attention_kinds.hpp>
#include <slimpack/costs/model/layer.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;

std::string count_text(double parameters) {
  return parameters < 1e9 ? fixed(parameters / 1e6, 0) + " M" : fixed(parameters / 1e9, 1) + " B";
}

std::string span_text(const costs::attention_span& span) {
  using costs::attends;
  switch (span.to) {
    case attends::full:
      return "full";
    case attends::window:
      return "window " + std::to_string(span.reach);
    case attends::chunk:
      return "chunks of " + std::to_string(span.reach);
    case attends::top_k:
      return "top " + std::to_string(span.reach);
    case attends::state:
      break;
  }
  return "state";
}

/// "18 layers full + 18 window 128 (counted as full)", full ones first.
std::string kinds_text(const costs::model_shape& model, const costs::attention_kinds& kinds) {
  std::vector<std::pair<costs::attention_span, int>> counts;
  for (const costs::attention_span& span : kinds.layers) {
    const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == span; });
    if (known == counts.end())
      counts.emplace_back(span, 1);
    else
      ++known->second;
  }
  std::stable_partition(counts.begin(), counts.end(),
                        [](const auto& one) { return one.first.to == costs::attends::full; });
  std::string text;
  for (const auto& [span, count] : counts)
    text += (text.empty() ? "" : " + ") + std::to_string(count) +
            (text.empty() ? count == 1 ? " layer " : " layers " : " ") + span_text(span);
  if (!kinds.all_full()) text += " (counted as full)";
  if (const int moe = model.moe_layers(); moe > 0)
    text += ", experts in " + (moe == model.layers ? std::string("all") : std::to_string(moe)) + " of them";
  return text;
}

}  // namespace

std::string model_facts(const setting& s) {
  const costs::model_shape& model = *s.model;
  std::string text = count_text(costs::parameters(model)) + " parameters, ";
  if (model.experts > 0) text += count_text(costs::active_parameters(model)) + " active, ";
  return text + kinds_text(model, s.attention);
}

std::string overcount_note(const setting& s, const batches& batches) {
  if (s.attention.all_full()) return {};
  std::vector<tokens> all;
  for (std::size_t b = 0; b < batches.lengths.size(); ++b)
    if (const forest* const shared = batches.forest_of(b); shared && !shared->samples.empty())
      for (const sample_end& one : shared->samples) all.insert(all.end(), one.count, one.at);
    else
      all.insert(all.end(), batches.lengths[b].begin(), batches.lengths[b].end());
  const costs::overcount over = costs::overcount_of(*s.model, s.attention, all);
  return "all layers are counted as full attention, as --as-full-attention says: " +
         (std::isfinite(over.attention)
              ? fixed(over.attention, 2) + " times the operations of attention that " + s.model->name + " has"
              : "attention of which " + s.model->name + " has none") +
         ", " + fixed(over.total, 2) + " times those of a step";
}

}  // namespace cli
