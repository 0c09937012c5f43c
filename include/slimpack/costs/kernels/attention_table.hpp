#ifndef SLIMPACK_COSTS_KERNELS_ATTENTION_TABLE_HPP
#define SLIMPACK_COSTS_KERNELS_ATTENTION_TABLE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/kernels/detail/kernel_faults.hpp>
#include <slimpack/costs/kernels/detail/measured_times.hpp>
#include <slimpack/costs/kernels/detail/reference_kernel.hpp>
#include <slimpack/costs/kernels/detail/scatter.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/origin.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// Times of causal attention as measured on one GPU, by queries, keys, heads, key/value heads and head size.
///
/// What is interpolated is log(measured / wave model), in the logarithms of these five and of the batch, from the
/// nearest points (detail/scatter.hpp), so that thin slices and few heads follow the multiprocessors where the table is
/// sparse. Outside the table the nearest points give the level and the wave model the growth. The wave model takes a
/// batch of b sequences for b times the heads.
///
/// One kernel is the reference: of those with a measured backward that need not be deterministic, if there are any, the
/// one on the GPU whose name is most like the wave model's, then the one with the most points. The others give shape
/// only: their times are scaled by one factor each, the median of what lies between them and the reference, and they
/// count as 2 doublings further away. Their slices count only where the reference itself was not measured on any:
/// kernels cut long prefixes over multiprocessors in ways of their own. The closer the wave model is to the reference
/// the less depends on that factor: costs::calibrated fits it to the same kernel.
///
/// Backward is the forward time, times the ratio of backward to forward in the wave model, times
/// (measured ratio / ratio in the wave model), interpolated in the same way. That is how slices get a backward from
/// whole sequences: the ratio of a table falls with length, and the wave model knows that few queries make few tiles
/// forward and short ones backward. Where no backward was measured the wave model's ratio stands alone.
///
/// Source    derived. Leaving out each point, or every second, of the published tables: 1 % to 8 % off on average
/// Law       exact at points of the reference, which do not fall when queries or keys grow: those that do are replaced
///           by the mean of the largest before and the smallest after. Between points time may fall by what noise there
///           is: costs::time_table, into which costs::profiled tabulates it, does not let it
/// Shapes    any points; of several times of a kernel at a point the median counts; not causal ones are left out
/// Complexity  O(log points) a question, most often
class attention_table {
 public:
  struct answer {
    seconds time;
    origin source;
  };

  /// Errors    invalid_input: no causal times; sizes below 1, keys fewer than queries, times that are not above 0. The
  ///           detail names which            Complexity  O(samples log samples), most often
  [[nodiscard]] static result<attention_table> make(wave_model model, std::span<const attention_sample> samples) {
    std::map<kernel_key, std::map<place, times>> kernels;
    for (const attention_sample& s : samples) {
      if (std::optional<error> wrong = slimpack::detail::fault_of(s)) return std::move(*wrong);
      if (!s.causal) continue;
      times& here = kernels[kernel_key::of(s)][place_of(s)];
      here.forward.push_back(s.forward.value);
      if (s.backward) here.backward.push_back(s.backward->value);
    }
    if (kernels.empty()) return error{errc::invalid_input, "no times of causal attention"};
    const kernel_key reference = *slimpack::detail::reference_kernel(samples, model.device().name);
    const residuals own = of_kernel(model, kernels.at(reference));
    residuals all = own;
    const auto is_slice = [](const auto& point) { return point.first.keys > point.first.queries; };
    const auto& reference_points = kernels.at(reference);
    const bool knows_slices = std::any_of(reference_points.begin(), reference_points.end(), is_slice);
    for (auto& [key, points] : kernels) {
      if (key == reference) continue;
      if (knows_slices) std::erase_if(points, is_slice);
      const residuals other = of_kernel(model, points);
      append(all.forward, own.forward, other.forward);
      append(all.ratio, own.ratio, other.ratio);
      all.largest_change = std::max(all.largest_change, other.largest_change);
    }
    return attention_table(std::move(model), reference, std::move(all));
  }

  /// `window`: keys that a query attends to at most; 0: all. Tables have no windows: where one limits a slice, the time
  /// is that of the wave model with it, times what full attention to the window and the slice took over the wave model.
  /// Requires  1 <= queries <= keys, heads >= 1, kv_heads >= 1, head_dim >= 1, window >= 0
  [[nodiscard]] answer operator()(pass p, tokens queries, tokens keys, int heads, int kv_heads, int head_dim,
                                  int batch = 1, tokens window = {}) const noexcept {
    const bool limited = window > tokens{} && window < keys;
    if (limited) keys = std::min(keys, queries + window - tokens{1});
    const place at{queries.value, keys.value, heads, kv_heads, head_dim, batch};
    if (limited) {
      const seconds full = modelled(model_, p, at), near = modelled(model_, p, at, window);
      return {(*this)(p, queries, keys, heads, kv_heads, head_dim, batch).time * (near / full), origin::derived};
    }
    const scatter::place logs = logs_of(at);
    const scatter::answer forward = forward_(logs);
    const seconds time = modelled(model_, pass::forward, at) * std::exp(forward.value);
    if (p == pass::forward) return {time, forward.source};
    if (!ratio_) return {time * ratio(model_, at), origin::derived};
    const scatter::answer beside = (*ratio_)(logs);
    const origin worst = std::max(forward.source, beside.source);
    return {time * (ratio(model_, at) * std::exp(beside.value)),
            worst == origin::extrapolated ? origin::derived : worst};
  }

  /// The kernel that others are scaled to, with the name of its GPU.
  [[nodiscard]] const std::string& reference() const noexcept { return reference_; }
  [[nodiscard]] bool has_backward() const noexcept { return ratio_.has_value(); }
  /// The most by which a measured time was changed so that none falls, as a ratio of it.
  [[nodiscard]] double largest_change() const noexcept { return largest_change_; }

 private:
  struct place {
    std::int64_t queries, keys, heads, kv_heads, head_dim, batch;
    friend auto operator<=>(const place&, const place&) = default;
  };
  struct times {
    std::vector<double> forward, backward;
  };
  using kernel_key = slimpack::detail::kernel_key;
  using scatter = slimpack::detail::scatter<6>;
  static constexpr double further = 2;  // doublings, of kernels that are not the reference

  /// Logarithms of measured over modelled times, and of measured ratios of backward to forward over modelled ones.
  struct residuals {
    std::vector<scatter::point> forward, ratio;
    double largest_change{};
  };

  attention_table(wave_model model, const kernel_key& reference, residuals all)
      : model_(std::move(model)),
        reference_(reference.kernel + " on " + reference.gpu),
        largest_change_(all.largest_change),
        forward_(std::move(all.forward)) {
    if (!all.ratio.empty()) ratio_.emplace(std::move(all.ratio));
  }

  static residuals of_kernel(const wave_model& model, const std::map<place, times>& points) {
    std::vector<place> forward_at, backward_at;
    std::vector<double> forward, backward;
    for (const auto& [at, all] : points) {
      forward_at.push_back(at);
      forward.push_back(slimpack::detail::median(all.forward));
      if (all.backward.empty()) continue;
      backward_at.push_back(at);
      backward.push_back(slimpack::detail::median(all.backward));
    }
    residuals made;
    const auto rising = [&](std::vector<double>& t, const std::vector<place>& at) {
      std::vector<slimpack::detail::rising_place> places;
      for (const place& each : at)
        places.push_back({{each.heads, each.kv_heads, each.head_dim, each.batch}, each.queries, each.keys});
      made.largest_change = std::max(made.largest_change, slimpack::detail::make_monotone(t, places));
    };
    rising(forward, forward_at);
    rising(backward, backward_at);
    for (std::size_t i = 0, j = 0; i < forward.size(); ++i) {
      const place& at = forward_at[i];
      made.forward.push_back({logs_of(at), std::log(forward[i] / modelled(model, pass::forward, at).value), 0});
      if (j == backward.size() || backward_at[j] != at) continue;
      made.ratio.push_back({logs_of(at), std::log(backward[j++] / forward[i] / ratio(model, at)), 0});
    }
    return made;
  }

  /// Points of another kernel, scaled to the reference's.
  static void append(std::vector<scatter::point>& all, const std::vector<scatter::point>& reference,
                     const std::vector<scatter::point>& other) {
    double scale = 0;
    if (!reference.empty() && !other.empty()) {
      const scatter known(reference);
      std::vector<double> between;
      for (const scatter::point& p : other) between.push_back(p.value - known(p.at).value);
      scale = slimpack::detail::median(std::move(between));
    }
    for (const scatter::point& p : other) all.push_back({p.at, p.value - scale, further});
  }

  static seconds modelled(const wave_model& model, pass p, const place& at, tokens window = {}) noexcept {
    return model.attention(p, {at.queries}, {at.keys}, at.batch * at.heads, at.batch * at.kv_heads, at.head_dim,
                           window);
  }
  static double ratio(const wave_model& model, const place& at) noexcept {
    return modelled(model, pass::backward, at) / modelled(model, pass::forward, at);
  }

  static scatter::place logs_of(const place& at) noexcept {
    const auto log = [](std::int64_t size) { return std::log2(static_cast<double>(size)); };
    return {log(at.queries), log(at.keys), log(at.heads), log(at.kv_heads), log(at.head_dim), log(at.batch)};
  }

  static place place_of(const attention_sample& s) noexcept {
    return {s.queries.value, s.keys.value, s.heads, s.kv_heads, s.head_dim, s.batch};
  }

  wave_model model_;
  std::string reference_;
  double largest_change_{};
  scatter forward_;
  std::optional<scatter> ratio_;
};

}  // namespace slimpack::costs

#endif
