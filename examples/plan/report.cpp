#include "report.hpp"

#include "explain.hpp"
#include "memory_margin.hpp"
#include "simulator.hpp"
#include "texts.hpp"

#include <slimpack/detail/amount.hpp>
#include <slimpack/simulators/graph/critical_path.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/simulators/graph/slack.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <ostream>

namespace cli {
namespace {

using namespace slimpack;

/// What holds up the slowest replica, and those that it shares sequences with.
void print_critical_path(std::ostream& out, const plan& p) {
  const auto slowest = std::max_element(p.replicas.begin(), p.replicas.end(), [](const auto& a, const auto& b) {
    return a.makespan < b.makespan;
  });
  simulators::plan_graphs graphs(p, simulator{});
  if (!graphs.select(static_cast<std::size_t>(slowest - p.replicas.begin()))) return;
  const simulators::task_graph& graph = graphs.graph();
  const result<std::vector<seconds>> slack = simulators::slack(graph, graphs.start(), graphs.simulator());
  if (!slack) return;
  const simulators::critical_seconds spent = simulators::seconds_on(simulators::critical_path(graph, graphs.start()));
  const seconds all = spent.forward + spent.backward + spent.messages;
  if (!(all > seconds{})) return;
  std::size_t instructions = 0;
  std::size_t held = 0;
  for (std::size_t n = 0; n < graph.size(); ++n)
    if (graph.tasks()[n].is_instruction()) ++instructions, held += slack.value()[n] == seconds{};
  out << "Simulated by " << p.simulator << ". The critical path is " << percent(spent.forward / all, 1) << " forward";
  if (!is_forward_only(p)) out << ", " << percent(spent.backward / all, 1) << " backward";
  out << " and " << percent(spent.messages / all, 1) << " messages; "
      << percent(static_cast<double>(held) / static_cast<double>(instructions), 1) << " of the instructions have no slack.\n";
}

/// The sequences that replicas share: each of a few, or all in one line.
void print_shared(std::ostream& out, const plan& p, bool verbose) {
  constexpr std::size_t few = 4;
  if (p.merges.size() <= few || verbose) {
    for (const merge& m : p.merges) {
      out << "shared    sequence " << m.sequence.value << " (" << p.lengths[m.sequence.value].value << " tokens) by replicas";
      for (const std::uint32_t r : m.replicas) out << " " << r;
      out << ", in " << m.forward.size() << " rows forward and " << m.backward.size() << " backward"
          << (m.relays.empty() ? "" : ", which proxies relay between nodes") << "\n";
    }
    return;
  }
  std::int64_t total = 0, longest = 0;
  std::size_t least = p.merges.front().replicas.size(), most = 0;
  for (const merge& m : p.merges) {
    const std::int64_t length = p.lengths[m.sequence.value].value;
    total += length, longest = std::max(longest, length);
    least = std::min(least, m.replicas.size()), most = std::max(most, m.replicas.size());
  }
  out << "shared    " << p.merges.size() << " sequences with " << total << " tokens, the longest of " << longest << ", by "
      << (least == most ? "" : std::to_string(least) + " to ") << most << " replicas each (--verbose lists them)\n";
}

/// How many pieces there are, which is how often a compute is called that is called piece by piece.
void print_calls(std::ostream& out, const options& o, const plan& p) {
  if (o.cuts == backward_cuts::any && o.call == seconds{}) return;
  std::size_t packs[2]{}, pieces[2]{};
  for (const replica_plan& r : p.replicas)
    for (const pass direction : {pass::forward, pass::backward}) {
      const micropacks& all = r.partition.of(direction);
      packs[direction == pass::backward] += all.size(), pieces[direction == pass::backward] += all.slices().size();
    }
  out << "pieces    " << pieces[0] << " in " << packs[0] << " forward packs";
  if (!is_forward_only(p)) out << ", " << pieces[1] << " in " << packs[1] << " backward packs";
  out << "\n";
}

void print_batch(std::ostream& out, const setting& s, const row& first) {
  const options& o = s.options;
  const plan& p = first.plan.value();
  const auto longest = std::max_element(p.lengths.begin(), p.lengths.end())->value;
  std::int64_t total = 0;
  for (const tokens length : p.lengths) total += length.value;
  out << "batch     " << p.lengths.size() << " sequences, " << total << " tokens, longest " << longest << " ("
      << o.lengths.filename().string() << (o.seed ? ", shuffled with seed " + std::to_string(*o.seed) : ", file order")
      << ")\n";
  out << "model     " << (p.model.empty() ? "none" : p.model) << ", cost " << p.cost;
  if (!p.gpu.empty()) out << " on " << p.gpu;
  out << "\nshape     dp " << p.shape.replicas << " x pp " << p.shape.stages << " x tp " << p.shape.tensor << " x cp "
      << p.shape.context;
  if (p.shape.expert > 1) out << ", ep " << p.shape.expert;
  if (p.shape.chunks > 1) out << ", vpp " << p.shape.chunks;
  if (p.shape.vocabulary != vocabulary::last) out << ", vocabulary " << slimpack::name_of(p.shape.vocabulary);
  if (!first.layout.layers.empty()) out << ", layers " << layers_text(first.layout.layers);
  if (first.layout.recompute != costs::recompute::none) out << ", recompute " << name_of(first.layout.recompute);
  out << ", cuts at multiples of " << p.shape.quantum.value << " tokens\n";
  const auto amount = [](bytes size) { return slimpack::detail::amount(size.value, memory_unit::byte); };
  out << "memory    "
      << (p.shape.memory ? slimpack::detail::amount(p.shape.memory->amount, p.memory_unit) + " limit per " +
                               (p.memory_unit == memory_unit::byte ? "GPU" : "stage")
                         : std::string("no limit"));
  if (s.device && p.shape.memory && !o.limits_memory) {
    const memory_margin margin = memory_margin::of(*s.device);
    out << ", a margin of " << amount(margin.all()) << " left of " << amount(s.device->memory) << ": fragments "
        << amount(margin.fragments) << ", workspaces " << amount(margin.workspaces) << ", communicators " << amount(margin.communicators);
  }
  out << "\n";
  if (is_forward_only(p))
    out << "evaluates forward alone: no gradients, no optimizer, nothing kept for a backward"
        << (p.memory_unit == memory_unit::byte ? "; weights, keys and values until their sequence ends, and what runs" : "") << "\n";
  print_calls(out, o, p);
  print_shared(out, p, o.verbose);
  out << "\n";
}

}  // namespace

double peak_of(const plan& p) {
  double peak = 0;
  for (const replica_plan& r : p.replicas)
    for (const double held : r.peak_memory) peak = std::max(peak, held);
  return peak;
}

double tokens_of(const plan& p) {
  double sum = 0;
  for (const tokens length : p.lengths) sum += static_cast<double>(length.value);
  return sum;
}

double rate_of(const plan& p) {
  return tokens_of(p) / p.step_time.value / static_cast<double>(shapes::layout{.shape = p.shape}.gpus());
}

void print_out_of_time(std::ostream& out, const std::vector<row>& rows) {
  std::string names;
  for (const row& r : rows)
    if (r.out_of_time) names += (names.empty() ? "" : ", ") + r.planner;
  if (!names.empty()) out << "The time of --time-limit ran out for " << names << ": with more time the plan may be faster.\n";
}

void print(std::ostream& out, const setting& s, const std::vector<row>& rows, seconds uncut) {
  const options& o = s.options;
  print_batch(out, s, rows.front());
  const auto megatron = std::find_if(rows.begin(), rows.end(),
                                     [](const row& r) { return r.planner == "megatron" && r.plan && !r.over_memory; });
  const std::string time = o.forward_only ? "time" : "step time";
  const std::vector<std::string> head{"planner", time,        "speed-up",    "tokens/s/GPU", "MFU",
                                      "useful",  "to gain",   "peak memory", "planning"};
  std::vector<std::vector<std::string>> table{head};
  const bool chosen = o.automatic || o.even_stages;
  if (chosen) table.front().emplace_back("on");
  for (const row& r : rows) {
    if (!r.plan) continue;
    const plan& p = r.plan.value();
    const bool compared = megatron != rows.end() && !r.over_memory;
    table.push_back(
        {r.planner, time_of(p.step_time), compared ? fixed(megatron->plan.value().step_time / p.step_time, 2) + " x" : "-",
         fixed(rate_of(p), 0), mfu_text(p.mfu), percent(useful_share(p), 2), gain_text(p.efficiency),
         slimpack::detail::amount(peak_of(p), p.memory_unit) + (r.over_memory ? " *" : ""), time_of(p.planning_time)});
    if (chosen) table.back().push_back(options_of(r.layout));
  }
  print_table(out, table);
  print_out_of_time(out, rows);
  const plan& first = rows.front().plan.value();
  const auto best = std::max_element(first.bounds.begin(), first.bounds.end(),
                                     [](const bound& a, const bound& b) { return a.time < b.time; });
  out << "\n" << time << " is a makespan: from a common start to the end of the slowest replica"
      << (first.reduce_time.value > 0 ? " and its reduction.\n" : ".\n");
  print_critical_path(out, first);
  if (first.rank_time && first.step_time > seconds{}) {
    const std::string lost = losses_of(first);
    out << "useful: of the stages' time " << percent(useful_share(first), 1) << " is work of the batch"
        << (lost.empty() ? "" : "; " + lost) << ".\n";
  }
  out << "to gain: no plan of this batch on this layout is faster than " << time_of(first.lower_bound) << " (" << best->name
      << "), so at most " << gain_text(first.efficiency) << " of " << (o.forward_only ? "it" : "the step") << ".\n";
  if (first.mfu)
    out << "MFU: 6 flops a weight and token, and those of causal attention, over the peak of the GPUs; what is computed again does\n"
           "not count.\n";
  out << "No plan that cuts no sequence is faster than " << time_of(uncut) << ".\n";
  if (std::any_of(rows.begin(), rows.end(), [](const row& r) { return r.over_memory; }))
    out << "* over memory: does not fit the limit, shown without it; counts in no speed-up.\n";
  if (rows.size() > 1 && megatron == rows.end()) out << "No speed-ups: megatron is not among the planners that fit.\n";
  for (const row& r : rows)
    if (!r.plan) out << r.planner << " has no plan: " << r.plan.error().detail << ".\n";
}

void print_search(std::ostream& out, const solvers::search_report& did) {
  std::vector<std::vector<std::string>> table{{"search", "tried", "taken", "gained"}};
  for (const solvers::move_report& m : did.moves())
    table.push_back({std::string(m.name), std::to_string(m.tried), std::to_string(m.taken), time_of(m.gained)});
  out << "\n";
  print_table(out, table);
  out << "Of all replicas and divisions of the batch together, those that were not chosen among them.\n"
         "first, kinds, sizes, whole: packs by ratios; divided, balanced, levelled: which replicas run what;\n"
         "the others are moves (include/slimpack/solvers/improve/).\n";
}

}  // namespace cli
