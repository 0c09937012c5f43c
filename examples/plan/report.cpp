#include "report.hpp"

#include "explain.hpp"
#include "memory_margin.hpp"
#include "model_facts.hpp"
#include "padding.hpp"
#include "prices.hpp"
#include "simulator.hpp"
#include "texts.hpp"

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/simulators/graph/critical_path.hpp>
#include <slimpack/simulators/plan_graphs.hpp>

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
  const auto slowest = std::max_element(p.replicas.begin(), p.replicas.end(),
                                        [](const auto& a, const auto& b) { return a.makespan < b.makespan; });
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
      << percent(static_cast<double>(held) / static_cast<double>(instructions), 1)
      << " of the instructions have no slack.\n";
}

/// The sequences that replicas share: each of a few, or all in one line.
void print_shared(std::ostream& out, const plan& p, bool verbose) {
  constexpr std::size_t few = 4;
  if (p.merges.size() <= few || verbose) {
    for (const merge& m : p.merges) {
      out << "shared    sequence " << m.sequence.value << " (" << p.lengths[m.sequence.value].value
          << " tokens) by replicas";
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
  out << "shared    " << p.merges.size() << " sequences with " << total << " tokens, the longest of " << longest
      << ", by " << (least == most ? "" : std::to_string(least) + " to ") << most
      << " replicas each (--verbose lists them)\n";
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

/// "1.80 x (1.74 to 1.87)", or "as fast (0.97 to 1.04)" where errors of prices can be the whole difference.
std::string text_of(const speed_up& over) {
  const std::string range =
      over.low < over.high ? " (" + fixed(over.low, 2) + " to " + fixed(over.high, 2) + ")" : std::string{};
  return (range.empty() || !over.as_fast() ? fixed(over.value, 2) + " x" : "as fast") + range;
}

/// Which of those that are compared is the fastest, and what that says; nothing where none is compared.
void print_best_rival(std::ostream& out, const setting& s, const std::vector<row>& rows) {
  const std::string& own = rows.front().planner;
  const bool compares = std::any_of(rows.begin(), rows.end(), [&](const row& r) { return r.planner != own; });
  if (!compares) return;
  const row* const rival = best_rival(rows);
  if (!rival) return void(out << "No speed-ups: of the planners that are compared none fits.\n");
  const speed_up over = speed_up_over(s, rows, *rival);
  out << "The best rival is " << rival->planner << ", which takes " << fixed(over.value, 3) << " times as long as "
      << own << ": " << text_of(over)
      << (is_baseline(rival->planner) ? ". Each rival has the settings that are fastest for it.\n" : ".\n");
  if (const std::string why = ratio_spread_text(s); !why.empty()) out << why << "\n";
  for (const row& r : rows)
    if (&r != &rows.front() && r.planner == own && r.plan &&
        r.plan.value().step_time < rows.front().plan.value().step_time)
      out << own << " is faster on " << ended_on(s, rows, r) << ", where it takes " << time_of(r.plan.value().step_time)
          << ".\n";
}

/// "812 sequences, 1913355 tokens, longest 96007"; of samples that share beginnings also what they would be alone.
void print_sequences(std::ostream& out, const plan& p) {
  std::int64_t computed = 0, total = 0, flat = 0, samples = 0;
  for (const tokens length : p.lengths) computed += length.value;
  for (const slice& own : tokens_at_home(p)) total += own.length.value;
  for (const sample_end& one : p.samples) samples += one.count, flat += one.count * one.at.value;
  if (samples > 0)
    out << samples << " samples, " << flat << " tokens flat, " << total << " different ("
        << fixed(static_cast<double>(flat) / static_cast<double>(total), 2) << " x fewer), in ";
  out << p.lengths.size() << " sequences, ";
  if (computed > total) out << computed - total << " tokens copied to other replicas, ";
  if (samples == 0) out << total << " tokens, ";
  out << (is_forest(p) ? "longest path " : "longest ") << batch_of(p).longest().value;
}

void print_batch(std::ostream& out, const setting& s, const row& first) {
  const options& o = s.options;
  const plan& p = first.plan.value();
  out << "batch     ";
  print_sequences(out, p);
  out << " (" << o.lengths.filename().string()
      << (o.seed ? ", shuffled with seed " + std::to_string(*o.seed) : ", file order") << ")\n";
  out << "model     " << (p.model.empty() ? "none" : p.model) << ", cost " << p.cost;
  if (!p.gpu.empty()) out << " on " << p.gpu;
  if (s.model) out << ": " << model_facts(s);
  out << "\nshape     dp " << p.shape.replicas << " x pp " << p.shape.stages << " x tp " << p.shape.tensor << " x cp "
      << p.shape.context;
  if (p.shape.expert > 1) out << ", ep " << p.shape.expert;
  if (p.shape.chunks > 1) out << ", vpp " << p.shape.chunks;
  if (p.shape.vocabulary != vocabulary::last) out << ", vocabulary " << slimpack::name_of(p.shape.vocabulary);
  if (!p.shape.words.empty()) out << ", words " << words_text(p.shape.words);
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
    out << ": " << amount(s.device->memory) << " less a margin of " << amount(margin.all()) << " (fragments "
        << amount(margin.fragments) << ", workspaces " << amount(margin.workspaces) << ", communicators "
        << amount(margin.communicators) << ")";
  }
  out << "\n";
  if (is_forward_only(p))
    out << "evaluates forward alone: no gradients, no optimizer, nothing kept for a backward"
        << (p.memory_unit == memory_unit::byte ? "; weights, keys and values until their sequence ends, and what runs"
                                               : "")
        << "\n";
  print_odd_slices(out, p);
  print_calls(out, o, p);
  print_shared(out, p, o.verbose);
  out << "\n";
}

}  // namespace

double tokens_of(const plan& p) {
  double sum = 0;
  for (const slice& own : tokens_at_home(p)) sum += static_cast<double>(own.length.value);
  return sum;
}

double rate_of(const plan& p) {
  return tokens_of(p) / p.step_time.value / static_cast<double>(shapes::layout{.shape = p.shape}.gpus());
}

bool is_rival(const std::vector<row>& rows, const row& r) {
  return r.planner != rows.front().planner && r.plan && !r.over_memory;
}

const row* best_rival(const std::vector<row>& rows) {
  const row* best = nullptr;
  for (const row& r : rows)
    if (is_rival(rows, r) && (!best || r.plan.value().step_time < best->plan.value().step_time)) best = &r;
  return best;
}

speed_up speed_up_over(const setting& s, const std::vector<row>& rows, const row& rival) {
  return speed_up_of(rival.plan.value().step_time, rows.front().plan.value().step_time, ratio_spread(s));
}

std::string label_of(const std::vector<row>& rows, const row& r) {
  const bool is_another = &r != &rows.front() && r.planner == rows.front().planner;
  return is_another ? r.planner + " " + options_of(r.layout, rows.front().layout) : r.planner;
}

std::string ended_on(const setting& s, const std::vector<row>& rows, const row& r) {
  const bool is_main = &r == &rows.front();
  const bool is_chosen = s.options.automatic || ((s.options.even_stages || s.options.shares_words) && is_main);
  std::string text = is_chosen ? options_of(r.layout) : options_of(r.layout, rows.front().layout);
  if (const std::string with = text_of(r.with); !with.empty()) text += (text.empty() ? "" : ", ") + with;
  return text.empty() ? "-" : text;
}

io::page_facts facts_of(const setting& s, const std::vector<row>& rows) {
  io::page_facts facts{.prices = price_error_text(s)};
  for (const row& r : rows) {
    if (!r.plan) continue;
    io::page_facts::about_plan& one = facts.plans.emplace_back();
    one.label = label_of(rows, r);
    if (const std::string ended = ended_on(s, rows, r); ended != "-") one.settings = ended;
    if (!is_rival(rows, r)) continue;
    const speed_up over = speed_up_over(s, rows, r);
    if (over.low < over.high) one.speed_up = {over.low, over.high}, one.as_fast = over.as_fast();
  }
  return facts;
}

void print_out_of_time(std::ostream& out, const std::vector<row>& rows) {
  std::string names, rivals;
  for (const row& r : rows)
    if (std::string& which = is_baseline(r.planner) ? rivals : names; r.out_of_time)
      which += (which.empty() ? "" : ", ") + r.planner;
  if (!names.empty())
    out << "The time of --time-limit ran out for " << names << ": with more time the plan may be faster.\n";
  if (!rivals.empty()) out << "The time of --time-limit ran out before all settings were tried of " << rivals << ".\n";
}

void print(std::ostream& out, const setting& s, const std::vector<row>& rows, std::optional<seconds> uncut) {
  const options& o = s.options;
  print_batch(out, s, rows.front());
  const std::string time = o.forward_only ? "time" : "step time";
  std::vector<std::vector<std::string>> table{
      {"planner", time, "speed-up over it", "tokens/s/GPU", "MFU", "useful", "to gain", "peak memory", "planning"}};
  const bool tells_settings = o.automatic || o.even_stages || o.shares_words || rows.size() > 1;
  if (tells_settings) table.front().emplace_back("ended on");
  for (const row& r : rows) {
    if (!r.plan) continue;
    const plan& p = r.plan.value();
    const bool compared = is_rival(rows, r);
    table.push_back({r.planner, time_of(p.step_time), compared ? text_of(speed_up_over(s, rows, r)) : "-",
                     fixed(rate_of(p), 0), mfu_text(p.mfu), percent(useful_share(p), 2), gain_text(p.efficiency),
                     slimpack::detail::amount(peak_of(p), p.memory_unit) + (r.over_memory ? " *" : ""),
                     time_of(p.planning_time)});
    if (tells_settings) table.back().push_back(ended_on(s, rows, r));
  }
  print_table(out, table);
  print_out_of_time(out, rows);
  print_best_rival(out, s, rows);
  const plan& first = rows.front().plan.value();
  const auto best = std::max_element(first.bounds.begin(), first.bounds.end(),
                                     [](const bound& a, const bound& b) { return a.time < b.time; });
  out << "\n"
      << time << ": from the common start of all replicas to the end of the slowest one"
      << (first.reduce_time.value > 0 ? " and of its reduction.\n" : ".\n");
  print_critical_path(out, first);
  if (first.rank_time && first.step_time > seconds{}) {
    const std::string lost = losses_of(first);
    out << "useful: " << percent(useful_share(first), 1) << " of the stages' time is work of the batch"
        << (lost.empty() ? "" : "; the rest is " + lost) << ".\n";
  }
  out << "to gain: at most " << gain_text(first.efficiency) << " of " << (o.forward_only ? "it" : "the step")
      << ", since every plan of this batch on this layout takes at least " << time_of(first.lower_bound) << " ("
      << best->name << ").\n";
  if (first.mfu)
    out << "MFU: 6 flops for each weight and token, plus those of pairs that are attended to and of states, over the "
           "peak of the GPUs.\n"
           "Recomputation does not count.\n";
  if (std::any_of(rows.begin(), rows.end(), [](const row& r) { return r.plan && r.plan.value().mfu > 1.0; }))
    out << beyond_peak_text(s) << "\n";
  if (uncut)
    out << "Without slicing, " << (o.forward_only ? "an evaluation" : "a step") << " takes at least " << time_of(*uncut)
        << ".\n";
  if (std::any_of(rows.begin(), rows.end(), [](const row& r) { return r.over_memory; }))
    out << "* fits the memory limit with no setting: shown without the limit, at the setting that holds least, and "
           "without a speed-up.\n";
  for (const row& r : rows)
    if (!r.plan) out << r.planner << " has no plan: " << r.plan.error().detail << ".\n";
}

void print_search(std::ostream& out, const solvers::search_report& did) {
  std::vector<std::vector<std::string>> table{{"search", "tried", "taken", "gained"}};
  for (const solvers::move_report& m : did.moves())
    table.push_back({std::string(m.name), std::to_string(m.tried), std::to_string(m.taken), time_of(m.gained)});
  out << "\n";
  print_table(out, table);
  out << "Counted over all replicas and all divisions of the batch, also over divisions that were not chosen.\n"
         "first, kinds, sizes, whole: packs made by size ratios; divided, balanced, levelled: which replica runs which "
         "sequence;\n"
         "the others are moves (include/slimpack/solvers/improve/).\n";
}

}  // namespace cli
