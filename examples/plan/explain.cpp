#include "explain.hpp"

#include "memory_split.hpp"
#include "relayed.hpp"
#include "texts.hpp"

#include <slimpack/core/lending/detail/lock_steps.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/costs/hooks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;

constexpr std::pair<const char*, seconds rank_time::*> losses[]{{"recomputation", &rank_time::recomputation},
                                                                {"packs", &rank_time::packs},
                                                                {"communication", &rank_time::communication},
                                                                {"imbalance of stages", &rank_time::imbalance},
                                                                {"waiting", &rank_time::waiting}};

/// All useful work of a batch on one GPU that holds the whole model, divided evenly: no layout, layers or recomputation of
/// so many GPUs takes less, since none splits a product into faster ones.
std::optional<seconds> frame_floor(const setting& s, const plan& p, std::span<const tokens> lengths) {
  const double ranks = static_cast<double>(p.shape.stages) * p.shape.replicas;
  const seconds here = p.rank_time->useful * (1 / ranks);
  if (s.options.quadratic) return here;  // knows the time of a stage, whatever its GPUs
  shapes::layout alone;
  alone.shape.quantum = p.shape.quantum;
  const result<any_cost> cost = cost_on(s, alone);
  if (!cost) return std::nullopt;
  const seconds work = std::visit(
      [&](const auto& one) {
        seconds sum{};
        for (std::uint32_t i = 0; i < lengths.size(); ++i)
          for (const pass direction : {pass::forward, pass::backward})
            sum += useful_time(one, {{i}, {0}, lengths[i]}, direction, 0);
        return sum;
      },
      cost.value());
  return std::min(here, work * (1 / (ranks * p.shape.tensor * p.shape.context)));
}

bool lends(const plan& p) {
  return std::any_of(p.replicas.begin(), p.replicas.end(), [](const replica_plan& r) { return !r.loans.empty(); });
}

/// How much attention stages lend each other.
std::string lending_of(const plan& p) {
  std::size_t loans = 0, lending = 0, steps = 0;
  double lent = 0, pairs = 0;
  for (const replica_plan& r : p.replicas) {
    if (r.partition.forward.empty()) continue;
    const slimpack::detail::lock_steps lock(r.partition.forward.size(), p.shape);
    std::set<std::pair<pass, std::size_t>> those;
    for (const loan& l : r.loans) those.insert({l.pass(), lock.step_of(l.lender.what, l.lender.stage)}), lent += l.pairs(), ++loans;
    for (const slice& s : r.partition.forward.slices()) pairs += 2 * s.pairs() * p.shape.parts();
    lending += those.size(), steps += 2 * lock.size();
  }
  return "stages lend each other attention in " + std::to_string(lending) + " of " + std::to_string(steps) + " lock steps, " + percent(lent / pairs, 1) +
         " of it in " + std::to_string(loans) + " loans";
}

}  // namespace

std::string losses_of(const plan& p) {
  const double all = p.rank_time->total().value;
  std::vector<std::pair<double, const char*>> lost;
  for (const auto& [name, part] : losses)
    if (const double share = ((*p.rank_time).*part).value / all; share >= 0.0005) lost.emplace_back(share, name);
  std::stable_sort(lost.begin(), lost.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [share, name] : lost) text += (text.empty() ? "" : ", ") + percent(share, 1) + " " + name;
  return text;
}

void print_explained(std::ostream& out, const setting& s, const std::vector<row>& rows, std::span<const tokens> lengths) {
  std::vector<std::vector<std::string>> table{{"stages' time", "useful"}};
  for (const auto& [name, part] : losses) table.front().emplace_back(name);
  for (const row& r : rows) {
    if (!r.plan || !r.plan.value().rank_time) continue;
    const rank_time& spent = *r.plan.value().rank_time;
    const double all = spent.total().value;
    table.push_back({r.planner, percent(all > 0 ? spent.useful.value / all : 1, 2)});
    for (const auto& [name, part] : losses) table.back().push_back(percent(all > 0 ? (spent.*part).value / all : 0, 2));
  }
  out << "\n";
  print_table(out, table);
  out << "packs: their overheads, the loss of short slices, and what cuts make a context-parallel ring wait for;\n"
         "communication: that nothing hides, exchanges of shared sequences and the reduction of gradients;\n"
         "imbalance: stages that are idle since another has more to do; waiting: all other idle time.\n";
  for (const row& r : rows)
    if (r.plan && lends(r.plan.value())) out << r.planner << ": " << lending_of(r.plan.value()) << ".\n";
  for (const row& r : rows)
    if (const std::string relayed = r.plan ? relayed_text(s, r.layout, r.plan.value()) : ""; !relayed.empty()) out << r.planner << ": " << relayed << ".\n";
  const plan& first = rows.front().plan.value();
  print_memory(out, s, rows.front());
  out << "No plan on this layout is faster than " << time_of(first.lower_bound) << ".\n";
  if (const std::optional<seconds> floor = frame_floor(s, first, lengths))
    out << "No layout, layers or recomputation of as many GPUs has a plan faster than " << time_of(*floor) << ", which is "
        << percent(*floor / first.step_time, 2) << " of the step: all useful work, spread evenly, and nothing else.\n";
}

}  // namespace cli
