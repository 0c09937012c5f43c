// slimpack-bench-plan_quality: how good plans are, beside the figures they are meant to reach.
//
//   slimpack-bench-plan_quality [--only PARTS] [--quick] [--seeds 1,2,3] [--models mixtral-8x22b,deepseek-v3]
//                               [--gpus 64,256] [--rows FILE] [--constants light,front] [FOLDER]
//
// PARTS: table, bounds, balance, realistic, time, growth, ranks, ablation, exchange, frames, chunks, calls, refit.
//
// refit is measured where --only names it: it judges constants, not plans, all or those of --constants. --models,
// --gpus: of the realistic part, which takes hours, most of them on 1024 GPUs. --rows: where that part keeps the rows
// that it has finished, so that a run that was ended goes on where it was; the file of another build is to be deleted.
// FOLDER holds lengths/, models/, profiles/ as examples/data does, which is the default. Everything but times is the
// same on every machine with the same C library. The exit status is 1 when a goal is missed that
// known_misses.hpp does not list.

#include "parts.hpp"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

namespace quality = slimpack::plan_quality;

struct part {
  const char* name;
  void (*measure)(const quality::options&, quality::scoreboard&);
  bool where_named{};  ///< only
};

constexpr part parts[] = {
    {"table", quality::table},         {"bounds", quality::bounds},     {"balance", quality::balance},
    {"realistic", quality::realistic}, {"time", quality::planning},     {"growth", quality::growth},
    {"ranks", quality::ranks},         {"ablation", quality::ablation}, {"exchange", quality::exchanges},
    {"frames", quality::frames},       {"chunks", quality::chunks},     {"calls", quality::calls},
    {"refit", quality::refit, true}};

int complain() {
  std::fprintf(stderr, "usage: slimpack-bench-plan_quality [--only");
  for (const part& each : parts) std::fprintf(stderr, "%c%s", &each == parts ? ' ' : ',', each.name);
  std::fprintf(
      stderr,
      "] [--quick] [--seeds 1,2,3] [--models NAMES] [--gpus COUNTS] [--rows FILE] [--constants NAMES] [FOLDER]\n");
  return 2;
}

/// Whether `text` is numbers with commas between them.
bool read_seeds(std::string_view text, std::vector<std::uint64_t>& seeds) {
  seeds.clear();
  for (const char* at = text.data();; ++at) {
    const auto [end, failed] = std::from_chars(at, text.data() + text.size(), seeds.emplace_back());
    if (failed != std::errc{}) return false;
    if (end == text.data() + text.size()) return true;
    if (*end != ',') return false;
    at = end;
  }
}

}  // namespace

int main(int argc, char** argv) {
  quality::options o{.data = SLIMPACK_DATA};
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view given = argv[i];
    if (given == "--quick") {
      o.quick = true;
    } else if (given == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else if (given == "--models" && i + 1 < argc) {
      o.models = argv[++i];
    } else if (given == "--gpus" && i + 1 < argc) {
      o.gpus = argv[++i];
    } else if (given == "--constants" && i + 1 < argc) {
      o.constants = argv[++i];
    } else if (given == "--rows" && i + 1 < argc) {
      o.rows = argv[++i];
    } else if (given == "--seeds" && i + 1 < argc) {
      if (!read_seeds(argv[++i], o.seeds)) return complain();
    } else if (given.substr(0, 1) == "-") {
      return complain();
    } else {
      o.data = given;
    }
  }
  if (o.quick) o.seeds.resize(1);
  if (!std::filesystem::is_directory(o.data)) {
    std::fprintf(stderr, "slimpack-bench-plan_quality: %s: is no folder\n", o.data.c_str());
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  quality::scoreboard board;
  for (const part& each : parts)
    if (benchmarks::chosen(only, each.name) && !(each.where_named && only.empty())) each.measure(o, board);
  board.print_summary();
  return board.misses_only_known() ? 0 : 1;
}
