#include "options.hpp"

#include "../plan/planners.hpp"
#include "ending.hpp"
#include "launch.hpp"

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <system_error>

namespace train {
namespace {

namespace fs = std::filesystem;
using slimpack::memory_unit;

/// A usage error: one line on stderr, exit status 2.
struct bad_usage {
  std::string line;
};

slimpack::memory_limit memory_of(const std::string& text) {
  static const std::map<std::string, double> units{{"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
                                                   {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9}};
  std::istringstream in(text);
  std::string unit;
  if (double amount{}; in >> amount >> unit && amount > 0 && in.peek() == EOF) {
    if (unit == "tokens") return {memory_unit::token, std::floor(amount)};
    if (const auto known = units.find(unit); known != units.end()) return {memory_unit::byte, amount * known->second};
  }
  throw bad_usage{"--memory '" + text + "' is not an amount: write 64MiB (KiB MiB GiB KB MB GB) or 8192tokens"};
}

/// Seconds as slimpack-plan takes them, for the whole of a stage, and the time of a message.
slimpack::costs::quadratic quadratic_of(const std::string& text, int chunks) {
  std::istringstream in(text.substr(text.find(':') + 1));
  std::vector<double> values;
  for (std::string piece; std::getline(in, piece, ',');)
    if (double value{}; CLI::detail::lexical_cast(piece, value) && value >= 0 && std::isfinite(value))
      values.push_back(value);
  if (text.rfind("quadratic:", 0) != 0 || values.size() != 6)
    throw bad_usage{"--cost '" + text +
                    "' is unknown; write measured, or quadratic:LINEAR,ATTENTION,RATIO_LINEAR,RATIO_ATTENTION,OVERHEAD,HOP "
                    "with six numbers that are not negative"};
  return {.linear = values[0] / chunks, .attention = values[1] / chunks, .backward_linear = values[2],
          .backward_attention = values[3], .per_pack = {values[4]}, .hop = {values[5]}};
}

/// Said before training, which takes long; writing itself is checked again.
void check_writable(const std::optional<fs::path>& path) {
  if (!path) return;
  std::error_code failed;
  const fs::path folder = path->has_parent_path() ? path->parent_path() : ".";
  if (path->empty() || fs::is_directory(*path, failed) || !fs::is_directory(folder, failed))
    throw bad_usage{"'" + path->string() + "' cannot be written: it is a folder, or its folder does not exist"};
}

/// What fits together.
void check(const options& o) {
  if (slimpack::result<void> sizes = o.model.check(); !sizes) throw bad_usage{sizes.error().detail};
  const int parts = o.shape.parts();
  if (parts > o.model.layers || (o.shape.chunks > 1 && o.model.layers % parts != 0))
    throw bad_usage{"--pp " + std::to_string(o.shape.stages) + " x --vpp " + std::to_string(o.shape.chunks) + " does not fit --layers " +
                    std::to_string(o.model.layers) + ": each part needs a layer, and with --vpp as many as any other"};
  if (o.shape.memory && o.shape.memory->unit == memory_unit::byte && o.quadratic)
    throw bad_usage{"--memory in bytes needs --cost measured; a quadratic cost knows no bytes, give it in tokens"};
  for (const auto& path : {o.json, o.trace, o.timeline, o.log}) check_writable(path);
}

}  // namespace

std::variant<options, int> parse(int argc, char** argv) {
  options o;
  std::string transport = "auto", precision = "float", effort = "fast", memory;
  fs::path json, trace, timeline, log;
  o.documents = SLIMPACK_TRAIN_DOCUMENTS;

  CLI::App app{"Trains a small decoder-only transformer on the text files of a folder, each a sequence of bytes. Every\n"
               "step's batch is planned for this machine's measured times, run over a pipeline, and compared with its plan."};
  app.name("slimpack-train");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.option_defaults()->take_last();
  const CLI::Range degree(1, 1024);
  const CLI::Range size(1, 1 << 20);
  const CLI::Range count(std::int64_t{1}, std::int64_t{2147483647});
  const CLI::Range amount(0.0, 1e12);
  const CLI::IsMember planner(cli::planner_names());

  app.add_option("--documents", o.documents, "Folder whose text files are learnt [the project's own]")->type_name("DIR")->group("Documents");
  app.add_option("--max-context", o.max_context.value, "Longer files become several documents [2048]")->check(CLI::Range(2, 1 << 24))->type_name("TOKENS")->group("Documents");
  app.add_option("--batch", o.batch, "Documents of a step [8]")->check(count)->type_name("N")->group("Documents");
  app.add_option("--seed", o.seed, "Of the documents' order and the first weights [1]")->type_name("S")->group("Documents");

  app.add_option("--layers", o.model.layers, "Transformer layers [4]")->check(size)->type_name("N")->group("Model");
  app.add_option("--hidden", o.model.hidden, "Width between layers [128]")->check(size)->type_name("N")->group("Model");
  app.add_option("--heads", o.model.heads, "Query heads [4]")->check(size)->type_name("N")->group("Model");
  app.add_option("--kv-heads", o.model.kv_heads, "Key and value heads [2]")->check(size)->type_name("N")->group("Model");
  app.add_option("--ffn", o.model.ffn, "Width inside the feed-forward layer [384]")->check(size)->type_name("N")->group("Model");
  app.add_option("--precision", precision, "float or double [float]")->check(CLI::IsMember({"float", "double"}))->type_name("TYPE")->group("Model");

  app.add_option("--steps", o.steps, "Optimizer steps [200]")->check(count)->type_name("N")->group("Optimizer (AdamW)");
  app.add_option("--learning-rate", o.rate, "At its highest: a tenth of the steps lead up to it, a cosine down to a tenth of it [3e-3]")->check(amount)->type_name("RATE")->group("Optimizer (AdamW)");
  app.add_option("--weight-decay", o.decay, "Of matrices [0.1]")->check(amount)->type_name("D")->group("Optimizer (AdamW)");
  app.add_option("--clip", o.clip, "Largest norm of a step's gradient [1]")->check(CLI::PositiveNumber)->type_name("NORM")->group("Optimizer (AdamW)");

  app.add_option("--dp", o.shape.replicas, "Data-parallel replicas [1]")->check(degree)->type_name("D")->group("Ranks");
  app.add_option("--pp", o.shape.stages, "Pipeline stages [1]")->check(degree)->type_name("P")->group("Ranks");
  app.add_option("--vpp", o.shape.chunks, "Virtual stages on each stage [1]")->check(degree)->type_name("V")->group("Ranks");
  app.add_option("--transport", transport, "threads, mpi, or auto: mpi when mpirun has started this [auto]")->check(CLI::IsMember({"auto", "threads", "mpi"}))->type_name("NAME")->group("Ranks");
  app.add_option("--time-out", o.time_out.value, "Longest that a rank waits for another [60]")->check(CLI::Range(0.001, 1e6))->type_name("SECONDS")->group("Ranks");

  app.add_option("--planner", o.planner, "slimpack, megatron, dp_balanced, karmarkar_karp or chunked [slimpack]")->check(planner)->type_name("NAME")->group("Planning");
  app.add_option("--compare", o.compare, "Planners to run each batch with as well, comma between them; their gradients are dropped")->take_all()->delimiter(',')->check(planner)->type_name("NAME,...")->group("Planning");
  app.add_option("--effort", effort, "How long to search: fast, normal or high [fast]")->check(CLI::IsMember({"fast", "normal", "high"}))->type_name("EFFORT")->group("Planning");
  app.add_option("--quantum", o.shape.quantum.value, "Cuts fall on multiples of this many tokens [128]")->check(count)->type_name("TOKENS")->group("Planning");
  auto* memory_option = app.add_option("--memory", memory, "Limit of a stage's activations, 64MiB or 8192tokens [none]")->type_name("AMOUNT")->group("Planning");
  app.add_option("--cost", o.cost_text, "measured, or quadratic:LINEAR,ATTENTION,RATIO_LINEAR,RATIO_ATTENTION,OVERHEAD,HOP [measured]")->type_name("COST")->group("Planning");

  auto* json_option = app.add_option("--json", json, "Write the plan of the last step")->type_name("FILE")->group("Output");
  auto* trace_option = app.add_option("--trace", trace, "Write the last step, planned and measured, for Perfetto")->type_name("FILE")->group("Output");
  auto* timeline_option = app.add_option("--timeline", timeline, "Write a page that shows the last step, planned and measured")->type_name("FILE")->group("Output");
  auto* log_option = app.add_option("--log", log, "Write every step's figures, all digits, as comma-separated values")->type_name("FILE")->group("Output");
  app.footer("Exit status: 0 trained; 1 a step failed, and no rank applied it; 2 bad usage or input; 3 it does not fit into memory.");

  try {
    app.parse(argc, argv);
    if (*json_option) o.json = json;
    if (*trace_option) o.trace = trace;
    if (*timeline_option) o.timeline = timeline;
    if (*log_option) o.log = log;
    o.in_double = precision == "double";
    o.transport = transport == "mpi" || (transport == "auto" && rank_in_job() >= 0) ? carrier::mpi : carrier::threads;
    using slimpack::solvers::search_budget;
    o.effort = effort == "fast" ? search_budget::fast() : effort == "high" ? search_budget::high() : search_budget::normal();
    if (*memory_option) o.shape.memory = memory_of(memory);
    if (o.cost_text != "measured") o.quadratic = quadratic_of(o.cost_text, o.shape.chunks);
    std::erase(o.compare, o.planner);
    check(o);
  } catch (const CLI::CallForHelp&) {
    if (rank_in_job() <= 0) std::cout << app.help();
    return 0;
  } catch (const CLI::ParseError& e) {
    return complain_early({2, std::string(e.what()) + "; see slimpack-train --help"});
  } catch (const bad_usage& e) {
    return complain_early({2, e.line + "; see slimpack-train --help"});
  }
  return o;
}

}  // namespace train
