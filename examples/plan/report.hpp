#ifndef SLIMPACK_EXAMPLES_PLAN_REPORT_HPP
#define SLIMPACK_EXAMPLES_PLAN_REPORT_HPP

#include "setting.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/shapes/layout.hpp>
#include <slimpack/solvers/search_report.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace cli {

/// One planner's line of the table: its plan, or why it has none.
struct row {
  std::string planner;
  slimpack::shapes::layout layout;
  slimpack::result<slimpack::plan> plan;
  bool over_memory{};  ///< planned without the limit, since it does not fit
  bool out_of_time{};  ///< --time-limit was over when it was planned
  slimpack::solvers::search_report search{};  ///< what slimpack's search did, where it was asked
};

/// The most memory that any stage of a plan holds.
double peak_of(const slimpack::plan& p);

/// Tokens of the batch, and those that each GPU trains in a second.
double tokens_of(const slimpack::plan& p);
double rate_of(const slimpack::plan& p);

/// What a search did, a line for each kind of change.
void print_search(std::ostream& out, const slimpack::solvers::search_report& did);

/// Says of which planners time ran out, if of any.
void print_out_of_time(std::ostream& out, const std::vector<row>& rows);

/// What was planned, the table, and how to read it. `uncut` is the least step time of any plan that cuts no sequence.
void print(std::ostream& out, const setting& s, const std::vector<row>& rows, slimpack::seconds uncut);

}  // namespace cli

#endif
