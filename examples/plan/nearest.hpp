#ifndef SLIMPACK_EXAMPLES_PLAN_NEAREST_HPP
#define SLIMPACK_EXAMPLES_PLAN_NEAREST_HPP

#include <string>
#include <vector>

namespace cli {

/// The known name that a mistyped one most likely means: that with the fewest characters inserted, left out or
/// replaced, the first of equals. Empty where more than a third of the characters would change.
std::string nearest(const std::string& typed, const std::vector<std::string>& known);

}  // namespace cli

#endif
