#ifndef SLIMPACK_SOLVERS_DIVIDE_MOST_OF_HPP
#define SLIMPACK_SOLVERS_DIVIDE_MOST_OF_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/solvers/divide/unfold.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The workload of packs that several sharers run alike: each pack takes as long as on its slowest sharer, waits for
/// the last forward that any needs, and after any number of packs as much is held as on the sharer that has taken in
/// most, and nothing more released than on the one that has released least.
/// Law       programs that suit it suit the workload of every sharer, the packs left out that a sharer has not
/// Complexity O(packs * parts) for each sharer
class most_of {
 public:
  most_of(const partition& packs, const shape& on, const std::vector<memory_rates>& rates) {
    work_.shape = on;
    work_.rates = rates;
    work_.turn.assign(packs.backward.size(), 0);
    work_.gradient_running.assign(packs.backward.size(), 0);
    work_.gradient_before.assign(packs.backward.size() + 1, 0);
  }

  void add(const workload& sharer, const sharer_packs& of) {
    const bool first = work_.times.before.forward.empty();
    for (const pass p : both_passes) add(p, sharer.times, of.number[p], first);
    std::vector<std::uint32_t> forward;  // of the sharer: those of stand-ins
    for (std::uint32_t i = 0; i < of.number.forward.size(); ++i)
      if (of.number.forward[i] != sharer_packs::none) forward.push_back(i);
    std::uint32_t turn = 0;
    std::int64_t open = 0;
    for (std::size_t i = 0; i < of.number.backward.size(); ++i) {
      const std::uint32_t own = of.number.backward[i];
      if (own != sharer_packs::none) turn = forward[sharer.turn[own]];
      work_.turn[i] = std::max(work_.turn[i], turn);
      work_.gradient_running[i] =
          std::max(work_.gradient_running[i], own == sharer_packs::none ? open : sharer.gradient_running[own]);
      if (own != sharer_packs::none) open = sharer.gradient_before[own + 1];
      work_.gradient_before[i + 1] = std::max(work_.gradient_before[i + 1], open);
    }
    if (sharer.split.inputs.empty()) return;
    const auto parts = static_cast<std::size_t>(work_.shape.parts());
    work_.split.inputs.resize(of.number.backward.size() * parts);
    work_.split.weights.resize(of.number.backward.size() * parts);
    spread(work_.split.inputs, sharer.split.inputs, of.number.backward, parts);
    spread(work_.split.weights, sharer.split.weights, of.number.backward, parts);
  }

  [[nodiscard]] workload work() && { return std::move(work_); }

 private:
  static void spread(std::vector<seconds>& to, const std::vector<seconds>& from, const std::vector<std::uint32_t>& of,
                     std::size_t parts) {
    for (std::size_t i = 0; i < of.size(); ++i)
      for (std::size_t part = 0; part < parts && of[i] != sharer_packs::none; ++part)
        to[i * parts + part] = std::max(to[i * parts + part], from[of[i] * parts + part]);
  }

  void add(pass p, const timings& from, const std::vector<std::uint32_t>& of, bool first) {
    timings& to = work_.times;
    const bool most = p == pass::forward;
    const auto parts = static_cast<std::size_t>(work_.shape.parts());
    if (first) {
      to.calls[p].resize(of.size() * parts);
      to.messages[p].resize(of.size() * parts);
      to.before[p].resize(of.size() + 1);
    }
    spread(to.calls[p], from.calls[p], of, parts);
    spread(to.messages[p], from.messages[p], of, parts);
    sum_up(to.before[p].data(), from.before[p].data(), of, first, most);
    if (from.kept[p].empty()) return;
    const auto stages = static_cast<std::size_t>(work_.shape.stages);
    if (to.kept[p].empty()) to.kept[p].resize(stages * (of.size() + 1));  // sharers before may keep nothing
    for (std::size_t r = 0; r < stages; ++r)
      sum_up(&to.kept[p][r * (of.size() + 1)], &from.kept[p][r * (from.packs(p) + 1)], of, first, most);
  }

  /// Sums over packs run, of which the largest count, or the least.
  template <class Number>
  static void sum_up(Number* to, const Number* from, const std::vector<std::uint32_t>& of, bool first, bool most) {
    std::size_t run = 0;
    for (std::size_t i = 0; i <= of.size(); ++i) {
      to[i] = first ? from[run] : most ? std::max(to[i], from[run]) : std::min(to[i], from[run]);
      if (i < of.size() && of[i] != sharer_packs::none) run = of[i] + std::size_t{1};
    }
  }

  workload work_;
};

}  // namespace slimpack::detail

#endif
