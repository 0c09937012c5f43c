#ifndef SLIMPACK_SOLVERS_DETAIL_PARALLEL_AHEAD_HPP
#define SLIMPACK_SOLVERS_DETAIL_PARALLEL_AHEAD_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/detail/thrown.hpp>
#include <slimpack/solvers/detail/parallel.hpp>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// for_each_index where calls depend on what earlier ones found: before call(i), begin(i) is called once the calls of
/// all indices up to i - `ahead` have ended. Calls of begin come one at a time and in rising order, so what it reads of
/// those indices, and of no others, does not depend on the number of threads; nor do threads wait for each other before
/// so many have begun.
/// Requires  ahead > 0; begin may not fail            Errors, complexity  those of for_each_index
template <class Begin, class Call>
result<void> for_each_ahead(std::size_t n, std::size_t threads, std::size_t ahead, const Begin& begin,
                            const Call& call) {
  std::mutex mutex;  // guards the three below, and is held while `begin` runs
  std::condition_variable changed;
  std::vector<bool> ended(n);
  std::size_t begun = 0, all_ended = 0;  // indices below these
  return for_each_index(n, threads, [&](std::size_t i) -> result<void> {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return begun == i && i < all_ended + ahead; });
      begin(i);
      ++begun;
    }
    changed.notify_all();
    result<void> answer = success();
    std::exception_ptr thrown = thrown_by([&] { answer = call(i); });
    {
      const std::lock_guard lock(mutex);
      ended[i] = true;
      while (all_ended < n && ended[all_ended]) ++all_ended;
    }
    changed.notify_all();
    if (thrown) std::rethrow_exception(std::move(thrown));
    return answer;
  });
}

}  // namespace slimpack::detail

#endif
