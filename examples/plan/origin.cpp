#include "origin.hpp"

#include "idle_options.hpp"
#include "repeat.hpp"
#include "texts.hpp"

#include <slimpack/version.hpp>

#include <set>
#include <span>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;

/// The options of a layout; degrees of 1 are not given.
plan_origin::options options_on(const shapes::layout& on) {
  plan_origin::options all;
  const shape& s = on.shape;
  for (const auto& [name, degree] : {std::pair{"dp", s.replicas}, std::pair{"pp", s.stages}, std::pair{"tp", s.tensor},
                                     std::pair{"cp", s.context}, std::pair{"ep", s.expert}, std::pair{"vpp", s.chunks}})
    if (degree > 1) all.emplace_back(name, std::to_string(degree));
  if (on.recompute != costs::recompute::none) all.emplace_back("recompute", name_of(on.recompute));
  if (s.vocabulary != vocabulary::last) all.emplace_back("vocabulary", slimpack::name_of(s.vocabulary));
  if (!s.words.empty()) all.emplace_back("words", words_text(s.words));
  if (!on.layers.empty()) all.emplace_back("layers", layers_text(on.layers));
  all.emplace_back("quantum", std::to_string(s.quantum.value));
  return all;
}

}  // namespace

plan_origin origin_of(const setting& s, const std::string& planner, const shapes::layout& on,
                      const rival_setting& with) {
  plan_origin made = origin_of(s, planner, on, {s.options.effort_text, s.options.by_estimates});
  if (with.context > tokens{}) made.planning.emplace_back("baseline", "context=" + std::to_string(with.context.value));
  if (with.slices > 0) {
    made.planning.emplace_back("slices", std::to_string(with.slices));
    made.planning.emplace_back("lending", name_of(with.lending));
  }
  return made;
}

plan_origin origin_of(const setting& s, const std::string& planner, const shapes::layout& on, const way& made_so) {
  const options& o = s.options;
  plan_origin made{std::to_string(SLIMPACK_VERSION_MAJOR) + "." + std::to_string(SLIMPACK_VERSION_MINOR) + "." +
                       std::to_string(SLIMPACK_VERSION_PATCH),
                   {},
                   {},
                   s.longest,
                   s.inputs};
  const std::set<std::string> decided{"auto",      "gpus",   "dp",         "pp",     "tp",     "cp",      "ep",
                                      "vpp",       "cost",   "vocabulary", "words",  "layers", "quantum", "planner",
                                      "recompute", "effort", "baseline",   "slices", "lending"};
  if (!o.takes_list) made.batch = o.from->made->origin->batch;
  made.planning = {{"planner", planner}, {"cost", o.cost_text}};
  if (!o.forward_only) made.planning.emplace_back("effort", made_so.effort);
  for (auto& one : options_on(on)) made.planning.push_back(std::move(one));
  // Where --divide was given it is among the others.
  const bool divides_otherwise =
      made_so.by_estimates && !o.by_estimates && planner == "slimpack" && on.shape.replicas > 1;
  if (divides_otherwise) made.planning.emplace_back("divide", "estimated");
  for (const auto& one : o.given) {
    if (divides_otherwise && one.first == "divide") continue;
    if (o.takes_list && takes_batches(one.first)) made.batch.push_back(one);
    if (takes_batches(one.first) || decided.contains(one.first) ||
        !why_idle(one.first, o, std::span(&planner, 1), on).empty())
      continue;
    made.planning.push_back(one);
  }
  return made;
}

void say_batch(plan& made, const batches& all, std::size_t number) {
  made.data = all.data[number];
  if (made.data)  // copies that others go on from come behind the sequences of the batch
    for (const path_copy& c : made.copies)
      if (c.sequence.value >= all.lengths[number].size()) made.data->rows.push_back(all.data[number]->rows[c.of.value]);
  if (all.lengths.size() > 1) made.origin->batch.emplace_back("number", std::to_string(number));
}

}  // namespace cli
