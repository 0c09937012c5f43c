#ifndef SLIMPACK_TESTING_REPLICA_LAWS_HPP
#define SLIMPACK_TESTING_REPLICA_LAWS_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/partition.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/testing/naive.hpp>
#include <slimpack/testing/report.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Laws 1 to 4, which solutions and plans share: what every replica's packs and programs obey.
namespace slimpack::testing {

/// One replica's part of a solution or of a plan.
struct replica_view {
  std::span<const sequence_id> sequences;
  const partition& packs;
  std::span<const program> programs;
  naive::apart_packs apart{};
};

/// Law 1: every sequence is on one replica, which runs each of its tokens once forward and once backward.
/// Law 2: cuts fall on the quantum. Law 3, first half: in order forward, in reverse order backward.
/// Returns   whether all slices are of known sequences, so that the programs can be run
inline bool check_slices(report& r, std::span<const tokens> lengths, const shape& on,
                         std::span<const replica_view> replicas) {
  r.check(1, replicas.size() == static_cast<std::size_t>(on.replicas), "there is one entry per replica",
          replicas.size(), "for", on.replicas);
  std::map<sequence_id, int> owners;
  bool known = true;
  for (const replica_view& v : replicas) {
    for (const sequence_id s : v.sequences) ++owners[s];
    const std::vector<sequence_id> own(v.sequences.begin(), v.sequences.end());
    for (const pass p : {pass::forward, pass::backward}) {
      std::map<sequence_id, std::vector<slice>> slices = naive::by_sequence(v.packs.of(p));
      for (const sequence_id s : own) slices[s];  // one without slices has a gap
      for (const auto& [s, run] : slices) {
        const bool listed = std::find(own.begin(), own.end(), s) != own.end() && s.value < lengths.size();
        r.check(1, listed, "a replica runs only sequences that it lists", "sequence", s, p);
        if (!listed) {
          known = false;
          continue;
        }
        const tokens length = lengths[s.value];
        std::vector<slice> sorted = run;
        std::sort(sorted.begin(), sorted.end(), [](const slice& a, const slice& b) { return a.begin < b.begin; });
        const std::optional<std::string> hole = naive::gap(sorted, length, pass::forward);
        r.check(1, !hole, "every token is once in a pack of each pass", "sequence", s, "of", length, p,
                hole.value_or(""));
        const std::optional<std::string> disorder = naive::gap(run, length, p);
        r.check(3, !disorder, "slices run in order forward and in reverse order backward", "sequence", s, "of", length,
                p, disorder.value_or(""));
        for (const slice& each : run)
          for (const tokens cut : {each.begin, each.end()})
            r.check(2, cut.value % on.quantum.value == 0 || cut == length, "cuts fall on the quantum", "slice", each, p,
                    "quantum", on.quantum);
      }
    }
  }
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const sequence_id id{static_cast<std::uint32_t>(s)};
    r.check(1, owners[id] == 1, "every sequence is on one replica", "sequence", id, "is on", owners[id]);
  }
  return known;
}

/// Law 3, second half: each stage runs each pack once per chunk in run order, and no stage waits for ever.
/// Returns   whether the programs run to their end
inline bool check_programs(report& r, const shape& on, const replica_view& v) {
  bool sound = v.programs.size() == static_cast<std::size_t>(on.stages);
  r.check(3, sound, "there is one program per stage", v.programs.size(), "for", on.stages);
  for (std::size_t stage = 0; stage < v.programs.size(); ++stage) {
    const std::optional<std::string> wrong = naive::miscount(v.programs[stage], v.packs, on, v.apart);
    r.check(3, !wrong, "each stage runs each pack once per chunk, in run order", "stage", stage, wrong.value_or(""));
    sound = sound && !wrong;
  }
  if (!sound) return false;
  const std::optional<std::string> stuck = naive::run(v.packs, v.programs, on).stuck;
  r.check(3, !stuck, "the programs are free of deadlock", stuck.value_or(""));
  return !stuck;
}

/// Law 4: no stage ever holds more than the limit. The programs must have passed check_programs.
/// kept(piece, stage): what pieces keep beside their tokens.
template <class Kept>
void check_memory(report& r, const shape& on, const replica_view& v, std::span<const memory_rates> rates,
                  const Kept& kept) {
  if (!on.memory) return;
  for (std::size_t stage = 0; stage < v.programs.size(); ++stage) {
    const double peak = naive::peak_memory(v.packs, v.programs[stage], rates[stage], on, static_cast<int>(stage), kept,
                                            v.apart);
    r.check(4, naive::at_most(peak, on.memory->amount), "the memory limit holds", "stage", stage, "holds", peak, "of",
            on.memory->amount);
  }
}

}  // namespace slimpack::testing

#endif
