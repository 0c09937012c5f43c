// slimpack-plan: plans training steps for real sequence lengths, a model and a cluster, and shows how good they are.

#include "advice.hpp"
#include "any_layout_bound.hpp"
#include "batches.hpp"
#include "compare.hpp"
#include "contenders.hpp"
#include "explain.hpp"
#include "model_facts.hpp"
#include "options.hpp"
#include "origin.hpp"
#include "output_names.hpp"
#include "outputs.hpp"
#include "padding.hpp"
#include "planners.hpp"
#include "prices.hpp"
#include "progress.hpp"
#include "repeat.hpp"
#include "report.hpp"
#include "rivals.hpp"
#include "setting.hpp"
#include "simulator.hpp"
#include "stop_signals.hpp"
#include "summary.hpp"
#include "terminal.hpp"

#include <slimpack/core/plan_hash.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/training_flops.hpp>
#include <slimpack/forests/fork_price.hpp>
#include <slimpack/io/plan_graph.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/io/timeline.hpp>
#include <slimpack/io/trace.hpp>
#include <slimpack/service/deadline.hpp>
#include <slimpack/simulators/step_bounds.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

using namespace slimpack;

/// Least step time of any plan that cuts no sequence.
seconds uncut_step(const plan& p, const any_cost& any) {
  const auto floor = [&](const auto& cost) {
    const bool forward_only = is_forward_only(p);
    const seconds reduction = forward_only ? seconds{} : simulators::least_reduction(cost, p.shape);
    return uncut_floor(cost, p.shape, p.lengths, forward_only) + reduction;
  };
  return std::max(p.lower_bound, std::visit(floor, any));
}

/// Plans a batch with one planner, if that has not been done; a baseline that does not fit is planned without the limit
/// and marked.
row plan_row(const contender& c, bool main_plan, const setting& s, const batches& all, std::size_t batch) {
  const std::vector<tokens>& lengths = all.lengths[batch];
  const options& o = s.options;
  const progress shown("planning " + c.planner, limit_of(o));
  const std::optional<deadline> limit = deadline_of(o);
  request asked = request_of(s, c.planner, c.layout);
  asked.samples = all.forest_of(batch);
  if (limit) asked.stop = limit->token();
  solvers::search_report search;
  if (o.search_report) asked.report = &search;
  const bool is_planned = batch < c.plans.size() && !o.search_report;
  row r{c.planner, c.layout, error{}};
  if (is_baseline(c.planner)) {
    tuned_plan best = batch < c.tuned.size() ? c.tuned[batch] : tuned(asked, lengths, c.cost);
    const bool fits_nowhere = !best.made && best.made.error().code == errc::out_of_memory && asked.shape.memory;
    if (fits_nowhere && !main_plan) {
      best = smallest(asked, lengths, c.cost);
      r.over_memory = best.made.has_value();
    }
    r.plan = std::move(best.made), r.with = best.with;
    r.out_of_time = !best.to_the_end;
  } else {
    r.plan = is_planned ? result<plan>(c.plans[batch]) : plan_named(asked, lengths, c.cost);
    r.out_of_time = is_planned ? c.out_of_time : limit && asked.stop.stop_requested();
  }
  r.search = std::move(search);
  if (r.plan) {
    plan& p = r.plan.value();
    p.cost = o.cost_text;
    p.layers = c.layout.layers;
    if (s.model) p.model = s.model->name;
    if (s.device) p.gpu = s.device->name;
    if (s.model && s.device && !o.forward_only && p.step_time > seconds{})
      p.mfu = costs::training_flops(*s.model, all.view_of(batch)) /
              (p.step_time.value * static_cast<double>(c.layout.gpus()) * s.device->peak_bf16_flops);
    if (p.rank_time) p.any_layout_bound = any_layout_bound(s, p, all.view_of(batch));
    p.hash = hash_of(p);
    if (!p.origin) p.origin = origin_of(s, c.planner, c.layout, r.with);
  }
  return r;
}

/// Makes the outputs of a batch, the one that may be refused first.
result<void> write_outputs(outputs& all, const setting& s, const std::vector<row>& rows, std::size_t batch) {
  const options& o = s.options;
  const plan& main_plan = rows.front().plan.value();
  const auto timeline = [&](std::ostream& out) {
    std::vector<plan> shown;
    for (const row& r : rows)
      if (r.plan) shown.push_back(r.plan.value());
    return io::write_timeline(out, shown, {}, {}, simulator{}, facts_of(s, rows));
  };
  const std::pair<const std::optional<std::filesystem::path>&, outputs::writer> each[]{
      {o.graph, [&](std::ostream& out) { return io::write_graph(out, main_plan, simulator{}); }},
      {o.json, [&](std::ostream& out) { return io::write_plan(out, main_plan, o.explain); }},
      {o.trace, [&](std::ostream& out) { return io::write_trace(out, main_plan, {}, simulator{}); }},
      {o.timeline, timeline}};
  for (const auto& [path, write] : each)
    if (path && !(o.summary && &path == &o.timeline))
      if (result<void> made = all.add(numbered(*path, batch, o.batches), write); !made) return made;
  return slimpack::success();
}

/// Says which files there are now, and what shows them.
void print_written(std::ostream& out, const options& o) {
  const std::pair<const std::optional<std::filesystem::path>&, const char*> each[]{
      {o.graph, "  (dot -Tsvg draws it)"},
      {o.json, ""},
      {o.trace, "  (open it at ui.perfetto.dev)"},
      {o.timeline, "  (open it in a browser)"}};
  for (std::size_t b = 0; b < o.batches; ++b)
    for (const auto& [path, how] : each)
      if (const bool one = o.summary && &path == &o.timeline; path && path != "-" && !(one && b > 0))
        out << "wrote " << numbered(*path, b, one ? 1 : o.batches).string() << how << "\n";
}

int fail(const error& e) { return complain(e.detail, e.code == errc::out_of_memory ? 3 : 2); }

/// Notes of what the model was made for.
void print_limits(std::ostream& out, const setting& s, tokens longest) {
  if (!s.model || s.model->max_positions <= 0) return;
  if (longest.value > s.model->max_positions)
    out << "note      the longest sequence has " << longest.value << " tokens, the model was made for "
        << s.model->max_positions << "\n";
}

/// The longest sequence, or sample, of a batch, or of all.
tokens longest_of(const batches& all, std::size_t batch) { return all.view_of(batch).longest(); }
tokens longest_of(const batches& all) {
  tokens longest{};
  for (std::size_t b = 0; b < all.lengths.size(); ++b) longest = std::max(longest, longest_of(all, b));
  return longest;
}

/// How many tokens a fork must save on the layout that is given.
result<tokens> fork_price_on(setting& s, tokens longest) {
  s.longest = std::max(tokens{65536}, longest);
  const result<any_cost> cost = cost_on(s, s.options.planner, s.layout);
  if (!cost) return cost.error();
  return std::visit([&](const auto& one) { return forests::least_shared(one, s.layout.shape.parts()); }, cost.value());
}

int run(const options& o) {
  outputs written;
  const stop_signals signals(written);
  report_stream out(writes_to_standard_output(o) ? std::cerr : std::cout);
  if (result<void> writable = check_outputs(o); !writable) return fail(writable.error());
  result<setting> prepared = prepare(o);
  if (!prepared) return fail(prepared.error());
  setting& s = prepared.value();
  result<batches> loaded = load(o, [&](tokens longest) { return fork_price_on(s, longest); });
  if (!loaded) return fail(loaded.error());
  s.longest = tokens{65536};  // packs of many short sequences are as large
  if (o.from) s.longest = std::max(s.longest, o.from->made->origin->longest);
  s.longest = std::max(s.longest, longest_of(loaded.value()));
  for (const std::string& note : loaded.value().notes) out << "note      " << note << "\n";
  for (const std::string& note : s.model_notes) out << "note      " << note << "\n";
  const result<contenders> chosen = contenders::of(out, s, loaded.value());
  if (!chosen) return fail(chosen.error());
  const auto& [all_planners, left_out] = chosen.value();
  print_prices(out, s, all_planners.front().cost);
  summary all;
  std::size_t late = 0;  // plans for which --time-limit was too short
  bool same = true;      // as the plan file of --from, where it is to be
  for (std::size_t b = 0; b < loaded.value().lengths.size(); ++b) {
    const std::vector<tokens>& lengths = loaded.value().lengths[b];
    if (!o.summary) print_limits(out, s, longest_of(loaded.value(), b));
    std::vector<row> rows;
    for (const contender& c : all_planners) {
      rows.push_back(plan_row(c, rows.empty(), s, loaded.value(), b));
      if (rows.back().plan) say_batch(rows.back().plan.value(), loaded.value(), b);
      if (rows.size() > 1 || rows.front().plan) continue;
      error e = rows.front().plan.error();
      if (e.code == errc::out_of_memory && !o.has_forest()) e.detail += "; " + advice(s, std::span(&lengths, 1));
      return fail(e);
    }
    if (result<void> made = write_outputs(written, s, rows, b); !made) return fail(made.error());
    if (o.summary) {
      all.add(s, rows);
      for (const row& r : rows) late += r.out_of_time;
      continue;
    }
    if (o.batches > 1) out << (b ? "\n" : "") << "batch " << b << "\n";
    print_padding(out, o, loaded.value(), b);
    if (o.from) {
      print_repeated(out, *o.from, rows.front().plan.value());
      same = is_repeated(*o.from, rows.front().plan.value());
    }
    const plan& first = rows.front().plan.value();
    print(out, s, rows, is_forest(first) ? std::nullopt : std::optional(uncut_step(first, all_planners.front().cost)));
    for (const std::string& why : left_out) out << why << ".\n";
    if (o.explain) print_explained(out, s, rows);
    for (const row& r : rows)
      if (!r.search.moves().empty()) print_search(out, r.search);
  }
  if (o.summary) {
    print_limits(out, s, longest_of(loaded.value()));
    print_padding(out, o, loaded.value(), 0);
    all.print(out);
    if (late > 0)
      out << "The time of --time-limit ran out for " << late << " of these plans: with more time they may be faster.\n";
    for (const std::string& why : left_out) out << why << ".\n";
    if (o.timeline)
      if (result<void> made = written.add(*o.timeline, [&](std::ostream& page) { return all.write_page(page); }); !made)
        return fail(made.error());
  }
  if (result<void> done = written.commit(); !done) return fail(done.error());
  print_written(out, o);
  out.flush();  // while a signal can still end it
  return same ? 0 : 4;
}

}  // namespace
}  // namespace cli

int main(int argc, char** argv) {
  const auto status_of = [&] {
    if (argc > 1 && std::string_view(argv[1]) == "compare") return cli::compare(argc - 1, argv + 1);
    const std::variant<cli::options, int> parsed = cli::parse(argc, argv);
    if (const int* status = std::get_if<int>(&parsed)) return *status;
    return cli::run(std::get<cli::options>(parsed));
  };
  try {
    const int status = status_of();
    std::cout.flush();
    return std::cout || status != 0 ? status : cli::complain("standard output cannot be written", 2);
  } catch (const std::exception& e) {  // memory for absurdly large shapes, above all
    return cli::complain(std::string("gave up: ") + e.what(), 2);
  }
}
