#ifndef SLIMPACK_BENCHMARKS_GOAL_HPP
#define SLIMPACK_BENCHMARKS_GOAL_HPP

#include <cmath>
#include <string>

namespace benchmarks {

/// A figure to reach.
struct goal {
  std::string what;
  double value{};
  double limit{};
  bool at_most{true};
  [[nodiscard]] bool judged() const { return !std::isnan(value); }  ///< false: nothing was measured
  [[nodiscard]] bool met() const { return at_most ? value <= limit : value >= limit; }
};

/// Whether `id` is among the comma-separated names of `only`; nothing chosen is everything.
inline bool chosen(const std::string& only, const std::string& id) {
  return only.empty() || ("," + only + ",").find("," + id + ",") != std::string::npos;
}

}  // namespace benchmarks

#endif
