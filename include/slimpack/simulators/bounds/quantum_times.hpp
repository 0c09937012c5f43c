#ifndef SLIMPACK_SIMULATORS_BOUNDS_QUANTUM_TIMES_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_QUANTUM_TIMES_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
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
  /// Replaces each time by `of` it and that of the other, the least or the most of both.
  template <class Choice>
  void choose(const quantum_times& other, const Choice& of) {
    for (std::vector<double> quantum_times::*const each :
         {&quantum_times::forward, &quantum_times::backward, &quantum_times::inputs})
      for (std::size_t part = 0; part < forward.size(); ++part)
        (this->*each)[part] = of((this->*each)[part], (other.*each)[part]);
  }
};

/// Calls visit(times of the cheapest, times of the dearest, count, tokens of one) for all quanta. With borders these are
/// the least and the most of each time, which may be of different quanta.
/// Complexity O((groups + rests) * parts) questions; with borders O(longest / quantum * parts) for the groups
template <class Cost, class Visit>
void each_quantum(const batch_quanta& all, const Cost& cost, int parts, Visit&& visit) {
  const bool borders = has_borders(cost);
  quantum_times first;
  quantum_times last;
  quantum_times next;
  const auto collect = [&](quantum_times& into, const auto& of) {
    return [&, is_first = true](const slice& s) mutable {
      if (std::exchange(is_first, false)) return into.assign(cost, s, parts);
      next.assign(cost, s, parts);
      into.choose(next, of);
    };
  };
  const auto least = [](double a, double b) { return std::min(a, b); };
  const auto most = [](double a, double b) { return std::max(a, b); };
  for (const quantum_group& g : all.groups()) {
    all.each_cheap(g, borders, collect(first, least));
    const bool alike = g.first == g.last;
    if (!alike) all.each_dear(g, borders, collect(last, most));
    visit(first, alike ? first : last, g.count, static_cast<double>(all.quantum().value));
  }
  for (const slice& rest : all.rests()) {
    first.assign(cost, rest, parts);
    visit(first, first, 1.0, static_cast<double>(rest.length.value));
  }
}

}  // namespace slimpack::simulators

#endif
