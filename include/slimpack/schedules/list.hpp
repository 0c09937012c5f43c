#ifndef SLIMPACK_SCHEDULES_LIST_HPP
#define SLIMPACK_SCHEDULES_LIST_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/schedules/hooks.hpp>

#include <iosfwd>
#include <vector>

namespace slimpack {
struct workload;
}

namespace slimpack::schedules {

/// Event-driven: a free stage runs the next backward when it is ready, else the next forward when it is ready and the
/// memory limit allows it, else waits for whichever comes first.
///
/// Backward first suits the fill of the pipeline and spoils its drain, whose mirror image is a fill. So the rule runs
/// on the mirrored step (time reversed, the passes swapped) and on the step by turns, ties broken by the order found
/// the time before; the last run is on the step, and the shortest order is kept.
/// Source    list scheduling and forward-backward improvement (K. Y. Li and R. J. Willis, 1992), applied to the two
///           flows of a pipeline; derived
/// With virtual stages a free stage runs, of the next packs of all its chunks, what is ready first, and the order found
/// from both ends, as above, breaks ties. Where memory binds, what runs is a unit, a pack on one chunk: units of a pass
/// run in Megatron-LM's interleaved order on all stages, and the rule decides where forwards and backwards follow each
/// other.
/// Requires  passes >= 1
/// Errors    out_of_memory: the packs themselves do not fit; the detail has the shortfall
/// Complexity O(passes * packs * stages); with virtual stages O(passes * packs * parts (stages + chunks))
struct list {
  using with_tested_laws = list;                   ///< searches need not look at its answers again (timed.hpp)
  static constexpr bool orders_may_change = true;  ///< solvers may improve what it found

  int passes{2};  ///< runs of the rule; 1: the plain rule, once

  /// For long searches, which gain a little by one run more: it begins on the other side.
  [[nodiscard]] constexpr list longer() const noexcept { return {passes + 1}; }

  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const;

  /// The programs with their makespan, which the rule knows.
  [[nodiscard]] result<timed_programs> timed(const workload& work) const;

  friend constexpr bool operator==(const list&, const list&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const list& s) {
    return out << "schedules::list{.passes = " << s.passes << "}";
  }

 private:
  [[nodiscard]] result<timed_programs> with_chunks(const workload& work) const;
  [[nodiscard]] std::vector<program> of_parts(const workload& work) const;
  [[nodiscard]] std::vector<program> of_units(const workload& work) const;
};

}  // namespace slimpack::schedules

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/schedules/impl/list.ipp>
#endif

#endif
