#ifndef SLIMPACK_EXAMPLES_PLAN_ADVICE_HPP
#define SLIMPACK_EXAMPLES_PLAN_ADVICE_HPP

#include "setting.hpp"

#include <slimpack/core/units.hpp>

#include <span>
#include <string>

namespace cli {

/// What would make the longest sequence fit, for a plan that needs too many bytes; or tokens.
std::string advice(const setting& s, std::span<const slimpack::tokens> lengths);

}  // namespace cli

#endif
