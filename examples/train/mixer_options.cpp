#include "mixer_options.hpp"

#include "../plan/planners.hpp"
#include "../plan/texts.hpp"
#include "model/layer_range.hpp"

#include <slimpack/core/lending/loans_of.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace train {

using cli::bad_usage;

void read_mixers(const std::string& text, config& model) {
  for (const std::string& cell : cli::split(text, ',')) {
    mixer_choice& one = model.mixers.emplace_back();
    if (cell == "full") continue;
    const std::size_t colon = cell.find(':');
    const char* const end = cell.data() + cell.size();
    if (cell == "linear") {
      one.kind = mixer_kind::linear;
    } else if (cell.substr(0, colon) == "window" && colon != std::string::npos) {
      one.kind = mixer_kind::window;
      const auto [read, status] = std::from_chars(cell.data() + colon + 1, end, one.window);
      if (status != std::errc{} || read != end || one.window < 1 || one.window > 1 << 24)
        throw bad_usage{"--mixers " + cli::shown_value(text) + " has " + cli::shown_value(cell) +
                        ": a window has from 1, the token itself, to 16777216 tokens, as window:64"};
    } else {
      throw bad_usage{"--mixers " + cli::shown_value(text) + " has " + cli::shown_value(cell) +
                      "; write full, window:TOKENS or linear, separated by commas"};
    }
  }
}

void share_as_mixers_can(options& o, bool sharers_are_given) {
  if (std::none_of(o.model.mixers.begin(), o.model.mixers.end(), [](const mixer_choice& m) { return m.has_state(); }))
    return;
  const std::string has = "--mixers has linear layers, which take the tokens of a sequence one after the other: ";
  if (sharers_are_given && o.sharers > 1 && o.shape.replicas > 1)
    throw bad_usage{has + "replicas cannot share one; give --sharers 1, or leave it out"};
  o.sharers = 1;
  std::vector<std::string> planners{o.planner};
  planners.insert(planners.end(), o.compare.begin(), o.compare.end());
  for (const std::string& planner : planners) {
    if (cli::exchange_of(planner))
      throw bad_usage{has + "replicas cannot share one, as those of the planner " + planner + " do"};
    if (planner == "milp")
      throw bad_usage{has + "the planner milp knows no states that slices keep; leave out one of them"};
  }
  if (o.lending != slimpack::attention_lending::none)
    throw bad_usage{has + "stages cannot lend each other parts of them; give --lending none, or leave it out"};
}

void check_mixers(const options& o) {
  if (o.model.mixers.size() > static_cast<std::size_t>(o.model.layers))
    throw bad_usage{"--mixers has " + std::to_string(o.model.mixers.size()) + " mixers, --layers " +
                    std::to_string(o.model.layers) + ": give no more mixers than there are layers"};
  const int parts = o.shape.parts();
  if (o.shape.chunks == 1 || o.model.layers % parts != 0) return;
  for (int part = o.shape.stages; part < parts; ++part)
    if (states_of(o.model, part_of(o.model, o.shape, part)) !=
        states_of(o.model, part_of(o.model, o.shape, part - o.shape.stages)))
      throw bad_usage{
          "--mixers gives parts of a stage different numbers of linear layers; with --vpp each has as many as any "
          "other"};
}

std::string mixers_text(const config& model) {
  const auto is_full = [](const mixer_choice& one) { return one == mixer_choice{}; };
  if (std::all_of(model.mixers.begin(), model.mixers.end(), is_full)) return {};
  std::string text;
  for (const mixer_choice& one : model.mixers) {
    text += text.empty() ? ", mixers " : ", ";
    text += one.kind == mixer_kind::full     ? "full"
            : one.kind == mixer_kind::linear ? "linear"
                                             : "window:" + std::to_string(one.window);
  }
  return text;
}

}  // namespace train
