#ifndef SLIMPACK_CORE_ERROR_HPP
#define SLIMPACK_CORE_ERROR_HPP

#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/policy/base.hpp>
#include <boost/outcome/success_failure.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace slimpack {

/// What kind of input cannot be planned, or what stopped a step.
enum class errc {
  invalid_input,     ///< an argument outside its documented range
  out_of_memory,     ///< no plan of this kind fits the memory limit
  over_budget,       ///< what fits the memory limit is more than the search may simulate
  cyclic_schedule,   ///< the programs wait for each other: they would deadlock
  unreadable,        ///< a file cannot be read, or holds something else
  unwritable,        ///< a file cannot be written
  disagreement,      ///< ranks hold different plans, message formats or ranks
  wrong_message,     ///< a compute callback gave no output, or one of another size than the plan's
  compute_failed,    ///< a compute callback returned an error or threw
  out_of_order,      ///< a backward that the program must not run yet, or activations that are not there
  state_left,        ///< a step ended with activations, keys and values or gradients still held
  transport_failed,  ///< the transport cannot carry a message
  timed_out,         ///< a peer did not answer within the transport's time-out
  aborted,           ///< another rank stopped the step; the detail is that rank's
  cancelled,         ///< whoever asked wants no answer any more
  not_faster,        ///< left before it was whole: it takes no less than what it had to beat
};

/// Why a call gave no value: the kind, for callers that branch, and one line that names the numbers.
struct error {
  errc code{};
  std::string detail;
  std::array<std::uint16_t, 2> ranks{};  ///< where the line has numbers that a transport gives its ranks: places of
                                         ///< their first digits; 0: none (core/rank_names.hpp)
};

/// What `result<T>::value()` throws when there is no value, and slimpack::as where a message is none of such elements.
class plan_error : public std::runtime_error {
 public:
  explicit plan_error(const error& e) : std::runtime_error(e.detail), code_(e.code) {}
  [[nodiscard]] errc code() const noexcept { return code_; }

 private:
  errc code_;
};

namespace detail {
/// For functions that give no result. Where exceptions are off, ends the program.
[[noreturn]] inline void throw_error([[maybe_unused]] const error& e) {
#ifdef __cpp_exceptions
  throw plan_error(e);
#else
  std::terminate();
#endif
}

struct throw_plan_error : boost::outcome_v2::policy::base {
  template <class Impl>
  static constexpr void wide_value_check(Impl&& self) {
    if (!base::_has_value(std::forward<Impl>(self))) throw_error(base::_error(std::forward<Impl>(self)));
  }
  template <class Impl>
  static constexpr void wide_error_check(Impl&& self) {
    base::narrow_error_check(std::forward<Impl>(self));
  }
};

template <class T>
using result_base = boost::outcome_v2::basic_result<T, error, throw_plan_error>;

}  // namespace detail

/// A value, or the error that says why there is none. `.value()` throws plan_error when there is none. Of a result that
/// is a temporary or moved from it gives the value itself, no reference: `for (auto& x : read(file).value())` walks
/// over what is there until the loop ends.
template <class T>
class [[nodiscard]] result : public detail::result_base<T> {
  using base = detail::result_base<T>;

 public:
  using base::base;
  using base::value;
  constexpr T value() && { return static_cast<base&&>(*this).value(); }
  constexpr T value() const&& { return static_cast<const base&>(*this).value(); }
};

/// The result says that all went well, or why it did not.
template <>
class [[nodiscard]] result<void> : public detail::result_base<void> {
 public:
  using detail::result_base<void>::basic_result;
};

/// What a function of result<void> returns when all went well: `return success();`
using boost::outcome_v2::success;

}  // namespace slimpack

#endif
