#include "model_facts.hpp"

#include "texts.hpp"

#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

using namespace slimpack;

std::string count_text(double parameters) {
  return parameters < 1e9 ? fixed(parameters / 1e6, 0) + " M" : fixed(parameters / 1e9, 1) + " B";
}

std::string span_text(const costs::attention_span& span) {
  using costs::mixing;
  switch (span.how) {
    case mixing::full:
      return "full";
    case mixing::window:
      return "window " + std::to_string(span.reach);
    case mixing::chunks:
      return "chunks of " + std::to_string(span.reach);
    case mixing::top_k:
      return "top " + std::to_string(span.reach);
    case mixing::sampled:
      return "sampled " + fixed(100 * span.density, 0) + " %";
    case mixing::selective:
      return "Mamba";
    case mixing::dual:
      return "Mamba-2";
    case mixing::delta:
      return "delta rule";
    case mixing::lightning:
      return "Lightning";
    case mixing::none:
      break;
  }
  return "without attention";
}

/// "18 layers full + 18 window 128", full ones first; heads that differ are not told.
std::string kinds_text(const costs::model_shape& model) {
  std::vector<std::pair<costs::attention_span, int>> counts;
  for (int i = 0; i < model.layers; ++i) {
    const costs::attention_span span = model.mixer(model.kind(i)).span;
    const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == span; });
    if (known == counts.end())
      counts.emplace_back(span, 1);
    else
      ++known->second;
  }
  std::stable_partition(counts.begin(), counts.end(),
                        [](const auto& one) { return one.first.how == costs::mixing::full; });
  std::string text;
  for (const auto& [span, count] : counts)
    text += (text.empty() ? "" : " + ") + std::to_string(count) +
            (text.empty() ? count == 1 ? " layer " : " layers " : " ") + span_text(span);
  if (const int moe = model.moe_layers(); moe > 0)
    text += ", experts in " + (moe == model.layers ? std::string("all") : std::to_string(moe)) + " of them";
  if (model.further > 0)
    text += ", the last " + (model.further == 1 ? "" : std::to_string(model.further) + " ") +
            (model.further == 1 ? "predicts" : "predict") + " further tokens";
  return text;
}

}  // namespace

std::string model_facts(const setting& s) {
  const costs::model_shape& model = *s.model;
  std::string text = count_text(costs::parameters(model)) + " parameters, ";
  if (model.experts > 0) text += count_text(costs::active_parameters(model)) + " active, ";
  return text + kinds_text(model);
}

}  // namespace cli
