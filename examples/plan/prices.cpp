#include "prices.hpp"

#include "shipped.hpp"
#include "tables.hpp"
#include "texts.hpp"

#include <slimpack/costs/kernels/origin.hpp>
#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/provenance.hpp>
#include <slimpack/io/csv.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iomanip>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

using namespace slimpack;

/// How much of the time goes where, and how it is known.
void print_shares(std::ostream& out, const costs::provenance& all) {
  out << "times     of an uncut sequence of 8192 tokens, forward and backward: " << all << "\n";
  using costs::work;
  for (const auto& [name, on] : {std::pair{"attention", work::attention},
                                 {"products", work::products},
                                 {"element-wise", work::elementwise},
                                 {"traffic", work::traffic}}) {
    const costs::provenance part = all.of(on);
    out << "          " << std::setw(5) << percent(part.total() / all.total(), 0) << " " << name << ": " << part
        << "\n";
  }
}

/// Each model once, in the order of the tables.
std::string models_of(const std::vector<costs::layer_sample>& layers) {
  std::vector<std::string> models;
  for (const costs::layer_sample& l : layers)
    if (std::find(models.begin(), models.end(), l.model) == models.end()) models.push_back(l.model);
  std::string list;
  for (const std::string& model : models) list += (list.empty() ? "" : ", ") + model;
  return list;
}

/// Where measured times come from, and what is wrong with them.
void print_sources(std::ostream& out, const setting& s, const costs::profiled& cost) {
  const measurements& m = *s.measured;
  const auto raised = [](double change) {
    return change > 0 ? ", changed by up to " + percent(change, 0) + " so that no time falls" : std::string{};
  };
  print_shares(out, cost.sources());
  if (cost.largest_change() > 0)
    out << "stages    tabulated from what follows" << raised(cost.largest_change()) << "\n";
  out << "attention ";
  if (const auto& table = m.kernels.attention_measured())
    out << table->reference() << (table->has_backward() ? "" : ", backward not measured")
        << raised(table->largest_change());
  else
    out << "not measured";
  out << "\nproducts  ";
  if (const auto& table = m.kernels.products_measured())
    out << "measured" << raised(table->largest_change());
  else
    out << "not measured";
  out << "\nlayers    " << (m.layers.empty() ? "not measured" : "measured of " + models_of(m.layers));
  out << "\nlinks     " << (m.network.measured() ? "measured" : "not measured") << "\n";
  for (const std::string& use : uses_of(s)) out << "table     " << use << "\n";
  for (const std::string& note : m.notes) out << "note      " << note << "\n";
}

/// What --cost is in words.
std::string described(const setting& s, const any_cost& any) {
  switch (s.options.prices) {
    case prices::measured:
    case prices::profiled: {
      const costs::provenance& all = std::get<costs::profiled>(any).sources();
      const double measured = all.share(costs::origin::measured) + all.share(costs::origin::interpolated);
      return (s.options.prices == prices::measured ? "measured: shipped tables of " + s.device->name + "'s family, "
                                                   : s.options.cost_text + ": ") +
             percent(measured, 0) + " of the time interpolated between measured points, " +
             percent(all.share(costs::origin::extrapolated) + all.share(costs::origin::derived), 0) +
             " extrapolated from them";
    }
    case prices::sheet:
      return "transformer:sheet: what single large kernels sustain and nothing besides, nothing of it measured here; "
             "trainings are "
             "slower";
    default:
      return "transformer: rates of " + s.device->name + " in its description, none of the time measured itself";
  }
}

/// Published trainings of a kind, and how far predictions of their seconds were off: predicted / measured - 1.
struct checked {
  std::string what;
  int runs{};
  double mean{};  ///< of absolute errors
  double worst{};
};

/// Those that say most about the prices of a setting.
struct checks {
  std::vector<checked> rows;
  bool is_same_kind{};  ///< of models with experts where the setting's has some, and else of models without
  bool is_same_gpu{};
};

bool has_experts(const setting& s) { return s.model && s.model->experts > 0; }

/// What the tables of errors call a model like this.
const char* kind_of(const setting& s) { return has_experts(s) ? "experts" : "dense"; }

/// A shipped table of errors; nothing where it lacks.
std::optional<io::csv_table> errors_in(const char* file) {
  result<io::csv_table> read = io::csv_table::read(shipped_data() / file);
  if (!read) return std::nullopt;
  return std::move(read).value();
}

checks checks_of(const setting& s) {
  checks found;
  const std::optional<io::csv_table> table = errors_in("price_errors.csv");
  if (!table) return found;
  const auto text = [&](std::size_t i, const char* column) { return table->text(i, column).value(); };
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < table->rows(); ++i)
    if (text(i, "cost") == s.options.cost_text) rows.push_back(i);
  const auto narrowed = [&](const char* column, const std::string& value) {
    std::vector<std::size_t> like;
    for (const std::size_t i : rows)
      if (text(i, column) == value) like.push_back(i);
    if (like.empty()) return false;
    rows = std::move(like);
    return true;
  };
  found.is_same_kind = narrowed("model", kind_of(s));
  found.is_same_gpu = s.device && narrowed("gpu", costs::gpu_family(s.device->name));
  for (const std::size_t i : rows) {
    const auto number = [&](const char* column) { return table->number(i, column).value(); };
    found.rows.push_back({text(i, "what"), static_cast<int>(number("runs")), number("mean_error_pct") / 100,
                          number("worst_error_pct") / 100});
  }
  return found;
}

/// What trainings took beside their predictions: "it took 7.6 % longer".
std::string took(int runs, double mean, double worst) {
  const double longer = 1 / (1 + worst) - 1;
  return (runs == 1 ? "it took " : "off by " + percent(mean, 1) + " in the mean, at worst one took ") +
         percent(std::abs(longer), 1) + (longer < 0 ? " less" : " longer");
}

std::string trainings(int runs) { return std::to_string(runs) + " published training" + (runs == 1 ? "" : "s"); }

/// What a reader must know of trainings that are not like the setting.
std::string unlike(const setting& s, const checks& c) {
  std::string text;
  if (!c.is_same_kind) text += has_experts(s) ? ", of models without experts" : ", of models with experts";
  if (!c.is_same_gpu) text += ", on other GPUs than this";
  return text;
}

void print_errors(std::ostream& out, const setting& s) {
  const checks all = checks_of(s);
  for (const checked& c : all.rows)
    out << "          checked on " << trainings(c.runs) << " (" << c.what << ")" << unlike(s, all) << ": "
        << took(c.runs, c.mean, c.worst) << " than such prices say\n";
}

/// A line of speed_up_errors.csv.
struct checked_speed_ups {
  std::string what;
  int pairs{};
  double nine_of_ten{};
  bool is_same_kind{};
};

std::optional<checked_speed_ups> speed_ups_of(const setting& s) {
  const std::optional<io::csv_table> table = errors_in("speed_up_errors.csv");
  std::optional<checked_speed_ups> found;
  for (std::size_t i = 0; table && i < table->rows(); ++i) {
    if (table->text(i, "cost").value() != s.options.cost_text) continue;
    const bool is_same_kind = table->text(i, "model").value() == kind_of(s);
    if (found && !is_same_kind) continue;
    found = {table->text(i, "what").value(), static_cast<int>(table->number(i, "pairs").value()),
             table->number(i, "nine_of_ten_pct").value() / 100, is_same_kind};
  }
  return found;
}

}  // namespace

void print_prices(std::ostream& out, const setting& s, const any_cost& any) {
  if (s.options.prices == prices::quadratic) return;
  out << "prices    " << described(s, any) << "\n";
  if (s.options.prices != prices::profiled) print_errors(out, s);
  if (s.measured && (s.options.prices == prices::profiled || s.options.verbose))
    print_sources(out, s, std::get<costs::profiled>(any));
}

std::string price_error_text(const setting& s) {
  const checks all = checks_of(s);
  if (all.rows.empty())
    return "How far these prices are off is not known: no published training was predicted with them.";
  int runs = 0;
  double sum = 0, worst = 0;
  for (const checked& c : all.rows) {
    runs += c.runs, sum += c.runs * c.mean;
    if (std::abs(std::log1p(c.worst)) > std::abs(std::log1p(worst))) worst = c.worst;
  }
  return "These prices were checked on " + trainings(runs) + unlike(s, all) + ": " + took(runs, sum / runs, worst) +
         " than they say.";
}

std::optional<double> ratio_spread(const setting& s) {
  const std::optional<checked_speed_ups> known = speed_ups_of(s);
  return known ? std::optional(1 + known->nine_of_ten) : std::nullopt;
}

std::string ratio_spread_text(const setting& s) {
  const std::optional<checked_speed_ups> known = speed_ups_of(s);
  if (!known) return {};
  std::string of = known->what;
  if (!known->is_same_kind) of += has_experts(s) ? ", none with experts" : ", all with experts";
  return "Ranges of speed-ups: both plans have the same prices, so an error that they share cancels. What is left was "
         "at most " +
         percent(known->nine_of_ten, 1) + "\nin nine of ten of " + std::to_string(known->pairs) +
         " pairs of published trainings that ran one batch on the same GPUs\n(" + of + ").";
}

speed_up speed_up_of(seconds rival, seconds own, std::optional<double> spread) {
  const double value = rival / own;
  const double factor = spread.value_or(1);
  return {value, value / factor, value * factor};
}

std::string beyond_peak_text(const setting& s) {
  return "MFU above 100 %: the prices of --cost " + s.options.cost_text + " are beyond the peak of " + s.device->name +
         ", so no GPU of this kind can be so fast. Measure them (examples/profile), or leave --cost out.";
}

}  // namespace cli
