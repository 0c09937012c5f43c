#ifndef SLIMPACK_IO_IMPLAUSIBLE_TIMES_HPP
#define SLIMPACK_IO_IMPLAUSIBLE_TIMES_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/network/collective.hpp>
#include <slimpack/io/profile_note.hpp>
#include <slimpack/io/profile_table.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::io {

namespace detail {

/// What a time is held against: operations, and bytes that are moved, by memory or by a link.
struct amount_of_work {
  double flops{};
  double bytes{};
  double bandwidth{};
  seconds latency{};
};

[[nodiscard]] inline amount_of_work work_of(const costs::attention_sample& s, const costs::gpu& on) {
  const auto q = static_cast<double>(s.queries.value), kv = static_cast<double>(s.keys.value);
  const double pairs = s.causal ? q * kv - q * (q - 1) / 2 : q * kv;
  const double width = static_cast<double>(s.head_dim) * s.batch;
  return {4 * width * s.heads * pairs, 4 * width * (q * s.heads + kv * s.kv_heads), on.memory_bandwidth, {}};
}
[[nodiscard]] inline amount_of_work work_of(const costs::product_sample& s, const costs::gpu& on) {
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  return {2 * m * n * k, 2 * (m * n + m * k + n * k), on.memory_bandwidth, {}};
}
/// The inside link of a node, or the adapter between nodes. A message of few bytes is all latency.
[[nodiscard]] inline amount_of_work work_of(const costs::collective_sample& s, const costs::gpu& on) {
  const costs::link& wire = s.ranks > s.ranks_per_node ? on.between : on.inside;
  return {0, s.size.value * costs::traffic_per_byte(s.op, s.ranks), wire.bandwidth, wire.latency * s.ranks};
}

/// Products and element-wise work of a dense layer's rank; what sizes do not tell of is left out.
struct layer_operation {
  const char* column;
  std::optional<seconds> costs::layer_sample::*time;
  amount_of_work work;
};
[[nodiscard]] inline std::array<layer_operation, 8> operations_of(const costs::layer_sample& s, const costs::gpu& on) {
  using costs::layer_sample;
  const auto t = static_cast<double>(s.tokens.value), h = static_cast<double>(s.hidden);
  const double f = static_cast<double>(s.ffn) / s.tensor, a = h / s.tensor;
  const double kv = a * s.kv_heads / s.q_heads;
  const auto product = [&](double n, double k) {
    return amount_of_work{2 * t * n * k, 2 * (t * n + t * k + n * k), on.memory_bandwidth, {}};
  };
  const auto moves = [&](double width) { return amount_of_work{0, 2 * t * width, on.memory_bandwidth, {}}; };
  return {{{"input_layernorm", &layer_sample::input_layernorm, moves(2 * h)},
           {"attn_pre_proj", &layer_sample::attn_pre_proj, product(a + 2 * kv, h)},
           {"attn_post_proj", &layer_sample::attn_post_proj, product(h, a)},
           {"post_attention_layernorm", &layer_sample::post_attention_layernorm, moves(2 * h)},
           {"mlp_up_proj", &layer_sample::mlp_up_proj, product(f, h)},  // f: gated or not is not said
           {"mlp_act", &layer_sample::mlp_act, moves(2 * f)},
           {"mlp_down_proj", &layer_sample::mlp_down_proj, product(h, f)},
           {"add", &layer_sample::add, moves(3 * h)}}};
}

/// Rows of a file whose times lie off to one side.
class off_side {
 public:
  void add(std::size_t line, std::string what) {
    if (rows_++ == 0) line_ = line, what_ = std::move(what);
  }
  void report(const std::string& file, const std::string& gpu, std::vector<profile_note>& notes) const {
    if (rows_ > 0)
      notes.push_back({gpu, file + ":" + std::to_string(line_) + ": " + what_ +
                                "; is the unit right? Such times in all: " + std::to_string(rows_)});
  }

 private:
  std::size_t rows_{};
  std::size_t line_{};
  std::string what_;
};

[[nodiscard]] inline std::string in_units(double rate, bool flops) {
  char text[48];
  std::snprintf(text, sizeof text, flops ? "%.3g TFLOP/s" : "%.3g GB/s", rate / (flops ? 1e12 : 1e9));
  return text;
}

}  // namespace detail

/// Notes on the times of a GPU that its description forbids, by file and line: of each file the first that is too fast,
/// the first that is too slow, and how many there are. The rows stay: descriptions can be wrong, too.
///
/// Too fast is more than the peak, or than ten times the bandwidth: caches and faster links than described are no
/// faults. Too slow is less than a hundredth of both, after 2 us that starting a kernel takes, or a link's latency for
/// each rank. Of the published tables the slowest is a fourteenth, and none is too fast.
/// Errors    none            Complexity  O(rows)
[[nodiscard]] inline std::vector<profile_note> implausible_times(const profile_table& table, const costs::gpu& gpu) {
  detail::off_side fast, slow;
  const std::string family = costs::gpu_family(gpu.name);
  const auto judge = [&](std::size_t row, const std::string& column, const detail::amount_of_work& work, seconds time) {
    const double computed = work.flops / gpu.peak_bf16_flops, moved = work.bytes / work.bandwidth;
    const bool of_flops = computed > time.value || computed >= moved;
    const std::string rate =
        column + ": " + detail::in_units((of_flops ? work.flops : work.bytes) / time.value, of_flops);
    const std::string peak =
        " the peak of " + gpu.name + ", " + detail::in_units(of_flops ? gpu.peak_bf16_flops : work.bandwidth, of_flops);
    if (computed > time.value || moved > 10 * time.value)
      fast.add(table.lines[row], rate + ", faster than" + peak);
    else if (time.value > 100 * (std::max(computed, moved) + work.latency.value + 2e-6))
      slow.add(table.lines[row], rate + ", slower than a hundredth of" + peak);
  };
  const auto own = [&](const auto& s) { return costs::gpu_family(s.gpu) == family; };
  for (std::size_t i = 0; i < table.attention.size(); ++i) {
    const costs::attention_sample& s = table.attention[i];
    if (!own(s)) continue;
    detail::amount_of_work work = detail::work_of(s, gpu);
    judge(i, "forward", work, s.forward);
    work.flops *= 2, work.bytes *= 2;  // no kernel does less backward
    if (s.backward) judge(i, "backward", work, *s.backward);
  }
  for (std::size_t i = 0; i < table.products.size(); ++i)
    if (own(table.products[i])) judge(i, "product", detail::work_of(table.products[i], gpu), table.products[i].time);
  for (std::size_t i = 0; i < table.layers.size(); ++i)
    if (own(table.layers[i]))
      for (const detail::layer_operation& each : detail::operations_of(table.layers[i], gpu))
        if (const std::optional<seconds>& t = table.layers[i].*each.time) judge(i, each.column, each.work, *t);
  for (std::size_t i = 0; i < table.collectives.size(); ++i) {
    const costs::collective_sample& s = table.collectives[i];
    if (own(s)) judge(i, std::string(costs::name_of(s.op)), detail::work_of(s, gpu), s.time);
  }
  std::vector<profile_note> notes;
  fast.report(table.file, gpu.name, notes);
  slow.report(table.file, gpu.name, notes);
  return notes;
}

}  // namespace slimpack::io

#endif
