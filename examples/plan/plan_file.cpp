#include "plan_file.hpp"

#include <slimpack/io/plan_json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace cli {
namespace {

using namespace slimpack;

bool is_same(double told, double due) { return std::abs(told - due) <= 1e-9 * std::abs(due); }

/// The first figure that does not follow from the others; empty where all do.
std::string wrong_figure(const plan& p) {
  const auto differs = [](const char* name, double told, double due, const char* from) {
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "%s is %.9g, where %s is %.9g", name, told, from, due);
    return std::string(numbers);
  };
  seconds slowest{}, bound{};
  for (const replica_plan& r : p.replicas) slowest = std::max(slowest, r.makespan);
  for (const slimpack::bound& b : p.bounds) bound = std::max(bound, b.time);
  const seconds step = slowest + p.reduce_time;
  if (!is_same(p.step_time.value, step.value))
    return differs("step_time", p.step_time.value, step.value, "the slowest makespan and reduce_time");
  if (!is_same(p.lower_bound.value, bound.value))
    return differs("lower_bound", p.lower_bound.value, bound.value, "the largest of bounds");
  if (p.lower_bound.value > p.step_time.value * (1 + 1e-9))
    return differs("lower_bound", p.lower_bound.value, p.step_time.value, "step_time, which it bounds,");
  const double efficiency = step.value > 0 ? p.lower_bound / p.step_time : 1;
  if (step.value > 0 && !is_same(p.efficiency, efficiency))
    return differs("efficiency", p.efficiency, efficiency, "lower_bound over step_time");
  if (!(p.bubble >= -1e-9 && p.bubble <= 1)) return "bubble is no share of the time of the stages, from 0 to 1";
  if (p.any_layout_bound && p.any_layout_bound->value > p.step_time.value * (1 + 1e-9))
    return differs("any_layout_bound", p.any_layout_bound->value, p.step_time.value, "step_time, which it bounds,");
  return {};
}

}  // namespace

result<plan> read_plan_file(const std::filesystem::path& file) {
  result<plan> read = io::read_plan(file);
  if (!read) return read;
  if (const std::string wrong = wrong_figure(read.value()); !wrong.empty())
    return error{errc::invalid_input, file.string() + ": " + wrong + ": the file was changed; plan the batch again"};
  return read;
}

}  // namespace cli
