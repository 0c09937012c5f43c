#include "options.hpp"

#include "baseline_options.hpp"
#include "completion.hpp"
#include "daily_help.hpp"
#include "empty_names.hpp"
#include "forest_options.hpp"
#include "idle_options.hpp"
#include "padding.hpp"
#include "planners.hpp"
#include "repeat.hpp"
#include "shipped.hpp"
#include "terminal.hpp"
#include "texts.hpp"
#include "trainer.hpp"
#include "usage_error.hpp"

#include <slimpack/shape_search.hpp>
#include <slimpack/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace cli {
namespace {

/// The options that --help shows. A new option is in --help-all alone, unless its name stands here.
constexpr const char* daily[]{"lengths",   "batch",   "max-context", "over-long", "model", "gpu",     "auto",
                              "gpus",      "dp",      "pp",          "tp",        "cp",    "vpp",     "memory",
                              "recompute", "compare", "effort",      "explain",   "json",  "timeline"};

const std::string plans_side_by_side =
    "Plan files side by side: slimpack-plan compare a.json b.json --timeline page.html\n\n";
const std::string exit_statuses =
    "Exit status: 0 planned; 2 bad usage or input; 3 it does not fit into memory; 4 --from made another plan than the "
    "file\n"
    "has, although no option beside it asks for another.\n\n";
const std::string examples =
    "Examples:\n"
    "  slimpack-plan --lengths lengths.txt --batch 512 --model config.json --gpu h100 --tp 2 --pp 8 --timeline "
    "plan.html\n"
    "  slimpack-plan --lengths lengths.txt --batch 512 --model config.json --gpu h100 --auto --gpus 16\n"
    "  slimpack-plan --lengths data.jsonl --batch 512 --model config.json --gpu h100 --pp 8 --compare megatron\n";
const std::string more_examples =
    "  slimpack-plan --lengths data.jsonl --field tokens --batch 512 --model config.json --gpu h100 --pp 8\n"
    "  slimpack-plan --from plan.json --effort high --json better.json\n";

slimpack::costs::quadratic quadratic_named(const std::string& text, slimpack::seconds call, slimpack::seconds hop,
                                           int chunks) {
  const std::vector<double> values = numbers_of(text);
  if (values.size() != 5)
    throw bad_usage{"--cost 'quadratic:" + text +
                    "' needs five numbers that are not negative: "
                    "LINEAR,ATTENTION,RATIO_LINEAR,RATIO_ATTENTION,OVERHEAD"};
  return quadratic_of(std::span(values).first<5>(), call, hop, chunks);
}

void check_planner(const std::string& option, const std::string& name) {
  const std::vector<std::string>& known = planner_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  if (name == "milp")
    throw bad_usage{option +
                    " milp was not built: install coinor-libcbc-dev, and configure and build slimpack-plan again"};
  std::string list;
  for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
  throw bad_usage{option + " " + shown_value(name) + " is unknown; planners are " + list};
}

/// The planner milp has list schedules only: backwards in one part, on pipelines without chunks.
void check_milp(const options& o) {
  const bool compared = std::find(o.compare.begin(), o.compare.end(), "milp") != o.compare.end();
  if (o.planner != "milp" && !compared) return;
  const std::string asked = o.planner == "milp" ? "--planner milp" : "--compare milp";
  if (o.weights == slimpack::weight_gradients::apart)
    throw bad_usage{asked + " runs weight gradients together with those of inputs: leave out --weight-gradients apart"};
  if (o.layout.shape.chunks > 1)
    throw bad_usage{asked + " plans no virtual stages: leave out --vpp " + std::to_string(o.layout.shape.chunks)};
}

/// Zones are where attention covers what links carry, which a quadratic cost knows nothing of.
void check_zones(const options& o) {
  const bool compared = std::find(o.compare.begin(), o.compare.end(), "zeppelin") != o.compare.end();
  if (o.quadratic && (o.planner == "zeppelin" || compared))
    throw bad_usage{
        "the planner zeppelin needs --cost transformer or profiled; a quadratic cost knows no links of a GPU"};
  if (o.quadratic && o.zones)
    throw bad_usage{"--zones needs --cost transformer or profiled; a quadratic cost knows no links of a GPU"};
  if (o.quadratic && o.relay > 0)
    throw bad_usage{"--relay needs --cost transformer or profiled; a quadratic cost knows no links of a GPU"};
}

/// What --cost says, and what each cost needs.
void resolve_cost(options& o) {
  const std::string& cost = o.cost_text;
  const std::string kind = cost.substr(0, cost.find(':'));
  const bool named = kind.size() < cost.size();
  if (kind == "quadratic" && named) {
    if (!o.hop) throw bad_usage{"--cost quadratic needs --hop SECONDS, the time of a message between stages"};
    if (o.automatic)
      throw bad_usage{"--auto needs --cost transformer or profiled; a quadratic cost prices one stage of one shape"};
    if (o.memory_table)
      throw bad_usage{"--memory-table needs --cost transformer or profiled; a quadratic cost knows no bytes"};
    o.quadratic = quadratic_named(cost.substr(kind.size() + 1), o.call, *o.hop, o.layout.shape.chunks);
    o.prices = prices::quadratic;
    return;
  }
  if (cost == "profiled:")
    throw bad_usage{"--cost profiled: names no tables: give their folder, or one file, as in profiled:DIR"};
  if (kind == "profiled" && named)
    o.prices = prices::profiled, o.profile = cost.substr(kind.size() + 1);
  else if (cost == "measured")
    o.prices = prices::measured;
  else if (cost == "transformer")
    o.prices = prices::transformer;
  else if (cost == "transformer:sheet")
    o.prices = prices::sheet;
  else if (!cost.empty())
    throw bad_usage{
        "--cost " + shown_value(cost) +
        " is unknown; costs are measured, transformer, transformer:sheet, profiled:DIR and quadratic:L,A,RL,RA,O"};
  if (!o.model || !o.gpu)
    throw bad_usage{(cost.empty() ? "planning" : "--cost " + kind) +
                    " needs --model and --gpu, each a name or a JSON file" +
                    (cost.empty() ? ", or --cost quadratic:L,A,RL,RA,O and --hop SECONDS" : "")};
}

/// What --ep and the options of experts mean.
void resolve_experts(options& o, const std::optional<std::string>& imbalance) {
  if (o.layout.shape.expert > 1 && o.quadratic)
    throw bad_usage{"--ep needs --cost transformer or profiled; a quadratic cost knows stages, not experts"};
  const int ranks = o.layout.shape.expert;
  const bool is_open = o.automatic && !o.automatic->expert;
  if (ranks == 1 && !is_open) o.routing = {};  // what a plan file brings is of no use; what is typed is refused
  if (!imbalance || (ranks == 1 && !is_open)) return;
  const std::vector<double> factor = numbers_of(*imbalance);
  if (factor.empty()) {
    o.imbalances = *imbalance;
    return;
  }
  if (factor.size() != 1 || factor.front() < 1)
    throw bad_usage{
        "--expert-imbalance " + shown_value(*imbalance) +
        " is not a factor of at least 1, the busiest rank over the mean, nor a file with one for each layer"};
  if (factor.front() > ranks && !is_open) throw bad_usage{"--expert-imbalance " + too_imbalanced(*imbalance, ranks)};
  o.routing.imbalance = factor.front();
}

/// What --recompute takes.
std::vector<std::string> recomputations() {
  std::vector<std::string> names;
  for (const slimpack::costs::recompute what : slimpack::costs::all_recompute) names.emplace_back(name_of(what));
  return names;
}

/// What --layers says.
void resolve_layers(options& o, const std::optional<std::string>& text) {
  o.even_stages = o.automatic.has_value();
  if (!text) return;
  if (o.cost_text.starts_with("quadratic:"))
    throw bad_usage{"--layers needs --cost transformer or profiled; a quadratic cost knows stages, not layers"};
  o.even_stages = *text == "auto";
  if (*text == "auto" || *text == "even") return;
  for (const std::string& cell : split(*text, ',')) {
    int count{};
    const auto [end, status] = std::from_chars(cell.data(), cell.data() + cell.size(), count);
    if (status != std::errc{} || end != cell.data() + cell.size() || count < 0)
      throw bad_usage{"--layers " + shown_value(*text) + " is not even, auto, or a count for each part, as 9,9,9,5"};
    o.layout.layers.push_back(count);
  }
  if (o.automatic && !(o.automatic->stages && o.automatic->chunks))
    throw bad_usage{"--layers " + *text + " needs --pp and --vpp under --auto: it is for so many parts"};
}

/// What --words says.
void resolve_words(options& o, const std::optional<std::string>& text) {
  const bool spreads = o.layout.shape.vocabulary == slimpack::vocabulary::spread;
  const bool may_spread = spreads || (o.automatic && !o.automatic->vocabulary);
  o.shares_words = o.automatic && may_spread && !o.quadratic;
  if (!text) return;
  if (!may_spread)
    throw bad_usage{
        "--words is about a vocabulary that is spread over the stages: give --vocabulary spread, or leave "
        "it out"};
  o.shares_words = *text == "auto";
  if (*text == "auto" || *text == "even") return;
  if (!spreads || (o.automatic && !o.automatic->stages))
    throw bad_usage{"--words " + shown_value(*text) +
                    " needs --vocabulary spread and --pp under --auto: it is for so many stages"};
  for (const std::string& cell : split(*text, ',')) {
    std::int64_t count{};
    const auto [end, status] = std::from_chars(cell.data(), cell.data() + cell.size(), count);
    if (status != std::errc{} || end != cell.data() + cell.size() || count < 1)
      throw bad_usage{"--words " + shown_value(*text) +
                      " is not even, auto, or a count of at least 1 for each stage, as 14016,16320,..."};
    o.layout.shape.words.push_back(count);
  }
}

/// What --vocabulary spread needs.
void check_vocabulary(const options& o) {
  if (o.layout.shape.vocabulary == slimpack::vocabulary::last) return;
  if (o.quadratic)
    throw bad_usage{
        "--vocabulary spread needs --cost transformer or profiled; a quadratic cost knows stages, not words"};
  if (o.layout.shape.stages == 1 && (!o.automatic || o.automatic->stages))
    throw bad_usage{"--vocabulary spread needs --pp 2 or more: one stage has all words"};
  if (o.planner == "milp" || std::find(o.compare.begin(), o.compare.end(), "milp") != o.compare.end())
    throw bad_usage{"--vocabulary spread is not for the planner milp, which plans layers alone; leave out one of them"};
}

/// What the trainer cannot run is refused where it is asked for, and never planned where it is not.
void resolve_trainer(options& o, const CLI::App& app) {
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  const auto needs = [](const std::string& asked, const std::string& word, const std::string& name) {
    return bad_usage{asked + " needs a trainer with " + word + ": add that to --trainer, or leave out " + name};
  };
  const trainer& can = o.trainer;
  if (o.layout.shape.chunks > 1 && !can.chunks)
    throw needs("--vpp " + std::to_string(o.layout.shape.chunks), "chunks", "--vpp");
  if (o.weights == slimpack::weight_gradients::apart && !can.weights_apart)
    throw needs("--weight-gradients apart", "weights-apart", "--weight-gradients");
  if (o.layout.shape.vocabulary == slimpack::vocabulary::spread && !can.spread_vocabulary)
    throw needs("--vocabulary spread", "spread-vocabulary", "--vocabulary");
  if (!o.layout.shape.words.empty() && !can.unequal_words)
    throw needs("--words " + app.get_option("--words")->as<std::string>(), "unequal-words", "--words");
  if (o.shares_words && !can.unequal_words) {
    if (given("--words")) throw needs("--words auto", "unequal-words", "--words");
    o.shares_words = false;
  }
  if (o.lending != slimpack::attention_lending::none && !can.lends_attention)
    throw needs(std::string("--lending ") + name_of(o.lending), "lends-attention", "--lending");
  if (const std::optional<slimpack::exchange> by = exchange_of(o.planner); by && !can.exchanges.contains(*by))
    throw needs("--planner " + o.planner,
                *by == slimpack::exchange::keep ? "shares-rows" : std::string(slimpack::name_of(*by)), "--planner");
  std::vector<std::string> planners = o.compare;
  planners.insert(planners.begin(), o.planner);
  for (const std::string& name : planners)
    if (!can.cuts && name != "slimpack" && cuts(name))
      throw bad_usage{"the planner " + name +
                      " cuts sequences, or replicas share them, which --trainer megatron cannot run: leave it out"};
  const std::string again = name_of(o.layout.recompute);
  if (!can.recomputes(o.layout.recompute)) throw needs("--recompute " + again, again, "--recompute");
  if (given("--exchange") && o.exchanges != slimpack::exchange_set::all()) {
    const bool runs = (!o.exchanges.keep || can.exchanges.keep) && (!o.exchanges.queries || can.exchanges.queries) &&
                      (!o.exchanges.ring || can.exchanges.ring);
    const std::string word = o.exchanges.keep ? "shares-rows" : o.exchanges.queries ? "queries" : "ring";
    if (!runs) throw needs("--exchange " + app.get_option("--exchange")->as<std::string>(), word, "--exchange");
  }
  if (!can.exchanges.empty()) {
    const slimpack::exchange_set asked = o.exchanges;
    o.exchanges = {asked.keep && can.exchanges.keep, asked.queries && can.exchanges.queries,
                   asked.ring && can.exchanges.ring};
    if (o.exchanges.empty()) o.exchanges = can.exchanges;  // it shares, but not by what is the default
  } else if (given("--exchange")) {
    throw needs("--exchange any", "shares-rows, queries or ring", "--exchange");
  } else if (given("--sharers") && o.sharers > 1) {
    throw needs("--sharers " + std::to_string(o.sharers), "shares-rows, queries or ring", "--sharers");
  } else {
    o.sharers = 1;
  }
}

/// Baselines are planned on their own layout and on settings that are fixed, where these can be.
void resolve_baselines(options& o, const std::optional<std::string>& settings,
                       const std::optional<std::string>& layout) {
  std::vector<std::string> asked = o.compare;
  asked.push_back(o.planner);
  std::erase_if(asked, [](const std::string& name) { return !is_baseline(name); });
  if (settings) o.baselines = baselines_of(*settings, asked);
  for (const baseline_setting& one : o.baselines) {
    if (!one.fixed.recompute) continue;
    if (o.quadratic)
      throw bad_usage{
          "--baseline recompute needs --cost transformer or profiled; a quadratic cost knows no activations"};
    if (!o.trainer.recomputes(*one.fixed.recompute))
      throw bad_usage{std::string("--baseline recompute=") + name_of(*one.fixed.recompute) +
                      " is not what --trainer can run: add " + name_of(*one.fixed.recompute) +
                      " there, or leave it out"};
  }
  if (!layout) return;
  if (o.compare.empty())
    throw bad_usage{"--baseline-layout is for planners of --compare, and none is given there: add --compare megatron"};
  if (o.quadratic)
    throw bad_usage{
        "--baseline-layout needs --cost transformer or profiled; a quadratic cost prices one stage of one shape"};
  o.baseline_layout = baseline_layout_of(*layout);
  const std::int64_t own = o.automatic ? o.automatic->gpus : o.layout.gpus(), its = o.baseline_layout->gpus();
  if (its != own)
    throw bad_usage{"--baseline-layout " + *layout + " takes " + std::to_string(its) + " GPUs, and " +
                    (o.automatic ? "--gpus is " : "--dp x --pp x --tp x --cp is ") + std::to_string(own) +
                    ": both sides need as many"};
  o.baseline_layout->shape.quantum = o.quantum.value_or(slimpack::default_quantum(o.baseline_layout->shape.context));
  if (o.baseline_layout->shape.chunks > 1 && !o.trainer.chunks)
    throw bad_usage{"--baseline-layout " + *layout +
                    " has virtual stages, which --trainer cannot run: leave out vpp, or add chunks there"};
}

/// Thrown by options that print something and plan nothing, before others are looked at.
struct answer {
  slimpack::result<std::string> text;
};

/// What the texts mean, and which go together.
void resolve(options& o, const std::optional<std::string>& memory, const std::optional<std::string>& compare) {
  slimpack::shape& on = o.layout.shape;
  if (std::int64_t{on.stages} * on.chunks > 65536) throw bad_usage{"--pp times --vpp must be at most 65536"};
  resolve_cost(o);
  if (memory) {
    on.memory = memory_of(*memory);
    o.limits_memory = true;
    if (o.quadratic && on.memory->unit == slimpack::memory_unit::byte)
      throw bad_usage{
          "--memory in bytes needs --cost transformer or profiled; a quadratic cost knows no bytes, give "
          "it in tokens"};
  }
  check_planner("--planner", o.planner);
  if (compare) o.compare = split(*compare, ',');
  for (const std::string& name : o.compare) check_planner("--compare", name);
  check_milp(o);
  check_zones(o);
}

}  // namespace

int complain(std::string_view line, int status) {
  std::cerr << "slimpack-plan: " + error_line(line) + "\n";
  return status;
}

std::variant<options, int> parse(int argc, char** argv) {
  if (argc == 1) return complain("nothing to do; see slimpack-plan --help", 2);
  options o;
  std::string format{name_of(slimpack::io::lengths_format::automatic)},
      empty = "skip", over = "reject", again = "none", effort = "normal", weights = "together", cuts = "anywhere",
      divide = dividers[0], exchange = exchanges[0], reduction = "overlapped", rows = "apart", imbalance;
  std::string layers = "even", words = "even", memory, memory_table, compare, model, gpu, json, trace, timeline, graph,
              from;
  bool automatic = false;
  int gpus = 0;
  double hop = 0;
  std::size_t batch = 0;
  std::uint64_t seed = 0;
  std::int64_t max_context = 0, token_budget = 0, time_limit = 0, pad_to = 0, quantum = 0;

  CLI::App app{
      "Plans training steps on sequences of very different lengths: slices, micropacks, schedules; simulated,\n"
      "certified against a lower bound, and written as a plan file, a trace and a timeline page."};
  app.name("slimpack-plan");
  app.set_help_flag("-h,--help", "Print the options of daily use and exit");
  app.set_help_all_flag("--help-all", "Print all options and exit");
  app.set_version_flag("--version",
                       "slimpack-plan " + std::to_string(SLIMPACK_VERSION_MAJOR) + "." +
                           std::to_string(SLIMPACK_VERSION_MINOR) + "." + std::to_string(SLIMPACK_VERSION_PATCH),
                       "Print the version and exit");
  std::string vocabulary = "last", lending = "none", relay = "none", runs_on = "packflow", baseline, baseline_layout,
              further_tokens = "off";
  app.set_config(
         "--config", "",
         "Read options from a file, TOML or INI: pp = 8. An option of the command line replaces that of the file")
      ->type_name("FILE");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_option_function<std::string>(
         "--completion", [&app](const std::string& shell) { throw answer{completion(app, shell)}; },
         "Print a script that completes options and values, for bash or zsh, and exit")
      ->type_name("SHELL")
      ->configurable(false)
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(shells), std::end(shells))));
  const CLI::Range degree(1, 65536);
  const CLI::Range count(std::int64_t{1}, std::int64_t{2147483647});
  const number_range time, share{.high = 1};

  const char* list = "Batch";
  const char* machine = "Model and machine";
  const char* planning = "Planning";
  const char* output = "Output";
  const auto add = [&](const char* group, const char* name, auto& value, const char* type, const char* help) {
    return app.add_option(name, value, help)->type_name(type)->group(group);
  };
  add(list, "--lengths", o.lengths, "FILE",
      "Sequence lengths in tokens: a text file, JSON lines or a JSON array, CSV or TSV, a NumPy .npy, any of these "
      "compressed\n"
      "with gzip, or a Megatron-LM .idx; or samples that share beginnings (--format tree, --share-prefixes)");
  auto* from_option =
      add(list, "--from", from, "PLAN",
          "Make the plan of a plan file again, with its batch and its options. Options that are typed replace\n"
          "those of the file. The answer says whether the plan is the same");
  std::vector<std::string> formats;
  for (const auto& [name, named] : slimpack::io::lengths_formats) formats.emplace_back(name);
  formats.emplace_back(tree_format);
  add(list, "--format", format, "FORMAT",
      "auto, text, jsonl, json, csv, npy, idx, or cu_seqlens: numbers in any of these files that are not lengths, but "
      "ends of\n"
      "sequences in one row of tokens; auto looks into the file. tree: a node a line of samples that share beginnings: "
      "parent, length,\n"
      "targets and samples")
      ->check(CLI::IsMember(formats));
  add(list, "--field", o.how_listed.field, "NAME",
      "Column of CSV, or field of JSON: a length, or an array of tokens. prompt+response is the sum of both, "
      "usage.total the\n"
      "field total of the field usage");
  add(list, "--empty", empty, "WHAT",
      "What sequences without tokens are: skip, leave them out and say how many; reject [skip]")
      ->check(CLI::IsMember({"skip", "reject"}));
  app.add_flag(
         "--share-prefixes", o.shares_prefixes,
         "Run beginnings that samples have in common once, as far as their token ids are equal and a fork pays; the "
         "file has JSON\n"
         "lines with token ids, and perhaps with labels, loss_mask or loss_weights")
      ->group(list);
  auto* batch_option = add(list, "--batch", batch, "N", "Sequences of a batch [the whole list]")->check(count);
  auto* budget_option = add(list, "--token-budget", token_budget, "N",
                            "Fill a batch, in file order, with as many sequences as have at most N tokens together")
                            ->check(count)
                            ->excludes(batch_option);
  add(list, "--batches", o.batches, "K", "Batches to plan [1]; with more, -0, -1, ... is added to file names")
      ->check(count);
  auto* seed_option = add(list, "--seed", seed, "S", "Shuffle the list first, with this seed")->check(seed_fault);
  auto* context_option =
      add(list, "--max-context", max_context, "TOKENS", "Longest length allowed [no limit]")->check(count);
  add(list, "--over-long", over, "WHAT", "What longer sequences are: reject, truncate or drop [reject]")
      ->check(CLI::IsMember({"reject", "truncate", "drop"}));
  auto* pad_option = add(list, "--pad-to", pad_to, "N",
                         "Round each length up to a multiple of N tokens, as trainers with FP8, sequence parallelism "
                         "(--tp) or --cp pad\n"
                         "them; the report says how many tokens are padding")
                         ->check(count);
  auto* quantum_option =
      add(list, "--quantum", quantum, "TOKENS",
          "Cuts fall on multiples of this many tokens [128; with --cp C the least multiple of 2 C from 128 on]")
          ->check(count);

  auto* model_option =
      add(machine, "--model", model, "NAME|FILE", "A model of --list-models, or a Hugging Face config.json");
  app.add_flag_callback(
         "--list-models", [] { throw answer{list_of_models()}; }, "Print the models that are shipped and exit")
      ->configurable(false)
      ->group(machine);
  auto* further_option = add(machine, "--mtp", further_tokens, "on|off",
                             "Plan the layers of the model that predict tokens beyond the next one, if it has such "
                             "layers, or leave them out [off]")
                             ->check(CLI::IsMember({"on", "off"}));
  auto* share_option =
      add(machine, "--attended-share", o.attended_share, "SHARE",
          "Let layers of full attention attend to this share of their pairs of queries and keys, from 0.001 to 1, as "
          "sampled\nattention does (arXiv:2406.15486) [1]")
          ->check(CLI::Range(0.001, 1.0));
  auto* gpu_option =
      add(machine, "--gpu", gpu, "NAME|FILE", "h100, a100, h200, b200, h800, or a GPU description in JSON");
  auto* auto_option = app.add_flag("--auto", automatic,
                                   "Choose the layout: those of dp, pp, tp, cp, ep, vpp and recompute that are not "
                                   "given, for all batches together")
                          ->group(machine);
  auto* gpus_option =
      add(machine, "--gpus", gpus, "N", "Number of GPUs that --auto chooses a layout for; it uses all of them")
          ->check(degree)
          ->needs(auto_option);
  auto_option->needs(gpus_option);
  slimpack::shape& shape = o.layout.shape;
  auto* dp_option = add(machine, "--dp", shape.replicas, "D", "Data-parallel replicas [1]")->check(degree);
  auto* pp_option = add(machine, "--pp", shape.stages, "P", "Pipeline stages [1]")->check(degree);
  auto* tp_option = add(machine, "--tp", shape.tensor, "T", "Tensor-parallel ranks of a stage [1]")->check(degree);
  auto* cp_option = add(machine, "--cp", shape.context, "C", "Context-parallel ranks of a stage [1]")->check(degree);
  auto* ep_option = add(machine, "--ep", shape.expert, "E",
                        "Ranks that divide the experts of a layer among themselves; a stage has dp x cp x tp ranks [1]")
                        ->check(degree);
  auto* vpp_option = add(machine, "--vpp", shape.chunks, "V", "Virtual stages on each stage [1]")->check(degree);
  auto* memory_option =
      add(machine, "--memory", memory, "AMOUNT",
          "Memory limit: of a GPU, as 80GiB, or of a stage, as 327680tokens [the GPU's memory less a margin,\n"
          "which the report shows]");
  app.add_flag("--force", o.force, "Allow a --memory that exceeds the memory of the GPU")->group(machine);
  auto* recompute_option =
      add(machine, "--recompute", again, "WHAT",
          "What backward computes again instead of keeping it: none; light, norm outputs and gated products; "
          "attention, "
          "its\n"
          "scores, which flash attention never keeps, so that this frees nothing; selective, norm outputs and the MLP "
          "up\n"
          "to its product; full, all but inputs of layers, and keys and values of sequences that are cut [none]")
          ->check(CLI::IsMember(recomputations()));
  auto* imbalance_option = add(machine, "--expert-imbalance", imbalance, "X|FILE",
                               "Tokens of the busiest rank of --ep over the mean of all; or a file with a number for "
                               "each layer with experts [1.04]");
  auto* overlap_option =
      add(machine, "--expert-overlap", o.routing.overlap, "X",
          "Share of the experts' all-to-alls that runs beside the layer's matrix products, 0 to 1 [0]")
          ->check(share, "FLOAT in [0 - 1]");
  auto* nodes_option = add(machine, "--expert-nodes", o.routing.nodes, "N",
                           "Send a token to at most N nodes, once to each [once to each of its experts]")
                           ->check(degree);
  auto* layers_option =
      add(machine, "--layers", layers, "HOW",
          "How many layers each stage has: even, the same number on all; auto, so that the busiest stage\n"
          "has as little work as possible; or a number for each part, 9,9,9,5; the first and the last part may have\n"
          "0, and the embedding or the output layer alone [even; under --auto: auto]");
  auto* vocabulary_option = add(machine, "--vocabulary", vocabulary, "WHERE",
                                "last: the embedding is on the first stage, the output layer on the last; spread: each "
                                "stage has a share of the\n"
                                "words of both, for trainers that can run this [last; under --auto: the faster one]")
                                ->check(CLI::IsMember({"last", "spread"}));
  auto* words_option = add(machine, "--words", words, "HOW",
                           "How many words of a spread vocabulary each stage has: even, the same number on all; auto, "
                           "so that steps are\n"
                           "shortest, with even shares among what is tried; or a number for each stage, "
                           "14016,16320,16320,17472\n"
                           "[even; under --auto: auto]");
  add(machine, "--rows", rows, "HOW",
      "How the trainer runs a pack that has slices of shared sequences: apart, these slices run first and wait for "
      "their\n"
      "exchange; joined, the whole pack runs in one call, and attention of its other sequences runs during the "
      "exchange\n"
      "[apart]")
      ->check(CLI::IsMember({"apart", "joined"}));
  auto* reduction_option = add(machine, "--reduction", reduction, "WHEN",
                               "When gradients are summed over replicas: overlapped, in buckets beside the work; "
                               "exposed, all after the work [overlapped]")
                               ->check(CLI::IsMember({"overlapped", "exposed"}));
  auto* table_option =
      add(machine, "--memory-table", memory_table, "FILE",
          "JSON file with the tensors that the trainer saves for backward [flash attention, nothing fused]");
  auto* hop_option = add(machine, "--hop", hop, "SECONDS", "Time of a message between stages [from the network]")
                         ->check(time, "FLOAT in [0 - 1e+12]");
  add(machine, "--call-overhead", o.call.value, "SECONDS",
      "Additional time of each piece in each pass, if the trainer is called once for each piece [0]")
      ->check(time, "FLOAT in [0 - 1e+12]");
  add(machine, "--cost", o.cost_text, "COST",
      "Where times come from: measured, the shipped tables of the GPU; transformer, the rates in the GPU's "
      "description;\n"
      "transformer:sheet, rates of single large kernels, which no training reaches; profiled:DIR, your own tables; or\n"
      "quadratic:LINEAR,ATTENTION,RATIO_LINEAR,RATIO_ATTENTION,OVERHEAD [measured, if there are tables of the GPU; "
      "otherwise\n"
      "transformer]");

  add(planning, "--planner", o.planner, "NAME",
      "slimpack, megatron, dp_balanced, karmarkar_karp, chunked or slimpipe; te_cp, llama_cp, hybrid_dp or zeppelin, "
      "context parallelism\n"
      "over the replicas; milp, if CBC was installed when this was built: it improves slimpack's plans of up to 8 "
      "slices, and\n"
      "does not change larger ones [slimpack]");
  auto* compare_option =
      add(planning, "--compare", compare, "NAME,...", "More planners for the table, comma between them")->join(',');
  auto* baseline_option =
      add(planning, "--baseline", baseline, "SETTING,...",
          "What is not tuned of the baselines: context=8192, the length of their packs; recompute=full; of one of\n"
          "them, megatron:context=8192 [all is tuned]");
  auto* baseline_layout_option = add(planning, "--baseline-layout", baseline_layout, "LAYOUT",
                                     "Where the planners of --compare are planned, tp8,pp4,dp8: a layout of today "
                                     "against the one given, or --auto's best\n"
                                     "[the one given; under --auto: the best of each]");
  add(planning, "--slices", o.slices, "N",
      "Slices that slimpipe cuts a context row into; with --lending, a multiple of --pp [the fastest of 1, 2, 4, 8 x "
      "--pp]")
      ->check(degree);
  add(planning, "--lending", lending, "HOW",
      "How stages of slimpipe lend each other attention: none; pairs, the stages with the most attention lend whole "
      "slices to\n"
      "those with the least; level, so much that all stages have the mean [what is fastest]")
      ->check(CLI::IsMember({"none", "pairs", "level"}));
  add(planning, "--relay", relay, "HOW",
      "How te_cp, hybrid_dp and zeppelin send rows of shared sequences to other nodes: none, over the sender's network "
      "adapter;\n"
      "proxies, in parts over the adapters of all replicas of the node that share the sequence; proxies:N, each part "
      "in N\n"
      "segments, so that its way to, between and from proxies overlaps [none]");
  add(planning, "--trainer", runs_on, "WHICH",
      "What the trainer can run: packflow, all of it; plain, nothing of it; megatron, what Megatron-LM's main branch "
      "runs, which\n"
      "cuts no sequence; or a list of shares-rows, queries, ring, chunks,\n"
      "weights-apart, spread-vocabulary, unequal-words, lends-attention, and of what backward computes again: light, "
      "attention,\n"
      "selective, full. Nothing else is planned [packflow]");
  add(planning, "--effort", effort, "EFFORT",
      "How long to search: look, fast, normal or high; look is how --auto first tries a layout [normal]")
      ->check(CLI::IsMember({"look", "fast", "normal", "high"}));
  add(planning, "--weight-gradients", weights, "WHEN",
      "When weight gradients are computed: together with the gradients of inputs; apart, when the stage would "
      "otherwise wait, for\n"
      "trainers that can do this [together]")
      ->check(CLI::IsMember({"together", "apart"}));
  add(planning, "--backward-cuts", cuts, "WHERE",
      "Where backward is cut: anywhere; forward, only where forward is cut, for trainers whose backward takes whole "
      "forward\n"
      "pieces, such as autograd graphs [anywhere]")
      ->check(CLI::IsMember({"anywhere", "forward"}));
  add(planning, "--sharers", o.sharers, "N",
      "How many replicas may share a sequence; 1 if the trainer cannot share any [any number]")
      ->check(degree);
  app.add_flag("--zones", o.zones,
               "Limit how many replicas share a sequence, by the rule of zeppelin: its attention must take at least as "
               "long as what they\n"
               "send each other. More share it only if memory requires it")
      ->group(planning);
  add(planning, "--exchange", exchange, "HOW",
      "What replicas that share a sequence send each other: keep, keys and values, which they keep until backward; "
      "queries,\n"
      "queries and outputs, and keep nothing; ring, keys and values in both passes, and keep nothing, for sequences of "
      "one\n"
      "row; any, whichever of these the memory has room for [keep]")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(exchanges), std::end(exchanges))));
  add(planning, "--divide", divide, "HOW",
      "How slimpack divides a batch among replicas: searched, it plans several divisions; estimated, it only estimates "
      "their\n"
      "times, which is much quicker; ranks that plan for themselves do the same [searched]")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(dividers), std::end(dividers))));
  add(planning, "--threads", o.threads, "N", "Threads to search with; plans do not depend on it [one per core]")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--forward-only", o.forward_only,
               "Plan the forward of the batch alone, to evaluate a model: nothing is backwarded or reduced, and a "
               "sequence's\n"
               "memory goes with its last forward")
      ->group(planning);
  app.add_flag(
         "--explain", o.explain,
         "Print where the time of the stages goes, and the proven least time of a step, on this layout and on any\n"
         "other; the plan file has both, too")
      ->group(output);
  app.add_flag("--verbose", o.verbose, "Print a line for each sequence that replicas share")->group(output);
  app.add_flag("--summary", o.summary,
               "Print one table for all --batches instead of one for each: quantiles of the step time and of the "
               "losses. --timeline then\n"
               "writes one page, with the slowest batch and a plot of all")
      ->group(output);
  app.add_flag(
         "--search-report", o.search_report,
         "Print how often the search tried and took each kind of change, and what that gained; the plan stays the same")
      ->group(output);
  auto* limit_option = add(planning, "--time-limit", time_limit, "MS",
                           "End the search after this time. If the time runs out, the report says so, and the plan "
                           "file is marked truncated")
                           ->check(count);
  auto* json_option = add(
      output, "--json", json, "FILE",
      "Write a plan file. In all options for outputs, - is standard output; the report then goes to standard error");
  auto* trace_option = add(output, "--trace", trace, "FILE", "Write a trace for Perfetto or chrome://tracing");
  auto* timeline_option =
      add(output, "--timeline", timeline, "FILE", "Write a page that shows the plan and those of --compare");
  auto* graph_option = add(output, "--graph", graph, "FILE.dot", "Draw the task graph of a small plan, for Graphviz");
  app.footer(plans_side_by_side + exit_statuses + examples + more_examples);

  try {
    app.parse(argc, argv);
    const bool has_list = app.get_option("--lengths")->count() > 0;
    check_named(app, {"--lengths", "--from", "--memory-table", "--json", "--trace", "--timeline", "--graph"});
    if (!has_list && !*from_option) throw bad_usage{"--lengths is required, or --from with a plan file"};
    if (*from_option) o.from = repeated(app, from);
    if (!has_list) o.lengths = from;
    o.given = given_options(app);
    if (o.lengths == "-") o.lengths = "/dev/stdin";
    if (*batch_option) o.batch = batch;
    if (*budget_option) o.token_budget = slimpack::tokens{token_budget};
    if (*seed_option) o.seed = seed;
    if (*context_option) o.max_context = slimpack::tokens{max_context};
    if (*pad_option) o.pad_to = slimpack::tokens{pad_to};
    if (*quantum_option) o.quantum = slimpack::tokens{quantum};
    shape.quantum = o.quantum.value_or(slimpack::default_quantum(shape.context));
    if (*limit_option) o.time_limit_ms = time_limit;
    if (*hop_option) o.hop = slimpack::seconds{hop};
    if (*model_option) o.model = model;
    if (*further_option && !o.model)
      throw bad_usage{"--mtp is about the layers of a model: give --model, or leave it out"};
    o.further_tokens = further_tokens == "on";
    if (*share_option && !o.model)
      throw bad_usage{"--attended-share is about the layers of a model: give --model, or leave it out"};
    if (*gpu_option) o.gpu = gpu;
    if (const CLI::Option* const config = app.get_config_ptr(); config->count() > 0)
      o.config = config->as<std::string>();
    if (*table_option) o.memory_table = memory_table;
    if (*json_option) o.json = json;
    if (*trace_option) o.trace = trace;
    if (*timeline_option) o.timeline = timeline;
    if (*graph_option) o.graph = graph;
    using slimpack::solvers::search_budget;
    o.by_estimates = divide == "estimated";
    o.exchanges = exchanges_named(exchange);
    o.reduction = reduction == "exposed" ? slimpack::costs::reduction::exposed : slimpack::costs::reduction::overlapped;
    o.joins_rows = rows == "joined";
    o.effort_text = effort;
    o.effort = effort == "look"   ? slimpack::shape_search{}.probe
               : effort == "fast" ? search_budget::fast()
               : effort == "high" ? search_budget::high()
                                  : search_budget::normal();
    for (const auto& [name, named] : slimpack::io::lengths_formats)
      if (format == name) o.how_listed.format = named;
    o.is_tree = format == tree_format;
    using slimpack::io::empty_sequences;
    o.how_listed.empty = empty == "reject" ? empty_sequences::reject : empty_sequences::skip;
    o.takes_list = has_list;
    o.over_long = over == "truncate" ? over_long::truncate : over == "drop" ? over_long::drop : over_long::reject;
    for (const slimpack::costs::recompute what : slimpack::costs::all_recompute)
      if (again == name_of(what)) o.layout.recompute = what;
    if (weights == "apart") o.weights = slimpack::weight_gradients::apart;
    if (cuts == "forward") o.cuts = slimpack::backward_cuts::forward_cuts;
    const auto given = [](const CLI::Option* option) { return option->count() > 0; };
    if (automatic)
      o.automatic = {gpus,
                     given(dp_option),
                     given(pp_option),
                     given(tp_option),
                     given(cp_option),
                     given(ep_option),
                     given(vpp_option),
                     given(recompute_option),
                     given(vocabulary_option)};
    for (const slimpack::attention_lending how : slimpack::all_attention_lending)
      if (lending == name_of(how)) o.lending = how;
    const slimpack::result<std::uint32_t> segments = segments_named(relay);
    if (!segments) throw bad_usage{segments.error().detail};
    o.relay = segments.value();
    if (vocabulary == "spread") shape.vocabulary = slimpack::vocabulary::spread;
    resolve_layers(o, given(layers_option) ? std::optional(layers) : std::nullopt);
    resolve(o, *memory_option ? std::optional(memory) : std::nullopt,
            *compare_option ? std::optional(compare) : std::nullopt);
    check_vocabulary(o);
    resolve_words(o, given(words_option) ? std::optional(words) : std::nullopt);
    o.trainer = trainer_named(runs_on);
    resolve_trainer(o, app);
    const auto text_of = [&](const CLI::Option* option, const std::string& text) {
      return given(option) ? std::optional(text) : std::nullopt;
    };
    resolve_baselines(o, text_of(baseline_option, baseline), text_of(baseline_layout_option, baseline_layout));
    if (given(reduction_option) && o.quadratic)
      throw bad_usage{"--reduction needs --cost transformer or profiled; a quadratic cost knows no gradients"};
    for (const CLI::Option* const one : {imbalance_option, overlap_option, nodes_option})
      if (o.has_typed(one->get_lnames().front())) o.of_experts = one->get_name();
    resolve_experts(o, given(imbalance_option) ? std::optional(imbalance) : std::nullopt);
    check_forest(app, o);
    check_multiples(o);
    check_idle(app, o);
  } catch (const CLI::CallForHelp&) {
    std::cout << daily_help(app, daily, plans_side_by_side + examples);
    return 0;
  } catch (const CLI::CallForAllHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::CallForVersion& e) {
    std::cout << e.what() << "\n";
    return 0;
  } catch (const answer& e) {
    if (!e.text) return complain(e.text.error().detail, 2);
    std::cout << e.text.value();
    return 0;
  } catch (const CLI::ParseError& e) {
    return complain(usage_error(app, e) + "; see slimpack-plan --help-all", 2);
  } catch (const bad_usage& e) {
    return complain(e.line + "; see slimpack-plan --help-all", 2);
  }
  return o;
}

}  // namespace cli
