#ifndef SLIMPACK_EXAMPLES_PLAN_EXPLAIN_HPP
#define SLIMPACK_EXAMPLES_PLAN_EXPLAIN_HPP

#include "report.hpp"
#include "setting.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace cli {

/// What the stages' time of a plan is lost to, the largest first: "12.1 % imbalance of stages, 1.0 % waiting".
std::string losses_of(const slimpack::plan& p);

/// Where the stages' time of each plan goes, and what no plan can be faster than: on this layout, and on any other of
/// as many GPUs.
void print_explained(std::ostream& out, const setting& s, const std::vector<row>& rows);

}  // namespace cli

#endif
