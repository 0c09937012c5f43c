// How planning time grows with the number of sequences, and the largest batch that is meant to be planned.
//
// Log-normal lengths, uniform pipeline, 8 stages, cap 1.25 times the longest; once with 64 sequences for each replica,
// once with 8 replicas. Times are those of the processor, certificate included, so that other programs and the number
// of threads do not matter; medians. `one plan` tries a single candidate a replica, so that no budget makes large
// batches look cheap. The exponent is the slope of the least-squares line through the logarithms.

#include "laws.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <slimpack/io/plan_json.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/plan_graphs.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

namespace slimpack::plan_quality {
namespace {

/// Median seconds of the processor that `runs` calls take.
template <class Call>
double median_processor_time(int runs, const Call& call) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const std::clock_t begin = std::clock();
    call();
    times.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[static_cast<std::size_t>(runs) / 2];
}

/// Slope of the least-squares line through (log x, log y).
double exponent(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = std::log(x[i]), v = std::log(y[i]);
    sum_x += u, sum_y += v, sum_xx += u * u, sum_xy += u * v;
  }
  return (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
}

void series(const options& o, scoreboard& board, const char* name, bool more_replicas, const effort& at) {
  const std::size_t most = o.quick ? 4096 : 65536;
  std::vector<double> sequences, times;
  std::printf("  %-28s %-8s ms:", name, at.name);
  for (std::size_t n = 512; n <= most; n *= 2) {
    const std::vector<tokens> lengths = log_normal(n, o.seeds.front());
    const shape on{
        .stages = 8, .replicas = more_replicas ? static_cast<int>(n / 64) : 8, .memory = times_longest(1.25, lengths)};
    sequences.push_back(static_cast<double>(n));
    const auto once = [&] { planned(on, uniform_cost, lengths, at.budget).value(); };
    times.push_back(median_processor_time(n < 16384 ? 5 : 3, once));
    std::printf(" %.4g", 1e3 * times.back());
    std::fflush(stdout);
  }
  const double slope = exponent(sequences, times);
  std::printf("\n  %-28s %-8s exponent %.3f, goal at most 1.1 %s\n", "", "", slope,
              board.judge({std::string("growth: exponent of planning time, ") + name + ", " + at.name, slope, 1.1}));
}

/// Counts what is written, and forgets it.
class counting_buffer : public std::streambuf {
 public:
  std::size_t written{};

 private:
  int_type overflow(int_type c) override { return ++written, traits_type::not_eof(c); }
  std::streamsize xsputn(const char*, std::streamsize n) override { return written += static_cast<std::size_t>(n), n; }
};

void largest(const options& o) {
  const std::size_t n = o.quick ? 4096 : 65536;
  const std::vector<tokens> lengths = log_normal(n, o.seeds.front());
  const shape on{.stages = 16, .replicas = static_cast<int>(n / 64), .memory = times_longest(1.25, lengths)};
  result<plan> made = error{errc::invalid_input, ""};
  const double planning =
      median_processor_time(1, [&] { made = planned(on, uniform_cost, lengths, solvers::search_budget::normal()); });
  const plan& p = made.value();
  std::size_t nodes = 0;
  const double simulating = median_processor_time(1, [&] {
    simulators::task_graph graph;
    std::vector<seconds> start;
    for (std::size_t r = 0; r < p.replicas.size(); ++r) {
      graph.assign(simulators::workload_of(p, r), p.replicas[r].programs).value();
      graph.sweep(start);
      nodes += graph.size();
    }
  });
  counting_buffer file;
  std::ostream out(&file);
  const double writing = median_processor_time(1, [&] { io::write_plan(out, p).value(); });
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf(
      "  %zu sequences, %d replicas x %d stages, normal: planned in %.2f s of one core's time, %.2f s on the clock\n"
      "  %zu million simulated nodes, %.1f million a second; JSON of %zu MB in %.2f s; peak memory %ld MB\n\n",
      n, on.replicas, on.stages, planning, p.planning_time.value, nodes / 1000000,
      1e-6 * static_cast<double>(nodes) / simulating, file.written / 1000000, writing, used.ru_maxrss / 1024);
}

}  // namespace

void growth(const options& o, scoreboard& board) {
  std::printf("growth: planning time over sequences from 512 on, log-normal with seed %llu\n",
              static_cast<unsigned long long>(o.seeds.front()));
  for (const effort& at : {effort{"one plan", {1, 1}}, efforts[0]}) {
    series(o, board, "64 sequences a replica", true, at);
    series(o, board, "8 replicas", false, at);
  }
  largest(o);
}

}  // namespace slimpack::plan_quality
