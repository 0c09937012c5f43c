#ifndef SLIMPACK_EXECUTORS_DETAIL_PLAN_CHECK_HPP
#define SLIMPACK_EXECUTORS_DETAIL_PLAN_CHECK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// What must hold of a plan before a stage reads what it runs: it may be written by hand, or come from a file.
namespace slimpack::detail::plan_check {

inline error not_shared(const merge& m, exchange_set shares) {
  std::string says;
  for (const exchange e : {exchange::keep, exchange::queries, exchange::ring})
    if (shares.contains(e)) says += (says.empty() ? "" : " and ") + std::string(name_of(e));
  says = says.empty() ? "does not say shares_rows = true" : "shares rows by " + says + " alone (shares_rows)";
  return {errc::invalid_input, "sequence " + std::to_string(m.sequence.value) + " is shared by " +
                                   std::to_string(m.replicas.size()) +
                                   " replicas by exchange::" + std::string(name_of(m.exchange)) + ", the compute " +
                                   says + ": plan with planner_for<its type> (planner_for.hpp)"};
}

/// Each sequence is on one replica, or on those that share it.
inline result<void> each_owned(const plan& p, bool is_part) {
  std::vector<std::vector<std::uint32_t>> owners(p.lengths.size());
  for (std::uint32_t r = 0; r < p.replicas.size(); ++r)
    for (const sequence_id s : p.replicas[r].sequences) {
      if (s.value >= owners.size())
        return error{errc::invalid_input, "the plan has no sequence " + std::to_string(s.value)};
      owners[s.value].push_back(r);
    }
  std::vector<const merge*> merged(p.lengths.size());
  for (const merge& m : p.merges) {
    if (m.sequence.value >= merged.size())
      return error{errc::invalid_input, "the plan has no sequence " + std::to_string(m.sequence.value)};
    if (std::exchange(merged[m.sequence.value], &m) != nullptr)
      return error{errc::invalid_input, "sequence " + std::to_string(m.sequence.value) + " is shared twice"};
  }
  for (std::size_t s = 0; s < owners.size(); ++s) {
    if (is_part && merged[s] == nullptr && owners[s].empty()) continue;
    if (merged[s] == nullptr ? owners[s].size() == 1 : owners[s].size() > 1 && owners[s] == merged[s]->replicas)
      continue;
    return error{errc::invalid_input,
                 "sequence " + std::to_string(s) + " is on " + std::to_string(owners[s].size()) +
                     " replicas; each must be on one" +
                     (merged[s] == nullptr ? "" : ", or on the two or more that share it, in ascending order")};
  }
  return success();
}

/// Lengths and slices are at least one token long, and no slice leaves its sequence: sums of them cannot overflow, and
/// the common refinement of both passes may be taken before it is known that they tile.
inline result<void> all_within(const plan& p) {
  for (std::size_t s = 0; s < p.lengths.size(); ++s)
    if (p.lengths[s] < tokens{1} || p.lengths[s] > longest_supported)
      return error{errc::invalid_input, "sequence " + std::to_string(s) + " has " + std::to_string(p.lengths[s].value) +
                                            " tokens, expected 1 to " + std::to_string(longest_supported.value)};
  for (const replica_plan& r : p.replicas)
    for (const pass direction : {pass::forward, pass::backward})
      for (std::size_t i = 0; i < r.partition.of(direction).size(); ++i)
        for (const slice& s : r.partition.of(direction)[i])
          if (s.sequence.value >= p.lengths.size() || s.length < tokens{1} || s.begin < tokens{} ||
              s.begin > p.lengths[s.sequence.value] || s.length > p.lengths[s.sequence.value] - s.begin)
            return error{errc::invalid_input,
                         name_of(instruction{pass_kind(direction), {static_cast<std::uint32_t>(i)}}, 1) + " has " +
                             std::to_string(s.length.value) + " tokens of sequence " +
                             std::to_string(s.sequence.value) + " from " + std::to_string(s.begin.value) +
                             " on, which it has not"};
  return success();
}

/// Whether the plan has its replicas, each sequence where it is run, and slices within them; and whether a compute that
/// shares rows as told can run it.
/// Errors    invalid_input: what is wrong            Complexity  O(sequences + slices)
inline result<void> is_whole(const plan& p, exchange_set shares, bool is_part) {
  if (p.replicas.size() != static_cast<std::size_t>(p.shape.replicas))
    return error{errc::invalid_input, "the plan has " + std::to_string(p.replicas.size()) + " replicas, its shape " +
                                          std::to_string(p.shape.replicas)};
  for (const merge& m : p.merges)
    if (!shares.contains(m.exchange)) return not_shared(m, shares);
  if (result<void> owned = each_owned(p, is_part); !owned) return owned;
  return all_within(p);
}

}  // namespace slimpack::detail::plan_check

#endif
