#include "options.hpp"

#include "../plan/daily_help.hpp"
#include "../plan/empty_names.hpp"
#include "../plan/planners.hpp"
#include "../plan/terminal.hpp"
#include "../plan/texts.hpp"
#include "ending.hpp"
#include "launch.hpp"
#include "mixer_options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace train {
namespace {

namespace fs = std::filesystem;
using cli::bad_usage;
using slimpack::memory_unit;

/// The options that --help shows. A new option is in --help-all alone, unless its name stands here.
constexpr const char* daily[]{"documents", "evaluate",  "max-context", "batch",         "layers",
                              "hidden",    "precision", "steps",       "learning-rate", "dp",
                              "pp",        "vpp",       "transport",   "planner",       "compare",
                              "memory",    "profile",   "json",        "timeline",      "log"};

/// Whether an option may have another value on another rank of a job. It must be the same if it changes what is
/// planned, trained or sent. It may differ if a rank alone reads it, as the place of its files. What these hold is
/// compared (facts_of).
enum class on_ranks { same, may_differ };

/// The value of an option as ranks compare it and messages tell it.
std::string text_of(const std::string& value) { return value; }
std::string text_of(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ",") + value;
  return text;
}
template <class Number>
requires std::is_arithmetic_v<Number> std::string text_of(Number value) {
  char text[32];
  return {text, std::to_chars(std::begin(text), std::end(text), value).ptr};
}

const std::string exit_statuses =
    "Exit status: 0 trained; 1 a step failed, and no rank applied it; 2 bad usage or input; 3 it does not fit into "
    "memory.";

/// Seconds as slimpack-plan takes them, for the whole of a stage, and the time of a message.
slimpack::costs::quadratic quadratic_named(const std::string& text, int chunks) {
  const std::vector<double> values = cli::numbers_of(text.substr(text.find(':') + 1));
  if (text.rfind("quadratic:", 0) != 0 || values.size() != 6)
    throw bad_usage{
        "--cost " + cli::shown_value(text) +
        " is unknown; write measured, or quadratic:LINEAR,ATTENTION,RATIO_LINEAR,RATIO_ATTENTION,OVERHEAD,HOP "
        "with six numbers that are not negative"};
  return cli::quadratic_of(std::span(values).first<5>(), {}, {values[5]}, chunks);
}

/// Said before training, which takes long; writing itself is checked again.
void check_writable(const std::optional<fs::path>& path) {
  if (!path) return;
  std::error_code failed;
  const fs::path folder = path->has_parent_path() ? path->parent_path() : ".";
  if (path->empty() || fs::is_directory(*path, failed) || !fs::is_directory(folder, failed))
    throw bad_usage{"'" + path->string() + "' cannot be written: it is a folder, or its folder does not exist"};
}

/// "4" layers, or "2,1,1" on the parts.
void read_layers(const std::string& text, config& model) {
  std::vector<int> counts;
  for (const std::string& cell : cli::split(text, ',')) {
    int count{};
    const auto [end, status] = std::from_chars(cell.data(), cell.data() + cell.size(), count);
    if (status != std::errc{} || end != cell.data() + cell.size() || count < 0 || count > 1 << 20)
      throw bad_usage{"--layers " + cli::shown_value(text) +
                      " is neither a count of layers nor one for each part, as 2,1,1"};
    counts.push_back(count);
  }
  model.layers = std::accumulate(counts.begin(), counts.end(), 0);
  if (counts.size() > 1) model.on_parts = std::move(counts);
}

/// "256" words, or "100,80,76" of a spread vocabulary on the stages.
void read_words(const std::string& text, options& o) {
  std::vector<std::int64_t> counts;
  for (const std::string& cell : cli::split(text, ',')) {
    std::int64_t count{};
    const auto [end, status] = std::from_chars(cell.data(), cell.data() + cell.size(), count);
    if (status != std::errc{} || end != cell.data() + cell.size() || count < 1 || count > 1 << 20)
      throw bad_usage{"--words " + cli::shown_value(text) +
                      " is neither a count of words nor one for each stage, as 100,80,76"};
    counts.push_back(count);
  }
  const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (all < 256 || all > 1 << 20)
    throw bad_usage{"--words " + cli::shown_value(text) + " is " + std::to_string(all) +
                    " words, they must be from 256, the bytes, to 1048576"};
  o.model.vocab = static_cast<int>(all);
  if (counts.size() == 1) return;
  if (o.shape.vocabulary == slimpack::vocabulary::last)
    throw bad_usage{"--words " + cli::shown_value(text) +
                    " is for a vocabulary that is spread over the stages: give --vocabulary spread, or one count"};
  if (counts.size() != static_cast<std::size_t>(o.shape.stages))
    throw bad_usage{"--words has " + std::to_string(counts.size()) + " counts, --pp is " +
                    std::to_string(o.shape.stages)};
  if (counts != slimpack::even_words(all, o.shape.stages)) o.shape.words = std::move(counts);
}

/// What samples that share beginnings go with.
void check_tree(const options& o) {
  std::vector<std::string> planners{o.planner};
  planners.insert(planners.end(), o.compare.begin(), o.compare.end());
  for (const std::string& planner : planners) {
    if (planner == flat_copies && !o.tree)
      throw bad_usage{"the planner flat is for samples that share beginnings: give --tree, or leave it out"};
    if (planner != flat_copies && o.tree && !cli::plans_forests(planner))
      throw bad_usage{"the planner " + planner + " plans no samples that share beginnings: leave out it or --tree"};
  }
}

/// What fits together.
void check(const options& o) {
  if (slimpack::result<void> sizes = o.model.check(); !sizes) throw bad_usage{sizes.error().detail};
  const int parts = o.shape.parts();
  if (!o.model.on_parts.empty() && o.model.on_parts.size() != static_cast<std::size_t>(parts))
    throw bad_usage{"--layers has " + std::to_string(o.model.on_parts.size()) + " counts, --pp x --vpp are " +
                    std::to_string(parts) + " parts"};
  if (o.shape.chunks > 1 && std::adjacent_find(o.model.on_parts.begin(), o.model.on_parts.end(),
                                               std::not_equal_to<>{}) != o.model.on_parts.end())
    throw bad_usage{"--layers gives parts different counts; with --vpp each has as many as any other"};
  check_mixers(o);
  const bool is_spread = o.shape.vocabulary == slimpack::vocabulary::spread;
  if (is_spread && std::find(o.model.on_parts.begin(), o.model.on_parts.end(), 0) != o.model.on_parts.end())
    throw bad_usage{
        "--vocabulary spread leaves a part without layers nothing to do: give each part a layer in --layers, or leave "
        "it out"};
  if ((o.model.on_parts.empty() && parts > o.model.layers) || (o.shape.chunks > 1 && o.model.layers % parts != 0))
    throw bad_usage{"--pp " + std::to_string(o.shape.stages) + " x --vpp " + std::to_string(o.shape.chunks) +
                    " does not fit --layers " + std::to_string(o.model.layers) +
                    ": each part needs a layer, and with --vpp as many as any other"};
  if (is_spread) {
    if (o.shape.stages < 2) throw bad_usage{"--vocabulary spread needs --pp 2 or more stages to spread it over"};
    if (o.shape.stages > o.model.vocab)
      throw bad_usage{"--vocabulary spread needs a word for each stage: --pp " + std::to_string(o.shape.stages) +
                      " is more than the " + std::to_string(o.model.vocab) + " words that there are"};
    if (o.profile)
      throw bad_usage{
          "--profile has no times of a vocabulary that is spread; leave out one of --profile and --vocabulary spread"};
    if (o.held_out)
      throw bad_usage{
          "--evaluate runs forward alone, which a vocabulary that is spread does not; leave out one of --evaluate and "
          "--vocabulary spread"};
    if (o.quadratic) throw bad_usage{"--vocabulary spread needs --cost measured; a quadratic cost knows no vocabulary"};
    if (o.planner == "milp" || std::find(o.compare.begin(), o.compare.end(), "milp") != o.compare.end())
      throw bad_usage{
          "--vocabulary spread is not for the planner milp, which plans layers alone; leave out one of them"};
  }
  const bool uneven = o.model.layers % parts != 0 ||
                      std::adjacent_find(o.model.on_parts.begin(), o.model.on_parts.end(), std::not_equal_to<>{}) !=
                          o.model.on_parts.end();
  if (o.lending != slimpack::attention_lending::none && uneven)
    throw bad_usage{std::string("--lending ") + name_of(o.lending) +
                    " needs equal layers on every part: choose --layers that are a multiple of the " +
                    std::to_string(parts) + " parts of --pp x --vpp, or --lending none"};
  if (o.shape.memory && o.shape.memory->unit == memory_unit::byte && o.quadratic)
    throw bad_usage{"--memory in bytes needs --cost measured; a quadratic cost knows no bytes, give it in tokens"};
  if (o.checksums && o.shape.stages * o.shape.replicas == 1)
    throw bad_usage{"--checksums is about messages between ranks: give --pp or --dp, or leave it out"};
  for (const auto& [is_asked, name] : {std::pair{o.by_estimates, "--divide estimated"},
                                       {o.reduction == slimpack::costs::reduction::exposed, "--reduction exposed"}})
    if (is_asked && o.shape.replicas == 1)
      throw bad_usage{std::string(name) + " is about several replicas: give --dp, or leave it out"};
  for (const auto& path : {o.json, o.trace, o.timeline, o.log, o.profile}) check_writable(path);
}

/// Where --relay has its nodes. It needs a planner of rings, and nodes of several replicas.
void find_relays(options& o) {
  if (o.relays.segments == 0) return;
  std::vector<std::string> planners = o.compare;
  planners.push_back(o.planner);
  if (const slimpack::result<void> used = cli::check_relays(planners); !used) throw bad_usage{used.error().detail};
  const int stages = o.shape.stages, on_a_node = o.ranks_per_node / stages;
  if (o.ranks_per_node % stages != 0 || on_a_node < 2 || on_a_node >= o.shape.replicas)
    throw bad_usage{"--relay is between nodes of several whole replicas: give --ranks-per-node, a multiple of the " +
                    std::to_string(stages) + " of --pp, from " + std::to_string(2 * stages) + " to less than all " +
                    std::to_string(stages * o.shape.replicas) + " ranks"};
  o.relays.replicas_per_node = static_cast<std::uint32_t>(on_a_node);
}

}  // namespace

std::variant<options, ending> parse(int argc, char** argv) {
  options o;
  std::string layers = "4", mixers = "full", attention = "tiled", words = "256", transport = "auto",
              precision = "float", again = "light", effort = "normal", weights = "together", lending = "none",
              relay = "none", where = "last", divide = cli::dividers[0], exchange = cli::exchanges[0], rows = "apart",
              reduction = "overlapped", memory;
  fs::path json, trace, timeline, log, held_out, profile, tree;
  o.documents = SLIMPACK_TRAIN_DOCUMENTS;

  CLI::App app{
      "Trains a small decoder-only transformer on the text files of a folder, each a sequence of bytes. Every\n"
      "step's batch is planned for this machine's measured times, run over a pipeline, and compared with its plan."};
  app.name("slimpack-train");
  app.set_help_flag("-h,--help", "Print the options of daily use and exit");
  app.set_help_all_flag("--help-all", "Print all options and exit");
  app.option_defaults()->take_last();
  const CLI::Range degree(1, 1024);
  const CLI::Range size(1, 1 << 20);
  const CLI::Range count(std::int64_t{1}, std::int64_t{2147483647});
  const cli::number_range amount, length{.above = true}, wait{.low = 0.001, .high = 1e6};
  std::vector<std::string> names = cli::planner_names();
  names.emplace_back(flat_copies);
  const CLI::IsMember planner(names);

  const char* texts = "Documents";
  const char* model = "Model";
  const char* optimizer = "Optimizer (AdamW)";
  const char* ranks = "Ranks";
  const char* planning = "Planning";
  const char* output = "Output";
  std::vector<std::pair<std::string, std::function<std::string()>>> alike;  // what all ranks must have alike, once it
                                                                            // is read
  const auto add = [&](const char* group, on_ranks among, const char* name, auto& value, const char* type,
                       const char* help) {
    if (among == on_ranks::same) alike.emplace_back(name, [&value] { return text_of(value); });
    return app.add_option(name, value, help)->type_name(type)->group(group);
  };
  using enum on_ranks;
  add(texts, may_differ, "--documents", o.documents, "DIR", "Folder whose text files are learnt [the project's own]");
  auto* tree_option = add(texts, may_differ, "--tree", tree, "FILE",
                          "Train on samples that share beginnings, all of them in each step: a file with a node of "
                          "their tree a line, as\nslimpack-plan --format tree reads it. Documents are put into them, "
                          "one after the other");
  auto* held_out_option =
      add(texts, may_differ, "--evaluate", held_out, "FILE",
          "After training, print the loss on a text file or a folder of text files that the model did not learn");
  add(texts, same, "--max-context", o.max_context.value, "TOKENS",
      "Longest document; a longer file becomes several documents [2048]")
      ->check(CLI::Range(2, 1 << 24));
  add(texts, same, "--batch", o.batch, "N", "Documents of a step, where there is no --tree [8]")->check(count);
  add(texts, same, "--seed", o.seed, "S", "Seed of the order of documents and of the first weights [1]")
      ->check(cli::seed_fault);

  add(model, same, "--layers", layers, "N|N,N,...",
      "Number of transformer layers, or a number for each part of the pipeline, of which the first and the last may "
      "have 0 [4]");
  add(model, same, "--mixers", mixers, "LIST",
      "What mixes tokens in the layers, from the first on, again and again, separated by commas: full, attention to "
      "all "
      "tokens\nbefore; window:TOKENS, attention to the token itself and those right before it, so many in all; linear, "
      "a "
      "state for each head\nthat every token goes into, with a gate. With linear layers no replicas share a sequence "
      "[full]");
  add(model, same, "--attention", attention, "KIND",
      "tiled: in small tiles, of which those behind all their queries are left out, as flash attention does; dense: "
      "all "
      "scores of a\nslice in one matrix, as trainers without such a kernel do. Losses are the same but for rounding "
      "[tiled]")
      ->check(CLI::IsMember({"tiled", "dense"}));
  add(model, same, "--hidden", o.model.hidden, "N", "Width between layers [128]")->check(size);
  add(model, same, "--heads", o.model.heads, "N", "Query heads [4]")->check(size);
  add(model, same, "--kv-heads", o.model.kv_heads, "N", "Key and value heads [2]")->check(size);
  add(model, same, "--ffn", o.model.ffn, "N", "Width inside the feed-forward layer [384]")->check(size);
  add(model, same, "--words", words, "N|N,N,...",
      "Size of the vocabulary: the 256 bytes, and words that never occur but take time to compute; or, of a spread "
      "vocabulary,\n"
      "the words of each stage [256]");
  add(model, same, "--precision", precision, "TYPE", "float or double [float]")
      ->check(CLI::IsMember({"float", "double"}));
  add(model, same, "--recompute", again, "WHAT",
      "What backward computes again: light, norm outputs and gated products; or none, and these are kept. Weights are "
      "the same [light]")
      ->check(CLI::IsMember({"none", "light"}));

  add(optimizer, same, "--steps", o.steps, "N", "Optimizer steps [200]")->check(count);
  add(optimizer, same, "--learning-rate", o.rate, "RATE",
      "Highest learning rate: it rises for a tenth of the steps, then falls along a cosine to a tenth [3e-3]")
      ->check(amount, "FLOAT in [0 - 1e+12]");
  add(optimizer, same, "--weight-decay", o.decay, "D", "Weight decay of matrices [0.1]")
      ->check(amount, "FLOAT in [0 - 1e+12]");
  add(optimizer, same, "--clip", o.clip, "NORM", "Largest norm of a step's gradient [1]")->check(length, "POSITIVE");

  add(ranks, same, "--dp", o.shape.replicas, "D", "Data-parallel replicas [1]")->check(degree);
  add(ranks, same, "--pp", o.shape.stages, "P", "Pipeline stages [1]")->check(degree);
  add(ranks, same, "--vpp", o.shape.chunks, "V", "Virtual stages on each stage [1]")->check(degree);
  add(ranks, same, "--vocabulary", where, "WHERE",
      "last: the embedding is on the first part of the pipeline, the head on the last; spread: each stage has a share "
      "of\n"
      "the words of both [last]")
      ->check(CLI::IsMember({"last", "spread"}));
  add(ranks, same, "--transport", transport, "NAME", "threads, mpi, or auto: mpi when mpirun has started this [auto]")
      ->check(CLI::IsMember({"auto", "threads", "mpi"}));
  add(ranks, may_differ, "--time-out", o.time_out.value, "SECONDS", "Longest that a rank waits for another [60]")
      ->check(wait, "FLOAT in [0.001 - 1e+06]");

  add(planning, same, "--planner", o.planner, "NAME",
      "slimpack, megatron, dp_balanced, karmarkar_karp, chunked, slimpipe, te_cp, llama_cp, hybrid_dp or zeppelin; of "
      "--tree\n"
      "slimpack, or flat, which is slimpack with each sample by itself; or milp, if CBC was installed when this was "
      "built "
      "[slimpack]")
      ->check(planner);
  add(planning, same, "--compare", o.compare, "NAME,...",
      "More planners to run each batch with, separated by commas; their gradients are dropped. Baselines have the "
      "length of\npacks that is fastest for them")
      ->take_all()
      ->delimiter(',')
      ->check(planner);
  add(planning, same, "--slices", o.slices, "N",
      "Slices that slimpipe cuts a context row into; with --lending, a multiple of --pp [the fastest of 1, 2, 4, 8 x "
      "--pp]")
      ->check(degree);
  add(planning, same, "--relay", relay, "HOW",
      "How te_cp, hybrid_dp and zeppelin send rows of shared sequences to other nodes: none, directly; proxies, in "
      "parts over all\n"
      "replicas of a node; proxies:N, each part in N segments that follow each other [none]");
  add(planning, same, "--lending", lending, "HOW",
      "How stages of slimpipe lend each other attention: none, pairs or level [none]")
      ->check(CLI::IsMember({"none", "pairs", "level"}));
  add(planning, same, "--effort", effort, "EFFORT", "How long to search: fast, normal or high [normal]")
      ->check(CLI::IsMember({"fast", "normal", "high"}));
  add(planning, same, "--weight-gradients", weights, "WHEN",
      "When weight gradients are computed: together with the gradients of inputs; apart, when the stage would "
      "otherwise wait, in\n"
      "slimpack's own plans [together]")
      ->check(CLI::IsMember({"together", "apart"}));
  auto* sharers_option = add(planning, same, "--sharers", o.sharers, "N",
                             "How many replicas may share a sequence that is too long for one; 1: none do [any number]")
                             ->check(CLI::Range(1, 65536));
  add(planning, same, "--exchange", exchange, "HOW",
      "What replicas that share a sequence send each other: keep, keys and values, which they keep until backward; "
      "queries,\n"
      "queries and outputs, and keep nothing; ring, keys and values in both passes, and keep nothing, for sequences of "
      "one\n"
      "row; any, whichever of these the memory has room for [keep]")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(cli::exchanges), std::end(cli::exchanges))));
  add(ranks, same, "--rows", rows, "HOW",
      "How a pack runs that has slices of shared sequences: apart, one such slice after the other, then the rest; "
      "joined, in\n"
      "each layer their exchange begins, attention of the pack's other sequences runs meanwhile, and then the exchange "
      "ends\n"
      "[apart]")
      ->check(CLI::IsMember({"apart", "joined"}));
  add(ranks, same, "--ranks-per-node", o.ranks_per_node, "N",
      "Ranks of a node: [k N, (k + 1) N). Messages to other nodes are posted first, and --relay works between nodes "
      "[all ranks]")
      ->check(degree);
  app.add_flag("--checksums", o.checksums,
               "Send a checksum behind each message of a step, and stop at one that came damaged; what it takes is "
               "printed. Sums of\n"
               "gradients that MPI makes itself have none")
      ->group(ranks);
  alike.emplace_back("--checksums", [&o] { return std::string(o.checksums ? "on" : "off"); });
  auto* reduction_option = add(planning, same, "--reduction", reduction, "WHEN",
                               "When gradients are summed over replicas: overlapped, those of each chunk as soon as "
                               "they are final; exposed, after\n"
                               "the last backward [overlapped]")
                               ->check(CLI::IsMember({"overlapped", "exposed"}));
  add(planning, same, "--divide", divide, "HOW",
      "searched: each rank plans all replicas, and tries several divisions of the batch; estimated: each rank divides "
      "the\n"
      "batch by estimates, and plans only its replica and those that share sequences with it [searched]")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(cli::dividers), std::end(cli::dividers))));
  add(planning, same, "--quantum", o.shape.quantum.value, "TOKENS", "Cuts fall on multiples of this many tokens [128]")
      ->check(count);
  auto* memory_option =
      add(planning, same, "--memory", memory, "AMOUNT", "Limit of a stage's activations, 64MiB or 8192tokens [none]");
  add(planning, same, "--cost", o.cost_text, "COST",
      "measured, or quadratic:LINEAR,ATTENTION,RATIO_LINEAR,RATIO_ATTENTION,OVERHEAD,HOP [measured]");

  auto* profile_option = add(planning, may_differ, "--profile", profile, "FILE",
                             "JSON file of what was measured: it is read if it exists, and otherwise written");
  auto* measure_option =
      add(planning, same, "--measure-for", o.measure_for.value, "SECONDS",
          "How long to time each stage before the first step; a few of the smallest trials always run [3]")
          ->check(wait);
  auto* refit_option =
      add(planning, same, "--refit", o.refit, "N",
          "After N steps, fit the cost model to the times of their packs, and print how far it had drifted [never]")
          ->check(count);
  auto* json_option = add(output, may_differ, "--json", json, "FILE", "Write the plan of the last step");
  auto* trace_option =
      add(output, may_differ, "--trace", trace, "FILE", "Write the last step, planned and measured, for Perfetto");
  auto* timeline_option = add(output, may_differ, "--timeline", timeline, "FILE",
                              "Write a page that shows the last step, planned and measured");
  auto* log_option = add(output, may_differ, "--log", log, "FILE",
                         "Write every step's figures, all digits, as comma-separated values");
  app.footer(exit_statuses);

  try {
    app.parse(argc, argv);
    cli::check_named(app,
                     {"--documents", "--tree", "--evaluate", "--profile", "--json", "--trace", "--timeline", "--log"});
    if (*json_option) o.json = json;
    if (*profile_option) o.profile = profile;
    for (const auto& [option, name] :
         {std::pair{profile_option, "--profile"}, {measure_option, "--measure-for"}, {refit_option, "--refit"}})
      if (*option && o.cost_text != "measured")
        throw bad_usage{std::string(name) + " needs --cost measured; a quadratic cost is typed"};
    if (*held_out_option) o.held_out = held_out;
    if (*tree_option) o.tree = tree;
    check_tree(o);
    if (*trace_option) o.trace = trace;
    if (*timeline_option) o.timeline = timeline;
    if (*log_option) o.log = log;
    o.in_double = precision == "double";
    o.transport = transport == "mpi" || (transport == "auto" && rank_in_job() >= 0) ? carrier::mpi : carrier::threads;
    using slimpack::solvers::search_budget;
    o.by_estimates = divide == "estimated";
    o.effort = effort == "fast"   ? search_budget::fast()
               : effort == "high" ? search_budget::high()
                                  : search_budget::normal();
    o.exchanges = cli::exchanges_named(exchange);
    for (const slimpack::executors::row_calls how : slimpack::executors::all_row_calls)
      if (rows == slimpack::executors::name_of(how)) o.rows = how;
    if (reduction == "exposed") o.reduction = slimpack::costs::reduction::exposed;
    if (where == "spread") o.shape.vocabulary = slimpack::vocabulary::spread;
    for (const slimpack::attention_lending how : slimpack::all_attention_lending)
      if (lending == name_of(how)) o.lending = how;
    if (o.planner != "slimpipe" && std::find(o.compare.begin(), o.compare.end(), "slimpipe") == o.compare.end())
      for (const char* const name : {"--slices", "--lending"})
        if (app.get_option(name)->count() > 0)
          throw bad_usage{std::string(name) + " is for the planner slimpipe: give --planner slimpipe, or leave it out"};
    const slimpack::result<std::uint32_t> segments = cli::segments_named(relay);
    if (!segments) throw bad_usage{segments.error().detail};
    o.relays.segments = segments.value();
    find_relays(o);
    o.model.dense = attention == "dense";
    if (again == "none") o.model.recompute = slimpack::costs::recompute::none;
    if (weights == "apart") o.weights = slimpack::weight_gradients::apart;
    if (*memory_option) o.shape.memory = cli::memory_of(memory);
    if (*reduction_option && o.cost_text != "measured")
      throw bad_usage{
          "--reduction needs --cost measured; a quadratic cost knows no gradients, and plans their sums after the "
          "work"};
    if (o.cost_text != "measured") o.quadratic = quadratic_named(o.cost_text, o.shape.chunks);
    if (o.quadratic) o.quadratic->joins_rows = o.rows == slimpack::executors::row_calls::joined;
    if (std::string wrong = cli::compare_fault(o.planner, o.compare); !wrong.empty()) throw bad_usage{std::move(wrong)};
    read_layers(layers, o.model);
    read_mixers(mixers, o.model);
    read_words(words, o);
    share_as_mixers_can(o, sharers_option->count() > 0);
    check(o);
    for (const auto& [name, read] : alike) o.alike.push_back({name, read()});
  } catch (const CLI::CallForHelp&) {
    return ending{0, cli::daily_help(app, daily, exit_statuses)};
  } catch (const CLI::CallForAllHelp&) {
    return ending{0, app.help()};
  } catch (const CLI::ParseError& e) {
    return ending{2, std::string(e.what()) + "; see slimpack-train --help-all"};
  } catch (const bad_usage& e) {
    return ending{2, e.line + "; see slimpack-train --help-all"};
  }
  return o;
}

}  // namespace train
