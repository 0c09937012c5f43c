#ifndef SLIMPACK_SOLVERS_DETAIL_ANY_SCHEDULE_HPP
#define SLIMPACK_SOLVERS_DETAIL_ANY_SCHEDULE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/timed.hpp>

namespace slimpack::detail {

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
