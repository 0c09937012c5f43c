#ifndef SLIMPACK_SCHEDULES_TIMED_PROGRAMS_HPP
#define SLIMPACK_SCHEDULES_TIMED_PROGRAMS_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/units.hpp>

#include <vector>

namespace slimpack {

/// A schedule's answer with what it takes.
struct timed_programs {
  std::vector<program> programs;  ///< one per stage
  seconds makespan;               ///< what the simulator says of them, to the bit

  friend bool operator==(const timed_programs&, const timed_programs&) = default;
};

}  // namespace slimpack

#endif
