#include "contenders.hpp"

#include "advice.hpp"
#include "choice.hpp"
#include "progress.hpp"
#include "texts.hpp"

#include <slimpack/shape_search.hpp>
#include <slimpack/shapes/ranking.hpp>
#include <slimpack/shapes/search_progress.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <ostream>
#include <span>
#include <stop_token>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;

/// Layouts of a ranking on which unequal shares of the words are tried, at most.
constexpr std::size_t best_with_words = 2;
/// Times the fastest step of a ranking: where even shares take longer, unequal ones do too. Measured: they gain up to
/// 10 % of a step, of llama-3.1-8b on 3 GPUs whose memory is short.
constexpr double most_for_words = 1.12;

/// Mean step time of plans, which are there.
double step_of(const std::vector<plan>& plans) {
  double sum = 0;
  for (const plan& p : plans) sum += p.step_time.value;
  return sum / static_cast<double>(plans.size());
}

/// Of layouts on which a baseline fits nowhere, the one on which it holds least.
shapes::layout smallest_of(const setting& s, const std::string& planner, std::span<const shapes::layout> layouts,
                           std::span<const tokens> lengths) {
  std::optional<std::pair<double, shapes::layout>> least;
  for (const shapes::layout& on : layouts) {
    const result<any_cost> cost = cost_on(s, planner, on);
    if (!cost) continue;
    const tuned_plan best = smallest(request_of(s, planner, on), lengths, cost.value());
    if (best.made && (!least || peak_of(best.made.value()) < least->first)) least = {peak_of(best.made.value()), on};
  }
  return least ? least->second : layouts.front();
}

/// A baseline on the one of a few layouts on which its steps are shortest, in the mean over all batches, each with its
/// best setting; where it fits on none, on the one on which it holds least.
result<contender> baseline_on(const setting& s, const std::string& planner, std::span<const shapes::layout> layouts,
                              const batches& all) {
  const progress shown("tuning " + planner, limit_of(s.options));
  const std::optional<deadline> limit = deadline_of(s.options);
  std::optional<contender> best;
  double least = std::numeric_limits<double>::infinity();
  error why{errc::invalid_input, "it has no layout"};
  bool has_room = true;
  for (const shapes::layout& on : layouts) {
    if (best && limit && limit->token().stop_requested()) {
      for (tuned_plan& one : best->tuned) one.to_the_end = false;
      break;
    }
    result<any_cost> cost = cost_on(s, planner, on);
    if (!cost) {
      why = cost.error();
      continue;
    }
    request asked = request_of(s, planner, on);
    if (limit) asked.stop = limit->token();
    contender one{planner, on, std::move(cost).value(), {}, {}, {}};
    double sum = 0;
    for (std::size_t b = 0; b < all.lengths.size(); ++b) {
      asked.samples = all.forest_of(b);
      tuned_plan made = tuned(asked, all.lengths[b], one.cost, seconds{least - sum});
      if (!made.made) {
        if (made.made.error().code != errc::not_faster)
          why = made.made.error(), has_room &= why.code != errc::out_of_memory;
        break;
      }
      sum += made.made.value().step_time.value;
      one.tuned.push_back(std::move(made));
    }
    if (one.tuned.size() == all.lengths.size() && sum < least) best = std::move(one), least = sum;
  }
  if (best) return *std::move(best);
  if (has_room) return why;
  const shapes::layout on = smallest_of(s, planner, layouts, all.lengths.front());
  result<any_cost> cost = cost_on(s, planner, on);
  if (!cost) return std::move(cost).error();
  return contender{planner, on, std::move(cost).value(), {}, {}, {}};
}

/// Unequal shares of the words on the best layouts of a ranking, ranked as these were; where none has a plan, on
/// layouts that memory is too small for.
result<shapes::ranking> words_ranked(const setting& s, const std::string& planner, shape_search how,
                                     const shapes::ranking& of, const batches& all, const std::stop_token& stop,
                                     const shapes::progress_listener& told) {
  std::vector<shapes::layout> layouts;
  std::size_t tried = 0;
  for (const shapes::candidate& c : of.candidates) {
    const bool is_small = c.outcome == shapes::outcome::no_room || c.outcome == shapes::outcome::too_large;
    if (tried == best_with_words) break;
    if (of.best() ? c.outcome != shapes::outcome::planned || c.step_time > of.best()->step_time * most_for_words
                  : !is_small)
      continue;
    std::vector<shapes::layout> more = with_unequal_words(s, planner, c.layout, all.lengths);
    if (more.empty()) continue;
    ++tried;
    std::move(more.begin(), more.end(), std::back_inserter(layouts));
  }
  if (layouts.empty()) return shapes::ranking{};
  how.finalists = std::min<std::size_t>(how.finalists, 2);
  return ranked(s, planner, how, layouts, all.lengths, stop, told, all.forests);
}

/// The layout given, or what --auto, --layers auto, --words auto and tuning leave open, the one on which the planner is
/// fastest over all batches.
result<contender> contender_of(std::ostream& out, const std::string& planner, const setting& s, const batches& all) {
  const options& o = s.options;
  const bool stays = planner != o.planner && o.baseline_layout;
  const bool chooses = o.automatic && !stays;
  shapes::layout on = stays ? *o.baseline_layout : s.layout;
  on.shape.memory = s.layout.shape.memory;
  const int gpus = o.automatic ? o.automatic->gpus : static_cast<int>(on.gpus());
  std::vector<shapes::layout> layouts;
  if (chooses) {
    layouts = layouts_of(s, planner, gpus);
    if (layouts.empty())
      return error{errc::invalid_input,
                   "no shape of " + std::to_string(gpus) + " GPUs of " + s.device->name +
                       " has the degrees given; change --gpus, or give fewer of --dp, --pp, --tp, --cp, --ep, --vpp"};
  } else {
    for (const costs::recompute again : recomputes_of(s, planner))
      layouts.push_back(on), layouts.back().recompute = again;
  }
  if (o.even_stages && !stays) layouts = with_even_stages(s, std::move(layouts), all.lengths);
  const bool shares_words = o.shares_words && !stays;
  if (!chooses && is_baseline(planner) && planner != o.planner) {
    if (shares_words)
      for (const shapes::layout& one : std::vector(layouts))
        for (shapes::layout& other : with_unequal_words(s, planner, one, all.lengths))
          layouts.push_back(std::move(other));
    return baseline_on(s, planner, layouts, all);
  }
  std::vector<plan> plans;
  bool out_of_time = false;
  if (chooses || shares_words || layouts.size() > 1) {
    progress shown("choosing a layout for " + planner, limit_of(o));
    const std::optional<deadline> limit = deadline_of(o, .93);  // plans under way are still simulated and proven
    shape_search how{.effort = o.effort, .threads = o.threads};
    if (how.effort == how.probe) how.first = how.probe;
    if (o.forward_only) how.first = how.effort;                           // its packs are searched alike by any effort
    if (is_baseline(planner)) how.effort = how.first, how.finalists = 1;  // effort means nothing to baselines
    const std::stop_token stop = limit ? limit->token() : std::stop_token{};
    const shapes::progress_listener told = [&](const shapes::search_progress& far) { shown.say(text_of(far)); };
    result<shapes::ranking> found = ranked(s, planner, how, layouts, all.lengths, stop, told, all.forests);
    if (!found) return found.error();
    if (shares_words && !stop.stop_requested()) {
      result<shapes::ranking> others = words_ranked(s, planner, how, found.value(), all, stop, told);
      if (!others) return others.error();
      found.value().add(std::move(others).value());
    }
    if (!found.value().best()) return none_of(found.value(), planner, gpus);
    if (chooses) print_ranking(out, planner, found.value(), s, all.lengths);
    on = found.value().best()->layout;
    plans = std::move(found.value().plans);
    out_of_time = limit && limit->token().stop_requested();
  } else {
    on = layouts.front();
  }
  result<any_cost> cost = cost_on(s, planner, on);
  if (!cost) return std::move(cost).error();
  return contender{planner, on, std::move(cost).value(), std::move(plans), out_of_time, {}};
}

/// slimpack's plans on the layout of a baseline; nothing where it has none of some batch.
std::optional<contender> slimpack_on(const setting& s, const contender& rival, const batches& all) {
  const progress shown("planning slimpack on the layout of " + rival.planner, limit_of(s.options));
  const std::optional<deadline> limit = deadline_of(s.options);
  result<any_cost> cost = cost_on(s, "slimpack", rival.layout);
  if (!cost) return std::nullopt;
  contender own{"slimpack", rival.layout, std::move(cost).value(), {}, {}, {}};
  request asked = request_of(s, own.planner, own.layout);
  if (limit) asked.stop = limit->token();
  for (std::size_t b = 0; b < all.lengths.size(); ++b) {
    asked.samples = all.forest_of(b);
    result<plan> made = plan_named(asked, all.lengths[b], own.cost);
    if (!made) return std::nullopt;
    own.plans.push_back(std::move(made).value());
  }
  own.out_of_time = limit && asked.stop.stop_requested();
  return own;
}

void add_slimpack_on_layouts_of_baselines(std::vector<contender>& all, const setting& s, const batches& loaded) {
  std::vector<shapes::layout> tried{all.front().layout};
  std::vector<contender> same;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const contender& rival = all[i];
    if (!is_baseline(rival.planner) || std::find(tried.begin(), tried.end(), rival.layout) != tried.end()) continue;
    tried.push_back(rival.layout);
    if (std::optional<contender> own = slimpack_on(s, rival, loaded)) same.push_back(*std::move(own));
  }
  if (s.options.automatic) {
    const std::vector<shapes::layout> open = layouts_of(s, "slimpack", s.options.automatic->gpus);
    for (contender& one : same) {
      shapes::layout given = one.layout;
      given.layers = s.layout.layers;
      given.shape.words = s.layout.shape.words;
      const bool may_lead = std::find(open.begin(), open.end(), given) != open.end();
      if (may_lead && step_of(one.plans) < step_of(all.front().plans)) std::swap(one, all.front());
    }
  }
  all.insert(all.begin() + 1, std::make_move_iterator(same.begin()), std::make_move_iterator(same.end()));
}

/// --planner, then those to compare it with, each once.
std::vector<std::string> planners_of(const options& o) {
  std::vector<std::string> names{o.planner};
  for (const std::string& name : o.compare)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

}  // namespace

std::optional<std::chrono::milliseconds> limit_of(const options& o) {
  return o.time_limit_ms ? std::optional<std::chrono::milliseconds>(*o.time_limit_ms) : std::nullopt;
}

std::optional<deadline> deadline_of(const options& o, double share) {
  const std::optional<std::chrono::milliseconds> limit = limit_of(o);
  if (!limit) return std::nullopt;
  return std::optional<deadline>(std::in_place,
                                 std::chrono::milliseconds(std::llround(share * static_cast<double>(limit->count()))));
}

result<contenders> contenders::of(std::ostream& out, setting& s, const batches& loaded) {
  contenders made;
  const std::vector<std::string> names = planners_of(s.options);
  if (s.options.automatic && s.measured && names.size() > 1) s.made = std::make_shared<made_costs>();
  for (const std::string& name : names) {
    result<contender> one = contender_of(out, name, s, loaded);
    if (one) {
      made.all.push_back(std::move(one).value());
    } else if (made.all.empty()) {
      error e = one.error();
      if (e.code == errc::out_of_memory && !s.options.has_forest()) e.detail += "; " + advice(s, loaded.lengths);
      return e;
    } else {
      made.left_out.push_back(name + " has no plan: " + one.error().detail);
    }
  }
  s.made.reset();
  if (s.options.planner == "slimpack") add_slimpack_on_layouts_of_baselines(made.all, s, loaded);
  return made;
}

}  // namespace cli
