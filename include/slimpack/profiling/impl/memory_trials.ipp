#ifndef SLIMPACK_PROFILING_IMPL_MEMORY_TRIALS_IPP
#define SLIMPACK_PROFILING_IMPL_MEMORY_TRIALS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/profiling/detail/nonnegative.hpp>
#include <slimpack/profiling/memory_trials.hpp>
#include <slimpack/simulators/plan_graphs.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

namespace slimpack::profiling {

namespace detail {

/// An observation as equations.
struct memory_equations {
  using kept_row = fit_row<4>;     // live_token, pair_bytes, gradient_token, weight_token
  using running_row = fit_row<3>;  // a token, a pair, the rest

  /// Equations of bytes. An error counts by its value, or by a hundredth of the largest value where that is more.
  template <std::size_t N>
  class of_rates {
   public:
    void push(const fit_row<N>& factors, double value) {
      rows_.push(factors, value, std::abs(value));
      largest_ = std::max(largest_, std::abs(value));
    }
    [[nodiscard]] fit_row<N> solved() {
      if (!(largest_ > 0)) return {};
      for (double& scale : rows_.scales) scale = std::max(scale, largest_ / 100);
      return least_squares(rows_);
    }

   private:
    fit_rows<N> rows_;
    double largest_{};
  };

  /// What a call leaves: factors of kept_row, over chunks.
  [[nodiscard]] static kept_row left(const memory_observation& o) noexcept {
    const double share = 1.0 / o.chunks, n = o.tokens * share, d = o.pairs * share,
                 closes = (o.closed - o.opened) * share;
    if (o.kind == instruction_kind::forward) return {n, d, 0, 0};
    if (o.kind == instruction_kind::weights) return {n, 0, 0, n};
    return o.apart ? kept_row{0, d, closes, -n} : kept_row{n, d, closes, 0};
  }
  [[nodiscard]] static double value_left(const memory_observation& o) noexcept {
    return o.kind == instruction_kind::forward ? o.after - o.before : o.before - o.after;
  }

  [[nodiscard]] static running_row running(const memory_observation& o) noexcept { return {o.tokens, o.pairs, 1}; }
  /// What a call needs while it runs, beside what is kept.
  [[nodiscard]] static double value_running(const memory_observation& o, const kept_row& kept) noexcept {
    if (o.kind == instruction_kind::forward) return std::max(0.0, o.peak - o.after);
    const double opens = kept[2] * o.opened + (o.apart ? kept[3] * o.tokens : 0);
    return std::max(0.0, o.peak - o.before - (o.kind == instruction_kind::weights ? 0 : opens / o.chunks));
  }
};

}  // namespace detail

SLIMPACK_DECL result<memory_fit> fit_memory(std::span<const memory_observation> all, bytes base) {
  using detail::memory_equations;
  const auto none_of = [&](instruction_kind kind) {
    return std::none_of(all.begin(), all.end(), [&](const memory_observation& o) { return o.kind == kind; });
  };
  for (const instruction_kind kind : {instruction_kind::forward, instruction_kind::backward})
    if (none_of(kind))
      return error{errc::invalid_input, std::string("no ") +
                                            (kind == instruction_kind::forward ? "forward" : "backward") +
                                            " pack was seen: read the memory around calls of both passes"};
  memory_equations::of_rates<4> keeps;
  double largest = 0;
  for (const memory_observation& o : all) {
    if (!std::isfinite(o.before) || !std::isfinite(o.peak) || !std::isfinite(o.after))
      return error{errc::invalid_input, "the gauge of memory gave bytes that are no number"};
    keeps.push(memory_equations::left(o), memory_equations::value_left(o));
    largest = std::max({largest, std::abs(o.after - o.before), o.peak - o.before});
  }
  const memory_equations::kept_row kept = keeps.solved();
  memory_fit made;
  made.rates.live_token = kept[0], made.pair_bytes = kept[1];
  made.rates.gradient_token = kept[2], made.rates.weight_token = kept[3];

  memory_equations::of_rates<3> forward, backward;
  for (const memory_observation& o : all)
    if (o.kind != instruction_kind::weights)
      (o.kind == instruction_kind::forward ? forward : backward)
          .push(memory_equations::running(o), memory_equations::value_running(o, kept));
  const auto of_forward = forward.solved(), of_backward = backward.solved();
  made.rates.forward_token = of_forward[0], made.rates.forward_pair = of_forward[1];
  made.rates.backward_token = of_backward[0], made.rates.backward_pair = of_backward[1];

  double rest = std::max(of_forward[2], of_backward[2]);
  double above = 0, off = 0;
  for (const memory_observation& o : all) {
    const double needed = memory_equations::value_running(o, kept);
    const memory_equations::running_row is_weights{};
    const auto& rates = o.kind == instruction_kind::forward    ? of_forward
                        : o.kind == instruction_kind::backward ? of_backward
                                                               : is_weights;
    const double told = rates[0] * o.tokens + rates[1] * o.pairs + rest;
    above = std::max(above, needed - told);
    off = std::max(
        {off, needed - told, std::abs(product(memory_equations::left(o), kept) - memory_equations::value_left(o))});
  }
  made.rates.fixed = base.value + rest + above;
  made.worst = largest > 0 ? off / largest : 0;
  return made;
}

SLIMPACK_DECL void memory_trials::begin(const plan& p, std::size_t replica) {
  work_ = simulators::workload_of(p, replica);
  for (const pass way : both_passes) {
    const micropacks& packs = p.replicas[replica].partition.of(way);
    sizes_[way].clear();
    for (std::size_t i = 0; i < packs.size(); ++i) sizes_[way].push_back(static_cast<double>(size_of(packs[i]).value));
  }
  base_ = std::max(base_, read_().now.value);
}

SLIMPACK_DECL memory_observation memory_trials::observed(const instruction& i, const memory_reading& now) const {
  const std::size_t pack = i.pack.value;
  memory_observation o{.kind = i.kind, .chunks = work_.shape.chunks};
  o.tokens = sizes_[i.pass()][pack];
  o.pairs = work_.pairs_of(i.pass(), pack);
  if (i.kind == instruction_kind::backward) {
    o.apart = work_.times.apart.splits(pack);
    o.opened = static_cast<double>(work_.gradient_running[pack] - work_.gradient_before[pack]);
    o.closed = static_cast<double>(work_.gradient_running[pack] - work_.gradient_before[pack + 1]);
  }
  o.before = before_, o.peak = std::max(now.peak.value, before_), o.after = now.now.value;
  return o;
}

}  // namespace slimpack::profiling

#endif
