#ifndef SLIMPACK_SOLVERS_ASSEMBLY_IMPL_SOLUTION_CHECK_IPP
#define SLIMPACK_SOLVERS_ASSEMBLY_IMPL_SOLUTION_CHECK_IPP

#include <slimpack/core/detail/ascending.hpp>
#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/relays/detail/relay_fault.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/solvers/assembly/detail/solution_check.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL result<void> solution_check::operator()() {
  if (solved_.replicas.size() != replicas_)
    return error{errc::invalid_input, "the solver plans " + number(solved_.replicas.size()) +
                                          " replicas, the shape has " + number(replicas_)};
  if (group_)
    if (result<void> fine = check(*group_); !fine) return fine;
  for (const merge& m : solved_.merges)
    if (result<void> fine = check(m); !fine) return fine;
  for (std::uint32_t r = 0; r < replicas_; ++r)
    if (result<void> fine = check(r); !fine) return fine;
  for (std::size_t s = 0; s < of_.size(); ++s) {
    const std::size_t wanted = of_[s].elsewhere ? 0 : of_[s].shared ? of_[s].shared->replicas.size() : 1;
    if (of_[s].listed != wanted)
      return wrong(s, "is on " + number(of_[s].listed) + " replicas, it must be on " + number(wanted));
    for (const pass p : passes_)
      if (wanted > 0 && of_[s].ran[p] != lengths_[s])
        return wrong(s, "runs " + number(of_[s].ran[p].value) + " of its " + number(lengths_[s].value) + " tokens " +
                            name_of(p));
  }
  return success();
}

SLIMPACK_DECL result<void> solution_check::check(const group_solution& group) {
  if (group.replicas.empty() || !is_ascending(group.replicas) || group.replicas.back() >= replicas_)
    return error{errc::invalid_input,
                 "the solver's answer is wrong: a group has replicas that there are, in ascending order"};
  for (state& s : of_) s.elsewhere = true;
  for (const sequence_id id : group.sequences) {
    if (id.value >= of_.size()) return wrong(id.value, "is planned, the batch has " + number(of_.size()));
    of_[id.value].elsewhere = false;
  }
  for (std::uint32_t r = 0; r < replicas_; ++r)
    if (!solved_.replicas[r].sequences.empty() && !std::binary_search(group.replicas.begin(), group.replicas.end(), r))
      return wrong(solved_.replicas[r].sequences.front().value,
                   "is on replica " + number(r) + ", which is not of the group");
  return success();
}

SLIMPACK_DECL result<void> solution_check::check(const merge& m) {
  const std::size_t s = m.sequence.value;
  if (s >= of_.size()) return wrong(s, "is merged, the batch has " + number(of_.size()));
  if (std::exchange(of_[s].shared, &m)) return wrong(s, "is merged twice");
  if (m.replicas.size() < 2 || !is_ascending(m.replicas) || m.replicas.back() >= replicas_)
    return wrong(s, "must be shared by two replicas or more that there are, in ascending order");
  if (const std::optional<std::string> fault = relay_fault(m)) return wrong(s, *fault);
  for (const pass p : passes_)
    for (const std::vector<pack_id>& row : m.of(p))
      if (row.size() != m.replicas.size())
        return wrong(s, "has a row of " + number(row.size()) + " packs for " + number(m.replicas.size()) + " replicas");
      else if (m.exchange != exchange::keep && std::find(row.begin(), row.end(), merge::none) != row.end())
        return wrong(s, "has a row without a pack of each replica, which is for exchange::keep alone");
  return success();
}

SLIMPACK_DECL result<void> solution_check::check(std::uint32_t replica) {
  const replica_solution& r = solved_.replicas[replica];
  for (const sequence_id id : r.sequences) {
    if (id.value >= of_.size()) return wrong(id.value, "is planned, the batch has " + number(of_.size()));
    state& s = of_[id.value];
    if (s.shared && (s.listed >= s.shared->replicas.size() || s.shared->replicas[s.listed] != replica))
      return wrong(id.value, "is on replica " + number(replica) + ", which is not the next of those that share it");
    ++s.listed;
    s.last = replica + 1;
    s.rows = {};
  }
  for (const pass p : passes_) {
    const micropacks& packs = r.partition.of(p);
    for (std::size_t pack = 0; pack < packs.size(); ++pack)
      for (const slice& one : packs[pack])
        if (result<void> fine = check(one, p, replica, pack); !fine) return fine;
    for (const sequence_id id : r.sequences) {
      const state& s = of_[id.value];
      if (!s.shared) continue;
      std::size_t row = s.rows[p];
      while (row < s.shared->of(p).size() && s.shared->of(p)[row][s.listed - 1] == merge::none) ++row;
      if (row != s.shared->of(p).size())
        return wrong(id.value, "has " + number(s.shared->of(p).size()) + " rows " + name_of(p) + ", replica " +
                                   number(replica) + " runs " + number(s.rows[p]));
    }
  }
  if (!ties_stages(r)) return success();
  const std::size_t tied = tied_sequence(r).value;
  if (!solved_.merges.empty())
    return wrong(tied, std::string("is one for which stages ") + what_ties +
                           ", and replicas share a sequence, which has no price together: plan with " + without_ties +
                           ", or share none");
  if (const std::optional<std::string> fault = tie_fault(r, shape_))
    return wrong(tied, std::string("is the first for which stages ") + what_ties + " on replica " + number(replica) +
                           ", where " + *fault);
  return success();
}

SLIMPACK_DECL result<void> solution_check::check(const slice& one, pass p, std::uint32_t replica, std::size_t pack) {
  const std::size_t id = one.sequence.value;
  if (id >= of_.size() || of_[id].last != replica + 1)
    return wrong(id, "has a slice on replica " + number(replica) + ", which does not list it");
  state& s = of_[id];
  tokens& ran = s.ran[p];
  const tokens next = p == pass::forward ? ran : lengths_[id] - ran;
  const bool inside = one.begin >= tokens{} && one.length > tokens{} && one.length <= lengths_[id] - one.begin;
  if (!inside || (!s.shared && one.entry(p) != next))
    return wrong(id, "of " + number(lengths_[id].value) + " tokens runs " + number(one.length.value) + " from " +
                         number(one.begin.value) + " on " + name_of(p) + ", after " + number(ran.value) + " others");
  ran += one.length;
  if (!s.shared) return success();
  // Its packs are those of its rows, one after the other; two slices may be in one.
  const std::vector<std::vector<pack_id>>& rows = s.shared->of(p);
  const std::size_t place = s.listed - 1;
  std::size_t& row = s.rows[p];  // one past the last that it has run
  if (row > 0 && rows[row - 1][place].value == pack) return success();
  while (row < rows.size() && rows[row][place] == merge::none) ++row;
  if (row == rows.size() || rows[row][place].value != pack)
    return wrong(id, "has a slice in pack " + number(pack) + " of replica " + number(replica) + ", " + name_of(p) +
                         ", which its next row does not name");
  ++row;
  return success();
}

}  // namespace slimpack::detail

#endif
