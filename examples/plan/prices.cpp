#include "prices.hpp"

#include "shipped.hpp"
#include "tables.hpp"
#include "texts.hpp"

#include <slimpack/costs/kernels/origin.hpp>
#include <slimpack/costs/kernels/work.hpp>
#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/provenance.hpp>
#include <slimpack/io/csv.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iomanip>
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
    out << "          " << std::setw(5) << percent(part.total() / all.total(), 0) << " " << name << ": " << part << "\n";
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
             percent(measured, 0) + " of the time at measured points or between them, " +
             percent(all.share(costs::origin::extrapolated) + all.share(costs::origin::derived), 0) + " derived from them";
    }
    case prices::sheet:
      return "transformer:sheet: what single large kernels sustain and nothing besides, nothing of it measured here; trainings are "
             "slower";
    default: return "transformer: rates of " + s.device->name + " in its description, none of the time measured itself";
  }
}

/// How far such prices were off where trainings were published; nothing where the table lacks them.
void print_errors(std::ostream& out, const setting& s) {
  const result<io::csv_table> read = io::csv_table::read(shipped_data() / "price_errors.csv");
  if (!read) return;
  const io::csv_table& rows = read.value();
  const std::string family = costs::gpu_family(s.device->name);
  const auto text = [&](std::size_t i, const char* column) { return rows.text(i, column).value(); };
  const auto ours = [&](std::size_t i) { return text(i, "cost") == s.options.cost_text; };
  bool here = false;
  for (std::size_t i = 0; i < rows.rows(); ++i) here |= ours(i) && text(i, "gpu") == family;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    if (!ours(i) || (here && text(i, "gpu") != family)) continue;
    const bool one = text(i, "runs") == "1";
    const double worst = rows.number(i, "worst_error_pct").value();
    out << "          on " << text(i, "runs") << " published training" << (one ? "" : "s") << " (" << text(i, "what") << ") "
        << (one ? "" : text(i, "mean_error_pct") + " % off in the mean, ") << fixed(std::abs(worst), 1) << " % too "
        << (worst < 0 ? "fast" : "slow") << (one ? "" : " at worst") << (here ? "" : ", other GPUs than this") << "\n";
  }
}

}  // namespace

void print_prices(std::ostream& out, const setting& s, const any_cost& any) {
  if (s.options.prices == prices::quadratic) return;
  out << "prices    " << described(s, any) << "\n";
  if (s.options.prices != prices::profiled) print_errors(out, s);
  if (s.measured && (s.options.prices == prices::profiled || s.options.verbose))
    print_sources(out, s, std::get<costs::profiled>(any));
}

}  // namespace cli
