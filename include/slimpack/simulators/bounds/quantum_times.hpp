#ifndef SLIMPACK_SIMULATORS_BOUNDS_QUANTUM_TIMES_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_QUANTUM_TIMES_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace slimpack::simulators {

/// Indices of what bounds keep for forward and for backward.
inline constexpr std::array<std::size_t, 2> pass_numbers{0, 1};

/// What a slice takes at least on each part, in seconds.
struct quantum_times {
  std::vector<double> forward;
  std::vector<double> backward;  ///< weight gradients included
  std::vector<double> inputs;    ///< backward without them

  template <class Cost>
  void assign(const Cost& cost, const slice& s, int parts) {
    for (std::vector<double>* const each : {&forward, &backward, &inputs})
      each->resize(static_cast<std::size_t>(parts));
    for (int part = 0; part < parts; ++part) {
      const auto at = static_cast<std::size_t>(part);
      forward[at] = least_time(cost, s, pass::forward, part).value;
      backward[at] = least_time(cost, s, pass::backward, part).value;
      inputs[at] = std::max(0.0, backward[at] - least_weight_time(cost, s, part).value);
    }
  }
};

/// Calls visit(times of the cheapest, times of the dearest, count, tokens of one) for all quanta.
template <class Cost, class Visit>
void each_quantum(const batch_quanta& all, const Cost& cost, int parts, Visit&& visit) {
  quantum_times first;
  quantum_times last;
  for (const quantum_group& g : all.groups()) {
    first.assign(cost, g.first, parts);
    const bool alike = g.first == g.last;
    if (!alike) last.assign(cost, g.last, parts);
    visit(first, alike ? first : last, g.count, static_cast<double>(all.quantum().value));
  }
  for (const slice& rest : all.rests()) {
    first.assign(cost, rest, parts);
    visit(first, first, 1.0, static_cast<double>(rest.length.value));
  }
}

}  // namespace slimpack::simulators

#endif
