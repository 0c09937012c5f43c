#include "setting.hpp"

#include "memory_margin.hpp"
#include "shipped.hpp"
#include "texts.hpp"

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/costs/calibrated.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>
#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/costs/stage_options.hpp>
#include <slimpack/io/detail/open.hpp>
#include <slimpack/io/gpu.hpp>
#include <slimpack/io/implausible_times.hpp>
#include <slimpack/io/model_config.hpp>
#include <slimpack/io/profile.hpp>
#include <slimpack/io/saved_tensors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <system_error>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;

/// The file, or the one that is shipped under this name.
std::filesystem::path file_named(shipped kind, const std::filesystem::path& typed) {
  std::error_code failed;
  return std::filesystem::exists(typed, failed) ? typed : file_of(kind, typed.string()).value_or(typed);
}

/// The error of reading a file, with the names that could have been given instead.
error with_names(const error& e, shipped kind, const std::string& option) {
  std::string names;
  for (const std::string& name : names_of(kind)) names += (names.empty() ? "" : ", ") + name;
  return {e.code,
          e.detail + " (" + option + " takes " + names + (names.empty() ? "a JSON file)" : ", or a JSON file)")};
}

/// A file that an option names, or what the plan of --from keeps of it.
struct content {
  std::string name;   ///< for messages
  std::string title;  ///< of the file, without folder and suffix
  std::string text;
};

result<content> content_of(const options& o, const std::string& option, const std::filesystem::path& file) {
  if (o.from)
    if (const plan_origin::input* const kept = o.from->input(option))
      return content{o.from->file.string() + ": --" + option + " " + kept->name, kept->name, *kept->content};
  result<std::ifstream> in = io::detail::open_to_read(file);
  if (!in) return std::move(in).error();
  return content{file.string(), file.stem().string(), std::string(std::istreambuf_iterator<char>(in.value()), {})};
}

/// What a plan file says of it.
plan_origin::input kept(const std::string& option, const std::string& title, const std::string& text) {
  return {option, title, text_hash(text), text};
}

/// The same of a file that is too long to be kept.
result<plan_origin::input> fingerprint(const std::string& option, const std::filesystem::path& file) {
  result<std::ifstream> in = io::detail::open_to_read(file);
  if (!in) return std::move(in).error();
  const std::string text(std::istreambuf_iterator<char>(in.value()), {});
  return plan_origin::input{option, file.filename().string(), text_hash(text)};
}

std::string divisors_of(int number) {
  std::string all;
  for (int n = 1; n <= number; ++n)
    if (number % n == 0) all += (all.empty() ? "" : n == number ? " or " : ", ") + std::to_string(n);
  return all;
}

/// Whether the parts of the pipeline and the ranks of a stage can have the layers and heads of the model as options
/// say.
result<void> check_parts(const options& o, const costs::model_shape& model) {
  const shape& on = o.layout.shape;
  const auto refused = [](std::string why) { return error{errc::invalid_input, std::move(why)}; };
  if (o.layout.layers.empty() && on.parts() > model.layers)
    return refused("--pp " + std::to_string(on.stages) +
                   (on.chunks > 1 ? " x --vpp " + std::to_string(on.chunks) : "") + " exceeds the " +
                   std::to_string(model.layers) + " layers of " + model.name + "; lower it");
  const std::vector<int>& counts = o.layout.layers;
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (!counts.empty() && (std::ssize(counts) != on.parts() || sum != model.layers))
    return refused("--layers gives " + std::to_string(counts.size()) + (counts.size() == 1 ? " count, " : " counts, ") +
                   std::to_string(sum) + " in sum, and --pp x --vpp is " + std::to_string(on.parts()) +
                   "; give one count for each part, " + std::to_string(model.layers) + " in sum, or --layers even");
  const std::int64_t words = std::accumulate(on.words.begin(), on.words.end(), std::int64_t{0});
  if (!on.words.empty() && (std::ssize(on.words) != on.stages || words != model.vocabulary))
    return refused("--words gives " + std::to_string(on.words.size()) +
                   (on.words.size() == 1 ? " count, " : " counts, ") + std::to_string(words) + " in sum, and --pp is " +
                   std::to_string(on.stages) + "; give one count for each stage, " + std::to_string(model.vocabulary) +
                   " in sum, or --words even");
  if (!o.quadratic && model.heads % on.tensor != 0)
    return refused("--tp " + std::to_string(on.tensor) + " does not divide the " + std::to_string(model.heads) +
                   " query heads of " + model.name + "; choose " + divisors_of(model.heads));
  return success();
}

result<io::model_reading> model_of(const options& o, std::vector<plan_origin::input>& inputs) {
  const result<content> read = content_of(o, "model", file_named(shipped::models, *o.model));
  if (!read) return with_names(read.error(), shipped::models, "--model");
  std::istringstream in(read.value().text);
  result<io::model_reading> model = io::read_model_config(in, read.value().name);
  if (!model) return model;
  costs::model_shape& shape = model.value().shape;
  shape.name = read.value().title;
  if (o.further_tokens) {
    if (model.value().further == 0)
      return error{errc::invalid_input, "--mtp on: " +
                                            (model.value().left_out.empty()
                                                 ? shape.name + " has no layers that predict further tokens"
                                                 : shape.name + " predicts further tokens by several layers each") +
                                            "; leave it out"};
    shape = io::with_further(model.value());
  } else if (!model.value().left_out.empty()) {
    model.value().notes.push_back(model.value().left_out + (model.value().further > 0 ? " (--mtp on plans them)" : ""));
  }
  const bool attends_fully =
      shape.mixers.empty() || std::any_of(shape.mixers.begin(), shape.mixers.end(),
                                          [](const auto& each) { return each.span.how == costs::mixing::full; });
  if (o.attended_share < 1 && !attends_fully)
    return error{errc::invalid_input,
                 "--attended-share: no layer of " + shape.name + " has full attention; leave it out"};
  shape = costs::sampled(std::move(shape), o.attended_share);
  inputs.push_back(kept("model", read.value().title, read.value().text));
  if (result<void> sound = check_parts(o, shape); !sound) return std::move(sound).error();
  return model;
}

/// Whether ranks can divide the model's experts as the options say, before any layout is looked at.
result<void> check_experts(const options& o, const costs::model_shape& model) {
  const shape& on = o.layout.shape;
  const auto refused = [](std::string why) { return error{errc::invalid_input, std::move(why)}; };
  if (!o.of_experts.empty() && model.experts == 0)
    return refused(o.of_experts + ": " + model.name + " has no experts; leave it out");
  if (on.expert == 1) return success();
  const std::string asked = "--ep " + std::to_string(on.expert);
  if (model.experts == 0) return refused(asked + ": " + model.name + " has no experts; leave it out");
  if (model.experts % on.expert != 0)
    return refused(asked + " does not divide the " + std::to_string(model.experts) + " experts of " + model.name);
  if (!o.automatic && on.stage_ranks() % on.expert != 0)
    return refused(asked + " does not divide the " + std::to_string(on.stage_ranks()) + " ranks of a stage, --dp " +
                   std::to_string(on.replicas) + " x --cp " + std::to_string(on.context) + " x --tp " +
                   std::to_string(on.tensor));
  return success();
}

/// A factor of imbalance a line, one for each layer with experts.
result<std::vector<double>> imbalances_of(const options& o, const costs::model_shape& model,
                                          std::vector<plan_origin::input>& inputs) {
  const result<content> read = content_of(o, "expert-imbalance", *o.imbalances);
  const auto refused = [&](const std::string& where, const std::string& why) {
    return error{errc::invalid_input, read.value().name + where + ": " + why};
  };
  if (!read)
    return error{read.error().code,
                 read.error().detail + " (--expert-imbalance takes a factor of at least 1, or a file with one a line)"};
  std::istringstream in(read.value().text);
  inputs.push_back(kept("expert-imbalance", read.value().title, read.value().text));
  std::vector<double> factors;
  const int ranks = o.layout.shape.expert;
  const bool is_given = !o.automatic || o.automatic->expert;
  for (std::string line; std::getline(in, line);) {
    const std::vector<double> cells = numbers_of(line);
    if (cells.size() != 1 || cells.front() < 1)
      return refused(", line " + std::to_string(factors.size() + 1),
                     "expected a factor of at least 1, the busiest rank over the mean");
    if (is_given && cells.front() > ranks)
      return refused(", line " + std::to_string(factors.size() + 1),
                     "--expert-imbalance " + too_imbalanced(line, ranks));
    factors.push_back(cells.front());
  }
  const int layers = model.moe_layers();
  if (factors.size() != static_cast<std::size_t>(layers))
    return refused("", std::to_string(factors.size()) + " factors, but " + model.name + " has " +
                           std::to_string(layers) + " layers with experts");
  return factors;
}

result<costs::gpu> gpu_of(const options& o) {
  const bool is_kept = o.from && o.from->input("gpu");
  if (const std::optional<costs::gpu> known = costs::gpus::named(*o.gpu); known && !is_kept) return *known;
  const result<content> read = content_of(o, "gpu", file_named(shipped::gpus, *o.gpu));
  if (!read) return with_names(read.error(), shipped::gpus, "--gpu");
  std::istringstream in(read.value().text);
  return io::read_gpu(in, read.value().name);
}

std::string text_of(const costs::gpu& device) {
  std::ostringstream out;
  (void)io::write_gpu(out, device);  // a string does not fail
  return out.str();
}

std::filesystem::path shipped_tables() { return shipped_data() / "profiles"; }

/// Whether kernels of the GPU's family were measured in the shipped tables.
bool has_shipped_tables(const costs::gpu& device) {
  const result<io::profile> all = io::read_profile(shipped_tables());
  return all && all.value().of(device.name).has_value();
}

/// The GPU's own rows of the tables; what they lack, its description fills in. Shipped tables are of the boards that
/// are known by name, and are told for another board of the same chip by its clock and its memory.
result<measurements> measured_on(const costs::gpu& device, const std::filesystem::path& folder, bool are_shipped) {
  result<std::vector<io::profile_table>> tables = io::read_profile_tables(folder);
  if (!tables) return std::move(tables).error();
  result<io::profile> own = io::profile::of_tables(tables.value()).of(device.name);
  if (!own)
    return error{own.error().code, folder.string() + ": " + own.error().detail +
                                       "; measure it with examples/profile, or use --cost transformer"};
  const std::optional<costs::gpu> chip = costs::gpus::named(costs::gpu_family(device.name));
  const io::profile rows = are_shipped && chip ? own.value().on_board(*chip, device) : own.value();
  const auto here = [&](const error& e) { return error{e.code, folder.string() + ": " + e.detail}; };
  // Between and beyond measured sizes times follow the constants of these kernels, where there are enough to fit them.
  const costs::wave_model sheet(device);
  const result<costs::calibrated> fitted = costs::calibrated::fit(sheet, rows.attention, rows.products);
  result<costs::kernel_times> kernels =
      costs::kernel_times::make(fitted ? fitted.value().model() : sheet, rows.attention, rows.products);
  if (!kernels) return here(kernels.error());
  result<costs::network> network = costs::network::make(device, rows.collectives);
  if (!network) return here(network.error());
  measurements made{std::move(kernels).value(), std::move(network).value(), rows.layers, {}, {}};
  for (const io::profile_note& note : rows.notes) made.notes.push_back(note.text);
  for (const io::profile_table& table : tables.value())
    for (const io::profile_note& note : io::implausible_times(table, device)) made.notes.push_back(note.text);
  for (const std::string& note : made.network.notes()) made.notes.push_back(note);
  if (!fitted)
    made.notes.push_back("constants of kernels are the data sheet's, not fitted to the tables: " +
                         fitted.error().detail);
  made.tables = std::move(tables).value();
  return made;
}

/// The setting's, of a model that may have other layers: all of these with the mean of the factors.
costs::routing routing_of(const setting& s, const costs::model_shape& model) {
  costs::routing how = s.routing;
  if (how.imbalances.empty() || model == *s.model) return how;
  const double sum = std::accumulate(how.imbalances.begin(), how.imbalances.end(), 0.0);
  how.imbalance = sum / static_cast<double>(how.imbalances.size());
  how.imbalances.clear();
  return how;
}

/// What options recompute, and a table of saved tensors says nothing of.
std::optional<costs::recompute> unknown_to(const costs::saved_tensors& tensors, const options& o) {
  std::vector<costs::recompute> asked{o.layout.recompute};
  for (const baseline_setting& one : o.baselines)
    if (one.fixed.recompute) asked.push_back(*one.fixed.recompute);
  for (const costs::recompute what : asked)
    if (!tensors.knows(what)) return what;
  return std::nullopt;
}

/// Whether a planner's plans have cut sequences.
bool may_cut(const options& o, const std::string& planner) { return o.trainer.cuts && cuts(planner); }

/// How the trainer runs a layout under a planner, as far as options say.
costs::stage_options trainer_of(const setting& s, const std::string& planner, const costs::model_shape& model,
                                const shapes::layout& on) {
  return {.recompute = on.recompute,
          .routing = routing_of(s, model),
          .cuts = may_cut(s.options, planner),
          .reduction = s.options.reduction,
          .tensors = s.tensors,
          .layers = on.layers,
          .hop = s.options.hop,
          .joins_rows = s.options.joins_rows,
          .call = s.options.call,
          .longest = s.longest};
}

}  // namespace

result<memory_limit> usual_limit(const costs::gpu& device) {
  const bytes margin = memory_margin::of(device).all();
  if (device.memory > margin) return memory_limit{memory_unit::byte, (device.memory - margin).value};
  return error{errc::out_of_memory, device.name + " has " + detail::amount(device.memory.value, memory_unit::byte) +
                                        ", less than the margin of " + detail::amount(margin.value, memory_unit::byte) +
                                        " for fragments, workspaces and communicators; set --memory"};
}

result<setting> prepare(const options& o) {
  setting s{.options = o, .layout = o.layout};
  if (o.model) {
    result<io::model_reading> model = model_of(o, s.inputs);
    if (!model) return std::move(model).error();
    s.model = std::move(model.value().shape);
    s.model_notes = std::move(model.value().notes);
    if (result<void> sound = check_experts(o, *s.model); !sound) return std::move(sound).error();
    shape& on = s.layout.shape;
    if (!on.words.empty() && on.words == even_words(s.model->vocabulary, on.stages)) on.words.clear();
  }
  s.routing = o.routing;
  if (o.imbalances) {
    result<std::vector<double>> factors = imbalances_of(o, *s.model, s.inputs);
    if (!factors) return std::move(factors).error();
    s.routing.imbalances = std::move(factors).value();
  }
  if (o.gpu) {
    result<costs::gpu> device = gpu_of(o);
    if (!device) return std::move(device).error();
    s.device = std::move(device).value();
    s.inputs.push_back(kept("gpu", s.device->name, text_of(*s.device)));
  }
  if (o.quadratic) return s;
  if (o.memory_table) {
    const result<content> read = content_of(o, "memory-table", *o.memory_table);
    if (!read) return read.error();
    std::istringstream in(read.value().text);
    result<costs::saved_tensors> tensors = io::read_saved_tensors(in, read.value().name);
    if (!tensors) return std::move(tensors).error();
    s.tensors = std::move(tensors).value();
    if (const std::optional<costs::recompute> what = unknown_to(s.tensors, o))
      return error{errc::invalid_input, read.value().name + " says of no tensor that recomputation \"" +
                                            name_of(*what) + "\" keeps it, which is asked for: add \"" +
                                            name_of(*what) + "\" to its lists \"kept\", or choose another one"};
    s.inputs.push_back(kept("memory-table", read.value().title, read.value().text));
  }
  if (o.prices == prices::automatic) {
    s.options.prices = has_shipped_tables(*s.device) ? prices::measured : prices::transformer;
    s.options.cost_text = s.options.prices == prices::measured ? "measured" : "transformer";
  }
  const bool are_shipped = s.options.prices == prices::measured;
  if (o.profile || are_shipped) {
    result<measurements> measured = measured_on(*s.device, are_shipped ? shipped_tables() : *o.profile, are_shipped);
    if (!measured) return std::move(measured).error();
    s.measured = std::move(measured).value();
    for (const io::profile_table& table : s.measured->tables) {
      if (!table.measures) continue;
      result<plan_origin::input> one = fingerprint("cost", table.file);
      if (!one) return std::move(one).error();
      s.inputs.push_back(std::move(one).value());
    }
  }
  const std::optional<memory_limit>& asked = s.layout.shape.memory;
  if (asked && asked->unit == memory_unit::byte && asked->amount > s.device->memory.value && !o.force)
    return error{errc::invalid_input, "--memory " + detail::amount(asked->amount, memory_unit::byte) + " exceeds the " +
                                          detail::amount(s.device->memory.value, memory_unit::byte) + " of " +
                                          s.device->name + "; lower it, or add --force"};
  if (!s.layout.shape.memory) {
    const result<memory_limit> limit = usual_limit(*s.device);
    if (!limit) return limit.error();
    s.layout.shape.memory = limit.value();
  }
  return s;
}

bool can_be_imbalanced(const setting& s, const shapes::layout& on) {
  const std::vector<double>& each = s.routing.imbalances;
  const double most = each.empty() ? s.routing.imbalance : *std::max_element(each.begin(), each.end());
  return on.shape.expert == 1 || most <= on.shape.expert;
}

request request_of(const setting& s, const std::string& planner, const shapes::layout& on) {
  const options& o = s.options;
  return {.planner = planner,
          .shape = on.shape,
          .context = fixed_for(planner, o.baselines).context.value_or(tokens{0}),
          .slices = o.slices,
          .lending = o.lending,
          .tunes_lending = o.trainer.lends_attention && !o.has("lending"),
          .effort = o.effort,
          .most_sharers = o.sharers,
          .exchanges = o.exchanges,
          .zone = s.model && s.device ? solvers::sharing_zones::of(*s.model, *s.device, on.shape)
                                      : solvers::sharing_zones{},
          .zones = o.zones,
          .relays = s.device ? solvers::relaying::of(*s.device, on.shape, o.relay) : solvers::relaying{},
          .by_estimates = o.by_estimates,
          .weights = o.weights,
          .cuts = o.cuts,
          .may_cut = o.trainer.cuts,
          .forward_only = o.forward_only,
          .threads = o.threads};
}

costs::quadratic quadratic_on(const setting& s, const shapes::layout& on) {
  costs::quadratic cost = *s.options.quadratic;
  const double share = static_cast<double>(s.options.layout.shape.chunks) / on.shape.chunks;
  cost.linear *= share;
  cost.attention *= share;
  cost.joins_rows = s.options.joins_rows;
  return cost;
}

result<costs::transformer> transformer_on(const setting& s, const std::string& planner, const costs::model_shape& model,
                                          const shapes::layout& on) {
  if (s.options.prices != prices::sheet)
    return costs::transformer::make(model, *s.device, on.shape, trainer_of(s, planner, model, on));
  return costs::transformer::sheet(model, *s.device, on.shape,
                                   {.recompute = on.recompute,
                                    .reduction = s.options.reduction,
                                    .layers = on.layers,
                                    .hop = s.options.hop,
                                    .tensors = s.tensors,
                                    .routing = routing_of(s, model),
                                    .cuts = may_cut(s.options, planner),
                                    .call = s.options.call,
                                    .joins_rows = s.options.joins_rows});
}

result<costs::profiled> profiled_on(const setting& s, const std::string& planner, const costs::model_shape& model,
                                    const shapes::layout& on) {
  return costs::profiled_of(model, on.shape, s.measured->kernels, s.measured->network,
                            trainer_of(s, planner, model, on), s.measured->layers);
}

result<any_cost> cost_on(const setting& s, const std::string& planner, const shapes::layout& on) {
  if (s.options.quadratic) return any_cost(quadratic_on(s, on));
  const auto any = [](auto&& made) -> result<any_cost> {
    if (!made) return std::move(made).error();
    return any_cost(std::move(made).value());
  };
  return s.measured ? any(profiled_on(s, planner, *s.model, on)) : any(transformer_on(s, planner, *s.model, on));
}

}  // namespace cli
