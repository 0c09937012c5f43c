#include "compare.hpp"

#include "options.hpp"
#include "outputs.hpp"
#include "plan_file.hpp"
#include "report.hpp"
#include "stop_signals.hpp"
#include "terminal.hpp"
#include "texts.hpp"

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/io/timeline.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cli {
namespace {

using namespace slimpack;

std::string shape_text(const plan& p) { return options_of(shapes::layout{.shape = p.shape, .layers = p.layers}); }

std::string limit_text(const plan& p) {
  return p.shape.memory ? slimpack::detail::amount(p.shape.memory->amount, p.memory_unit) : "-";
}

std::size_t packs_of(const plan& p, pass direction) {
  std::size_t sum = 0;
  for (const replica_plan& r : p.replicas)
    sum += (direction == pass::forward ? r.partition.forward : r.partition.backward).size();
  return sum;
}

/// A line for each property, a column for each plan.
std::vector<std::vector<std::string>> table_of(const std::vector<std::filesystem::path>& files,
                                               const std::vector<plan>& plans) {
  const plan& first = plans.front();
  const auto shown = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  const std::vector<std::pair<const char*, std::function<std::string(const plan&)>>> properties{
      {"planner", [&](const plan& p) { return shown(p.planner); }},
      {"model", [&](const plan& p) { return shown(p.model); }},
      {"gpu", [&](const plan& p) { return shown(p.gpu); }},
      {"cost", [&](const plan& p) { return shown(p.cost); }},
      {"on", shape_text},
      {"sequences", [](const plan& p) { return std::to_string(p.lengths.size()); }},
      {"tokens", [](const plan& p) { return fixed(tokens_of(p), 0); }},
      {"memory limit", limit_text},
      {"step time", [](const plan& p) { return time_of(p.step_time) + (p.truncated ? " ~" : ""); }},
      {"speed-up",
       [&](const plan& p) {
         return shown(p.lengths == first.lengths ? fixed(first.step_time / p.step_time, 2) + " x" : "");
       }},
      {"tokens/s/GPU", [](const plan& p) { return fixed(rate_of(p), 0); }},
      {"MFU", [](const plan& p) { return mfu_text(p.mfu); }},
      {"useful", [](const plan& p) { return percent(useful_share(p), 2); }},
      {"to gain", [](const plan& p) { return gain_text(p.efficiency); }},
      {"no plan is faster than", [](const plan& p) { return time_of(p.lower_bound); }},
      {"peak memory", [](const plan& p) { return slimpack::detail::amount(peak_of(p), p.memory_unit); }},
      {"forward packs", [](const plan& p) { return std::to_string(packs_of(p, pass::forward)); }},
      {"backward packs", [](const plan& p) { return std::to_string(packs_of(p, pass::backward)); }},
      {"shared sequences", [](const plan& p) { return std::to_string(p.merges.size()); }},
      {"planning", [](const plan& p) { return time_of(p.planning_time); }}};
  std::vector<std::vector<std::string>> table{{"plan"}};
  for (const std::filesystem::path& file : files) table.front().push_back(file.filename().string());
  for (const auto& [name, text] : properties) {
    table.push_back({name});
    for (const plan& p : plans) table.back().push_back(text(p));
  }
  return table;
}

/// The page has a tab for each plan, under the name of its file.
result<void> write_page(outputs& all, const std::filesystem::path& page,
                        const std::vector<std::filesystem::path>& files, const std::vector<plan>& plans) {
  io::page_facts facts;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].lengths != plans.front().lengths)
      return error{errc::invalid_input, files[i].string() + ": is of another batch than " + files.front().string() +
                                            "; a page shows plans of one batch: leave out --timeline"};
    facts.plans.push_back({.label = files[i].stem().string() + " (" + plans[i].planner + ")"});
  }
  if (result<void> made =
          all.add(page, [&](std::ostream& out) { return io::write_timeline(out, plans, {}, {}, {}, facts); });
      !made)
    return made;
  return all.commit();
}

int side_by_side(const std::vector<std::filesystem::path>& files, const std::optional<std::filesystem::path>& page) {
  outputs written;
  const stop_signals signals(written);
  std::vector<plan> plans;
  for (const std::filesystem::path& file : files) {
    result<plan> read = read_plan_file(file);
    if (!read) return complain(read.error().detail, 2);
    plans.push_back(std::move(read).value());
  }
  report_stream out(page == "-" ? std::cerr : std::cout);
  print_table(out, table_of(files, plans));
  if (std::any_of(plans.begin(), plans.end(), [](const plan& p) { return p.truncated; }))
    out << "~ planned under a time limit.\n";
  out.flush();
  if (!page) return 0;
  if (result<void> made = write_page(written, *page, files, plans); !made) return complain(made.error().detail, 2);
  if (page != "-") out << "wrote " << page->string() << "  (open it in a browser)\n" << std::flush;
  return 0;
}

}  // namespace

int compare(int argc, char** argv) {
  CLI::App app{"Shows plan files side by side: slimpack-plan compare a.json b.json --timeline page.html"};
  app.name("slimpack-plan compare");
  std::vector<std::filesystem::path> files;
  std::string page;
  app.add_option("plans", files, "Plan files, as --json writes them; speed-ups are against the first")
      ->type_name("FILE");
  auto* page_option =
      app.add_option("--timeline", page, "Write a page with a tab for each plan, of one batch")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::ParseError& e) {
    return complain(std::string(e.what()) + "; see slimpack-plan compare --help", 2);
  }
  if (files.size() < 2) return complain("compare takes two plan files or more; see slimpack-plan compare --help", 2);
  for (const std::filesystem::path& file : files)
    if (std::error_code failed; *page_option && std::filesystem::equivalent(file, page, failed))
      return complain(page + ": cannot be written: it is an input", 2);
  return side_by_side(files, *page_option ? std::optional<std::filesystem::path>(page) : std::nullopt);
}

}  // namespace cli
