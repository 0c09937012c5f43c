#ifndef SLIMPACK_SCHEDULES_LIST_HPP
#define SLIMPACK_SCHEDULES_LIST_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/greedy.hpp>
#include <slimpack/schedules/memory_cap.hpp>
#include <slimpack/schedules/timed_programs.hpp>
#include <slimpack/simulators/graph/makespan.hpp>

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::schedules {

/// Event-driven: a free stage runs the next backward when it is ready, else the next forward when it is ready and the
/// memory limit allows it, else waits for whichever comes first.
///
/// Backward first suits the fill of the pipeline and spoils its drain, whose mirror image is a fill. So the rule runs
/// on the mirrored step (time reversed, the passes swapped) and on the step by turns, ties broken by the order found
/// the time before; the last run is on the step, and the shortest order is kept.
/// Source    list scheduling and forward-backward improvement (K. Y. Li and R. J. Willis, 1992), applied to the two
///           flows of a pipeline; derived
/// Requires  one chunk per stage, passes >= 1
/// Errors    out_of_memory: the packs themselves do not fit; the detail has the shortfall
/// Complexity O(passes * packs * stages)
struct list {
  static constexpr bool orders_may_change = true;  ///< solvers may improve what it found (orders_may_change_of)

  int passes{2};  ///< runs of the rule; 1: the plain rule, once

  /// For long searches, which gain a little by one run more: it begins on the other side.
  [[nodiscard]] constexpr list longer() const noexcept { return {passes + 1}; }

  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    result<timed_programs> found = timed(work);
    if (!found) return std::move(found).error();
    return std::move(found.value().programs);
  }

  /// The programs with their makespan, which the rule knows.
  [[nodiscard]] result<timed_programs> timed(const workload& work) const {
    using namespace slimpack::detail;
    if (work.shape.chunks != 1) return error{errc::invalid_input, "list runs one chunk per stage; use one_f_one_b with chunks"};
    if (passes < 1) return error{errc::invalid_input, "list needs at least one pass, got " + std::to_string(passes)};
    const memory_cap cap(work);
    if (result<void> fits = cap.check(work); !fits) return std::move(fits).error();
    const greedy::pipeline step = greedy::pipeline::of(work, cap);
    const greedy::pipeline image = passes > 1 ? step.mirrored() : greedy::pipeline{};
    greedy::rule rule;
    greedy::order found[2];  // the last on the step, and on its image
    greedy::order best;
    bool of_image = false;
    for (int left = passes; left > 0; --left) {
      const bool on_image = left % 2 == 0;
      greedy::order& here = found[on_image];
      rule.run(on_image ? image : step, left == passes ? nullptr : &found[!on_image], here);
      if (left == passes || here.makespan <= best.makespan) best = here, of_image = on_image;
    }
    if (!of_image) return timed_programs{greedy::programs_of(step, best), {best.makespan}};
    // Here the times are those of the mirror image, as late as they may be.
    timed_programs turned{greedy::programs_of(step, greedy::mirrored(image, best)), {}};
    const result<seconds> makespan = simulators::makespan(work, turned.programs);
    if (!makespan) return makespan.error();
    turned.makespan = makespan.value();
    return turned;
  }

  friend constexpr bool operator==(const list&, const list&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const list& s) {
    return out << "schedules::list{.passes = " << s.passes << "}";
  }
};

}  // namespace slimpack::schedules

#endif
