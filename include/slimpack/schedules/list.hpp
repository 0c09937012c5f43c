#ifndef SLIMPACK_SCHEDULES_LIST_HPP
#define SLIMPACK_SCHEDULES_LIST_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/workload.hpp>
#include <slimpack/detail/greedy.hpp>
#include <slimpack/schedules/memory_cap.hpp>

#include <algorithm>
#include <iosfwd>
#include <utility>
#include <vector>

namespace slimpack::schedules {

/// Event-driven: a free stage runs the next backward when it is ready, else the next forward when it is ready and the
/// memory limit allows it, else waits for whichever comes first.
///
/// Backward first suits the fill of the pipeline and spoils its drain, whose mirror image is a fill. So the same rule
/// then runs on the mirrored step (time reversed, the passes exchanged), and once more forward with ties broken by
/// the order of that second run; the shortest of the three is kept.
/// Source    list scheduling and forward-backward improvement (K. Y. Li and R. J. Willis, 1992), applied to the two
///           flows of a pipeline; derived
/// Requires  one chunk per stage; passes in 1..3
/// Errors    out_of_memory: the packs themselves do not fit; the detail has the shortfall
/// Complexity O(passes * packs * stages)
struct list {
  int passes{3};  ///< 1: greedy; 2: and mirrored; 3: and repeated

  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    if (work.shape.chunks != 1) return error{errc::invalid_input, "list runs one chunk per stage; use one_f_one_b with chunks"};
    if (passes < 1 || passes > 3) return error{errc::invalid_input, "list takes 1 to 3 passes"};
    const memory_cap cap(work);
    if (result<void> fits = cap.check(work); !fits) return std::move(fits).error();
    const detail::greedy::pipeline there = detail::greedy::pipeline::of(work, cap);
    detail::greedy::run best = detail::greedy::schedule(there, nullptr);
    if (passes > 1) {
      detail::greedy::run back = detail::greedy::mirrored(there, detail::greedy::schedule(there.mirrored(), nullptr));
      if (passes > 2) {
        detail::greedy::run again = detail::greedy::schedule(there, &back);
        if (again.makespan < best.makespan) best = std::move(again);
      }
      if (back.makespan < best.makespan) best = std::move(back);
    }
    return detail::greedy::programs_of(there, best);
  }

  friend constexpr bool operator==(const list&, const list&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const list& s) {
    return out << "schedules::list{.passes = " << s.passes << "}";
  }
};

}  // namespace slimpack::schedules

#endif
