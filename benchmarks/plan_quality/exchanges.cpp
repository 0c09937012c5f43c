// Plans whose replicas share sequences, by what their exchange costs: keys and values kept, queries, and rings, over
// links of two kinds and for nothing.

#include "laws.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <slimpack/core/merge.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/costs/network/row_exchange.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace slimpack::plan_quality {
namespace {

constexpr shape replicas_of_stages{.stages = 8, .replicas = 8};

/// Layers of Llama-3.1-8B, 4 a stage: 2,048 elements of keys and values a token, 4,096 of queries and of outputs.
const costs::model_shape eight_billion{.name = "8B",
                                       .layers = 32,
                                       .hidden = 4096,
                                       .heads = 32,
                                       .kv_heads = 8,
                                       .head_dim = 128,
                                       .value_dim = 128,
                                       .intermediate = 14336,
                                       .vocabulary = 128256};

/// The uniform pipeline whose sharers exchange over links of so many bytes a second.
class exchanging : public costs::quadratic {
 public:
  explicit exchanging(double bandwidth)
      : quadratic(uniform_cost),
        rows_(eight_billion, replicas_of_stages, std::vector<int>(8, 4), costs::recompute::none,
              costs::network({.name = "any",
                              .gpus_per_node = 1,
                              .backward_attention_ratio = backward_attention,
                              .inside = {{}, bandwidth},
                              .between = {{}, bandwidth}})) {}

  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const {
    double pairs = 0;
    for (const slice& s : mine) pairs += s.pairs();
    return rows_(row, mine, {attention * pairs * (p == pass::forward ? 1 : backward_attention)}, p, part);
  }

 private:
  costs::row_exchange rows_;
};

struct free_exchange : costs::quadratic {
  free_exchange() : quadratic(uniform_cost) {}
  [[nodiscard]] seconds exchange(const shared_row&, std::span<const slice>, pass, int) const noexcept { return {}; }
};

/// Useful work of the worst seed; prints why where a seed has no plan.
template <class Cost>
double worst_of(const Cost& cost, exchange_set exchanges, const effort& search, const options& o, std::string& note) {
  double worst = 1;
  std::size_t merges = 0, most = 0;
  for (const std::uint64_t seed : o.seeds) {
    const std::vector<tokens> lengths = log_normal(512, seed);
    shape on = replicas_of_stages;
    on.memory = times_longest(1.25, lengths);
    const solvers::two_phase solver{.effort = search.budget, .exchanges = exchanges};
    const result<plan> made = planner{on, slicers::equal_cost{}, cost, solver}(lengths);
    if (!made) {
      note = made.error().detail;
      return 0;
    }
    worst = std::min(worst, useful_share(made.value(), cost));
    merges += made.value().merges.size();
    for (const merge& m : made.value().merges) most = std::max(most, m.replicas.size());
  }
  note = std::to_string(merges) + " shared, by up to " + std::to_string(most);
  return worst;
}

}  // namespace

void exchanges(const options& o, scoreboard& board) {
  std::printf(
      "exchange: useful work over rank-time of log-normal 512, p 8, dp 8, cap 1.25; the longest sequence is twice a "
      "replica's\n"
      "  share. 4 layers a stage, 2048 elements of keys and values a token, 2 bytes each (gradients 4); worst seed\n"
      "  %-10s %-8s %-6s %9s %8s\n",
      "bandwidth", "exchange", "effort", "useful", "goal");
  const auto line = [&](const char* wire, const char* how, const effort& search, double useful, double limit,
                        const std::string& note) {
    const char* verdict = "";
    if (limit > 0)
      verdict = board.judge({"exchange: " + std::string(wire) + ", " + how + ", " + search.name, useful, limit, false});
    std::printf("  %-10s %-8s %-6s %9.5f %8s %-6s %s\n", wire, how, search.name, useful,
                limit > 0 ? std::to_string(limit).substr(0, 5).c_str() : "", verdict, note.c_str());
    std::fflush(stdout);
  };
  struct wire {
    const char* name;
    double bandwidth;
  };
  std::string note;
  for (std::size_t e = 0; e < std::size(efforts) - (o.quick ? 1 : 0); ++e) {
    const bool is_high = e + 1 == std::size(efforts);
    for (const wire& w : {wire{"200 GB/s", 200e9}, wire{"50 GB/s", 50e9}}) {
      for (const exchange how : {exchange::keep, exchange::queries, exchange::ring}) {
        const double useful = worst_of(exchanging(w.bandwidth), exchange_set::only(how), efforts[e], o, note);
        const bool has_goal = is_high && how == exchange::keep && w.bandwidth > 100e9;
        line(w.name, name_of(how).data(), efforts[e], useful, has_goal ? 0.986 : 0, note);
      }
    }
    const double useful = worst_of(free_exchange(), {}, efforts[e], o, note);
    line("free", "keep", efforts[e], useful, 0, note);
  }
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
