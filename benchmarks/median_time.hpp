#ifndef SLIMPACK_BENCHMARKS_MEDIAN_TIME_HPP
#define SLIMPACK_BENCHMARKS_MEDIAN_TIME_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

/// Median seconds of `runs` calls.
template <class Call>
double median_time(int runs, const Call& call) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[static_cast<std::size_t>(runs) / 2];
}

#endif
