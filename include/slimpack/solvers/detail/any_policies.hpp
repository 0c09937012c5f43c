#ifndef SLIMPACK_SOLVERS_DETAIL_ANY_POLICIES_HPP
#define SLIMPACK_SOLVERS_DETAIL_ANY_POLICIES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/timed.hpp>
#include <slimpack/schedules/timed_programs.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/detail/any_cost.hpp>

namespace slimpack::detail {

/// A slicer behind a virtual call, so that a search is compiled once for all of them.
class any_slicer {
 public:
  [[nodiscard]] virtual slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                                   const any_cost& cost) const = 0;

 protected:
  any_slicer() = default;
  any_slicer(const any_slicer&) = default;
  any_slicer& operator=(const any_slicer&) = default;
  ~any_slicer() = default;
};

/// That of a slicer. Where it cuts by the model that it was made with, as it nearly always does, it asks it itself.
template <class Slicer, class Cost>
class slicer_behind final : public any_slicer {
 public:
  /// Requires  both outlive it
  slicer_behind(const Slicer& slicer, const cost_behind<Cost>& cost) noexcept : slicer_(slicer), cost_(cost) {}

  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                           const any_cost& cost) const override {
    if (&cost == &cost_) return slicer_.next(s, at, p, left, cost_.model());
    return slicer_.next(s, at, p, left, cost);
  }

 private:
  const Slicer& slicer_;
  const cost_behind<Cost>& cost_;
};

/// A schedule behind virtual calls, so that a search is compiled once for all of them.
class any_schedule {
 public:
  /// schedules::timed of it.
  [[nodiscard]] virtual result<timed_programs> timed(const workload& work) const = 0;
  /// The same of the schedule that a long search asks (longer_of).
  [[nodiscard]] virtual result<timed_programs> timed_longer(const workload& work) const = 0;
  /// weight_gradients_of it.
  [[nodiscard]] weight_gradients weights() const noexcept { return weights_; }
  [[nodiscard]] bool orders_may_change() const noexcept { return orders_may_change_; }

 protected:
  any_schedule(weight_gradients weights, bool orders_may_change) noexcept
      : weights_(weights), orders_may_change_(orders_may_change) {}
  any_schedule(const any_schedule&) = default;
  any_schedule& operator=(const any_schedule&) = default;
  ~any_schedule() = default;

 private:
  weight_gradients weights_;
  bool orders_may_change_;
};

/// That of a schedule.
template <class Schedule>
class schedule_behind final : public any_schedule {
 public:
  /// Requires  the schedule outlives it
  explicit schedule_behind(const Schedule& schedule)
      : any_schedule(weight_gradients_of<Schedule>, slimpack::orders_may_change(schedule)),
        given_(schedule),
        longer_(longer_of(schedule)) {}

  [[nodiscard]] result<timed_programs> timed(const workload& work) const override {
    return schedules::timed(given_, work);
  }
  [[nodiscard]] result<timed_programs> timed_longer(const workload& work) const override {
    return schedules::timed(longer_, work);
  }

 private:
  const Schedule& given_;
  Schedule longer_;
};

}  // namespace slimpack::detail

#endif
