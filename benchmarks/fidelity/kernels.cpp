// F8, F9, F10: how far are the times of attention and of matrix products off, by the wave model with constants fitted
// to other rows, by tables at points left out of them, and on a GPU that five points were measured on? Beside them
// stands what one constant rate gives.

#include "data.hpp"
#include "scores.hpp"
#include "untaught.hpp"

#include <slimpack/costs/calibrated.hpp>
#include <slimpack/costs/kernels/attention_table.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/product_table.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>
#include <slimpack/io/gpu.hpp>
#include <slimpack/io/profile.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fidelity {
namespace {

using slimpack::pass;
using slimpack::result;
using slimpack::seconds;
using slimpack::costs::attention_sample;
using slimpack::costs::attention_table;
using slimpack::costs::calibrated;
using slimpack::costs::product_sample;
using slimpack::costs::product_table;
using slimpack::costs::wave_model;

constexpr std::size_t enough_rows = 20;  // of a kernel, to fit on some and score the others
constexpr std::size_t probes = 5;
constexpr std::size_t more_probes[] = {5, 10, 20, 40};
constexpr int draws = 100;
constexpr std::uint64_t seed = 7;

/// Every fit starts there; those constants came from all rows of the published tables together.
constexpr const char* prior = ", near the constants as shipped, which saw all shipped rows";

// Attention and products, asked alike.

std::string program_of(const attention_sample& s) { return s.kernel; }
std::string program_of(const product_sample&) { return "products"; }
std::string kernel_of(const attention_sample& s) { return "attention " + s.kernel + " on " + s.gpu; }
std::string kernel_of(const product_sample& s) { return "products on " + s.gpu; }

// In this order every second point is every second length.
auto shape_of(const attention_sample& s) {
  return std::tuple(s.heads, s.kv_heads, s.head_dim, s.batch, s.queries, s.keys);
}
auto shape_of(const product_sample& s) { return std::tuple(s.n, s.k, s.m); }

std::string name_of(const attention_sample& s) {
  return s.kernel + " on " + s.gpu + ", batch " + std::to_string(s.batch) + ", " + std::to_string(s.queries.value) +
         " of " + std::to_string(s.keys.value) + " tokens, heads " + std::to_string(s.heads) + "/" +
         std::to_string(s.kv_heads);
}
std::string name_of(const product_sample& s) {
  return s.gpu + ", " + std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k);
}

seconds measured(const attention_sample& s) { return s.forward; }
seconds measured(const product_sample& s) { return s.time; }

seconds modelled(const wave_model& m, const attention_sample& s) {
  return m.attention(pass::forward, s.queries, s.keys, s.batch * s.heads, s.batch * s.kv_heads, s.head_dim);
}
seconds modelled(const wave_model& m, const product_sample& s) { return m.product(s.m, s.n, s.k); }

attention_table tabulated(const wave_model& m, const std::vector<attention_sample>& rows) {
  return attention_table::make(m, rows).value();
}
product_table tabulated(const wave_model& m, const std::vector<product_sample>& rows) {
  return product_table::make(m, rows).value();
}
seconds looked_up(const attention_table& t, const attention_sample& s) {
  return t(pass::forward, s.queries, s.keys, s.heads, s.kv_heads, s.head_dim, s.batch).time;
}
seconds looked_up(const product_table& t, const product_sample& s) { return t(s.m, s.n, s.k).time; }

double work(const attention_sample& s) {
  const auto q = static_cast<double>(s.queries.value), k = static_cast<double>(s.keys.value);
  return 4.0 * s.head_dim * s.heads * s.batch * (q * k - q * (q - 1) / 2);
}

result<calibrated> fit(const wave_model& start, const std::vector<attention_sample>& rows) {
  return calibrated::fit(start, rows, {});
}
result<calibrated> fit(const wave_model& start, const std::vector<product_sample>& rows) {
  return calibrated::fit(start, {}, rows);
}
/// Throws what cannot be fitted.
wave_model fitted(const wave_model& start, const auto& rows) { return fit(start, rows).value().model(); }

/// What was measured of one kernel on one GPU, in order of shape.
template <class Sample>
struct kernel {
  std::string name;
  slimpack::costs::gpu device;
  std::vector<Sample> rows;

  /// Every second shape, with all that was measured of it.
  [[nodiscard]] std::vector<Sample> half(bool second) const {
    std::vector<Sample> kept;
    bool here = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i == 0 || shape_of(rows[i]) != shape_of(rows[i - 1])) here = !here;
      if (here == second) kept.push_back(rows[i]);
    }
    return kept;
  }
};

/// The description of a GPU's family, where there is one.
std::optional<slimpack::costs::gpu> description_of(const std::string& gpu, const std::filesystem::path& data) {
  const std::filesystem::path file = found(data, "gpus/" + slimpack::io::gpu_family(gpu) + ".json");
  if (!std::filesystem::exists(file)) return std::nullopt;
  return slimpack::io::read_gpu(file).value();
}

/// Kernels with enough rows, on GPUs that a file describes; what is left out is said in `notes`.
template <class Sample>
std::vector<kernel<Sample>> kernels_in(const std::filesystem::path& data, const std::vector<Sample>& all,
                                       std::vector<std::string>& notes) {
  std::map<std::string, std::vector<Sample>> by_name;
  for (const Sample& s : all) by_name[kernel_of(s)].push_back(s);
  std::vector<kernel<Sample>> kernels;
  for (auto& [name, rows] : by_name) {
    if (rows.size() < enough_rows) {
      notes.push_back("left out: " + name + ", " + std::to_string(rows.size()) + " rows");
      continue;
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Sample& a, const Sample& b) { return shape_of(a) < shape_of(b); });
    std::optional<slimpack::costs::gpu> device = description_of(rows.front().gpu, data);
    if (!device) {
      notes.push_back("left out: " + name + ", no file in gpus/ describes it");
      continue;
    }
    kernel<Sample> made{name, std::move(*device), std::move(rows)};
    const wave_model sheet(made.device);
    for (const bool second : {false, true})
      if (const result<calibrated> half = fit(sheet, made.half(second)); !half || made.half(second).empty()) {
        notes.push_back("left out: " + name + ", " + (half ? "all rows are of one shape" : half.error().detail));
        made.rows.clear();
        break;
      }
    if (!made.rows.empty()) kernels.push_back(std::move(made));
  }
  return kernels;
}

/// Forwards of causal attention. A deterministic backward has the forward of its kernel, measured once.
std::vector<attention_sample> forwards(const std::vector<attention_sample>& all) {
  std::vector<attention_sample> kept;
  for (const attention_sample& s : all)
    if (s.causal && !s.deterministic) kept.push_back(s);
  return kept;
}

row row_of(const auto& sample, seconds predicted) { return {name_of(sample), predicted.value, measured(sample).value}; }

double mean_error(const wave_model& m, const auto& rows) {
  double sum = 0;
  for (const auto& s : rows) sum += std::abs(modelled(m, s) / measured(s) - 1);
  return sum / static_cast<double>(rows.size());
}

/// One rate, the median of the other half, for all sizes.
double constant_rate_error(const auto& k) {
  double sum = 0;
  for (const bool second : {false, true}) {
    std::vector<double> rates;
    for (const auto& s : k.half(!second)) rates.push_back(work(s) / measured(s).value);
    std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
    for (const auto& s : k.half(second)) sum += std::abs(work(s) / rates[rates.size() / 2] / measured(s).value - 1);
  }
  return sum / static_cast<double>(k.rows.size());
}

std::string constants(const wave_model& m) {
  const wave_model::attention_constants& a = m.attention();
  char text[200];
  std::snprintf(
      text, sizeof text,
      "launch %.1f us, share %.2f, tile_keys %.0f, waves %.2f, diagonal %.2f, key_passes %.2f, head_passes %.2f",
      1e6 * a.launch.value, a.share, a.tile_keys, a.waves, a.diagonal, a.key_passes, a.head_passes);
  return text;
}

// F8

score halves(const kernel<attention_sample>& k, std::string claim, const char* goal_of) {
  const wave_model start(k.device);
  score s{.id = "F8",
          .claim = std::move(claim),
          .fitted = "7 constants of the wave model, for each half of the rows to the other" + std::string(prior)};
  for (const bool second : {false, true}) {
    const wave_model model = fitted(start, k.half(!second));
    for (const attention_sample& r : k.half(second)) s.rows.push_back(row_of(r, modelled(model, r)));
  }
  s.goals = {{std::string("mean error ") + goal_of, summarise(s).mean, 0.08}};
  const wave_model all = fitted(start, k.rows);
  s.notes = {"fitted to all of them: " + in_percent(mean_error(all, k.rows)) + ", " + constants(all),
             "one constant rate: " + in_percent(constant_rate_error(k))};
  return s;
}

/// Of the kernels of other families of GPUs that were measured at half of its shapes or more, the one that is the same
/// program if there is one, on the GPU whose peak is nearest.
template <class Sample>
const kernel<Sample>* donor_of(const kernel<Sample>& k, const std::vector<kernel<Sample>>& all) {
  std::set<decltype(shape_of(k.rows[0]))> shapes;
  for (const Sample& s : k.rows) shapes.insert(shape_of(s));
  const auto likeness = [&](const kernel<Sample>& other) {
    return std::pair(program_of(other.rows[0]) == program_of(k.rows[0]),
                     -std::abs(std::log(other.device.peak_bf16_flops / k.device.peak_bf16_flops)));
  };
  const kernel<Sample>* best = nullptr;
  for (const kernel<Sample>& other : all) {
    const auto common = std::count_if(other.rows.begin(), other.rows.end(),
                                      [&](const Sample& s) { return shapes.contains(shape_of(s)); });
    if (other.device.name == k.device.name || 2 * static_cast<std::size_t>(common) < shapes.size()) continue;
    if (best == nullptr || likeness(other) > likeness(*best)) best = &other;
  }
  return best;
}

/// What a GPU changes of a kernel: the rate of its tiles, and what starting one costs, counted in keys, of which a
/// faster one does more meanwhile. Times are linear in 1 / share and tile_keys / share; of these, least squares of
/// relative errors.
wave_model two_constants(const wave_model& start, const std::vector<attention_sample>& rows) {
  wave_model::attention_constants c = start.attention();
  const auto with = [&](double share, double tile_keys) {
    c.share = share, c.tile_keys = tile_keys;
    return wave_model(start.device(), c, start.product());
  };
  const wave_model slow = with(0.5, 0), fast = with(1, 0), started = with(1, 1);
  double kk = 0, ks = 0, ss = 0, kt = 0, st = 0;
  for (const attention_sample& s : rows) {
    const double t = measured(s).value;
    const double keys = (modelled(slow, s) - modelled(fast, s)).value / t;  // at a share of 1
    const double starts = (modelled(started, s) - modelled(fast, s)).value / t;
    const double rest = 1 + keys - modelled(fast, s).value / t;  // without launch and traffic
    kk += keys * keys, ks += keys * starts, ss += starts * starts, kt += keys * rest, st += starts * rest;
  }
  const double determinant = kk * ss - ks * ks;
  const double slowness = (kt * ss - st * ks) / determinant;
  return with(1 / slowness, std::max(0.0, (st * kk - kt * ks) / determinant / slowness));
}

score two_constants_of_another_gpu(const kernel<attention_sample>& k, const kernel<attention_sample>& donor) {
  const wave_model theirs = fitted(wave_model(donor.device), donor.rows);
  const wave_model start(k.device, theirs.attention(), theirs.product());
  score s{.id = "F8",
          .claim = k.name + " as on a GPU never measured: forward, seconds",
          .fitted =
              "5 constants to " + donor.name + prior + "; share and tile_keys, for each half of the rows to the other"};
  for (const bool second : {false, true}) {
    const wave_model model = two_constants(start, k.half(!second));
    for (const attention_sample& r : k.half(second)) s.rows.push_back(row_of(r, modelled(model, r)));
  }
  s.goals = {{"mean error with peak, multiprocessors and two constants", summarise(s).mean, 0.10}};
  s.notes = {"no constant fitted to this GPU: " + in_percent(mean_error(start, k.rows))};
  return s;
}

// F9

enum class removed { every_second, each_in_turn };

template <class Sample>
std::vector<Sample> without(std::vector<Sample> rows, const Sample& asked) {
  std::erase_if(rows, [&](const Sample& other) { return shape_of(other) == shape_of(asked); });
  return rows;
}

/// Constants come from rows of the other half too, so nothing is known of a row that is asked for.
template <class Sample>
score from_the_rest(const std::vector<kernel<Sample>>& all, removed which, const std::string& what, double mean,
                    double p95) {
  score s{.id = "F9",
          .claim = what + ", " +
                   (which == removed::every_second ? "every second point removed" : "each point removed in turn") +
                   ": seconds from the table of the rest",
          .fitted = "the wave model between points, for each half of the rows to the other" + std::string(prior)};
  for (const kernel<Sample>& k : all) {
    score own;
    for (const bool second : {false, true}) {
      const std::vector<Sample> others = k.half(!second);
      const wave_model model = fitted(wave_model(k.device), others);
      const auto rest = tabulated(model, others);
      for (const Sample& asked : k.half(second))
        own.rows.push_back(row_of(asked, which == removed::every_second
                                             ? looked_up(rest, asked)
                                             : looked_up(tabulated(model, without(k.rows, asked)), asked)));
    }
    const summary of_kernel = summarise(own);
    s.notes.push_back(k.name + ": mean error " + in_percent(of_kernel.mean) + ", 95th percentile " +
                      in_percent(of_kernel.p95));
    s.rows.insert(s.rows.end(), own.rows.begin(), own.rows.end());
  }
  const summary pooled = summarise(s);
  s.goals = {{"mean error", pooled.mean, mean}, {"95th percentile", pooled.p95, p95}};
  return s;
}

/// Backwards from the measured forward, and the ratios of the kernel's other lengths.
score backward_from_other_lengths(const std::vector<attention_sample>& all, const std::filesystem::path& data) {
  score s{
      .id = "F9",
      .claim =
          "causal attention backward, each length removed in turn: seconds from the forward and the ratios of the rest",
      .fitted = "the wave model between points, to the rest and the forward"};
  double fixed_ratio = 0;
  for (const attention_sample& asked : all) {
    if (!asked.causal || !asked.backward) continue;
    const std::optional<slimpack::costs::gpu> device = description_of(asked.gpu, data);
    if (!device) continue;
    std::vector<attention_sample> kernel;
    for (const attention_sample& other : all)
      if (kernel_of(other) == kernel_of(asked) && other.deterministic == asked.deterministic) kernel.push_back(other);
    for (attention_sample& other : kernel)
      if (shape_of(other) == shape_of(asked)) other.backward.reset();
    const wave_model sheet(*device);
    const result<calibrated> made = fit(sheet, kernel);
    const attention_table table = tabulated(made ? made.value().model() : sheet, kernel);
    if (!table.has_backward()) continue;
    const seconds predicted =
        table(pass::backward, asked.queries, asked.keys, asked.heads, asked.kv_heads, asked.head_dim, asked.batch).time;
    s.rows.push_back(
        {name_of(asked) + (asked.deterministic ? ", deterministic" : ""), predicted.value, asked.backward->value});
    fixed_ratio += std::abs(2.5 * asked.forward / *asked.backward - 1);
  }
  if (!s.rows.empty())
    s.notes = {"2.5 x forward, as operations count: " + in_percent(fixed_ratio / static_cast<double>(s.rows.size()))};
  return s;
}

// F10

/// Mean error of the rows that are not at the first `count` of `places`, fitted to those that are. Points that cannot
/// be fitted tell nothing.
template <class Sample>
double error_from(const wave_model& start, const std::vector<Sample>& rows, const std::vector<std::size_t>& places,
                  std::size_t count) {
  std::vector<bool> taken(rows.size());
  std::vector<Sample> some, others;
  for (std::size_t i = 0; i < count; ++i) taken[places[i]] = true, some.push_back(rows[places[i]]);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!taken[i]) others.push_back(rows[i]);
  const result<calibrated> made = fit(start, some);
  return mean_error(made ? made.value().model() : start, others);
}

/// The same by `count` random points: the median of the draws.
template <class Sample>
double error_by_chance(const wave_model& start, const std::vector<Sample>& rows, std::size_t count) {
  slimpack::testing::generator random(seed);
  std::vector<std::size_t> places(rows.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::vector<double> errors;
  for (int i = 0; i < draws; ++i) {
    random.shuffle(places);
    errors.push_back(error_from(start, rows, places, count));
  }
  std::nth_element(errors.begin(), errors.begin() + draws / 2, errors.end());
  return errors[draws / 2];
}

template <class Sample>
score from_probes(const kernel<Sample>& k, const kernel<Sample>* donor) {
  const wave_model sheet(k.device);
  wave_model start = sheet;
  if (donor != nullptr) {
    const wave_model theirs = fitted(untaught(donor->device), donor->rows);
    start = wave_model(k.device, theirs.attention(), theirs.product());
  }
  const std::vector<std::size_t> chosen = calibrated::probes(start, k.rows, probes);
  std::vector<Sample> measured_first;
  for (const std::size_t i : chosen) measured_first.push_back(k.rows[i]);
  const wave_model model = fitted(start, measured_first);
  score s{.id = "F10",
          .claim = k.name + " from the data sheet and " + std::to_string(probes) + " points: seconds",
          .fitted = (donor != nullptr ? "constants to " + donor->name + ", near round ones that saw no table"
                                      : std::string("constants as shipped")) +
                    ", then to the points that calibrated::probes chooses"};
  for (std::size_t i = 0; i < k.rows.size(); ++i)
    if (std::find(chosen.begin(), chosen.end(), i) == chosen.end())
      s.rows.push_back(row_of(k.rows[i], modelled(model, k.rows[i])));
  s.goals = {{"mean error", summarise(s).mean, 0.15}};
  s.notes = {"without a point: " + in_percent(mean_error(start, k.rows)) +
             "; constants as shipped, which saw these rows: " + in_percent(mean_error(sheet, k.rows))};
  const std::vector<std::size_t> most = calibrated::probes(start, k.rows, std::end(more_probes)[-1]);
  for (const std::size_t count : more_probes)
    if (count <= most.size() && count < k.rows.size())
      s.notes.push_back(std::to_string(count) + " points: " + in_percent(error_from(start, k.rows, most, count)) +
                        ", median of " + std::to_string(draws) + " random draws (seed " + std::to_string(seed) + ") " +
                        in_percent(error_by_chance(start, k.rows, count)));
  for (const Sample& p : measured_first) s.notes.push_back("point: " + name_of(p));
  return s;
}

}  // namespace

std::vector<score> kernels(const std::filesystem::path& data) {
  const slimpack::io::profile profile = slimpack::io::read_profile(data / "profiles").value();
  std::vector<std::string> notes;
  const std::vector<kernel<attention_sample>> attention = kernels_in(data, forwards(profile.attention), notes);
  const std::vector<kernel<product_sample>> products = kernels_in(data, profile.products, notes);
  std::vector<score> scores;
  left_out impossible;  // of kernels that nobody has seen, such as one whose five points are all of a size
  const auto add = [&](const std::string& what, auto&& make) {
    impossible.attempt(what, [&] { scores.push_back(make()); });
  };
  for (const kernel<attention_sample>& k : attention) {
    const bool slices =
        std::any_of(k.rows.begin(), k.rows.end(), [](const attention_sample& s) { return s.queries != s.keys; });
    const std::string claim = k.name + (slices ? ", slices" : ", whole sequences") + ": forward, seconds";
    add("F8 " + k.name, [&] { return halves(k, claim, "of the unseen half"); });
  }
  for (const kernel<attention_sample>& k : attention)
    if (const kernel<attention_sample>* donor = donor_of(k, attention))
      add("F8 " + k.name + " as never measured", [&] { return two_constants_of_another_gpu(k, *donor); });
  for (const removed which : {removed::every_second, removed::each_in_turn}) {
    add("F9 attention", [&] { return from_the_rest(attention, which, "causal attention", 0.04, 0.16); });
    add("F9 products", [&] { return from_the_rest(products, which, "matrix products", 0.05, 0.25); });
  }
  add("F9 backward", [&] { return backward_from_other_lengths(profile.attention, data); });
  for (const kernel<attention_sample>& k : attention)
    add("F10 " + k.name, [&] { return from_probes(k, donor_of(k, attention)); });
  for (const kernel<product_sample>& k : products)
    add("F10 " + k.name, [&] { return from_probes(k, donor_of(k, products)); });
  impossible.tell(notes);
  if (!scores.empty()) scores.back().notes.insert(scores.back().notes.end(), notes.begin(), notes.end());
  return scores;
}

}  // namespace fidelity
