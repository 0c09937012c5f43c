#ifndef SLIMPACK_TRANSPORTS_DETAIL_PROGRAM_CLOCK_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_PROGRAM_CLOCK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/hooks.hpp>

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// When a program comes to its points: by the host's clock, or, where work runs later than its calls, by that of the
/// device.
template <class Transport>
class program_clock {
 public:
  explicit program_clock(Transport& transport) : transport_(&transport) {}

  void reserve(std::size_t points) { points_.reserve(points); }

  /// Here is the next point.
  result<void> point() {
    if constexpr (marks_time<Transport>()) {
      auto mark = transport_->mark();
      if (!mark) return std::move(mark).error();
      points_.push_back(std::move(mark).value());
    } else {
      points_.push_back(std::chrono::steady_clock::now());
    }
    return success();
  }

  /// The points since the first.        Requires   one point; a transport that has finished
  result<std::vector<seconds>> times() {
    std::vector<seconds> since;
    for (const auto& p : points_) {
      if constexpr (marks_time<Transport>()) {
        const result<seconds> time = transport_->between(points_.front(), p);
        if (!time) return time.error();
        since.push_back(time.value());
      } else {
        since.push_back({std::chrono::duration<double>(p - points_.front()).count()});
      }
    }
    return since;
  }

 private:
  static auto a_point() {
    if constexpr (marks_time<Transport>())
      return typename Transport::time_mark{};
    else
      return std::chrono::steady_clock::time_point{};
  }

  Transport* transport_;
  std::vector<decltype(a_point())> points_;
};

}  // namespace slimpack::detail

#endif
