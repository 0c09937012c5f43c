// slimpack-bench-fidelity: how far predictions are from what others measured and published.
//
//   slimpack-bench-fidelity [--rows] [--only F4,F5] [--price-errors FILE] [--speed-up-errors FILE] [FOLDER]
//
// FOLDER holds profiles/, published/, gpus/ and models/ as examples/data does, which is the default; rows and GPUs that
// are added there are scored like the others, or named with the reason why not. A subject whose files cannot be read
// misses its goals, and says why. --rows prints every row. The exit status is 1 when a goal is missed, or a score asked
// for by --only has no row.

#include "scores.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct options {
  std::filesystem::path data{SLIMPACK_DATA};
  std::string only{};
  std::filesystem::path price_errors{};     ///< file to write; empty: none
  std::filesystem::path speed_up_errors{};  ///< likewise
  bool rows{};
};

/// One subject's scores and the goals among them.
struct subject {
  std::string_view ids;
  std::vector<fidelity::score> (*scores)(const std::filesystem::path&);
};

constexpr subject subjects[] = {
    {"F1 F2 F3 F4 F5", fidelity::pipelines}, {"F6 F7 F15", fidelity::iterations}, {"F8 F9 F10", fidelity::kernels},
    {"F11", fidelity::collectives},          {"F12", fidelity::memory},           {"F13", fidelity::speed},
    {"F14", fidelity::long_context}};

bool among(std::string_view ids, const std::string& id) {
  return (" " + std::string(ids) + " ").find(" " + id + " ") != std::string::npos;
}

bool any_wanted(const options& o, std::string_view ids) {
  for (std::size_t at = 0; at < ids.size(); at = ids.find_first_not_of(' ', ids.find(' ', at)))
    if (benchmarks::chosen(o.only, std::string(ids.substr(at, ids.find(' ', at) - at)))) return true;
  return false;
}

/// The ids of --only, or none.
std::vector<std::string> asked_for(const options& o) {
  std::vector<std::string> ids;
  for (std::size_t at = 0; at < o.only.size();) {
    const std::size_t end = std::min(o.only.size(), o.only.find(',', at));
    if (end > at) ids.push_back(o.only.substr(at, end - at));
    at = end + 1;
  }
  return ids;
}

/// One that no subject has, or empty.
std::string unknown(const options& o) {
  for (const std::string& id : asked_for(o)) {
    const auto has = [&](const subject& s) { return among(s.ids, id); };
    if (std::none_of(std::begin(subjects), std::end(subjects), has)) return id;
  }
  return {};
}

/// Writes a table where a file is named for it. False, and a line on standard error, where it cannot be written.
bool write_table(const std::filesystem::path& file, const std::string& table) {
  if (file.empty() || (std::ofstream(file) << table).flush()) return true;
  std::fprintf(stderr, "slimpack-bench-fidelity: %s: cannot be written\n", file.c_str());
  return false;
}

int run(const options& o) {
  std::size_t goals = 0;
  std::string missed;
  std::string table = "cost,model,gpu,what,runs,mean_error_pct,bias_pct,worst_error_pct\n";
  std::string speed_up_table = "cost,model,what,pairs,nine_of_ten_pct\n";
  std::set<std::string> scored;  // ids with a row or a goal, or with the reason why there is none
  for (const subject& each : subjects) {
    if (!any_wanted(o, each.ids)) continue;
    try {
      for (const fidelity::score& s : each.scores(o.data)) {
        if (!benchmarks::chosen(o.only, s.id)) continue;
        for (const std::string& line : s.table) table += line + "\n";
        for (const std::string& line : s.speed_up_table) speed_up_table += line + "\n";
        const auto judged =
            std::count_if(s.goals.begin(), s.goals.end(), [](const fidelity::goal& g) { return g.judged(); });
        goals += static_cast<std::size_t>(judged);
        if (judged > 0 || fidelity::summarise(s).rows > 0) scored.insert(s.id);
        if (!fidelity::print(s, o.rows)) missed += " " + s.id + " (" + s.claim + ")";
      }
    } catch (const std::exception& e) {
      missed += " " + std::string(each.ids) + " (not scored)";
      for (const std::string& id : asked_for(o))
        if (among(each.ids, id)) scored.insert(id);
      std::printf("%s\n     not scored: %s\n\n", std::string(each.ids).c_str(), e.what());
    }
  }
  std::printf("%zu goals, missed:%s\n", goals, missed.empty() ? " none" : missed.c_str());
  if (!write_table(o.price_errors, table) || !write_table(o.speed_up_errors, speed_up_table)) return 2;
  std::string empty;
  for (const std::string& id : asked_for(o))
    if (!scored.contains(id)) empty += (empty.empty() ? "" : ", ") + id;
  if (!empty.empty())
    std::fprintf(stderr, "slimpack-bench-fidelity: %s: holds no row that %s can be scored on\n", o.data.c_str(),
                 empty.c_str());
  return missed.empty() && empty.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view given = argv[i];
    if (given == "--rows") {
      o.rows = true;
    } else if (given == "--only" && i + 1 < argc) {
      o.only = argv[++i];
    } else if (given == "--price-errors" && i + 1 < argc) {
      o.price_errors = argv[++i];
    } else if (given == "--speed-up-errors" && i + 1 < argc) {
      o.speed_up_errors = argv[++i];
    } else if (given.substr(0, 1) == "-") {
      std::fprintf(stderr,
                   "usage: slimpack-bench-fidelity [--rows] [--only F4,F5] [--price-errors FILE] "
                   "[--speed-up-errors FILE] [FOLDER]\n");
      return 2;
    } else {
      o.data = given;
    }
  }
  if (!std::filesystem::is_directory(o.data)) {
    std::fprintf(stderr, "slimpack-bench-fidelity: %s: is no folder\n", o.data.c_str());
    return 2;
  }
  if (const std::string id = unknown(o); !id.empty()) {
    std::fprintf(stderr, "slimpack-bench-fidelity: --only %s: there are F1 to F15\n", id.c_str());
    return 2;
  }
  return run(o);
}
