#ifndef SLIMPACK_EXAMPLES_PLAN_COMPARE_HPP
#define SLIMPACK_EXAMPLES_PLAN_COMPARE_HPP

namespace cli {

/// slimpack-plan compare a.json b.json ...: plan files side by side, in a table and on one page. Takes what follows the
/// program's name, and returns the exit status.
int compare(int argc, char** argv);

}  // namespace cli

#endif
