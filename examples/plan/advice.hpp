#ifndef SLIMPACK_EXAMPLES_PLAN_ADVICE_HPP
#define SLIMPACK_EXAMPLES_PLAN_ADVICE_HPP

#include "setting.hpp"

#include <slimpack/core/units.hpp>

#include <span>
#include <string>
#include <vector>

namespace cli {

/// What to type so that batches fit which do not, as the end of a sentence. It has been tried: on the fewest GPUs that
/// suffice, the shortest step among layouts that differ in one or two of dp, pp, tp, cp, vpp and recompute; in more
/// where these do not suffice.
std::string advice(const setting& s, std::span<const std::vector<slimpack::tokens>> batches);

}  // namespace cli

#endif
