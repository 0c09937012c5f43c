#ifndef SLIMPACK_SOLVERS_DIVIDE_DETAIL_DIVISION_CHECK_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DETAIL_DIVISION_CHECK_HPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/divide/division.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Whether a divider's answer gives each replica and each sequence to one unit, as divider laws 1 and 2 say.
/// Shapes    sharers: of each sequence; none: any number of replicas may share one
/// Errors    invalid_input: it does not, and the detail names which            Complexity  O(sequences + replicas)
[[nodiscard]] inline result<void> division_check(const division& units, std::span<const tokens> lengths,
                                                 const shape& on, std::span<const sharers_range> sharers = {}) {
  const auto wrong = [](const std::string& what) {
    return error{errc::invalid_input, "the divider's answer is wrong: " + what};
  };
  std::vector<bool> planned(static_cast<std::size_t>(on.replicas));
  std::vector<bool> divided(lengths.size());
  for (const planning_unit& u : units) {
    if (u.replicas.empty()) return wrong("a unit has no replica");
    if (!is_ascending(u.replicas)) return wrong("replicas of a unit must be in ascending order");
    for (const std::uint32_t r : u.replicas) {
      if (r >= planned.size())
        return wrong("it has replica " + std::to_string(r) + ", the shape has " + std::to_string(planned.size()));
      if (planned[r]) return wrong("replica " + std::to_string(r) + " is in two units");
      planned[r] = true;
    }
    if (u.shared.empty() != (u.replicas.size() == 1))
      return wrong("a unit of " + std::to_string(u.replicas.size()) + " replicas shares " +
                   std::to_string(u.shared.size()) + " sequences: one replica shares none, several share some");
    for (const std::vector<sequence>* list : {&u.shared, &u.own})
      for (const sequence& s : *list) {
        if (s.id.value >= divided.size() || s.length != lengths[s.id.value])
          return wrong("it has sequence " + std::to_string(s.id.value) + " of " + std::to_string(s.length.value) +
                       " tokens, which the batch has not");
        if (divided[s.id.value]) return wrong("sequence " + std::to_string(s.id.value) + " is divided twice");
        divided[s.id.value] = true;
      }
    for (const sequence& s : u.shared)
      if (!sharers.empty() && u.replicas.size() > sharers[s.id.value].most)
        return wrong(std::to_string(u.replicas.size()) + " replicas share sequence " + std::to_string(s.id.value) +
                     " of " + std::to_string(s.length.value) + " tokens, which at most " +
                     std::to_string(sharers[s.id.value].most) + " can");
    if (u.exchanges && u.exchanges->empty())
      return wrong("a unit allows no exchange: leave it out, so that all are, or allow one");
  }
  for (std::size_t r = 0; r < planned.size(); ++r)
    if (!planned[r]) return wrong("replica " + std::to_string(r) + " is in no unit");
  for (std::size_t s = 0; s < divided.size(); ++s)
    if (!divided[s]) return wrong("sequence " + std::to_string(s) + " is in no unit");
  return success();
}

/// Puts units in the order of their first replicas: so the parts that ranks plan follow each other as in a plan of all.
inline void put_in_order(division& units) {
  std::sort(units.begin(), units.end(),
            [](const planning_unit& a, const planning_unit& b) { return a.replicas.front() < b.replicas.front(); });
}

/// Fingerprint of a division and of what was divided. Ranks that plan each its own compare it before they start.
/// Complexity O(sequences + replicas)
[[nodiscard]] inline std::uint64_t hash_of(const division& units, std::span<const tokens> lengths,
                                           const shape& on) noexcept {
  word_hash h;
  h.add(std::uint64_t{lengths.size()});
  for (const tokens length : lengths) h.add(length);
  for (const int degree : {on.stages, on.replicas, on.tensor, on.context, on.chunks}) h.add(degree);
  h.add(on.quantum);
  if (on.expert > 1) h.add(on.expert);
  h.add(on.memory ? on.memory->amount : -1.0);
  for (const planning_unit& u : units) {
    h.add(std::uint64_t{u.replicas.size()});
    for (const std::uint32_t r : u.replicas) h.add(r);
    for (const std::vector<sequence>* list : {&u.shared, &u.own}) {
      h.add(std::uint64_t{list->size()});
      for (const sequence& s : *list) h.add(s.id.value);
    }
  }
  return h.value();
}

}  // namespace slimpack::detail

#endif
