#ifndef SLIMPACK_CORE_RELAYS_DETAIL_RELAY_FAULT_HPP
#define SLIMPACK_CORE_RELAYS_DETAIL_RELAY_FAULT_HPP

#include <slimpack/core/merge.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slimpack::detail {

/// What is wrong with the relays of a merge, and what to choose instead; none where its sharers can run them.
/// Requires  sharers in ascending order            Complexity  O(strands log sharers)
[[nodiscard]] inline std::optional<std::string> relay_fault(const merge& m) {
  if (!m.relays.empty() && m.exchange == exchange::keep)
    return "has relays where keys and values are kept, which each sharer sends over an adapter of its own: choose ring "
           "or queries, or no relays";
  std::vector<std::uint32_t> senders;
  for (const relay& r : m.relays) {
    const std::string from = r.out.empty() ? "nobody" : "replica " + std::to_string(r.out.front());
    const std::string name = "has a relay from " + from + ' ';
    if (r.out.size() != r.in.size())
      return name + "with a leg that lacks a party, " + std::to_string(r.out.size()) +
             " replicas that send across and " + std::to_string(r.in.size()) +
             " that hear: name as many in `in` as in `out`";
    if (r.out.size() < 2) return name + "of one strand, which is a transfer without proxies: leave it out";
    if (r.segments < 1 || r.segments > most_segments)
      return name + "of " + std::to_string(r.segments) + " segments: choose 1 to " + std::to_string(most_segments);
    std::vector<std::uint32_t> parties = r.out;
    parties.insert(parties.end(), r.in.begin(), r.in.end());
    for (const std::uint32_t one : parties)
      if (!std::binary_search(m.replicas.begin(), m.replicas.end(), one))
        return name + "over replica " + std::to_string(one) + ", which does not share the sequence: name sharers alone";
    std::sort(parties.begin(), parties.end());
    if (std::adjacent_find(parties.begin(), parties.end()) != parties.end())
      return name + "that names a replica twice: name each once";
    const auto sender = std::lower_bound(m.replicas.begin(), m.replicas.end(), r.out.front());
    const std::uint32_t next = sender + 1 == m.replicas.end() ? m.replicas.front() : *(sender + 1);
    if (r.in.front() != next)
      return name + "to replica " + std::to_string(r.in.front()) + ", but rows go round to replica " +
             std::to_string(next) + ": name that first in `in`";
    senders.push_back(r.out.front());
  }
  std::sort(senders.begin(), senders.end());
  const auto twice = std::adjacent_find(senders.begin(), senders.end());
  if (twice != senders.end()) return "has two relays from replica " + std::to_string(*twice) + ": leave one out";
  return std::nullopt;
}

}  // namespace slimpack::detail

#endif
