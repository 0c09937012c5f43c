// F11: times of collectives at sizes, numbers of ranks and operations that were left out of the tables.

#include "scores.hpp"

#include <slimpack/costs/network/collective_table.hpp>
#include <slimpack/costs/network/network.hpp>
#include <slimpack/io/profile.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fidelity {
namespace {

using slimpack::bytes;
using slimpack::costs::collective;
using slimpack::costs::collective_sample;
using slimpack::costs::collective_table;
using slimpack::costs::network;
using slimpack::costs::rank_group;
using samples = std::vector<collective_sample>;

std::string name_of(const collective_sample& s) {
  return std::string(slimpack::costs::name_of(s.op)) + " of " + std::to_string(s.ranks) + ", " +
         std::to_string(s.ranks_per_node) + " a node";
}
std::string box_of(const collective_sample& s) { return s.node.empty() ? s.gpu : s.gpu + " " + s.node; }

row row_of(const collective_sample& s, double predicted) {
  return {box_of(s) + ", " + name_of(s) + ", " + std::to_string(static_cast<long long>(s.size.value)) + " B", predicted,
          s.time.value};
}

/// What was measured in one kind of box, in order of size for each operation and group.
struct box {
  samples all;
  std::map<std::tuple<collective, int, int>, samples> curves;
};

/// Groups measured at one size only tell nothing of others, and are left out.
std::vector<box> boxes_of(const samples& every) {
  samples measured;
  std::map<std::tuple<std::string, collective, int, int>, bytes> first_size;
  const auto group_key = [](const collective_sample& s) {
    return std::tuple(box_of(s), s.op, s.ranks_per_node, s.ranks);
  };
  std::set<std::tuple<std::string, collective, int, int>> curves;
  for (const collective_sample& s : every)
    if (first_size.emplace(group_key(s), s.size).first->second != s.size) curves.insert(group_key(s));
  for (const collective_sample& s : every)
    if (curves.contains(group_key(s))) measured.push_back(s);
  std::vector<box> all;
  std::map<std::string, std::size_t> known;
  for (const collective_sample& s : measured) {
    const auto [found, is_new] = known.emplace(box_of(s), all.size());
    if (is_new) all.emplace_back();
    all[found->second].all.push_back(s);
    all[found->second].curves[{s.op, s.ranks_per_node, s.ranks}].push_back(s);
  }
  for (box& b : all)
    for (auto& [group, curve] : b.curves)
      std::stable_sort(curve.begin(), curve.end(), [](const auto& x, const auto& y) { return x.size < y.size; });
  return all;
}

/// The measured group, in the box that `net` takes it for.
rank_group group_of(const network& net, const collective_sample& s) {
  const int nodes = (s.ranks + s.ranks_per_node - 1) / s.ranks_per_node;
  return nodes > 1 ? rank_group{s.ranks, nodes, nodes} : net.place().adjacent(s.ranks);
}

/// The machine of a box, as far as tables use it: how many GPUs a node has, and what its links carry.
slimpack::costs::gpu machine_of(const box& b, const samples& known) {
  const collective_table table = collective_table::make(known).value();
  slimpack::costs::gpu g{.name = box_of(b.all.front()), .gpus_per_node = 1, .inside = {{0}, 1}, .between = {{0}, 1}};
  for (const collective_sample& s : b.all) g.gpus_per_node = std::max(g.gpus_per_node, s.ranks_per_node);
  if (const auto most = table.bandwidth(false)) g.inside.bandwidth = most->bandwidth;
  if (const auto most = table.bandwidth(true)) g.between.bandwidth = most->bandwidth;
  return g;
}

double time_of(const box& b, const samples& known, const collective_sample& asked) {
  const network net = network::make(machine_of(b, known), known).value();
  return net.time(asked.op, group_of(net, asked), asked.size).value;
}

/// latency + bytes / bandwidth with the least relative squared error, both at least 0.
double line_at(const samples& known, bytes size) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const collective_sample& s : known) {
    const double x = s.size.value, y = s.time.value, weight = 1 / (y * y);
    w += weight, wx += weight * x, wy += weight * y, wxx += weight * x * x, wxy += weight * x * y;
  }
  const double slope = std::max(0.0, (w * wxy - wx * wy) / (w * wxx - wx * wx));
  const double latency = (wy - slope * wx) / w;
  return latency >= 0 ? latency + slope * size.value : wxy / wxx * size.value;
}

/// Mean absolute errors by operation, for a note.
class by_operation {
 public:
  void add(const collective_sample& s, double predicted, double line) {
    sums& of = of_[s.op];
    ++of.rows;
    of.error += std::abs(predicted / s.time.value - 1);
    of.line += std::abs(line / s.time.value - 1);
  }
  [[nodiscard]] std::string text() const {
    std::string said;
    sums all;
    for (const auto& [op, of] : of_) {
      said += std::string(slimpack::costs::name_of(op)) + " " + shown(of) + ", ";
      all.rows += of.rows, all.error += of.error, all.line += of.line;
    }
    return said + "all " + shown(all);
  }

 private:
  struct sums {
    double rows{};
    double error{};
    double line{};
  };
  static std::string shown(const sums& of) {
    if (of.rows == 0) return "none";
    return in_percent(of.error / of.rows) + " (" + in_percent(of.line / of.rows) + ")";
  }
  std::map<collective, sums> of_;
};

std::string wiring(const samples& measured) {
  const auto table = collective_table::make(measured).value();
  return "wired as " +
         (table.island() ? "islands of " + std::to_string(*table.island()) + " GPUs" : std::string("a switch")) +
         "; the nearest rising curve through all rows is off by " + in_percent(table.noise()) + ": noise";
}

/// Inner sizes of each curve, found from the others, with all that was measured at a size; `leaves_out(i, asked)`: size
/// i is unknown when `asked` is wanted.
score of_sizes(const box& b, std::string claim, const std::function<bool(std::size_t, std::size_t)>& leaves_out) {
  score made{.id = "F11",
             .claim = std::move(claim) + ", " + box_of(b.all.front()) + "; seconds",
             .fitted = "nothing but the table, of the rows that are not left out"};
  by_operation errors, large;
  for (const auto& [group, curve] : b.curves) {
    std::vector<std::size_t> place;  // of each row's size among the sizes
    for (std::size_t i = 0; i < curve.size(); ++i)
      place.push_back(i == 0 ? 0 : place.back() + (curve[i].size != curve[i - 1].size ? 1 : 0));
    for (std::size_t asked = 0; asked < curve.size(); ++asked) {
      if (place[asked] == 0 || place[asked] == place.back()) continue;
      samples known;
      for (std::size_t i = 0; i < curve.size(); ++i)
        if (!leaves_out(place[i], place[asked])) known.push_back(curve[i]);
      if (known.empty() || known.front().size == known.back().size) continue;
      const double predicted = time_of(b, known, curve[asked]);
      made.rows.push_back(row_of(curve[asked], predicted));
      const double line = line_at(known, curve[asked].size);
      errors.add(curve[asked], predicted, line);
      if (curve[asked].size >= bytes{0x1p20}) large.add(curve[asked], predicted, line);
    }
  }
  if (made.rows.empty()) return made;
  made.notes = {"mean errors (in brackets, of a line for all sizes of a group): " + errors.text(),
                "of 1 MiB and more: " + large.text(), wiring(b.all)};
  made.goals.push_back({"mean error", summarise(made).mean, 0.10});
  return made;
}

/// Rows of each group, or each operation, found from those of the others in the same kind of box.
score of_others(const std::vector<box>& boxes, std::string claim, bool whole_operations) {
  score made{
      .id = "F11", .claim = std::move(claim), .fitted = "nothing but the table, of the rows that are not left out"};
  std::map<std::string, std::pair<double, double>> by_group;  // sum of errors, rows
  for (const box& b : boxes) {
    for (const auto& [group, curve] : b.curves) {
      const collective_sample& asked = curve.front();
      const bool leaves = asked.ranks > asked.ranks_per_node;
      samples known;
      bool alike = false;
      for (const collective_sample& s : b.all) {
        const bool same_group = s.ranks == asked.ranks && s.ranks_per_node == asked.ranks_per_node;
        if (s.op == asked.op && (whole_operations || same_group)) continue;
        known.push_back(s);
        alike = alike || ((whole_operations || s.op == asked.op) && (s.ranks > s.ranks_per_node) == leaves);
      }
      if (!alike) continue;
      for (const collective_sample& s : curve) {
        made.rows.push_back(row_of(s, time_of(b, known, s)));
        auto& [sum, rows] = by_group[box_of(s) + ", " + name_of(s)];
        sum += std::abs(made.rows.back().predicted / s.time.value - 1), ++rows;
      }
    }
  }
  for (const auto& [name, of] : by_group) made.notes.push_back(name + ": " + in_percent(of.first / of.second));
  return made;
}

}  // namespace

std::vector<score> collectives(const std::filesystem::path& data) {
  const std::vector<box> boxes = boxes_of(slimpack::io::read_profile(data / "profiles").value().collectives);
  std::vector<score> all;
  for (const box& b : boxes) {
    all.push_back(of_sizes(b, "Collectives, each size left out in turn",
                           [](std::size_t i, std::size_t asked) { return i == asked; }));
    all.push_back(of_sizes(b, "Collectives, every second size left out",
                           [](std::size_t i, std::size_t asked) { return i % 2 == asked % 2; }));
  }
  for (const char* claim : {"Collectives, each size left out in turn", "Collectives, every second size left out"}) {
    score pooled{.id = "F11",
                 .claim = std::string(claim) + ", all boxes together; seconds",
                 .fitted = "nothing but the table, of the rows that are not left out"};
    for (const score& one : all)
      if (one.claim.rfind(claim, 0) == 0) pooled.rows.insert(pooled.rows.end(), one.rows.begin(), one.rows.end());
    if (pooled.rows.empty()) continue;
    pooled.goals.push_back({"mean error", summarise(pooled).mean, 0.10});
    all.push_back(std::move(pooled));
  }
  all.push_back(of_others(boxes, "Collectives, each number of ranks left out in turn; seconds, no goal", false));
  all.push_back(of_others(boxes, "Collectives, each operation left out in turn; seconds, no goal", true));
  return all;
}

}  // namespace fidelity
