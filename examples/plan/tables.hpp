#ifndef SLIMPACK_EXAMPLES_PLAN_TABLES_HPP
#define SLIMPACK_EXAMPLES_PLAN_TABLES_HPP

#include "setting.hpp"

#include <string>
#include <vector>

namespace cli {

/// A line on each table under --cost profiled: its file, and what it is used for or why it is not.
std::vector<std::string> uses_of(const setting& s);

}  // namespace cli

#endif
