#ifndef SLIMPACK_SCHEDULES_LIST_HPP
#define SLIMPACK_SCHEDULES_LIST_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/workload.hpp>
#include <slimpack/schedules/detail/greedy.hpp>
#include <slimpack/schedules/memory_cap.hpp>

#include <algorithm>
#include <iosfwd>
#include <utility>
#include <vector>

namespace slimpack::schedules {

/// Event-driven: a free stage runs the next backward when it is ready, else the next forward when it is ready and the
/// memory limit allows it, else waits for whichever comes first.
///
/// Backward first suits the fill of the pipeline and spoils its drain, whose mirror image is a fill. So the rule runs
/// on the mirrored step (time reversed, the passes exchanged), then forward with ties broken by the order found there;
/// the shorter of the two is kept.
/// Source    list scheduling and forward-backward improvement (K. Y. Li and R. J. Willis, 1992), applied to the two
///           flows of a pipeline; derived
/// Requires  one chunk per stage
/// Errors    out_of_memory: the packs themselves do not fit; the detail has the shortfall
/// Complexity O(packs * stages^2), the second factor a scan for the earliest stage
struct list {
  bool improve{true};  ///< false: the plain rule, once

  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    if (work.shape.chunks != 1) return error{errc::invalid_input, "list runs one chunk per stage; use one_f_one_b with chunks"};
    const memory_cap cap(work);
    if (result<void> fits = cap.check(work); !fits) return std::move(fits).error();
    const detail::greedy::pipeline there = detail::greedy::pipeline::of(work, cap);
    if (!improve) return detail::greedy::schedule(there, nullptr).programs;
    detail::greedy::run back = detail::greedy::mirrored(there, detail::greedy::schedule(there.mirrored(), nullptr));
    detail::greedy::run again = detail::greedy::schedule(there, &back);
    return std::move((again.makespan < back.makespan ? again : back).programs);
  }

  friend constexpr bool operator==(const list&, const list&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const list& s) {
    return out << "schedules::list{.improve = " << (s.improve ? "true" : "false") << "}";
  }
};

}  // namespace slimpack::schedules

#endif
