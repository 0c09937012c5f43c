#ifndef SLIMPACK_EXAMPLES_PLAN_CONTENDERS_HPP
#define SLIMPACK_EXAMPLES_PLAN_CONTENDERS_HPP

#include "batches.hpp"
#include "options.hpp"
#include "planners.hpp"
#include "rivals.hpp"
#include "setting.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/service/deadline.hpp>
#include <slimpack/shapes/layout.hpp>

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// A planner and what it plans with: the layout that is given, or the one chosen for it, and the plans that were made
/// there.
struct contender {
  std::string planner;
  slimpack::shapes::layout layout;
  any_cost cost;
  std::vector<slimpack::plan> plans{};  ///< by batch; empty where there are none yet
  bool out_of_time{};                   ///< these were made, and --time-limit was over before all were
  std::vector<tuned_plan> tuned{};      ///< of a baseline instead of `plans`; empty where there are none yet
};

/// --planner and the planners of --compare, each with its layout. slimpack stands once more, behind the first one, for
/// each layout that a baseline ended on: like is compared with like there. Under --auto the fastest of slimpack's
/// leads.
struct contenders {
  std::vector<contender> all;
  std::vector<std::string> left_out;  ///< why planners of --compare have no plan, a sentence each

  /// Errors    those of --planner
  static slimpack::result<contenders> of(std::ostream& out, setting& s, const batches& loaded);
};

std::optional<std::chrono::milliseconds> limit_of(const options& o);

/// Asks to stop when a share of the time of --time-limit is over; nothing without it.
std::optional<slimpack::deadline> deadline_of(const options& o, double share = 1);

}  // namespace cli

#endif
