#ifndef SLIMPACK_CORE_ENSEMBLE_STAGE_TIES_HPP
#define SLIMPACK_CORE_ENSEMBLE_STAGE_TIES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/lending/detail/loan_fault.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

/// What makes stages of one replica run instructions together: attention that one lends another
/// (core/lending/loan.hpp). Who has to know what runs together, and not why, asks here and of
/// core/ensemble/ensembles.hpp.
namespace slimpack {

/// Whether stages of a replica run instructions together.
/// Shapes    Replica: a replica_plan, a replica_solution or a workload, here and below
template <class Replica>
[[nodiscard]] bool ties_stages(const Replica& r) noexcept {
  return !r.loans.empty();
}

/// Calls visit(one, other) for the two sides of each tie, which have a `stage` and an instruction, `what`.
template <class Replica, class Visit>
void each_tie(const Replica& r, const Visit& visit) {
  for (const loan& l : r.loans) visit(l.lender, l.helper);
}

/// Whether a tie joins an instruction of a stage with another.            Complexity  O(ties)
template <class Replica>
[[nodiscard]] bool is_tied(const Replica& r, const instruction& i, std::uint32_t stage) {
  bool found = false;
  each_tie(r, [&](const auto& one, const auto& other) {
    for (const auto* side : {&one, &other}) found = found || (side->stage == stage && side->what == i);
  });
  return found;
}

/// Gives a replica the ties of another, or those of its forwards alone.
template <class From, class To>
void copy_ties(const From& from, To& to, bool forward_only = false) {
  for (const loan& l : from.loans)
    if (!forward_only || l.pass() == pass::forward) to.loans.push_back(l);
}

/// A sequence for whose sake stages are tied.            Requires  ties_stages
template <class Replica>
[[nodiscard]] sequence_id tied_sequence(const Replica& r) {
  return r.loans.front().queries.sequence;
}

/// What is wrong with the ties of a replica, and what to choose instead; none where its stages can run them.
/// Shapes    order: of the batch
/// Requires  a replica_plan or a replica_solution            Complexity  that of loan_fault
template <class Replica>
[[nodiscard]] std::optional<std::string> tie_fault(const Replica& r, const slice_order& order, const shape& on) {
  return detail::loan_fault(r.loans, r.partition, order, on);
}

/// For sentences to people: what tied stages do, and the choice with which none are tied.
inline constexpr const char* what_ties = "lend attention";
inline constexpr const char* without_ties = "lending none";

/// What to do about tied stages that wait for each other, or for `others`.
[[nodiscard]] inline error tied_stages_wait(errc code, const std::string& others = {}) {
  return {code, "stages that lend" + others +
                    " wait for each other: order packs by one_f_one_b with a lead of 2, or choose " + without_ties};
}

}  // namespace slimpack

#endif
