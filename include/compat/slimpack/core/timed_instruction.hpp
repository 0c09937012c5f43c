#include <slimpack/simulators/graph/timed_instruction.hpp>
