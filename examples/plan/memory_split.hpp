#ifndef SLIMPACK_EXAMPLES_PLAN_MEMORY_SPLIT_HPP
#define SLIMPACK_EXAMPLES_PLAN_MEMORY_SPLIT_HPP

#include "report.hpp"
#include "setting.hpp"

#include <iosfwd>

namespace cli {

/// What the memory of the fullest GPU of a plan holds when it holds most: states, and over how many GPUs each is
/// divided, activations and what else packs keep; and what is left of the GPU's memory. Nothing where memory is counted
/// in tokens.
void print_memory(std::ostream& out, const setting& s, const row& planned);

}  // namespace cli

#endif
