#include "summary.hpp"

#include "simulator.hpp"
#include "texts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <ostream>

namespace cli {
namespace {

using namespace slimpack;

std::vector<std::string> line_of(std::string name, const std::vector<double>& values,
                                 const std::function<std::string(double)>& text) {
  std::vector<std::string> cells{std::move(name)};
  for (const double value : quantiles_of(values)) cells.push_back(text(value));
  return cells;
}

}  // namespace

std::array<double, 6> quantiles_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], place - static_cast<double>(below));
  };
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {values.front(), at(0.1), at(0.5), at(0.9), values.back(), sum / static_cast<double>(values.size())};
}

void summary::add(const setting& s, const std::vector<row>& rows) {
  if (planners_.empty())
    for (const row& r : rows) planners_.push_back({.planner = label_of(rows, r)});
  const std::size_t batch = planners_.front().steps.size();
  const double slowest =
      batch == 0 ? -1 : *std::max_element(planners_.front().steps.begin(), planners_.front().steps.end());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    figures& f = planners_[k];
    if (!rows[k].plan || rows[k].over_memory) {
      ++f.missing;
      continue;
    }
    const plan& p = rows[k].plan.value();
    f.steps.push_back(p.step_time.value);
    if (!p.rank_time) continue;
    if (f.shares.empty())
      for (const auto& [name, part] : rank_time_parts_of(p)) f.shares.emplace_back(name, std::vector<double>{});
    const double all = p.rank_time->total().value;
    for (std::size_t i = 0; i < f.shares.size(); ++i)
      f.shares[i].second.push_back(all > 0 ? ((*p.rank_time).*rank_time_parts[i].second).value / all : 0);
  }
  if (planners_.front().steps.back() <= slowest) return;
  slowest_.clear();
  for (const row& r : rows)
    if (r.plan) slowest_.push_back(r.plan.value());
  facts_ = facts_of(s, rows);
  shown_ = batch;
}

void summary::print(std::ostream& out) const {
  std::vector<std::vector<std::string>> table{{"of " + std::to_string(planners_.front().steps.size()) + " batches",
                                               "min", "p10", "median", "p90", "max", "mean"}};
  for (const figures& f : planners_) {
    if (f.steps.empty()) continue;
    const std::string head = f.planner + (is_forward_only(slowest_.front()) ? " time" : " step time");
    table.push_back(line_of(head, f.steps, [](double s) { return time_of(seconds{s}); }));
    for (const auto& [name, values] : f.shares)
      table.push_back(line_of("  " + name, values, [](double v) { return percent(v, 2); }));
  }
  out << "\n";
  print_table(out, table);
  out << "Shares are parts of the stages' time. Each quantile is taken by itself, so shares need not add up. The "
         "slowest batch is number "
      << shown_ << ".\n";
  for (const figures& f : planners_)
    if (f.missing > 0)
      out << f.planner << " has no plan that fits the memory for " << f.missing << " batches; they are left out.\n";
}

slimpack::result<void> summary::write_page(std::ostream& out) const {
  io::batch_times times{.shown = shown_};
  for (const figures& f : planners_) {
    if (f.missing > 0) continue;  // its batches would not be those of the others
    times.planners.push_back({f.planner, {}});
    for (const double step : f.steps) times.planners.back().steps.push_back({step});
  }
  return io::write_timeline(out, slowest_, {}, times, simulator{}, facts_);
}

}  // namespace cli
