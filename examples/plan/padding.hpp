#ifndef SLIMPACK_EXAMPLES_PLAN_PADDING_HPP
#define SLIMPACK_EXAMPLES_PLAN_PADDING_HPP

#include "batches.hpp"
#include "options.hpp"

#include <slimpack/core/plan.hpp>

#include <cstddef>
#include <iosfwd>

namespace cli {

// Which lengths trainers can run: --pad-to rounds them up, and context-parallel ranks want slices that they can divide.

/// What --quantum, and the longest length under --pad-to, must be. Throws bad_usage.
void check_multiples(const options& o);

/// Whether the ranks of --cp can divide each slice but the last of a sequence.
[[nodiscard]] inline bool divides_slices(const slimpack::shape& on) { return on.quantum.value % on.context == 0; }

/// Says how many tokens of a batch are padding; of all batches together under --summary. Nothing without --pad-to.
void print_padding(std::ostream& out, const options& o, const batches& all, std::size_t batch);

/// Says which slices of a plan the ranks of --cp cannot divide as zigzag ring attention does, and what to do about it.
void print_odd_slices(std::ostream& out, const slimpack::plan& p);

}  // namespace cli

#endif
