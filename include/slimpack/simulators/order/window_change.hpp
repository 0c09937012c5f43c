#ifndef SLIMPACK_SIMULATORS_ORDER_WINDOW_CHANGE_HPP
#define SLIMPACK_SIMULATORS_ORDER_WINDOW_CHANGE_HPP

#include <slimpack/core/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::simulators {

/// What the packs at neighbouring places of a pass become: as many others, or fewer.
/// Shapes    places: pack numbers, in run order; n of them are left, the first n of a forward change and the last n of
///           a backward one; time, message: [n * stages]; the rest: n each
struct window_change {
  slimpack::pass pass{};
  std::vector<std::uint32_t> places;
  std::vector<double> time;                    ///< seconds, per-pack overhead included
  std::vector<double> message;                 ///< seconds, 0 where none follows
  std::vector<std::int64_t> size;              ///< tokens
  std::vector<double> pairs;                   ///< slice::dense_pairs, summed up
  std::vector<std::int64_t> needs;             ///< backward: forward tokens, in run order, that must have run before
  std::vector<std::int64_t> gradient_running;  ///< backward: as in workload
  std::vector<std::int64_t> gradient_after;    ///< backward: the same once the pack has run

  /// The first of the places that are left, as an index of `places`.
  [[nodiscard]] std::size_t first_left() const {
    return pass == slimpack::pass::forward ? 0 : places.size() - size.size();
  }
  [[nodiscard]] bool is_left(std::size_t i) const { return i - first_left() < size.size(); }
};

}  // namespace slimpack::simulators

#endif
