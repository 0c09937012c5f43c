// Which value of each constant of the search is best: is every default of solvers::search_options, and of its
// `tuning`, worth its place? constants.md has the answers.
//
// Each constant is made smaller and larger, one at a time, and the same batches are planned with it: real lists and
// laws, several seeds, shapes and policies that use every part of the search, at the fast and the normal effort and at
// one that is long enough to begin anew. Each constant can change some of these plans: what none of them asks, no
// measurement can judge. What stands beside it is the default: with equal batches and equal random numbers, differences
// are the constant's, though much of what a random search does by other numbers is luck: the error of the mean is
// printed as well.

#include "batches.hpp"
#include "measured.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/io/model_config.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/search_constants.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::plan_quality {
namespace {

/// A planner of one batch, for the options that are tried.
struct trial {
  std::string name;
  std::function<result<plan>(const solvers::search_options&)> planned;
  bool for_some{};  // only for constants that asked_by_some names
};

/// A replica, several that share sequences, virtual stages, and packs whose cuts cost; packs whose passes are cut
/// alike, weight gradients apart, exchanges that take no time, tight limits, divisions by estimates, a spread
/// vocabulary, and evaluations: every part of the search. Besides, for what only they ask: evaluations on stages that
/// are not equal, the last of which has the output layer; cost models by which a cut costs time; and a long search of
/// replicas that share.
class trials {
 public:
  explicit trials(const options& o) {
    const costs::model_shape model = io::read_model(o.data / "models" / "llama-3.1-8b.json").value();
    const costs::gpu device = *costs::gpus::named("h100");
    const shape eight{.stages = 8, .tensor = 4}, chunked{.stages = 8, .tensor = 4, .chunks = 2};
    const costs::profiled tables = measured(o.data, model, device, eight),
                          chunk_tables = measured(o.data, model, device, chunked);
    for (const std::uint64_t seed : o.seeds) {
      for (const batch& b : batches(o.data, 192, seed, {131072})) {
        const bool drawn = b.name.find("log-normal") == 0 || b.name.find("bimodal") == 0 || b.name.find("linux") == 0;
        if (!drawn && (b.name.find("mooncake") != 0 || seed != o.seeds.front())) continue;
        add(b, seed, model, device);
        const std::string name = b.name + ", seed " + std::to_string(seed);
        add_for_some(b, name, model, device);
        put_forward(b, name + ", measured kernels, forward alone", eight, tables);
        for_some_ = true;
        put(b, name + ", cuts cost, measured kernels", chunked, chunk_tables, efforts[0].budget, schedules::list{});
        for_some_ = false;
      }
    }
  }

  [[nodiscard]] const std::vector<trial>& all() const noexcept { return all_; }

 private:
  void add(const batch& b, std::uint64_t seed, const costs::model_shape& model, const costs::gpu& device) {
    const std::string name = b.name + ", seed " + std::to_string(seed);
    shape deep{.stages = 8, .memory = times_longest(1.25, b.lengths)};
    const shape wide{.stages = 2, .replicas = 6};
    const shape chunked{.stages = 4, .replicas = 2, .chunks = 2};
    for (const effort& e : {efforts[0], efforts[1], effort{"long", {2'500'000, 6000}}})
      put(b, name + ", 8 stages, " + e.name, deep, uniform_cost, e.budget, schedules::list{});
    for (const effort& e : {efforts[0], efforts[1]}) {
      put(b, name + ", 6 replicas, " + e.name, wide, uniform_cost, e.budget, schedules::list{});
      put(b, name + ", virtual stages, " + e.name, chunked, uniform_cost, e.budget, schedules::one_f_one_b{});
    }
    add_alike(b, name, deep);
    add_others(b, name, wide);
    deep.memory = {}, deep.stages = 4, deep.replicas = 2, deep.tensor = 4;
    put(b, name + ", transformer", deep, costs::transformer::sheet(model, device, deep).value(), efforts[0].budget,
        schedules::list{});
    deep.vocabulary = vocabulary::spread;
    put(b, name + ", spread vocabulary", deep, costs::transformer::sheet(model, device, deep).value(),
        efforts[1].budget, schedules::list{});
  }

  /// Passes that are cut alike, with calls that cost and with none that does; weight gradients apart, on whole stages
  /// and on virtual ones.
  void add_alike(const batch& b, const std::string& name, const shape& deep) {
    costs::quadratic calls = uniform_cost, no_overhead = uniform_cost;
    calls.per_call = {64e-6};
    no_overhead.per_pack = {};
    for (const auto& [called, cost] :
         {std::pair(", cut alike, no overhead", no_overhead), std::pair(", cut alike, calls", calls)})
      put(b, name + called, deep, cost, efforts[1].budget, schedules::list{},
          [](const solvers::two_phase& s) { return solvers::refined<>{s}; });
    for (const int chunks : {1, 4}) {
      const shape on{.stages = 8, .chunks = chunks};
      put(b, name + ", weights apart, " + std::to_string(chunks) + " chunks", on, uniform_cost, efforts[1].budget,
          schedules::zero_bubble{});
    }
  }

  /// Exchanges that take no time, divisions by estimates, limits that are tight for one replica and for several,
  /// evaluations.
  void add_others(const batch& b, const std::string& name, const shape& wide) {
    costs::quadratic free = uniform_cost;
    free.hop = {};
    put(b, name + ", free exchanges", wide, free, efforts[0].budget, schedules::list{});
    const auto by_estimates = [](const solvers::two_phase& s) { return solvers::two_phase_estimated{s}; };
    put(b, name + ", estimated", wide, uniform_cost, efforts[0].budget, schedules::list{}, by_estimates);
    for_some_ = true;
    put(b, name + ", 24 replicas, estimated", {.stages = 2, .replicas = 24}, uniform_cost, efforts[0].budget,
        schedules::list{}, by_estimates);
    for_some_ = false;
    for (const double limit : {1.001, 1.2})
      put(b, name + ", tight, 2 chunks", {.stages = 8, .chunks = 2, .memory = times_longest(limit, b.lengths)},
          uniform_cost, efforts[0].budget, schedules::one_f_one_b{});
    for (const double limit : {0.26, 0.3, 0.5})
      put(b, name + ", tight, shared", {.stages = 4, .replicas = 4, .memory = times_longest(limit, b.lengths)},
          uniform_cost, efforts[0].budget, schedules::list{});
    for (const shape& on : {shape{.stages = 8}, shape{.stages = 8, .memory = times_longest(1.25, b.lengths)}})
      put_forward(b, name + ", forward alone", on, uniform_cost);
  }

  /// A transformer whose last stage has the output layer, and runs no backward or exchanges keys and values on a ring;
  /// a long search of replicas that share.
  void add_for_some(const batch& b, const std::string& name, const costs::model_shape& model,
                    const costs::gpu& device) {
    const auto priced = [&](const shape& on) { return costs::transformer::make(model, device, on).value(); };
    for (const shape& on : {shape{.stages = 8, .tensor = 4}, shape{.stages = 4, .tensor = 4, .chunks = 2}})
      put_forward(b, name + ", transformer, forward alone", on, priced(on));
    for_some_ = true;
    const shape ring{.stages = 4, .replicas = 2, .tensor = 2, .context = 8};
    put(b, name + ", cuts cost, 8 context-parallel ranks", ring, priced(ring), efforts[0].budget, schedules::list{});
    put(b, name + ", long, shared", {.stages = 2, .replicas = 6}, uniform_cost, {20'000'000, 6000}, schedules::list{});
    for_some_ = false;
  }

  /// A pipeline that runs no backward.
  template <class Cost>
  void put_forward(const batch& b, std::string name, const shape& on, const Cost& cost) {
    all_.push_back(
        {std::move(name),
         [on, cost, lengths = b.lengths](const solvers::search_options& o) {
           return planner{on, slicers::equal_cost{}, cost, solvers::two_phase{.options = o}}.plan_forward(lengths);
         },
         true});
  }

  /// solver_of: the solver, of a two_phase
  template <class Cost, class Schedule, class SolverOf = std::identity>
  void put(const batch& b, std::string name, const shape& on, const Cost& cost, solvers::search_budget effort,
           const Schedule& schedule, const SolverOf& solver_of = {}) {
    all_.push_back({std::move(name),
                    [on, cost, effort, schedule, solver_of, lengths = b.lengths](const solvers::search_options& o) {
                      const auto solver = solver_of(solvers::two_phase{.effort = effort, .threads = 1, .options = o});
                      return planner{on, slicers::equal_cost{}, cost, solver, schedule}(lengths);
                    },
                    for_some_});
  }

  std::vector<trial> all_;
  bool for_some_{};  // of those that are put
};

/// What only some trials ask: constants by how their names begin, and trials by a part of theirs. A mean over all plans
/// would tell less of such a constant.
struct asked_by {
  std::string_view constants;
  std::string_view trials;
};
constexpr asked_by asked_by_some[] = {{"alignment", "cut alike"},
                                      {"piece_quanta", "no overhead"},
                                      {"alike_s", "weights apart"},
                                      {"sharing_gain", "free exchanges"},
                                      {"estimate_times", "spread"},
                                      {"smaller_", "tight"},
                                      {"loss_", "estimated"},
                                      {"heavy", "estimated"},
                                      {"evaluation_", "forward alone"},
                                      {"coarse_", "cuts cost"},
                                      {"shared_walk_least", "long, shared"}};

/// Whether a trial may ask a constant. Evaluations, for example, ask no constant of steps.
bool asks(const trial& t, std::string_view constant) {
  for (const asked_by& some : asked_by_some)
    if (constant.starts_with(some.constants)) return t.name.find(some.trials) != std::string::npos;
  return !t.for_some;
}

/// What a value does to the steps of all trials that may ask the constant.
struct effect {
  double mean{};   ///< step time over that of the default, less 1
  double error{};  ///< of the mean
  std::size_t changed{};
  std::size_t without_plan{};
};

effect effect_of(const std::vector<trial>& all, const std::vector<plan>& before, std::string_view constant,
                 const solvers::search_options& o) {
  effect found;
  double squares = 0, count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!asks(all[i], constant)) continue;
    ++count;
    const result<plan> made = all[i].planned(o);
    if (!made) {
      ++found.without_plan, ++found.changed;
      continue;
    }
    const double grown = made.value().step_time / before[i].step_time - 1;
    found.mean += grown;
    squares += grown * grown;
    found.changed += made.value().hash != before[i].hash;
  }
  found.mean /= count;
  found.error = std::sqrt(std::max(0.0, squares / count - found.mean * found.mean) / std::max(1.0, count - 1));
  return found;
}

/// The neighbours of a default: 0.8 and 1.25 of it, counts by one at least; within the range.
std::vector<double> neighbours(const solvers::search_constant& c, double smaller, double larger) {
  std::vector<double> found;
  for (const double factor : {smaller, larger}) {
    double next = c.value * factor;
    if (c.whole) next = factor < 1 ? std::min(c.value - 1, std::floor(next)) : std::max(c.value + 1, std::ceil(next));
    next = std::clamp(next, c.least, c.most);
    if (next != c.value) found.push_back(next);
  }
  return found;
}

void print(const effect& e, double value) {
  std::printf("  %9.4g %+8.3f %7.3f %4zu", value, 100 * e.mean, 100 * e.error, e.changed);
  if (e.without_plan > 0) std::printf(" (%zu have no plan)", e.without_plan);
}

}  // namespace

void refit(const options& o, scoreboard&) {
  const trials batches(o);
  std::vector<trial> all;
  std::vector<plan> before;
  double useful = 0;
  for (const trial& t : batches.all()) {
    result<plan> made = t.planned({});
    if (!made) {
      std::printf("refit: %s is left out: %s\n", t.name.c_str(), made.error().detail.c_str());
      continue;
    }
    all.push_back(t);
    before.push_back(std::move(made).value());
    useful += 1 - before.back().bubble;
  }
  useful /= static_cast<double>(all.size());
  std::printf(
      "refit: each constant of solvers::search_options at 0.8 and at 1.25 of its default (counts by one at least), %zu "
      "plans\n"
      "  of 192 sequences: log-normal, bimodal, linux_source (shuffled) and, once, mooncake_conversation; 8 stages "
      "under\n"
      "  a limit (fast, normal, long), 6 replicas of 2 stages, 2 virtual stages on each of 4 (fast, normal),\n"
      "  llama-3.1-8b on 2 replicas of 4 stages of H100s (fast; normal with its vocabulary spread), passes cut alike\n"
      "  and weight gradients apart on 1 and 4 chunks (normal), and, fast, free exchanges, divisions by estimates, "
      "tight\n"
      "  limits, evaluations, cuts that cost and a long search of replicas that share; seeds from %llu on. Their "
      "useful\n"
      "  work is %.4f of rank-time. A constant that only some of them can ask is measured with those. steps: by how "
      "many %% they grow, the mean and its error, so much useful work is\n"
      "  lost; plans: how many differ. Where none\n"
      "  does, at a quarter and at four times the default.\n",
      all.size(), static_cast<unsigned long long>(o.seeds.front()), useful);
  std::printf("  %-24s %9s  %9s %8s %7s %4s  %9s %8s %7s %4s\n", "constant", "default", "at", "steps", "+-", "plans",
              "at", "steps", "+-", "plans");
  for (const solvers::search_constant& c : solvers::constants_of(solvers::default_search_options)) {
    if (!benchmarks::chosen(o.constants, std::string(c.name))) continue;
    std::printf("  %-24s %9.4g", std::string(c.name).c_str(), c.value);
    std::size_t changed = 0;
    const auto measure = [&](double smaller, double larger) {
      for (const double value : neighbours(c, smaller, larger)) {
        const auto changed_one = solvers::with_constant(solvers::default_search_options, c.name, value);
        const effect found = effect_of(all, before, c.name, changed_one);
        print(found, value);
        changed += found.changed;
      }
    };
    measure(0.8, 1.25);
    if (changed == 0) measure(0.25, 4);
    std::printf("%s\n", changed == 0 ? "  no effect" : "");
  }
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
