// What each idea is worth: step time and peak memory as they are added one by one, under analytic and measured times.

#include "batches.hpp"
#include "flat.hpp"
#include "measured.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/io/model_config.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/whole.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>

namespace slimpack::plan_quality {
namespace {

/// Plans one batch in each of the six ways, and prints a line for each.
template <class Cost>
class ladder {
 public:
  ladder(const shape& on, const Cost& cost, std::span<const tokens> lengths)
      : on_(on), cost_(cost), lengths_(lengths) {}

  void run(const solvers::search_budget& effort) {
    for (const std::size_t packs : counts) keep(slicers::whole{}, flat{packs});
    print("no slicing");
    for (const std::size_t packs : counts) keep(begins_anew<slicers::equal_cost>{}, flat{packs});
    print("slicing, both passes alike");
    for (const std::size_t forward : counts)
      for (const std::size_t backward : counts) keep(slicers::equal_cost{}, flat{forward, backward});
    print("+ asymmetric packs");
    keep(slicers::equal_cost{}, solvers::two_phase{.effort = {0, 1}});
    print("+ ramps");
    keep(slicers::equal_cost{}, solvers::two_phase{.effort = effort});
    print("+ search");
    keep(slicers::equal_cost{}, solvers::two_phase{.effort = effort}, schedules::zero_bubble{});
    print("+ W as filler");
  }

 private:
  static constexpr std::size_t counts[] = {16, 32, 64, 128, 256, 512, 1024};

  template <class Slicer, class Solver, class Schedule = schedules::list>
  void keep(const Slicer& slicer, const Solver& solver, const Schedule& schedule = {}) {
    result<plan> made = planner{on_, slicer, cost_, solver, schedule}(lengths_);
    if (made && (!best_ || made.value().step_time < best_->step_time)) best_ = std::move(made).value();
  }

  /// The best of the way that was tried, which the next does not start from.
  void print(const char* way) {
    if (!best_) {
      std::printf("    %-28s no plan within the limit\n", way);
      return;
    }
    const replica_plan& r = best_->replicas[0];
    const double peak = *std::max_element(r.peak_memory.begin(), r.peak_memory.end());
    if (first_ == 0) first_ = best_->step_time.value;
    std::printf("    %-28s %10.3f %9.3f %9.5f %9.5f %9.0f %8.3f %6zu %6zu\n", way, 1e3 * best_->step_time.value,
                first_ / best_->step_time.value, 1 - best_->bubble, best_->efficiency, peak, peak / on_.memory->amount,
                r.partition.forward.size(), r.partition.backward.size());
    best_.reset();
  }

  shape on_;
  const Cost& cost_;
  std::span<const tokens> lengths_;
  std::optional<plan> best_;
  double first_{};  // seconds, of the first way with a plan
};

}  // namespace

void ablation(const options& o, scoreboard&) {
  const std::uint64_t seed = o.seeds.front();
  const solvers::search_budget effort = o.quick ? solvers::search_budget::fast() : solvers::search_budget::high();
  const costs::model_shape model = io::read_model(o.data / "models" / "llama-3.1-8b.json").value();
  const costs::gpu device = *costs::gpus::named("h100");
  std::printf(
      "ablation: what each idea adds; 8 stages, one replica, list schedules, cap 1.25 x the longest sequence; "
      "makespans\n"
      "  uniform: as in table. transformer, profiled: llama-3.1-8b on 8 H100s a stage (tp 8), by operation counts, and "
      "by\n"
      "  measured kernels, backward attention included. The first three have packs of equal work, the best of 7 sizes "
      "(7 x 7\n"
      "  asymmetric); ramps are the first candidate of the search, which has %s effort. Speed-ups are over no "
      "slicing.\n",
      o.quick ? "fast" : "high");
  std::printf("    %-28s %10s %9s %9s %9s %9s %8s %6s %6s\n", "", "step, ms", "speed-up", "useful", "effic.", "peak",
              "of cap", "F", "B");
  for (const batch& b : batches(o.data, 512, seed)) {
    if (b.name != "log-normal 512" && b.name != "bimodal 512" && b.name != "mooncake_conversation 512") continue;
    shape on{.stages = 8, .memory = times_longest(1.25, b.lengths)};
    std::printf("  %s, uniform\n", b.name.c_str());
    ladder(on, uniform_cost, b.lengths).run(effort);
    on.tensor = 8;
    std::printf("  %s, transformer\n", b.name.c_str());
    const auto analytic = costs::transformer::sheet(model, device, on).value();
    ladder(on, analytic, b.lengths).run(effort);
    std::printf("  %s, profiled\n", b.name.c_str());
    const costs::profiled tables = measured(o.data, model, device, on);
    ladder(on, tables, b.lengths).run(effort);
  }
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
