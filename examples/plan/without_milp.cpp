#include "milp.hpp"

namespace cli {

bool has_milp() { return false; }

slimpack::result<slimpack::plan> plan_with_milp(const request& /*asked*/, std::span<const slimpack::tokens> /*lengths*/,
                                                const any_cost& /*cost*/) {
  return slimpack::error{slimpack::errc::invalid_input, "the planner milp was built without CBC"};
}

}  // namespace cli
