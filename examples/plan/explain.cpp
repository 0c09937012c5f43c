#include "explain.hpp"

#include "memory_split.hpp"
#include "relayed.hpp"
#include "sharers.hpp"
#include "texts.hpp"

#include <slimpack/core/lending/detail/loan_fault.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/costs/network/moved_rows.hpp>
#include <slimpack/simulators/remap/remapped_step.hpp>
#include <slimpack/solvers/sharing_zones.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

using namespace slimpack;

constexpr std::pair<const char*, seconds rank_time::*> losses[]{{"collectives", &rank_time::collectives},
                                                                {"recomputation", &rank_time::recomputation},
                                                                {"packs", &rank_time::packs},
                                                                {"communication", &rank_time::communication},
                                                                {"imbalance of stages", &rank_time::imbalance},
                                                                {"waiting", &rank_time::waiting},
                                                                {"copies of paths", &rank_time::copies}};

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
    for (const loan& l : r.loans)
      those.insert({l.pass(), lock.step_of(l.lender.what, l.lender.stage)}), lent += l.pairs(), ++loans;
    for (const slice& s : r.partition.forward.slices()) pairs += 2 * s.pairs() * p.shape.parts();
    lending += those.size(), steps += 2 * lock.size();
  }
  return "stages lend each other attention in " + std::to_string(lending) + " of " + std::to_string(steps) +
         " lock steps: " + std::to_string(loans) + " loans with " + percent(lent / pairs, 1) + " of all attention";
}

/// What it would be to have as many tokens on all replicas in modules that work token by token; nothing where it cannot
/// be told.
std::string remapping_of(const setting& s, const row& r) {
  const plan& p = r.plan.value();
  if (!s.model || !s.device || p.shape.replicas < 2) return {};
  const result<any_cost> any = cost_on(s, r.planner, r.layout);
  const result<std::vector<int>> layers =
      slimpack::detail::layers_on_parts(*s.model, p.shape, r.layout.layers, s.routing);
  if (!any || !layers) return {};
  const costs::moved_rows rows(*s.model, *s.device, p.shape, layers.value());
  const std::uint32_t on_a_node = solvers::sharing_zones::of(*s.model, *s.device, p.shape).replicas_per_node;
  const auto simulated = [&](const auto& cost) { return simulators::remapped_step::of(p, cost, rows, on_a_node); };
  const result<simulators::remapped_step> found = std::visit(simulated, any.value());
  if (!found) return {};
  return "if rows were remapped so that modules that work token by token have equal tokens on all replicas: " +
         fixed(found.value().moved.value / 1e9, 2) + " GB sent in a step; makespan " + time_of(found.value().planned) +
         " as planned, " + time_of(found.value().together) + " in lock step, " + time_of(found.value().remapped) +
         " remapped";
}

/// Tokens that sharers of rows would move so that all have as many: none of rows that are even but for a left-over
/// quantum of either end.
tokens uneven_tokens(const plan& p) {
  tokens sum{};
  for (const merge& m : p.merges)
    for (const pass way : both_passes)
      for (const std::vector<pack_id>& row : m.of(way)) {
        const std::vector<tokens> held = held_by_sharers(p, m, way, row);
        const auto [least, most] = std::minmax_element(held.begin(), held.end());
        if (*most - *least > p.shape.quantum * 2) sum += remapping::of(held).moved();
      }
  return sum;
}

std::string uneven_text(tokens uneven) {
  if (uneven > tokens{}) return "the rows of " + std::to_string(uneven.value) + " tokens";
  return "0 bytes, since each already has as many tokens of a row as the others, up to two quanta";
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

void print_explained(std::ostream& out, const setting& s, const std::vector<row>& rows) {
  const bool trains = !s.options.forward_only;
  std::vector<std::pair<const char*, seconds rank_time::*>> shown(std::begin(losses), std::end(losses));
  if (!trains) std::erase_if(shown, [](const auto& one) { return one.second == &rank_time::recomputation; });
  if (std::all_of(rows.begin(), rows.end(), [](const row& r) { return !r.plan || r.plan.value().copies.empty(); }))
    shown.pop_back();
  std::vector<std::vector<std::string>> table{{"stages' time", "useful"}};
  for (const auto& [name, part] : shown) table.front().emplace_back(name);
  for (const row& r : rows) {
    if (!r.plan || !r.plan.value().rank_time) continue;
    const rank_time& spent = *r.plan.value().rank_time;
    const double all = spent.total().value;
    table.push_back({label_of(rows, r), percent(all > 0 ? spent.useful.value / all : 1, 2)});
    for (const auto& [name, part] : shown) table.back().push_back(percent(all > 0 ? (spent.*part).value / all : 0, 2));
  }
  out << "\n";
  print_table(out, table);
  out << "useful: work of the batch; if ranks divide experts, the work of the busiest rank;\n"
         "collectives: layers wait for traffic of tensor-parallel ranks and for all-to-alls of experts;\n"
         "packs: overhead of each pack, slow kernels of short slices, and a context-parallel ring that waits because "
         "of cuts;\n"
         "communication: "
      << (trains ? "exchanges of shared sequences and the reduction of gradients" : "messages between stages")
      << ", as far as no work hides them;\n"
         "imbalance: stages are idle because another stage has more to do; waiting: all other idle time.\n";
  for (const row& r : rows)
    if (r.plan && lends(r.plan.value())) out << r.planner << ": " << lending_of(r.plan.value()) << ".\n";
  for (const row& r : rows)
    if (const std::string relayed = r.plan ? relayed_text(s, r.layout, r.plan.value()) : ""; !relayed.empty())
      out << r.planner << ": " << relayed << ".\n";
  for (const row& r : rows) {
    if (!r.plan) continue;
    // Others have no micro-steps: what slimpack's sharers have of a row is even, by pieces of its head and its tail.
    if (r.planner == "zeppelin")
      if (const std::string text = remapping_of(s, r); !text.empty()) out << r.planner << ": " << text << ".\n";
    if (r.planner == "slimpack" && !r.plan.value().merges.empty())
      out << r.planner << ": to have equal tokens, sharers would have to move "
          << uneven_text(uneven_tokens(r.plan.value())) << ".\n";
  }
  const plan& first = rows.front().plan.value();
  print_memory(out, s, rows.front());
  out << "On this layout, " << (trains ? "a step" : "an evaluation") << " takes at least " << time_of(first.lower_bound)
      << ".\n";
  if (const std::optional<seconds>& floor = first.any_layout_bound)
    out << "On as many GPUs, with any layout"
        << (trains ? ", layers and recomputation, a step" : " and layers, an evaluation") << " takes at least "
        << time_of(*floor) << ", which is " << percent(*floor / first.step_time, 2)
        << " of this one: the useful work alone, spread evenly.\n";
}

}  // namespace cli
