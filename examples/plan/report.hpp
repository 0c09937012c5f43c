#ifndef SLIMPACK_EXAMPLES_PLAN_REPORT_HPP
#define SLIMPACK_EXAMPLES_PLAN_REPORT_HPP

#include "prices.hpp"
#include "rivals.hpp"
#include "setting.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/io/timeline.hpp>
#include <slimpack/shapes/layout.hpp>
#include <slimpack/solvers/search_report.hpp>

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// One planner's line of the table: its plan, or why it has none.
struct row {
  std::string planner;
  slimpack::shapes::layout layout;
  slimpack::result<slimpack::plan> plan;
  rival_setting with{};                       ///< of a baseline: what it ended on besides its layout
  bool over_memory{};                         ///< planned without the limit, since it does not fit
  bool out_of_time{};                         ///< --time-limit was over when it was planned
  slimpack::solvers::search_report search{};  ///< what slimpack's search did, where it was asked
};

/// Whether a row counts as a rival of the first: of another planner, with a plan that fits.
bool is_rival(const std::vector<row>& rows, const row& r);

/// The fastest rival; null where there is none.
const row* best_rival(const std::vector<row>& rows);

/// How many times as fast as a rival the first row is.
speed_up speed_up_over(const setting& s, const std::vector<row>& rows, const row& rival);

/// The planner of a row; where it is the first row's, on another layout, also what of that differs.
std::string label_of(const std::vector<row>& rows, const row& r);

/// What a planner ended on: under --auto all options of its layout, else those in which it differs from the first
/// row's; and of a baseline what it was set to besides. "-" where there is nothing to tell.
std::string ended_on(const setting& s, const std::vector<row>& rows, const row& r);

/// What the page of the rows that have a plan tells besides these plans.
slimpack::io::page_facts facts_of(const setting& s, const std::vector<row>& rows);

/// Tokens of the batch, and those that each GPU trains in a second.
double tokens_of(const slimpack::plan& p);
double rate_of(const slimpack::plan& p);

/// What a search did, a line for each kind of change.
void print_search(std::ostream& out, const slimpack::solvers::search_report& did);

/// Says of which planners time ran out, if of any.
void print_out_of_time(std::ostream& out, const std::vector<row>& rows);

/// What was planned, the table, and how to read it. `uncut` is the least step time of any plan of a list that cuts no
/// sequence.
void print(std::ostream& out, const setting& s, const std::vector<row>& rows, std::optional<slimpack::seconds> uncut);

}  // namespace cli

#endif
