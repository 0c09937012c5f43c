#ifndef SLIMPACK_BENCHMARKS_FIDELITY_SCORE_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_SCORE_HPP

#include "../goal.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace fidelity {

/// One thing predicted, and what it is held against.
struct row {
  std::string name;
  double predicted{};
  double measured{};
  bool scored{true};   ///< false: shown, but in no mean and no goal
  std::string work{};  ///< rows of the same work ran one batch of one model on the same GPUs; empty: like no other
};

/// How rows are compared.
enum class error_kind : unsigned char {
  relative,  ///< predicted / measured - 1
  absolute,  ///< predicted - measured
};

using benchmarks::goal;

/// What one claim about the simulator came to.
struct score {
  std::string id{};               ///< "F4"
  std::string claim{};            ///< in a line, with the unit of its rows
  std::string fitted{"nothing"};  ///< constants that were fitted, and the rows they were fitted to
  error_kind kind{error_kind::relative};
  std::vector<row> rows{};
  std::vector<goal> goals{};
  std::vector<std::string> notes{};
  std::vector<std::string> table{};           ///< lines for --price-errors
  std::vector<std::string> speed_up_table{};  ///< lines for --speed-up-errors
};

/// Mean of absolute errors, mean of signed ones, the largest, and a percentile, over the rows that are scored. Without
/// any, none is a number.
struct summary {
  std::size_t rows{};
  double mean{};
  double bias{};
  double worst{};
  double p95{};
  std::string worst_row{};
};
[[nodiscard]] summary summarise(const score& s);

/// "4.2 %" of 0.042.
[[nodiscard]] std::string in_percent(double ratio);

/// Prints a score: its summary, its goals met, missed or without rows, its notes; every row when asked. False when a
/// goal is missed.
bool print(const score& s, bool every_row);

}  // namespace fidelity

#endif
