#include "options.hpp"

#include "planners.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <map>
#include <optional>
#include <string_view>

namespace cli {
namespace {

/// A usage error: one line on stderr, exit status 2.
struct bad_usage {
  std::string line;
};

/// A whole text as a number, or nothing.
template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> pieces(1);
  for (const char c : text) {
    if (c == at)
      pieces.emplace_back();
    else
      pieces.back() += c;
  }
  return pieces;
}

slimpack::memory_limit memory_of(const std::string& text) {
  static const std::map<std::string, double> units{{"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
                                                   {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9}};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> amount = number<double>(std::string_view(text).substr(0, end));
  const std::string unit = text.substr(end);
  if (amount && *amount > 0 && std::isfinite(*amount)) {
    if (unit == "tokens" && *amount == std::floor(*amount)) return {slimpack::memory_unit::token, *amount};
    if (const auto known = units.find(unit); known != units.end()) return {slimpack::memory_unit::byte, *amount * known->second};
  }
  throw bad_usage{"--memory '" + text + "' is not an amount: write 80GiB (KiB MiB GiB KB MB GB) or 327680tokens"};
}

slimpack::costs::quadratic quadratic_of(const std::string& text) {
  const std::vector<std::string> pieces = split(text, ',');
  std::vector<double> values;
  for (const std::string& piece : pieces)
    if (const std::optional<double> value = number<double>(piece); value && *value >= 0 && std::isfinite(*value))
      values.push_back(*value);
  if (pieces.size() != 5 || values.size() != 5)
    throw bad_usage{"--cost 'quadratic:" + text +
                    "' needs five numbers that are not negative: LINEAR,ATTENTION,RATIO_LINEAR,RATIO_ATTENTION,OVERHEAD"};
  return {.linear = values[0], .attention = values[1], .backward_linear = values[2], .backward_attention = values[3],
          .per_pack = {values[4]}};
}

void check_planner(const std::string& option, const std::string& name) {
  const std::vector<std::string>& known = planner_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string list;
  for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
  throw bad_usage{option + " '" + name + "' is unknown; planners are " + list};
}

/// What the texts mean, and which go together.
void resolve(options& o, const std::string& cost, const std::optional<std::string>& memory, const std::optional<std::string>& compare) {
  if (o.hop && !std::isfinite(o.hop->value)) throw bad_usage{"--hop must be a number of seconds"};
  if (std::int64_t{o.shape.stages} * o.shape.chunks > 65536) throw bad_usage{"--pp times --vpp must be at most 65536"};
  o.cost_text = cost;
  if (cost.rfind("quadratic:", 0) == 0) {
    o.quadratic = quadratic_of(cost.substr(10));
    if (!o.hop) throw bad_usage{"--cost quadratic needs --hop SECONDS, the time of a message between stages"};
    o.quadratic->hop = *o.hop;
    // The coefficients are of a stage; a chunk is an even share of it, each with the overhead of a pack.
    o.quadratic->linear /= o.shape.chunks;
    o.quadratic->attention /= o.shape.chunks;
  } else if (cost.rfind("profiled:", 0) == 0) {
    throw bad_usage{"--cost profiled is not in this version; use transformer or quadratic"};
  } else if (cost != "transformer") {
    throw bad_usage{"--cost '" + cost + "' is unknown; costs are transformer and quadratic:L,A,RL,RA,O"};
  } else if (!o.model || !o.gpu) {
    throw bad_usage{"--cost transformer needs --model CONFIG.json and --gpu NAME or FILE.json"};
  }
  if (memory) {
    o.shape.memory = memory_of(*memory);
    if (o.quadratic && o.shape.memory->unit == slimpack::memory_unit::byte)
      throw bad_usage{"--memory in bytes needs --cost transformer; a quadratic cost knows no bytes, give it in tokens"};
  }
  check_planner("--planner", o.planner);
  if (compare) o.compare = split(*compare, ',');
  for (const std::string& name : o.compare) check_planner("--compare", name);
}

}  // namespace

int complain(std::string line, int status) {
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  std::cerr << "slimpack-plan: " << line << "\n";
  return status;
}

std::variant<options, int> parse(int argc, char** argv) {
  if (argc == 1) {
    return complain("nothing to do; see slimpack-plan --help", 2);
  }
  options o;
  std::string cost = "transformer";
  std::string memory;
  std::string compare;
  double hop = 0;
  std::size_t batch = 0;
  std::uint64_t seed = 0;
  std::int64_t max_context = 0;
  std::int64_t time_limit = 0;
  std::string model, gpu, json, trace, timeline;

  CLI::App app{"Plans training steps on sequences of very different lengths: slices, micropacks, schedules; simulated,\n"
               "certified against a lower bound, and written as a plan file, a trace and a timeline page."};
  app.name("slimpack-plan");
  app.set_help_flag("-h,--help", "Print this help and exit");
  using slimpack::io::lengths_format;
  const CLI::Range degree(1, 65536);
  const CLI::Range count(std::int64_t{1}, std::int64_t{2147483647});

  app.add_option("--lengths", o.lengths, "Sequence lengths in tokens: a text file, JSON lines, or a Megatron-LM .idx")->required()->group("Batch");
  std::string format = "auto";
  app.add_option("--format", format, "auto, text, jsonl or idx; auto looks into the file")->check(CLI::IsMember({"auto", "text", "jsonl", "idx"}))->type_name("FORMAT")->group("Batch");
  app.add_option("--field", o.field, "Field of a JSON line: a length, or an array of tokens")->type_name("NAME")->group("Batch");
  auto* batch_option = app.add_option("--batch", batch, "Sequences of a batch [the whole list]")->check(count)->type_name("N")->group("Batch");
  app.add_option("--batches", o.batches, "Batches to plan [1]; with more, -0, -1, ... is added to file names")->check(count)->type_name("K")->group("Batch");
  auto* seed_option = app.add_option("--seed", seed, "Shuffle the list first, with this seed")->type_name("S")->group("Batch");
  auto* context_option = app.add_option("--max-context", max_context, "Longest length allowed [no limit]")->check(count)->type_name("TOKENS")->group("Batch");
  std::string over = "reject";
  app.add_option("--over-long", over, "What longer sequences are: reject, truncate or drop [reject]")->check(CLI::IsMember({"reject", "truncate", "drop"}))->type_name("WHAT")->group("Batch");
  app.add_option("--quantum", o.shape.quantum.value, "Cuts fall on multiples of this many tokens [128]")->check(count)->type_name("TOKENS")->group("Batch");

  auto* model_option = app.add_option("--model", model, "Hugging Face config.json")->type_name("FILE")->group("Model and machine");
  auto* gpu_option = app.add_option("--gpu", gpu, "h100, a100, h200, or a GPU description in JSON")->type_name("NAME|FILE")->group("Model and machine");
  app.add_option("--dp", o.shape.replicas, "Data-parallel replicas [1]")->check(degree)->type_name("D")->group("Model and machine");
  app.add_option("--pp", o.shape.stages, "Pipeline stages [1]")->check(degree)->type_name("P")->group("Model and machine");
  app.add_option("--tp", o.shape.tensor, "Tensor-parallel ranks of a stage [1]")->check(degree)->type_name("T")->group("Model and machine");
  app.add_option("--cp", o.shape.context, "Context-parallel ranks of a stage [1]")->check(degree)->type_name("C")->group("Model and machine");
  app.add_option("--vpp", o.shape.chunks, "Virtual stages on each stage [1]")->check(degree)->type_name("V")->group("Model and machine");
  auto* memory_option = app.add_option("--memory", memory, "Limit of a GPU, 80GiB, or of a stage, 327680tokens [the GPU's less 4 GiB]")->type_name("AMOUNT")->group("Model and machine");
  using slimpack::costs::recompute;
  std::string again = "none";
  app.add_option("--recompute", again, "none, selective or full [none]")->check(CLI::IsMember({"none", "selective", "full"}))->type_name("WHAT")->group("Model and machine");
  auto* hop_option = app.add_option("--hop", hop, "Time of a message between stages [from the network]")->check(CLI::Range(0.0, 1e12))->type_name("SECONDS")->group("Model and machine");
  app.add_option("--cost", cost, "transformer, or quadratic:LINEAR,ATTENTION,RATIO_LINEAR,RATIO_ATTENTION,OVERHEAD [transformer]")->type_name("COST")->group("Model and machine");

  app.add_option("--planner", o.planner, "slimpack, megatron, dp_balanced, karmarkar_karp or chunked [slimpack]")->type_name("NAME")->group("Planning");
  auto* compare_option = app.add_option("--compare", compare, "More planners for the table, comma between them")->type_name("NAME,...")->group("Planning");
  using slimpack::solvers::search_budget;
  std::string effort = "normal";
  app.add_option("--effort", effort, "How long to search: fast, normal or high [normal]")->check(CLI::IsMember({"fast", "normal", "high"}))->type_name("EFFORT")->group("Planning");
  auto* limit_option = app.add_option("--time-limit", time_limit, "End the search after this time; the plan is marked truncated")->check(count)->type_name("MS")->group("Planning");
  auto* json_option = app.add_option("--json", json, "Write the plan")->type_name("FILE")->group("Output");
  auto* trace_option = app.add_option("--trace", trace, "Write a trace for Perfetto or chrome://tracing")->type_name("FILE")->group("Output");
  auto* timeline_option = app.add_option("--timeline", timeline, "Write a page that shows the plan, and those compared")->type_name("FILE")->group("Output");
  app.footer("Exit status: 0 planned; 2 bad usage or input; 3 it does not fit into memory.");

  try {
    app.parse(argc, argv);
    if (*batch_option) o.batch = batch;
    if (*seed_option) o.seed = seed;
    if (*context_option) o.max_context = slimpack::tokens{max_context};
    if (*limit_option) o.time_limit_ms = time_limit;
    if (*hop_option) o.hop = slimpack::seconds{hop};
    if (*model_option) o.model = model;
    if (*gpu_option) o.gpu = gpu;
    if (*json_option) o.json = json;
    if (*trace_option) o.trace = trace;
    if (*timeline_option) o.timeline = timeline;
    o.effort = effort == "fast" ? search_budget::fast() : effort == "high" ? search_budget::high() : search_budget::normal();
    o.format = format == "text" ? lengths_format::text : format == "jsonl" ? lengths_format::jsonl : format == "idx" ? lengths_format::idx : lengths_format::automatic;
    o.over_long = over == "truncate" ? over_long::truncate : over == "drop" ? over_long::drop : over_long::reject;
    o.recompute = again == "selective" ? recompute::selective : again == "full" ? recompute::full : recompute::none;
    resolve(o, cost, *memory_option ? std::optional(memory) : std::nullopt, *compare_option ? std::optional(compare) : std::nullopt);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::ParseError& e) {
    return complain(std::string(e.what()) + "; see slimpack-plan --help", 2);
  } catch (const bad_usage& e) {
    return complain(e.line + "; see slimpack-plan --help", 2);
  }
  return o;
}

}  // namespace cli
