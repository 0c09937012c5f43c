#ifndef SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_PLAN_ASSEMBLY_HPP
#define SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_PLAN_ASSEMBLY_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/detail/cost_answers.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

template <class Signature>
class function_ref;

/// What is called for the time of one call, whatever its type, without <functional>, which is dear to include. It is
/// what C++26's std::function_ref is for.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
 public:
  /// Requires  the function outlives it
  template <class Function>
  function_ref(const Function& function) noexcept  // not explicit: a lambda is given where one of these is asked for
      : function_(&function), call_([](const void* f, Arguments... arguments) -> Result {
          return (*static_cast<const Function*>(f))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(function_, std::forward<Arguments>(arguments)...); }

 private:
  const void* function_;
  Result (*call_)(const void*, Arguments...);
};

/// A simulator behind virtual calls, so that what makes a plan of a solution is compiled once for all of them.
class any_simulator {
 public:
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual result<std::vector<seconds>> starts(const simulators::task_graph& graph) const = 0;

 protected:
  any_simulator() = default;
  any_simulator(const any_simulator&) = default;
  any_simulator& operator=(const any_simulator&) = default;
  ~any_simulator() = default;
};

/// That of a simulator.
template <class Simulator>
class simulator_behind final : public any_simulator {
 public:
  /// Requires  the simulator outlives it
  explicit simulator_behind(const Simulator& simulator) noexcept : simulator_(simulator) {}

  [[nodiscard]] std::string_view name() const noexcept override { return Simulator::name; }
  [[nodiscard]] result<std::vector<seconds>> starts(const simulators::task_graph& graph) const override {
    return simulator_.starts(graph);
  }

 private:
  const Simulator& simulator_;
};

/// Makes a plan of a solution: checks it, prices it, runs it in the simulator and proves how good it is, whatever
/// search had found it (see Trust in basic_planner.hpp). Compiled once for all cost models and simulators.
class plan_assembly {
 public:
  /// threads: that price and simulate replicas; weights: what the schedule wants packs priced with
  /// Requires  all outlive it
  plan_assembly(const shape& on, const checked_answers& cost, const any_simulator& simulator, std::size_t threads,
                weight_gradients weights)
      : shape_(on), cost_(cost), simulator_(simulator), threads_(threads), weights_(weights) {}

  /// Asks a solver for a solution with each of its efforts (efforts_of), and makes a plan of the fastest: timed,
  /// hashed, and marked as truncated where `stop` could have ended the search. Where the plan of the least effort is
  /// far from its bound, or there is none, smaller limits of memory (memory_rungs) have their turn.
  /// Law       no slower than with fewer of the efforts
  /// Shapes    faults: those of the cost model's answers, by whose token the search is stopped; efforts: 0: the solver
  ///           is asked once
  [[nodiscard]] result<plan> searched(const batch_view& batch, const std::stop_token& stop, time_faults& faults,
                                      std::size_t efforts, function_ref<result<solution>(const problem&)> solve) const;

  /// The same of the group of a replica.
  [[nodiscard]] result<rank_plan> searched_group(const batch_view& batch, const std::stop_token& stop,
                                                 time_faults& faults,
                                                 function_ref<result<group_solution>(const problem&)> solve) const;

  static constexpr seconds never{std::numeric_limits<double>::infinity()};  ///< nothing is to be beaten

  /// The whole plan of parts (basic_planner::put_together).
  [[nodiscard]] result<plan> put_together(std::span<const rank_plan> parts, const time_faults& faults) const;

  /// A plan without replicas.
  [[nodiscard]] plan blank(const batch_view& batch) const;

  /// Gives a plan the forest that a solver has cut its batch into.
  /// Errors    invalid_input: it is no cut of it
  [[nodiscard]] static result<void> take_cut(solution& solved, const batch_view& batch, plan& p);

  /// Prices a solution, runs it in the simulator, and proves how good it is.
  /// Errors    not_faster: a replica alone takes no less than `to_beat`; of the others not all are priced then
  [[nodiscard]] result<plan> of(const batch_view& batch, solution&& solved, seconds to_beat = never) const;

  /// The part of a group, priced and run likewise.
  [[nodiscard]] result<plan> of(const batch_view& batch, group_solution&& group) const;

  /// What only a whole plan has: step time, bounds, efficiency, bubble and rank time.
  /// Errors    those of laws_check
  result<void> prove(plan& p) const;
  result<void> prove(plan& p, std::vector<bound> bounds) const;

  /// Notes how a plan was made, as the last thing: whether `stop` could have ended its search, since when, and its
  /// hash.
  static void sign(plan& p, const std::stop_token& stop, std::chrono::steady_clock::time_point begin);

  /// Prices and runs groups of replicas (joint_groups), and hands them and the merges over to the plan.
  /// forward_only: what stages hold is that of evaluations
  /// Errors    not_faster: as of `of`
  result<void> simulate(plan& p, const std::vector<std::vector<std::uint32_t>>& groups, solution&& solved,
                        seconds to_beat = never, bool forward_only = false) const;

 private:
  /// What a solver is asked, but for its efforts.
  struct search_request {
    const batch_view& batch;
    const std::stop_token& stop;
    time_faults& faults;
    function_ref<result<solution>(const problem&)> solve;
  };

  /// The plan of a solver's answer within a limit of memory. A search leaves room for what V, U and B hold between
  /// them; where it was not enough, it gets less memory to fill and is asked again.
  [[nodiscard]] result<plan> within(const std::optional<memory_limit>& limit, std::size_t less,
                                    const search_request& asked) const;

  /// The fastest plan of all efforts within the limit of memory, and within those lower ones that are faster with the
  /// least effort, or alone have a plan. A lower one is asked for the least effort where the limit has no plan, or one
  /// that is far from its bound.
  [[nodiscard]] result<plan> fastest(std::size_t efforts, const search_request& asked) const;

  /// The highest of memory_rungs below a limit, if there is one.
  [[nodiscard]] std::optional<double> rung_below(double limit) const;

  /// The fastest plan of a solution and its runners-up, if the solution has one; a runner-up is left at its first
  /// replica that is slower. Where `stop` ends the search, the fastest so far.
  [[nodiscard]] result<plan> fastest_of(const batch_view& batch, const std::stop_token& stop, solution&& solved) const;

  /// Where V comes between F and B, a solver orders these of a pipeline that turns packs on one stage more. Its answer
  /// without that stage.
  [[nodiscard]] solution of_layers(solution&& solved) const;

  /// Prices and runs the replicas of a group, which share sequences where they are several
  /// (simulators/graph/joint.hpp), and hands them over to the plan. Whether they take less than `to_beat`, if there is
  /// something to beat, their makespan tells before.
  result<void> simulate(plan& p, std::span<const std::uint32_t> group, solution& solved, std::span<const sequence> all,
                        const std::vector<bool>& shared, const std::vector<memory_rates>& rates, seconds to_beat) const;

  /// A replica of the plan, all but its makespan, with its memory checked.
  [[nodiscard]] result<replica_plan> recorded(std::span<const sequence> all, replica_solution&& from,
                                              const std::vector<bool>& shared, workload&& work,
                                              const std::vector<memory_rates>& rates) const;

  const shape& shape_;
  const checked_answers& cost_;
  const any_simulator& simulator_;
  std::size_t threads_;
  weight_gradients weights_;
};

/// Whether a plan takes no less than its lower bound, and no less than the useful work of its stages. A plan that does
/// is a proof that the cost model breaks a law on which both rest (concepts/planning.hpp): the first one is told that
/// its own slices and packs break, with the numbers.
/// Requires  a plan with its step time, bounds and bubble
/// Errors    invalid_input            Complexity  O(1); O(slices * parts) questions where a law is broken
[[nodiscard]] result<void> laws_check(const plan& p, const checked_answers& cost);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/solvers/assembly/impl/laws_check.ipp>
#include <slimpack/solvers/assembly/impl/plan_assembly.ipp>
#endif

#endif
