#ifndef SLIMPACK_SIMULATORS_GRAPH_TIMED_INSTRUCTION_HPP
#define SLIMPACK_SIMULATORS_GRAPH_TIMED_INSTRUCTION_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/units.hpp>

namespace slimpack {

/// When one instruction runs on its stage, in simulation from the start of the step, measured from the moment that all
/// ranks had agreed to start.
struct timed_instruction {
  slimpack::instruction instruction;
  seconds begin;  ///< its input has arrived, and the instruction before has ended
  seconds end;
};

}  // namespace slimpack

#endif
