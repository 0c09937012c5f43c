// Training steps of real models on H100s: the default planner over baselines, each on the best layout for it.

#include "batches.hpp"
#include "parts.hpp"
#include "tuning.hpp"

#include <slimpack/io/model_config.hpp>
#include <slimpack/solvers/baselines/named.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
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

/// One batch on one cluster: slimpack and Megatron-LM's recipe, each on its best layout.
struct comparison {
  std::string where;
  shapes::candidate own;
  shapes::candidate megatron;
  std::string fastest;     ///< of the baselines
  double over_megatron{};  ///< its step time over ours
  double over_fastest{};
  double over_same{};  ///< ... over ours on the layout that is best for megatron; 0 where we have no plan
  double longest{};    ///< sequence's share of the work
  double uncut{};      ///< floor of whole sequences on our layout over our step
  [[nodiscard]] double bubble_cut() const { return 1 - own.bubble / megatron.bubble; }
};

void print(const comparison& c) {
  std::printf("  %-28s %9.3f %-16s %9.3f %-16s %6.3f %6.3f %-14s %6.3f %6.2f %6.2f %6.1f %6.1f %6.2f\n",
              c.where.c_str(), c.own.step_time.value, text_of(c.own.layout).c_str(), c.megatron.step_time.value,
              text_of(c.megatron.layout).c_str(), c.over_megatron, c.over_fastest, c.fastest.c_str(), c.over_same,
              100 * c.own.bubble, 100 * c.megatron.bubble, 100 * c.bubble_cut(), 100 * c.longest, c.uncut);
}

/// Nothing, with a line that says why, where slimpack or megatron has no plan.
std::optional<comparison> compared(const cluster& on, const batch& b, tokens context) {
  const std::optional<shapes::candidate> own = on.tuned("slimpack", b.lengths, context);
  if (!own) {
    std::printf("  %-28s %s\n", b.name.c_str(), on.shortfall(longest_of(b.lengths).length).c_str());
    return std::nullopt;
  }
  std::optional<shapes::candidate> megatron;
  std::optional<shapes::candidate> fastest;
  std::string name;
  for (const std::string_view baseline : baselines::names) {
    const std::string planner(baseline);
    const std::optional<shapes::candidate> other = on.tuned(planner, b.lengths, context);
    if (planner == "megatron") megatron = other;
    if (other && (!fastest || other->step_time < fastest->step_time)) fastest = other, name = planner;
  }
  if (!megatron) {
    std::printf("  %-28s %9.3f %-16s megatron has room on no layout\n", b.name.c_str(), own->step_time.value,
                text_of(own->layout).c_str());
    return std::nullopt;
  }
  comparison c{b.name, *own, *megatron, name};
  c.over_megatron = megatron->step_time / own->step_time;
  c.over_fastest = fastest->step_time / own->step_time;
  const result<plan> same = on.planned("slimpack", {}, megatron->layout, b.lengths, solvers::search_budget::normal());
  c.over_same = same ? megatron->step_time / same.value().step_time : 0;
  const costs::transformer cost = on.cost_on(own->layout).value();
  c.longest = longest_share(cost, b.lengths);
  c.uncut = (uncut_floor(cost, own->layout.shape, b.lengths) + cost.reduce_time()) / own->step_time;
  print(c);
  return c;
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

void summarise(std::vector<comparison> all) {
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
  std::stable_sort(all.begin(), all.end(),
                   [](const comparison& a, const comparison& b) { return a.over_megatron > b.over_megatron; });
  std::printf("  most and least over megatron:\n");
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i < 5 || i + 5 >= all.size()) print(all[i]);
}

}  // namespace

void realistic(const options& o, scoreboard&) {
  const std::vector<int> gpus = o.quick ? std::vector<int>{64} : std::vector<int>{64, 256, 1024};
  const char* const models[] = {"llama-3.1-8b", "llama-3.1-70b", "mixtral-8x22b", "deepseek-v3"};
  std::printf(
      "realistic: steps of 512 sequences on H100s, transformer cost; 80 GB a GPU less 4 GiB, everything included\n"
      "  every planner on the layout that is fastest for it, of every dp x pp x tp x cp with 1, 2 and 4 virtual stages,\n"
      "  without, with selective and with full recomputation; those that pack to a length over 1, 4, 16 x\n"
      "  the longest sequence within the context. Makespans with the reduction of gradients, s; layouts are\n"
      "  dp/pp/tp/cp/vpp, s or f: recomputation. Lists as in bounds, lengths cut to the context, seed %llu; short ones "
      "do\n"
      "  not depend on it. over: step of megatron, and of the fastest baseline, over ours; same: of megatron on its "
      "own\n"
      "  layout; bubbles in %% of rank-time; cut: of megatron's, %%; long.: the longest sequence's share of the work, "
      "%%;\n"
      "  uncut: what no plan of whole sequences can beat on our layout, over our step\n",
      static_cast<unsigned long long>(o.seeds.front()));
  std::printf("  %-28s %9s %-16s %9s %-16s %6s %6s %-14s %6s %6s %6s %6s %6s %6s\n", "batch", "slimpack", "layout",
              "megatron", "layout", "over", "over", "fastest", "same", "bubble", "its", "cut", "long.", "uncut");
  std::vector<comparison> all;
  if (std::none_of(std::begin(models), std::end(models), [&](const char* m) { return benchmarks::chosen(o.models, m); }))
    std::printf("  --models %s names none of them\n", o.models.c_str());
  for (const char* name : models) {
    if (o.quick && name != models[0]) break;
    if (!benchmarks::chosen(o.models, name)) continue;
    const costs::model_shape model = io::read_model(o.data / "models" / (std::string(name) + ".json")).value();
    for (const int count : gpus) {
      const cluster on = cluster::of(model, count);
      for (const tokens context : {tokens{65536}, tokens{262144}}) {
        std::printf(" %s, %d H100s, context %lld, %zu layouts\n", name, count, static_cast<long long>(context.value),
                    on.layouts.size());
        for (const batch& b : batches(o.data, 512, o.seeds.front(), context)) {
          if (o.quick ? b.name != "log-normal 512" : !b.long_tailed && context != tokens{65536}) continue;
          std::optional<comparison> c = compared(on, b, context);
          if (!c) continue;
          c->where += std::string(", ") + name + ", " + std::to_string(count) + ", " + std::to_string(context.value);
          all.push_back(std::move(*c));
        }
      }
    }
  }
  if (!all.empty()) summarise(std::move(all));
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
