#ifndef SLIMPACK_SOLVERS_BASELINES_SLIMPIPE_HPP
#define SLIMPACK_SOLVERS_BASELINES_SLIMPIPE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/solvers/baselines/detail/sliced_rows.hpp>
#include <slimpack/solvers/baselines/recipe.hpp>
#include <slimpack/solvers/detail/put_in_order.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Baseline: rows of whole sequences, balanced by tokens over few rows (detail/sliced_rows.hpp), a multiple of the
/// replicas, and dealt to these in turn; each row is cut into `slices` packs of equal tokens, which run forward in
/// order and backward in reverse; stages lend each other attention. A row shorter than the context is not padded: its
/// slices are shorter. Cuts fall on the quantum of the sequence that they cut, so that slices of a row of several
/// sequences differ by less than two quanta. A row too short for that has fewer slices, and cannot lend. Meant for
/// schedules::one_f_one_b{.lead = 2}, whose lock steps loans_of knows, and for parts with equal layers.
/// Source    SlimPipe (arXiv:2504.14519), with its context exchange; derived: rows of several sequences, and that they
///           are not padded
/// Requires  stages and chunks of the shape that is planned for
/// Errors    invalid_input: a sequence longer than the context; lending in a row that is too short for its slices,
///           between parts of unequal layers, or of attention inside chunks (hook has_borders): what a loan's keys take
///           is told by moving a prefix, which moves the borders, too; those of the schedule
/// Complexity O(n log n), and that of loans_of
struct slimpipe {
  tokens context{0};  ///< tokens of a row; 0: the batch's longest sequence
  int slices{0};      ///< of a row, a multiple of the stages where they lend; 0: as many as there are stages
  attention_lending lending{attention_lending::none};
  int stages{1};  ///< of the pipeline (a search may see one more, where packs turn)

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    if (result<void> fine = can_lend(batch, cost); !fine) return std::move(fine).error();
    result<std::vector<replica_solution>> made = packed(batch, slicer, cost);
    if (!made) return std::move(made).error();
    if (lending == attention_lending::none)
      return slimpack::detail::put_in_order(std::move(made).value(), batch.shape, cost, schedule);
    // Lock steps are those of the pipeline's own stages.
    const result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return rates.error();
    shape on = batch.shape;
    on.stages = stages;
    for (replica_solution& r : made.value()) {
      result<std::vector<loan>> loans = loans_of(r.partition, on, lending, row_slices());
      if (!loans) return std::move(loans).error();
      r.loans = std::move(loans).value();
      result<std::vector<program>> programs =
          schedule.programs(on_own_stages(price(r.partition, cost, batch.shape, rates.value())));
      if (!programs) return std::move(programs).error();
      r.programs = std::move(programs).value();
    }
    return solution{std::move(made).value()};
  }

  /// The packs of each replica, before they are ordered and stages lend.
  template <class Slicer, class Cost>
  [[nodiscard]] result<std::vector<replica_solution>> packed(const problem& batch, const Slicer& /*cuts as it says*/,
                                                             const Cost& /*packs by length*/) const {
    return slimpack::detail::sliced_rows(batch, context, row_slices(), lending != attention_lending::none);
  }

  constexpr void share_by(exchange_set) noexcept {}  // it lets none share

  /// Whether stages run packs together (core/ensemble/stage_ties.hpp).
  [[nodiscard]] constexpr bool ties_stages() const noexcept { return lending != attention_lending::none; }

  /// Errors    invalid_input: its packs, without their lock steps, are no evaluation
  [[nodiscard]] result<void> can_evaluate() const {
    if (!ties_stages()) return success();
    return error{
        errc::invalid_input,
        std::string("lending ") + name_of(lending) +
            " is between lock steps of a training step, which an evaluation does not have: choose lending none"};
  }

  friend constexpr bool operator==(const slimpipe&, const slimpipe&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const slimpipe& s) {
    return out << "solvers::slimpipe{.context = {" << s.context.value << "}, .slices = " << s.slices
               << ", .lending = attention_lending::" << name_of(s.lending) << ", .stages = " << s.stages << "}";
  }

 private:
  [[nodiscard]] constexpr int row_slices() const noexcept { return slices > 0 ? slices : stages; }

  /// A workload without the stage on which a search may see packs turn.
  [[nodiscard]] workload on_own_stages(workload w) const {
    const auto own = static_cast<std::size_t>(stages), all = static_cast<std::size_t>(w.shape.stages);
    if (own == all) return w;
    for (std::vector<seconds>* const cells : {&w.times.calls[pass::forward], &w.times.messages[pass::forward],
                                              &w.times.calls[pass::backward], &w.times.messages[pass::backward]}) {
      std::vector<seconds> kept;
      for (std::size_t cell = 0; cell < cells->size(); ++cell)
        if (cell % all < own) kept.push_back((*cells)[cell]);
      *cells = std::move(kept);
    }
    w.shape.stages = stages;
    w.rates.resize(own);
    return w;
  }

  /// Whether each part has as many layers, where the cost model knows them (its hook `lending`), and none attends
  /// inside chunks.
  template <class Cost>
  [[nodiscard]] result<void> can_lend(const problem& batch, const Cost& cost) const {
    if (lending == attention_lending::none) return success();
    if (has_borders(cost))
      return error{errc::invalid_input,
                   std::string("lending ") + name_of(lending) +
                       " has no price where layers attend inside chunks of a sequence, as those of this cost model do: "
                       "choose lending none"};
    const auto layers = [&](int part) { return loan_messages_of(cost, loan{}, part).layers; };
    for (int chunk = 0; chunk < batch.shape.chunks; ++chunk)
      for (int stage = 0; stage < stages; ++stage) {
        if (const double own = layers(chunk * batch.shape.stages + stage); own != layers(0))
          return error{errc::invalid_input,
                       std::string("lending ") + name_of(lending) + " needs equal layers on every part, and part " +
                           std::to_string(chunk * stages + stage) + " has " + std::to_string(std::llround(own)) +
                           " where part 0 has " + std::to_string(std::llround(layers(0))) +
                           ": choose as many layers on each, or lending none"};
      }
    return success();
  }
};

}  // namespace slimpack::solvers

namespace slimpack::baselines {

/// SlimPipe: rows of the context in uniform slices, under 1F1B with a lead of 2.
/// context: tokens of a row; 0: the batch's longest sequence. slices: of a row; 0: as many as there are stages
[[nodiscard]] constexpr auto slimpipe(const shape& on, tokens context = {}, int slices = 0,
                                      attention_lending lending = attention_lending::none) {
  return recipe<slicers::uniform, solvers::slimpipe, schedules::one_f_one_b>{
      {}, {context, slices, lending, on.stages}, {.lead = 2}};
}

}  // namespace slimpack::baselines

#endif
