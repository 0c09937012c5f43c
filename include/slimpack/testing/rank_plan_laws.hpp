#ifndef SLIMPACK_TESTING_RANK_PLAN_LAWS_HPP
#define SLIMPACK_TESTING_RANK_PLAN_LAWS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/soundness/is_sound.hpp>
#include <slimpack/testing/report.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::testing {

/// Plans a batch replica by replica and as a whole, and checks that it is the same:
///  1. put together, the parts of all replicas are the plan of the whole batch, to the bit
///  2. all parts are of one division
///  3. a replica's group has it, and all replicas of a group get the same part
///  4. a part has the batch's sequences and shape, packs and programs of its group only, and merges between its
///     replicas; its group can run it (core/soundness/is_sound.hpp)
///  5. a part claims nothing of the whole: no step time, bounds, efficiency or bubble; its hash is that of what it has
///  6. the whole batch is refused where a part is, and only there
/// Planner   has operator()(batch), of_replica(batch, replica) and put_together(parts), as basic_planner does
/// Returns   a report, which converts to bool; a test has to assert it: EXPECT_TRUE(found) << found
///           (testing/report.hpp)
/// Errors    none            Complexity  a plan of each replica for each replica of its group, and one of all
template <class Planner>
[[nodiscard]] report rank_plan_laws(const Planner& plan_batch, const batch_view& batch, std::size_t replicas) {
  report r("rank plan laws", 0);
  const result<plan> whole = plan_batch(batch);
  std::vector<rank_plan> parts;
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    result<rank_plan> part = plan_batch.of_replica(batch, replica);
    if (part) parts.push_back(std::move(part).value());
  }
  r.check(6, static_cast<bool>(whole) == (parts.size() == replicas),
          "the whole batch is refused where a part is, and only there; parts planned", parts.size(), "of", replicas);
  if (!whole || parts.size() != replicas) return r;
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    const rank_plan& mine = parts[replica];
    r.check(2, mine.division == parts.front().division, "all parts are of one division; replica", replica);
    r.check(3,
            std::is_sorted(mine.group.begin(), mine.group.end()) &&
                std::binary_search(mine.group.begin(), mine.group.end(), replica),
            "a replica is in its group", replica);
    for (const std::uint32_t other : mine.group)
      r.check(3, other < replicas && parts[other].group == mine.group && parts[other].part.hash == mine.part.hash,
              "replicas of a group get the same part", replica, "and", other);
    const plan& p = mine.part;
    bool empty = p.replicas.size() == replicas;
    for (std::uint32_t other = 0; empty && other < replicas; ++other)
      empty = std::binary_search(mine.group.begin(), mine.group.end(), other) ||
              (p.replicas[other].sequences.empty() && p.replicas[other].programs.empty() &&
               p.replicas[other].partition.forward.size() + p.replicas[other].partition.backward.size() == 0);
    r.check(4, empty, "other replicas are empty in the part of replica", replica);
    r.check(4,
            p.shape == whole.value().shape && p.lengths == whole.value().lengths &&
                p.parents == whole.value().parents && p.copies == whole.value().copies,
            "a part has the sequences and the shape of the batch; replica", replica);
    for (const merge& m : p.merges)
      r.check(4, std::includes(mine.group.begin(), mine.group.end(), m.replicas.begin(), m.replicas.end()),
              "merges of a part are between its replicas; sequence", m.sequence.value);
    const result<void> sound = is_sound(mine);
    r.check(4, sound.has_value(), "the group can run its part", sound ? "" : sound.error().detail);
    r.check(5,
            p.step_time == seconds{} && p.bounds.empty() && p.lower_bound == seconds{} && p.efficiency == 0 &&
                p.bubble == 0,
            "a part claims nothing of the whole; replica", replica);
    r.check(5, p.hash == hash_of(p), "the hash is that of the part", p.hash, "computed", hash_of(p));
  }
  const result<plan> together = plan_batch.put_together(parts);
  r.check(1, static_cast<bool>(together), "the parts can be put together");
  if (!together) return r;
  r.check(1, together.value().hash == whole.value().hash && hash_of(together.value()) == hash_of(whole.value()),
          "put together, the parts are the plan of the whole batch: hash", together.value().hash, "of",
          whole.value().hash);
  const bool same_rates = std::equal(together.value().replicas.begin(), together.value().replicas.end(),
                                     whole.value().replicas.begin(), whole.value().replicas.end(),
                                     [](const replica_plan& a, const replica_plan& b) { return a.rates == b.rates; });
  r.check(1, same_rates && together.value().simulator == whole.value().simulator,
          "and have its memory rates and simulator");
  return r;
}

}  // namespace slimpack::testing

#endif
