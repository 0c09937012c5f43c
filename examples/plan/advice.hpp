#ifndef SLIMPACK_EXAMPLES_PLAN_ADVICE_HPP
#define SLIMPACK_EXAMPLES_PLAN_ADVICE_HPP

#include "setting.hpp"

#include <slimpack/core/units.hpp>

#include <span>
#include <string>
#include <vector>

namespace cli {

/// What to type so that batches fit which do not, as the end of a sentence. It has been tried. On as many GPUs it is
/// the shortest step among layouts that differ in one or two of dp, pp, tp, cp, vpp and recompute, or in more where
/// these do not suffice; else the least limit of memory that does, where one was given, and the fewest GPUs that were
/// found to. It is looked for as long as --time-limit says, or half a minute; what was found by then is told.
std::string advice(const setting& s, std::span<const std::vector<slimpack::tokens>> batches);

}  // namespace cli

#endif
