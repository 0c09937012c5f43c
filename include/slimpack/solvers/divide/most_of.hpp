#ifndef SLIMPACK_SOLVERS_DIVIDE_MOST_OF_HPP
#define SLIMPACK_SOLVERS_DIVIDE_MOST_OF_HPP

#include <slimpack/core/partition.hpp>
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
    const bool first = work_.forward.before.empty();
    add(work_.forward, sharer.forward, of.number.forward, first, true);
    add(work_.backward, sharer.backward, of.number.backward, first, false);
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

  void add(pass_timing& to, const pass_timing& from, const std::vector<std::uint32_t>& of, bool first,
           bool most) const {
    const auto parts = static_cast<std::size_t>(work_.shape.parts());
    if (first) {
      to.time.resize(of.size() * parts);
      to.message.resize(of.size() * parts);
      to.before.resize(of.size() + 1);
    }
    spread(to.time, from.time, of, parts);
    spread(to.message, from.message, of, parts);
    sum_up(to.before.data(), from.before.data(), of, first, most);
    if (from.kept.empty()) return;
    const auto stages = static_cast<std::size_t>(work_.shape.stages);
    if (to.kept.empty()) to.kept.resize(stages * (of.size() + 1));  // sharers before may keep nothing
    for (std::size_t r = 0; r < stages; ++r)
      sum_up(&to.kept[r * (of.size() + 1)], &from.kept[r * (from.size() + 1)], of, first, most);
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
