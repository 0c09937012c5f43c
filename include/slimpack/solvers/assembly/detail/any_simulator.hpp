#ifndef SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_ANY_SIMULATOR_HPP
#define SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_ANY_SIMULATOR_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <string_view>
#include <vector>

namespace slimpack::detail {

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

}  // namespace slimpack::detail

#endif
