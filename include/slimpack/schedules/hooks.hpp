#ifndef SLIMPACK_SCHEDULES_HOOKS_HPP
#define SLIMPACK_SCHEDULES_HOOKS_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/has_member.hpp>

#include <concepts>
#include <type_traits>
#include <vector>

/// How the library asks a schedule. programs must be there (concepts.hpp); each other question has a default, and a
/// member of the same meaning replaces it:
///
///   member a schedule may offer                       what it says                                       default
///   static constexpr bool splits_weight_gradients     its programs may run weight gradients apart        false
///   static constexpr bool orders_may_change, or       solvers may go on from its order                   false
///   bool orders_may_change() const
///   Schedule longer() const                           itself at more effort, which long searches take    itself
///   result<timed_programs> timed(const workload&)     its programs and their makespan, to the bit        the
///     const                                           (schedules/timed.hpp)                              simulator's
///
/// A member of one of these names that cannot be read or called so is an error of compilation, not a default.
namespace slimpack {

/// A schedule's answer with what it takes.
struct timed_programs {
  std::vector<program> programs;  ///< one per stage
  seconds makespan;               ///< what the simulator says of them, to the bit

  friend bool operator==(const timed_programs&, const timed_programs&) = default;
};

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(splits_weight_gradients);

template <class Policy>
consteval bool says_splits_weight_gradients() {
  if constexpr (requires {
                  { Policy::splits_weight_gradients } -> std::same_as<const bool&>;
                  typename std::bool_constant<Policy::splits_weight_gradients>;
                }) {
    return Policy::splits_weight_gradients;
  } else {
    static_assert(!has_member_splits_weight_gradients<Policy>,
                  "splits_weight_gradients is a public static constexpr bool, of a schedule as of a stage compute");
    return false;
  }
}

template <class Policy>
concept splits_weight_gradients = says_splits_weight_gradients<Policy>();
}  // namespace detail

/// What a schedule wants packs priced with.
template <class Schedule>
inline constexpr weight_gradients weight_gradients_of =
    detail::splits_weight_gradients<Schedule> ? weight_gradients::apart : weight_gradients::with_inputs;

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(orders_may_change);
template <class Schedule>
concept asks_whether_orders_change = requires(const Schedule& s) {
  { s.orders_may_change() } -> std::same_as<bool>;
};

template <class Schedule>
consteval bool says_orders_may_change() {
  if constexpr (requires {
                  { Schedule::orders_may_change } -> std::same_as<const bool&>;
                  typename std::bool_constant<Schedule::orders_may_change>;
                }) {
    return Schedule::orders_may_change;
  } else {
    static_assert(
        asks_whether_orders_change<Schedule> || !has_member_orders_may_change<Schedule>,
        "a schedule's orders_may_change is a public static constexpr bool, or a const function that gives a bool");
    return asks_whether_orders_change<Schedule>;
  }
}
}  // namespace detail

/// Whether solvers may ever change what a schedule ordered: one that stands for an order by rule, such as 1F1B, keeps
/// it.
template <class Schedule>
inline constexpr bool orders_may_change_of = detail::says_orders_may_change<Schedule>();

/// Whether they may change what this one orders.
template <class Schedule>
[[nodiscard]] constexpr bool orders_may_change([[maybe_unused]] const Schedule& s) {
  if constexpr (detail::asks_whether_orders_change<Schedule>)
    return s.orders_may_change();
  else
    return orders_may_change_of<Schedule>;
}

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(longer);
}  // namespace detail

/// The schedule that a long search asks. A schedule that derives from another has a longer one only of its own.
template <class Schedule>
[[nodiscard]] constexpr Schedule longer_of(const Schedule& schedule) {
  if constexpr (requires {
                  { schedule.longer() } -> std::same_as<Schedule>;
                }) {
    return schedule.longer();
  } else if constexpr (requires { requires std::derived_from<Schedule, decltype(schedule.longer())>; }) {
    return schedule;  // longer() of the schedule that this one derives from would lose what this one adds
  } else {
    static_assert(!detail::has_member_longer<Schedule>,
                  "a schedule's longer() is public, const and gives a schedule of its own type");
    return schedule;
  }
}

}  // namespace slimpack

#endif
