#ifndef SLIMPACK_EXAMPLES_PLAN_SUMMARY_HPP
#define SLIMPACK_EXAMPLES_PLAN_SUMMARY_HPP

#include "report.hpp"

#include <slimpack/io/timeline.hpp>

#include <array>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace cli {

/// What --summary says of all batches instead of a report of each.
class summary {
 public:
  /// The plans of the next batch, the main one first, which must be there.
  void add(const setting& s, const std::vector<row>& rows);
  /// Quantiles of step times, and of the shares of the stages' time.
  void print(std::ostream& out) const;
  /// The page of the slowest batch of the main planner, with a plot of all.
  slimpack::result<void> write_page(std::ostream& out) const;

 private:
  struct figures {
    std::string planner;
    std::size_t missing{};  ///< batches that it has no plan of within the memory
    std::vector<double> steps{};
    std::vector<std::pair<std::string, std::vector<double>>> shares{};  ///< of the stages' time, useful first
  };
  std::vector<figures> planners_;
  std::vector<slimpack::plan> slowest_;
  slimpack::io::page_facts facts_;  ///< of these
  std::size_t shown_{};
};

/// min, p10, median, p90, max and mean of values; between two of them by a straight line. Requires one or more
std::array<double, 6> quantiles_of(std::vector<double> values);

}  // namespace cli

#endif
