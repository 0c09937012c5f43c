// F15: are the prices that slimpack-plan plans with those of real trainings? Every published training in bf16 that its
// shapes can describe, by each of --cost measured, transformer and transformer:sheet: those of F6 and F4, now from
// prices and not from profiled times, and torchtitan's that was not compiled. How each trainer ran is as its paper
// says. Beside them those with experts, in FP8 too, and the speed-ups of one training over another of the same work.

#include "priced_trainings.hpp"

#include "baselines.hpp"
#include "data.hpp"
#include "prices.hpp"
#include "speed_ups.hpp"
#include "trainings.hpp"
#include "zero_bubble_runs.hpp"

#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fidelity {
namespace {

/// A stage's seconds for a micro-batch, whatever its size, its chunks' a share of that; stages wait for their messages.
struct stage_prices {
  std::vector<seconds> forward{};  ///< by stage
  std::vector<seconds> backward{};
  std::vector<seconds> weights{};
  seconds hop{};
  seconds optimizer{};  ///< after the work
  int chunks{1};
  double live{1};    ///< bytes of a token until W
  double until_b{};  ///< and until B
  sends how{sends::beside};

  [[nodiscard]] std::size_t stage(int part) const { return static_cast<std::size_t>(part) % forward.size(); }
  [[nodiscard]] seconds time(const slice&, pass p, int part) const {
    const int last = static_cast<int>(forward.size()) * chunks - 1;
    const bool ends = p == pass::forward ? part == last : part == 0;
    return (p == pass::forward ? forward : backward)[stage(part)] * (1.0 / chunks) +
           (how == sends::blocking && !ends ? hop : seconds{});
  }
  [[nodiscard]] seconds weight_time(const slice&, int part) const { return weights[stage(part)] * (1.0 / chunks); }
  [[nodiscard]] seconds message(tokens, pass, int) const { return how == sends::beside ? hop : seconds{}; }
  [[nodiscard]] std::optional<memory_rates> memory(int) const { return memory_rates{.live_token = live}; }
  [[nodiscard]] bytes kept(const slice& s, int) const { return {until_b * static_cast<double>(s.length.value)}; }
};

/// Of a run of Qi et al.: without flash attention, a layer less on the first and on the last stage.
stage_prices zero_bubble_prices(const cells& c, const machine& m, price_kind by) {
  const costs::model_shape model = gpt(c.text("model"), c.count("layers"), c.count("hidden"), c.count("heads"));
  const shape on{.stages = c.count("pp")};
  costs::stage_options with = megatron(false, "none");
  with.messages = costs::messages::overlapped;  // waited for by stage_prices
  const int micro_batch = c.count("micro_batch");
  with.longest = tokens{c.count("seq")} * micro_batch;
  const int each = (model.layers + 2) / on.stages;
  with.layers.assign(static_cast<std::size_t>(on.stages), each);
  --with.layers.front(), --with.layers.back();
  std::vector<slice> pack;
  for (int i = 0; i < micro_batch; ++i) pack.push_back({{static_cast<std::uint32_t>(i)}, {0}, {c.count("seq")}});
  return with_price(by, m, model, on, with, [&](const auto& cost) {
    stage_prices made;
    for (int r = 0; r < on.stages; ++r) {
      made.forward.push_back(pack_time(cost, std::span<const slice>(pack), pass::forward, r));
      made.backward.push_back(pack_time(cost, std::span<const slice>(pack), pass::backward, r));
      seconds weights{};
      for (const slice& s : pack) weights += cost.weight_time(s, r);
      made.weights.push_back(weights);
    }
    for (int r = 0; r + 1 < on.stages; ++r)
      made.hop = std::max(made.hop, cost.message(with.longest, pass::forward, r) * with.slowdown.exposed);
    made.optimizer = cost.reduce_time();
    return made;
  });
}

std::vector<row> priced_zero_bubble(const std::filesystem::path& data, machines& cluster, price_kind by,
                                    left_out& others) {
  std::vector<row> rows;
  each_row(data / "published/zero_bubble_throughput.csv", [&](const cells& c) {
    if (!cluster.describes(c.text("gpu"))) return others.add(c.where(), cluster.lacks(c.text("gpu")));
    const std::string schedule = c.text("schedule");
    others.attempt(c.where(), [&] {
      const zero_bubble_model m{c.count("layers"), c.number("hidden"), c.number("heads"), c.number("seq")};
      const stage_prices prices = zero_bubble_prices(c, cluster.of(c.text("gpu")), by);
      const outcome got = run_zero_bubble(schedule, c.count("pp"), c.count("microbatches"), m, sends::blocking,
                                          [&](int chunks, double live, double until_b, sends how) {
                                            stage_prices one = prices;
                                            one.chunks = chunks, one.live = live, one.until_b = until_b, one.how = how;
                                            return one;
                                          });
      const double work = c.text("optimizer_sync") == "post-validation" ? got.span : got.makespan;
      rows.push_back({c.text("row_id") + " " + c.text("model") + " " + schedule, work + prices.optimizer.value,
                      c.measured("derived_iteration_s"), true,
                      c.text("model") + " on " + c.text("gpus") + " " + c.text("gpu") + ", batch " +
                          std::to_string(c.count("micro_batch") * c.count("microbatches"))});
    });
  });
  return rows;
}

std::vector<row> priced_megatron(const std::vector<paper_run>& runs, machines& cluster, price_kind by) {
  std::vector<row> rows;
  for (const paper_run& r : runs)
    rows.push_back({r.name, predicted(r, cluster, by).time.value, r.measured.value, true,
                    r.file + ", " + std::to_string(r.model.layers) + " layers of " + std::to_string(r.model.hidden) +
                        " on " + std::to_string(r.on.stages * r.on.replicas * r.on.tensor) + " " + r.gpu + ", batch " +
                        std::to_string(r.batch)});
  return rows;
}

/// Runs of one kind, and the family of their GPU.
struct kind_of_training {
  std::string gpu;
  std::string what;
  std::vector<row> rows;
};

/// Adds what runs of a kind come to, a note and a line of price_errors.csv (errors in hundredths), to a score.
summary add(score& s, const char* model, price_kind by, const kind_of_training& kind) {
  s.rows.insert(s.rows.end(), kind.rows.begin(), kind.rows.end());
  s.notes.push_back(summary_of(kind.what + " on " + kind.gpu, kind.rows));
  const summary own = summarise({.rows = kind.rows});
  char text[200];
  std::snprintf(text, sizeof text, "%s,%s,%s,%s,%zu,%.1f,%.1f,%.1f", name_of(by), model, kind.gpu.c_str(),
                kind.what.c_str(), own.rows, 100 * own.mean, 100 * own.bias, 100 * own.worst);
  s.table.push_back(text);
  return own;
}

/// Trainings with experts; each model, precision and GPU is a kind of its own. Nothing is fitted to them.
score with_experts(const std::filesystem::path& data, machines& cluster, price_kind by) {
  score s{.id = "F15",
          .claim = std::string("--cost ") + name_of(by) + ": seconds of iterations with experts, in bf16 and FP8"};
  left_out others;
  std::vector<kind_of_training> kinds;
  for (const expert_row& r : expert_rows(data, cluster, by, others)) {
    const auto same = [&](const kind_of_training& k) { return k.gpu == r.gpu && k.what == r.what; };
    auto own = std::find_if(kinds.begin(), kinds.end(), same);
    if (own == kinds.end()) own = kinds.insert(own, {r.gpu, r.what, {}});
    own->rows.push_back(r.seconds);
  }
  for (const kind_of_training& kind : kinds) add(s, "experts", by, kind);
  s.notes.push_back("no goal is set, as in F6; kernels of an H800 are those of the H100, which has the same chip");
  others.tell(s.notes);
  return s;
}

/// A quantile of fewer speed-ups than this is that of one or two runs.
constexpr std::size_t enough = 20;

/// Speed-ups among the runs of each kind, and a line of speed_up_errors.csv where they are enough together.
score speed_up_score(price_kind by, const std::vector<kind_of_training>& kinds) {
  score s{.id = "F15",
          .claim = std::string("--cost ") + name_of(by) + ": speed-ups among trainings of one batch on the same GPUs"};
  std::string what;
  double largest = 1;
  for (const kind_of_training& kind : kinds) {
    const std::vector<row> own = speed_ups(kind.rows);
    if (own.empty()) continue;
    for (const row& r : own) largest = std::max(largest, r.measured);
    s.rows.insert(s.rows.end(), own.begin(), own.end());
    s.notes.push_back(summary_of(kind.what, own));
    what += (what.empty() ? "" : " and ") + kind.what;
  }
  if (s.rows.size() < enough) return s;
  const double kept = kept_by_nine_of_ten(s.rows) - 1;
  char text[400];
  std::snprintf(text, sizeof text, "%s,dense,%s,%zu,%.1f", name_of(by), what.c_str(), s.rows.size(), 100 * kept);
  s.speed_up_table.push_back(text);
  std::snprintf(text, sizeof text, "nine of ten of %zu speed-ups, up to %.2f x, are predicted within %.1f %%",
                s.rows.size(), largest, 100 * kept);
  s.notes.push_back(text);
  return s;
}

}  // namespace

std::vector<score> priced_trainings(const std::filesystem::path& data, const std::vector<paper_run>& runs,
                                    machines& cluster) {
  machines pytorch(data, "fa2");  // its attention in 2024
  std::vector<score> all;
  for (const price_kind by : all_prices) {
    score s{.id = "F15", .claim = std::string("--cost ") + name_of(by) + ": seconds of iterations in bf16"};
    left_out others;
    const std::vector<kind_of_training> kinds{
        {"a100", "GPT by Megatron-LM before flash attention", priced_megatron(runs, cluster, by)},
        {"a100", "GPT by zero-bubble pipelines before flash attention", priced_zero_bubble(data, cluster, by, others)},
        {"h100", "Llama 3.1 by torchtitan on H100s of 500 W with nothing compiled",
         torchtitan_rows(data, pytorch, by)}};
    for (const kind_of_training& kind : kinds) {
      if (kind.rows.empty()) continue;
      const summary own = add(s, "dense", by, kind);
      if (by == price_kind::sheet) continue;
      s.goals.push_back({"mean error of " + kind.what, own.mean, 0.10});
      s.goals.push_back({"worst error of " + kind.what, std::abs(own.worst), 0.25});
    }
    others.tell(s.notes);
    all.push_back(std::move(s));
    all.push_back(with_experts(data, cluster, by));
    all.push_back(speed_up_score(by, kinds));
  }
  return all;
}

}  // namespace fidelity
