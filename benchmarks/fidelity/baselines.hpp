#ifndef SLIMPACK_BENCHMARKS_FIDELITY_BASELINES_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_BASELINES_HPP

#include "score.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace fidelity {

/// Rows in a line.
inline std::string summary_of(const std::string& what, std::vector<row> rows) {
  score s;
  s.rows = std::move(rows);
  const summary all = summarise(s);
  char text[160];
  std::snprintf(text, sizeof text, "%s: %zu rows, mean error %.1f %%, worst %.1f %%", what.c_str(), all.rows,
                100 * all.mean, 100 * all.worst);
  return text;
}

/// A measured iteration, and the flops of a GPU in it as 6 x parameters x tokens.
struct measured_run {
  std::string name;
  std::string file;
  double flops{};
  double seconds{};
};

/// What needs no simulator: one throughput for all, the median of these very runs; and that of the run before in the
/// file.
inline std::vector<std::string> dumb_baselines(const std::vector<measured_run>& runs) {
  if (runs.empty()) return {};
  std::vector<double> rates;
  for (const measured_run& r : runs) rates.push_back(r.flops / r.seconds);
  std::sort(rates.begin(), rates.end());
  const double middle = rates[rates.size() / 2];
  std::vector<row> constant, last;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    constant.push_back({runs[i].name, runs[i].flops / middle, runs[i].seconds});
    if (i > 0 && runs[i].file == runs[i - 1].file)
      last.push_back({runs[i].name, runs[i].flops / runs[i - 1].flops * runs[i - 1].seconds, runs[i].seconds});
  }
  char text[96];
  std::snprintf(text, sizeof text, "dumb baseline, 6 x parameters x tokens at %.0f TFLOP/s a GPU", middle / 1e12);
  return {summary_of(text, constant), summary_of("dumb baseline, throughput of the row before", last)};
}

}  // namespace fidelity

#endif
