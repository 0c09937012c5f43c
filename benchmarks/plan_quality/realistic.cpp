// Training steps of real models on H100s: the default planner over baselines, each on the best layout for it.

#include "batches.hpp"
#include "finished_rows.hpp"
#include "parts.hpp"
#include "tuning.hpp"

#include <slimpack/core/plan.hpp>
#include <slimpack/io/model_config.hpp>
#include <slimpack/simulators/step_bounds.hpp>
#include <slimpack/solvers/baselines/named.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::plan_quality {
namespace {

/// The longest sequence's share of the batch's useful work.
double longest_share(const costs::transformer& cost, std::span<const tokens> lengths) {
  const auto work = [&](tokens length) {
    const slice whole{{}, {0}, length};
    return cost.useful(whole, pass::forward, 0) + cost.useful(whole, pass::backward, 0);
  };
  seconds all{};
  for (const tokens length : lengths) all += work(length);
  return work(longest_of(lengths).length) / all;
}

/// A planner's step on its best layout.
struct tuned_step {
  double time{};  ///< seconds
  double bubble{};
  std::string layout{};
};

tuned_step step_of(const shapes::candidate& c) { return {c.step_time.value, c.bubble, text_of(c.layout)}; }

/// Shares of rank-time, in the order of rank_time_parts.
using split = std::array<double, std::size(rank_time_parts)>;

split split_of(const rank_time& spent) {
  split shares{};
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = spent.*rank_time_parts[i].second / spent.total();
  return shares;
}

/// One batch on one cluster: slimpack and Megatron-LM's recipe, each on its best layout.
struct comparison {
  std::string where;
  tuned_step own;
  tuned_step megatron;
  std::string fastest;     ///< of the baselines
  double over_megatron{};  ///< its step time over ours
  double over_fastest{};
  double over_same{};  ///< ... over ours on the layout that is best for megatron; 0 where we have no plan
  double longest{};    ///< sequence's share of the work
  double uncut{};      ///< floor of whole sequences on our layout over our step
  split spent{};       ///< what our stages do
  [[nodiscard]] double bubble_cut() const { return 1 - own.bubble / megatron.bubble; }

  /// What a file keeps, but for `where`.
  [[nodiscard]] std::string row() const {
    std::ostringstream out;
    out.precision(17);
    for (const tuned_step* s : {&own, &megatron}) out << s->time << ' ' << s->bubble << ' ' << s->layout << ' ';
    out << fastest << ' ' << over_megatron << ' ' << over_fastest << ' ' << over_same << ' ' << longest << ' ' << uncut;
    for (const double share : spent) out << ' ' << share;
    return out.str();
  }
  /// Nothing where the row is no comparison.
  static std::optional<comparison> of(const std::string& where, const std::string& row) {
    comparison c{where, {}, {}, {}};
    std::istringstream in(row);
    for (tuned_step* s : {&c.own, &c.megatron}) in >> s->time >> s->bubble >> s->layout;
    in >> c.fastest >> c.over_megatron >> c.over_fastest >> c.over_same >> c.longest >> c.uncut;
    for (double& share : c.spent) in >> share;
    return in ? std::optional(std::move(c)) : std::nullopt;
  }
};

void print(const comparison& c) {
  std::printf("  %-28s %9.3f %-16s %9.3f %-16s %6.3f %6.3f %-14s %6.3f %6.2f %6.2f %6.1f %6.1f %6.2f\n",
              c.where.c_str(), c.own.time, c.own.layout.c_str(), c.megatron.time, c.megatron.layout.c_str(),
              c.over_megatron, c.over_fastest, c.fastest.c_str(), c.over_same, 100 * c.own.bubble,
              100 * c.megatron.bubble, 100 * c.bubble_cut(), 100 * c.longest, c.uncut);
}

/// A row of the table: a comparison, or a sentence that says why slimpack or megatron has no plan.
std::string compared(const cluster& on, const batch& b) {
  const std::vector<shapes::layout> layouts = on.layouts_for(b.lengths);
  std::optional<shapes::candidate> own = on.tuned("slimpack", layouts, b.lengths);
  if (!own) return on.shortfall(longest_of(b.lengths).length);
  std::optional<shapes::candidate> megatron;
  std::optional<shapes::candidate> fastest;
  std::string name;
  std::optional<rank_time> spent;
  double over_same = 0;
  for (const std::string_view baseline : baselines::sharing_none.first<4>()) {  // slimpipe's rows take part in every
                                                                                // plan of slimpack's, and are not tuned
                                                                                // here
    const std::string planner(baseline);
    const std::optional<shapes::candidate> other = on.tuned(planner, layouts, b.lengths);
    if (!other) continue;
    if (!fastest || other->step_time < fastest->step_time) fastest = other, name = planner;
    // A shape search plans few layouts with all effort: where a baseline ends, slimpack plans, too.
    const result<plan> same = on.planned(other->layout, b.lengths);
    if (planner == "megatron") megatron = other, over_same = same ? other->step_time / same.value().step_time : 0;
    if (same && same.value().step_time < own->step_time)
      spent = same.value().rank_time, own->layout = other->layout, own->step_time = same.value().step_time,
      own->bubble = same.value().bubble;
  }
  if (!megatron)
    return "megatron has room on no layout, slimpack takes " + std::to_string(own->step_time.value) + " s on " +
           text_of(own->layout);
  comparison c{{}, step_of(*own), step_of(*megatron), name};
  c.over_megatron = megatron->step_time / own->step_time;
  c.over_fastest = fastest->step_time / own->step_time;
  c.over_same = over_same;
  const costs::transformer cost = on.cost_on(own->layout).value();
  if (!spent) spent = on.planned(own->layout, b.lengths).value().rank_time;
  c.spent = split_of(*spent);
  c.longest = longest_share(cost, b.lengths);
  c.uncut = (uncut_floor(cost, own->layout.shape, b.lengths) + simulators::least_reduction(cost, own->layout.shape)) /
            own->step_time;
  return c.row();
}

/// Geometric mean and extremes of what `ratio` says of each.
template <class Ratio>
void summarise(const char* what, const std::vector<comparison>& all, const Ratio& ratio) {
  double logarithms = 0, least = std::numeric_limits<double>::infinity(), most = 0;
  std::size_t count = 0;
  for (const comparison& c : all) {
    const double r = ratio(c);
    if (r <= 0) continue;
    logarithms += std::log(r), least = std::min(least, r), most = std::max(most, r), ++count;
  }
  if (count > 0)
    std::printf("  %-44s geometric mean %.3f, least %.3f, most %.3f, %zu batches\n", what,
                std::exp(logarithms / static_cast<double>(count)), least, most, count);
}

void summarise_model(const std::string& model, std::vector<comparison> all, scoreboard& board) {
  std::printf(" %s\n", model.c_str());
  summarise("step of megatron, tuned, over ours:", all, [](const comparison& c) { return c.over_megatron; });
  summarise("step of the fastest baseline, tuned, over ours:", all, [](const comparison& c) { return c.over_fastest; });
  summarise("on megatron's layout, megatron over ours:", all, [](const comparison& c) { return c.over_same; });
  summarise("our bubble over megatron's:", all, [](const comparison& c) { return c.own.bubble / c.megatron.bubble; });
  const auto reached = [&](double from) {
    return std::count_if(all.begin(), all.end(), [&](const comparison& c) { return c.over_megatron >= from; });
  };
  const auto cut = std::count_if(all.begin(), all.end(), [](const comparison& c) { return c.bubble_cut() >= 0.937; });
  std::printf(
      "  2.8 x megatron is reached in %td of %zu, 1.5 x in %td, 1.1 x in %td; bubbles are cut by 93.7 %% in %td\n",
      reached(2.8), all.size(), reached(1.5), reached(1.1), cut);
  const auto slower =
      std::count_if(all.begin(), all.end(), [](const comparison& c) { return c.over_fastest * (1 + 1e-9) < 1; });
  std::printf("  slower than a baseline in %td of %zu, goal 0: %s\n", slower, all.size(),
              board.judge({"realistic: batches slower than a baseline, " + model, static_cast<double>(slower), 0}));
  split mean{};
  for (const comparison& c : all)
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += 100 * c.spent[i] / static_cast<double>(all.size());
  std::printf("  rank-time of ours, mean %%:");
  for (std::size_t i = 0; i < mean.size(); ++i)
    std::printf("%s %s %.1f", i == 0 ? "" : ",", rank_time_parts[i].first, mean[i]);
  std::printf("\n");
  std::stable_sort(all.begin(), all.end(),
                   [](const comparison& a, const comparison& b) { return a.over_megatron > b.over_megatron; });
  std::printf("  most and least over megatron:\n");
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i < 5 || i + 5 >= all.size()) print(all[i]);
}

}  // namespace

void realistic(const options& o, scoreboard& board) {
  const std::vector<int> gpus = o.quick ? std::vector<int>{64} : std::vector<int>{64, 256, 1024};
  const char* const models[] = {"llama-3.1-8b", "llama-3.1-70b", "mixtral-8x22b", "deepseek-v3"};
  std::printf(
      "realistic: steps of 512 sequences on H100s, transformer cost; 80 GB a GPU less 4 GiB, everything included\n"
      "  every planner on the layout that is fastest for it, of every dp x pp x tp x cp with 1, 2 and 4 virtual "
      "stages,\n"
      "  without, with selective and with full recomputation, the vocabulary on the last stage or spread, layers as "
      "many on\n"
      "  each part or so that stages are even, experts over any ranks of a stage; those that pack to a length over 12 "
      "lengths\n"
      "  or more, from the longest sequence to what a replica has or fits (pack_lengths.hpp); slimpack also on every "
      "layout\n"
      "  that a baseline ends on. Makespans with the\n"
      "  reduction of gradients, s; layouts are dp/pp/tp/cp/vpp, x: ranks over which experts are spread, v: spread "
      "vocabulary,\n"
      "  s or f: recomputation, e: even stages. Lists as in bounds, lengths cut to the context, seed %llu;\n"
      "  short ones do not depend on it. over: step of megatron, and of the fastest baseline, over ours; same: of "
      "megatron\n"
      "  on its own layout; bubbles in %% of rank-time; cut: of megatron's, %%; long.: the longest sequence's share of "
      "the\n"
      "  work, %%; uncut: what no plan of whole sequences can beat on our layout, over our step\n",
      static_cast<unsigned long long>(o.seeds.front()));
  std::printf("  %-28s %9s %-16s %9s %-16s %6s %6s %-14s %6s %6s %6s %6s %6s %6s\n", "batch", "slimpack", "layout",
              "megatron", "layout", "over", "over", "fastest", "same", "bubble", "its", "cut", "long.", "uncut");
  if (std::none_of(std::begin(models), std::end(models),
                   [&](const char* m) { return benchmarks::chosen(o.models, m); }))
    std::printf("  --models %s names none of them\n", o.models.c_str());
  if (std::none_of(gpus.begin(), gpus.end(),
                   [&](int count) { return benchmarks::chosen(o.gpus, std::to_string(count)); }))
    std::printf("  --gpus %s names none of these clusters\n", o.gpus.c_str());

  struct row {
    std::string model;
    int gpus;
    tokens context;
    batch of;
  };
  std::vector<row> rows;
  for (const char* name : models) {
    if ((o.quick && name != models[0]) || !benchmarks::chosen(o.models, name)) continue;
    for (const int count : gpus) {
      if (!benchmarks::chosen(o.gpus, std::to_string(count))) continue;
      for (const tokens context : {tokens{65536}, tokens{262144}})
        for (const batch& b : batches(o.data, 512, o.seeds.front(), context)) {
          if (o.quick ? b.name != "log-normal 512" : !b.long_tailed && context != tokens{65536}) continue;
          rows.push_back({name, count, context, b});
        }
    }
  }
  finished_rows kept(o.rows,
                     "realistic, baselines tuned, vocabulary last or spread, layers even or not, experts spread, "
                     "collectives apart, 512 sequences, seed " +
                         std::to_string(o.seeds.front()));
  std::vector<comparison> all;
  std::optional<cluster> on;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const row& r = rows[i];
    if (i == 0 || r.model != rows[i - 1].model || r.gpus != rows[i - 1].gpus || r.context != rows[i - 1].context) {
      on = cluster::of(io::read_model(o.data / "models" / (r.model + ".json")).value(), r.gpus);
      std::printf(" %s, %d H100s, context %lld, %zu layouts\n", r.model.c_str(), r.gpus,
                  static_cast<long long>(r.context.value), on->layouts.size());
    }
    const std::string where =
        r.of.name + ", " + r.model + ", " + std::to_string(r.gpus) + ", " + std::to_string(r.context.value);
    std::optional<std::string> text = kept.find(where);
    if (!text) {
      text = compared(*on, r.of);
      kept.add(where, *text);
    }
    if (std::optional<comparison> c = comparison::of(r.of.name, *text)) {
      print(*c);
      c->where = where;
      all.push_back(std::move(*c));
    } else {
      std::printf("  %-28s %s\n", r.of.name.c_str(), text->c_str());
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    std::fprintf(stderr, "row %zu of %zu, %.0f s so far\n", i + 1, rows.size(), time.count());
  }
  for (const char* name : models) {
    std::vector<comparison> own;
    for (const comparison& c : all)
      if (c.where.find(std::string(", ") + name + ", ") != std::string::npos) own.push_back(c);
    if (!own.empty()) summarise_model(name, std::move(own), board);
  }
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
