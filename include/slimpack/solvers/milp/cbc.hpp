#ifndef SLIMPACK_SOLVERS_MILP_CBC_HPP
#define SLIMPACK_SOLVERS_MILP_CBC_HPP

#include <slimpack/solvers/milp/limits.hpp>
#include <slimpack/solvers/milp/model.hpp>

#include <CbcEventHandler.hpp>
#include <CbcModel.hpp>
#include <CglGomory.hpp>
#include <CglProbing.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stop_token>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What a search through a model found.
struct milp_found {
  std::vector<double> values;  ///< empty: nothing better than the start
  double bound{};              ///< no values have a lower objective; minus infinity: the search proved nothing
  std::int64_t nodes{};
};

/// Ends a search when the stop token says so.
class stop_search final : public CbcEventHandler {
 public:
  explicit stop_search(std::stop_token token) : token_(std::move(token)) {}
  CbcAction event(CbcEvent) override { return token_.stop_requested() ? stop : noAction; }
  [[nodiscard]] CbcEventHandler* clone() const override { return new stop_search(*this); }

 private:
  std::stop_token token_;
};

/// Minimises a model with CBC from a feasible start, on one thread and without output.
/// Shapes    start: one value per column
inline milp_found search_with_cbc(const milp_model& model, const std::vector<double>& start,
                                  const solvers::milp_limits& limits, std::stop_token stop) {
  CoinPackedMatrix rows(false, 0, 0);
  rows.setDimensions(0, static_cast<int>(model.columns().size()));
  std::vector<double> row_low;
  for (const milp_model::row& r : model.rows()) {
    std::vector<int> at;
    std::vector<double> factors;
    for (const linear_sum::term& t : r.terms) at.push_back(t.variable), factors.push_back(t.factor);
    rows.appendRow(static_cast<int>(at.size()), at.data(), factors.data());
    row_low.push_back(r.low);
  }
  std::vector<double> low, high, cost;
  for (const milp_model::column& c : model.columns())
    low.push_back(c.low), high.push_back(c.high), cost.push_back(c.cost);
  const double floor = std::inner_product(low.begin(), low.end(), cost.begin(), 0.0);
  const double objective = std::inner_product(start.begin(), start.end(), cost.begin(), 0.0);
  OsiClpSolverInterface linear;
  linear.messageHandler()->setLogLevel(0);
  linear.loadProblem(rows, low.data(), high.data(), cost.data(), row_low.data(), nullptr);
  for (std::size_t i = 0; i < start.size(); ++i)
    if (model.columns()[i].integer) linear.setInteger(static_cast<int>(i));
  linear.initialSolve();

  CbcModel search(linear);
  search.setLogLevel(0);
  search.messageHandler()->setLogLevel(0);
  stop_search handler(std::move(stop));
  search.passInEventHandler(&handler);
  search.setBestSolution(start.data(), static_cast<int>(start.size()), objective, true);
  const double step = limits.gap * floor;  // what is not better by so much is not looked for
  search.setDblParam(CbcModel::CbcCutoffIncrement, step);
  search.setMaximumNodes(static_cast<int>(limits.nodes));
  if (limits.time) {
    search.setUseElapsedTime(true);
    search.setMaximumSeconds(limits.time->value);
  }
  // Of CBC's cuts these two pay: on small instances Gomory's halve what the root leaves open.
  CglProbing probing;
  probing.setUsingObjective(1);
  probing.setMaxPassRoot(3);
  probing.setMaxProbeRoot(1000);
  probing.setMaxLookRoot(500);
  probing.setRowCuts(3);
  CglGomory gomory;
  search.addCutGenerator(&probing, -1, "probing");
  search.addCutGenerator(&gomory, -1, "Gomory");
  search.branchAndBound();

  milp_found found;
  found.nodes = search.getNodeCount();
  const double best = std::min(objective, search.getObjValue());
  found.bound = std::min(search.getBestPossibleObjValue(), best - step);
  if (best < objective) found.values.assign(search.bestSolution(), search.bestSolution() + start.size());
  return found;
}

}  // namespace slimpack::detail

#endif
