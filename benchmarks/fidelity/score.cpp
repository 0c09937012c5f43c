#include "score.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace fidelity {
namespace {

double error_of(const score& s, const row& r) {
  return s.kind == error_kind::relative ? r.predicted / r.measured - 1 : r.predicted - r.measured;
}

std::string shown(error_kind kind, double error) {
  char text[32];
  std::snprintf(text, sizeof text, kind == error_kind::relative ? "%.2f %%" : "%.5f",
                kind == error_kind::relative ? 100 * error : error);
  return text;
}

}  // namespace

std::string in_percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * ratio);
  return text;
}

summary summarise(const score& s) {
  summary made;
  std::vector<double> sizes;
  for (const row& r : s.rows) {
    if (!r.scored) continue;
    const double error = error_of(s, r);
    made.bias += error;
    made.mean += std::abs(error);
    sizes.push_back(std::abs(error));
    if (made.worst_row.empty() || std::abs(error) > std::abs(made.worst)) made.worst = error, made.worst_row = r.name;
  }
  made.rows = sizes.size();
  if (sizes.empty()) {
    made.mean = made.bias = made.worst = made.p95 = std::numeric_limits<double>::quiet_NaN();
    return made;
  }
  made.mean /= static_cast<double>(sizes.size());
  made.bias /= static_cast<double>(sizes.size());
  std::sort(sizes.begin(), sizes.end());
  made.p95 = sizes[(sizes.size() - 1) * 95 / 100];
  return made;
}

bool print(const score& s, bool every_row) {
  std::printf("%-4s %s\n     fitted: %s\n", s.id.c_str(), s.claim.c_str(), s.fitted.c_str());
  if (const summary all = summarise(s); all.rows > 0)
    std::printf("     %zu rows: mean error %s, bias %s, 95th percentile %s, worst %s (%s)\n", all.rows,
                shown(s.kind, all.mean).c_str(), shown(s.kind, all.bias).c_str(), shown(s.kind, all.p95).c_str(),
                shown(s.kind, all.worst).c_str(), all.worst_row.c_str());
  if (every_row)
    for (const row& r : s.rows)
      std::printf("       %-60s %12.6g %12.6g  %s%s\n", r.name.c_str(), r.predicted, r.measured,
                  shown(s.kind, error_of(s, r)).c_str(), r.scored ? "" : "  not scored");
  for (const std::string& note : s.notes) std::printf("     %s\n", note.c_str());
  bool met = true;
  for (const goal& g : s.goals) {
    if (!g.judged()) {
      std::printf("     no rows %s, goal %s %.5g\n", g.what.c_str(), g.at_most ? "at most" : "at least", g.limit);
      continue;
    }
    std::printf("     %s  %s: %.5g, goal %s %.5g\n", g.met() ? "met   " : "MISSED", g.what.c_str(), g.value,
                g.at_most ? "at most" : "at least", g.limit);
    met = met && g.met();
  }
  std::printf("\n");
  return met;
}

}  // namespace fidelity
