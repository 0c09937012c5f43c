#ifndef SLIMPACK_SOLVERS_DETAIL_PARALLEL_HPP
#define SLIMPACK_SOLVERS_DETAIL_PARALLEL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/detail/thrown.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Calls `call(0)`, ..., `call(n - 1)`, each once, on up to `threads` threads, this one among them; 0 means one per
/// core. A call writes what belongs to its index only, so the outcome does not depend on the number of threads. Nor do
/// failures: indices are handed out in rising order, and none after one has failed, so every index below a failed one
/// has been run; of those that failed the smallest tells.
/// Requires  result<void> call(std::size_t), safe to run on several threads
/// Errors    the error of the smallest index that failed; what that call threw is thrown
/// Complexity n calls; starts min(n, threads) - 1 threads
template <class Call>
result<void> for_each_index(std::size_t n, std::size_t threads, const Call& call) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // guards the three below
  std::size_t failed = std::numeric_limits<std::size_t>::max();
  std::exception_ptr thrown;
  result<void> outcome = success();
  const auto work = [&] {
    for (std::size_t i = next++; i < n; i = next++) {
      result<void> answer = success();
      std::exception_ptr caught = thrown_by([&] { answer = call(i); });
      if (!caught && answer) continue;
      next = n;
      const std::lock_guard lock(mutex);
      if (i < failed) failed = i, thrown = std::move(caught), outcome = std::move(answer);
    }
  };
  {
    std::vector<std::jthread> others;
    others.reserve(std::min(n, threads));
    // Where no more threads can be had, those that there are do the work.
    for (bool more = true; more && others.size() + 1 < std::min(n, threads);)
      more = !thrown_by([&] { others.emplace_back(work); });
    work();
  }
  if (thrown) std::rethrow_exception(std::move(thrown));
  return outcome;
}

}  // namespace slimpack::detail

#endif
