#ifndef SLIMPACK_SOLVERS_DETAIL_UNFOLD_HPP
#define SLIMPACK_SOLVERS_DETAIL_UNFOLD_HPP

#include <slimpack/core/problem.hpp>
#include <slimpack/core/refine.hpp>
#include <slimpack/core/solution.hpp>
#include <slimpack/solvers/detail/lanes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The plan of stand-ins as the plan of the replicas that they stand for: the same packs and programs on each, without
/// the packs that have no slice there. Every pack that holds a shared sequence is a row of it, whose runs between the cuts of
/// both passes are split among the lanes: a token runs backward where it ran forward.
/// Shapes    replicas: those that the lanes are, ascending
/// Complexity O(slices * lanes^2)
[[nodiscard]] inline solution unfolded(const replica_solution& planned, const lanes& on,
                                       std::span<const std::uint32_t> replicas) {
  constexpr auto none = std::numeric_limits<std::uint32_t>::max();
  const common_cuts cuts(planned.partition);
  solution made{std::vector<replica_solution>(on.count())};
  for (const sequence& s : on.shared()) made.merges.push_back({s.id, {replicas.begin(), replicas.end()}, {}, {}});
  std::vector<std::vector<std::uint32_t>> pack_of[2];  // by pass, lane and pack of stand-ins: that of the lane
  for (const pass p : {pass::forward, pass::backward}) {
    const micropacks& packs = planned.partition.of(p);
    std::vector<std::vector<std::uint32_t>>& own = pack_of[p == pass::backward];
    own.assign(on.count(), std::vector<std::uint32_t>(packs.size(), none));
    for (std::size_t lane = 0; lane < on.count(); ++lane) {
      partition& lane_packs = made.replicas[lane].partition;
      micropacks& to = p == pass::forward ? lane_packs.forward : lane_packs.backward;
      for (std::size_t i = 0; i < packs.size(); ++i) {
        for (const slice& s : packs[i]) {
          if (on.is_shared(s))
            cuts.each_piece(s, p, [&](const slice& run) {
              const row_pieces pieces = on.pieces(run, lane);
              for (const slice& piece : p == pass::forward ? std::array{pieces.head, pieces.tail} : std::array{pieces.tail, pieces.head})
                if (piece.length > tokens{0}) to.push(piece);
            });
          else
            on.each(s, lane, [&](const slice& piece) { to.push(piece); });
        }
        const auto before = static_cast<std::uint32_t>(to.size());
        to.close();
        if (to.size() > before) own[lane][i] = before;
      }
    }
    for (std::size_t i = 0; i < packs.size(); ++i) {
      for (const slice& s : packs[i]) {
        if (!on.is_shared(s)) continue;
        merge& m = made.merges[s.sequence.value];
        std::vector<pack_id>& row = (p == pass::forward ? m.forward : m.backward).emplace_back();
        for (std::size_t lane = 0; lane < on.count(); ++lane) row.push_back({own[lane][i]});
      }
    }
  }
  for (std::size_t lane = 0; lane < on.count(); ++lane) {
    made.replicas[lane].sequences = on.sequences(lane);
    for (const program& stage : planned.programs) {
      program& own = made.replicas[lane].programs.emplace_back();
      for (instruction i : stage) {
        i.pack.value = pack_of[i.pass == pass::backward][lane][i.pack.value];
        if (i.pack.value != none) own.push_back(i);
      }
    }
  }
  return made;
}

}  // namespace slimpack::detail

#endif
