#ifndef SLIMPACK_TESTING_REPLICA_LAWS_HPP
#define SLIMPACK_TESTING_REPLICA_LAWS_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/relays/detail/relay_fault.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/testing/naive.hpp>
#include <slimpack/testing/report.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  std::span<const sequence_id> parents{};  ///< of the batch, where samples share beginnings; else empty
  naive::others_of_packs others{};
};

namespace detail {

/// Laws 1 and 3 of a shared sequence: rows name the packs of its slices, whose tokens, taken over all sharers, run like
/// slices; and each sharer runs backward what it ran forward.
/// Returns   whether rows can be run
inline bool check_merge(report& r, std::span<const sequence> batch, std::span<const replica_view> replicas,
                        const merge& m, std::span<const pass> passes) {
  const sequence_id id = m.sequence;
  const bool sound =
      id.value < batch.size() && m.replicas.size() > 1 &&
      std::adjacent_find(m.replicas.begin(), m.replicas.end(), std::greater_equal<>()) == m.replicas.end() &&
      m.replicas.back() < replicas.size();
  r.check(1, sound, "a merge names a sequence and two or more replicas in ascending order", "sequence", id);
  if (!sound) return false;
  const std::optional<std::string> fault = slimpack::detail::relay_fault(m);
  r.check(3, !fault, "relays are between sharers that rows go round", "sequence", id, fault.value_or(""));
  for (const pass p : passes) {
    std::vector<std::vector<slice>> rows(m.of(p).size());
    for (std::size_t k = 0; k < m.replicas.size(); ++k) {
      const micropacks& packs = replicas[m.replicas[k]].packs.of(p);
      std::vector<std::size_t> named;  // packs, row by row
      std::vector<std::size_t> of_row;
      for (const std::vector<pack_id>& row : m.of(p)) {
        const bool absent = row.size() == m.replicas.size() && row[k] == merge::none && m.exchange == exchange::keep;
        const bool whole = absent || (row.size() == m.replicas.size() && row[k].value < packs.size());
        r.check(3, whole, "a row names a pack of each replica, or none where keys and values are kept", "sequence", id,
                p, "replica", m.replicas[k]);
        if (!whole) return false;
        if (absent) continue;
        named.push_back(row[k].value);
        of_row.push_back(static_cast<std::size_t>(&row - m.of(p).data()));
      }
      r.check(3, std::is_sorted(named.begin(), named.end()), "rows are in run order", "sequence", id, p, "replica",
              m.replicas[k]);
      std::vector<std::size_t> holding;
      for (std::size_t i = 0; i < packs.size(); ++i)
        if (std::any_of(packs[i].begin(), packs[i].end(), [&](const slice& s) { return s.sequence == id; }))
          holding.push_back(i);
      const bool matching = named == holding;
      r.check(3, matching, "rows name the packs that hold their sequence, each once", "sequence", id, p, "replica",
              m.replicas[k]);
      if (!matching) return false;
      for (std::size_t i = 0; i < named.size(); ++i)
        for (const slice& s : packs[named[i]])
          if (s.sequence == id) rows[of_row[i]].push_back(s);
    }
    std::vector<slice> all;
    for (std::vector<slice>& row : rows) {
      r.check(3, !row.empty(), "each row has tokens of some replica", "sequence", id, p);
      std::sort(row.begin(), row.end(), [&](const slice& a, const slice& b) {
        return p == pass::forward ? a.begin < b.begin : a.begin > b.begin;
      });
      all.insert(all.end(), row.begin(), row.end());
    }
    const std::optional<std::string> disorder = naive::gap(all, batch[id.value].whole(), p);
    r.check(3, !disorder, "rows run in order forward and in reverse order backward", "sequence", id, p,
            disorder.value_or(""));
    std::sort(all.begin(), all.end(), [](const slice& a, const slice& b) { return a.begin < b.begin; });
    const std::optional<std::string> hole = naive::gap(all, batch[id.value].whole(), pass::forward);
    r.check(1, !hole, "every token is once in a pack of each pass", "sequence", id, p, hole.value_or(""));
  }
  for (const std::uint32_t replica : passes.size() > 1 ? m.replicas : std::vector<std::uint32_t>{})
    r.check(1,
            naive::runs_of(replicas[replica].packs.forward, id) == naive::runs_of(replicas[replica].packs.backward, id),
            "tokens of a shared sequence run backward on the replica that ran them forward", "sequence", id, "replica",
            replica);
  return true;
}

}  // namespace detail

/// Law 1: every sequence is on one replica, or on those that share it, which run each of its tokens once forward and
/// once backward; where samples share beginnings, a path is on one replica. Law 2: cuts fall on the quantum, counted
/// from the first token of each sequence. Law 3, first half: in order forward, in reverse order backward; a sequence
/// runs forward after its parent and backward after all that go on behind it.
/// passes: those that run; forward alone of a forward-only plan
/// Returns   whether all slices are of known sequences, and merges name packs there are, so that the programs can be
///           run
inline bool check_slices(report& r, const batch_view& given, const shape& on, std::span<const replica_view> replicas,
                         std::span<const merge> merges, std::span<const pass> passes = both_passes) {
  r.check(1, replicas.size() == static_cast<std::size_t>(on.replicas), "there is one entry per replica",
          replicas.size(), "for", on.replicas);
  const std::optional<std::string> fault = given.parents().empty() ? std::nullopt : given.fault();
  r.check(1, !fault, "sequences that go on where others end are a forest", fault.value_or(""));
  if (fault) return false;
  const std::vector<sequence> batch = given.sequences();
  std::map<sequence_id, std::vector<std::uint32_t>> owners;
  std::map<sequence_id, std::vector<std::uint32_t>> sharers;
  bool known = true;
  for (const merge& m : merges) {
    r.check(1, sharers.try_emplace(m.sequence, m.replicas).second, "a sequence is merged once", "sequence", m.sequence);
    known = detail::check_merge(r, batch, replicas, m, passes) && known;
  }
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const replica_view& v = replicas[i];
    for (const sequence_id s : v.sequences) owners[s].push_back(static_cast<std::uint32_t>(i));
    const std::vector<sequence_id> own(v.sequences.begin(), v.sequences.end());
    for (const pass p : passes) {
      std::map<sequence_id, std::vector<slice>> slices = naive::by_sequence(v.packs.of(p));
      for (const sequence_id s : own) slices[s];  // one without slices has a gap
      for (const auto& [s, run] : slices) {
        const bool listed = std::find(own.begin(), own.end(), s) != own.end() && s.value < batch.size();
        r.check(1, listed, "a replica runs only sequences that it lists", "sequence", s, p);
        if (!listed) {
          known = false;
          continue;
        }
        const slice whole = batch[s.value].whole();
        for (const slice& each : run)
          for (const tokens cut : {each.begin - whole.begin, each.end() - whole.begin})
            r.check(2, cut.value % on.quantum.value == 0 || cut == whole.length, "cuts fall on the quantum", "slice",
                    each, p, "quantum", on.quantum);
        if (sharers.contains(s)) continue;
        std::vector<slice> sorted = run;
        std::sort(sorted.begin(), sorted.end(), [](const slice& a, const slice& b) { return a.begin < b.begin; });
        const std::optional<std::string> hole = naive::gap(sorted, whole, pass::forward);
        r.check(1, !hole, "every token is once in a pack of each pass", "sequence", s, "of", whole.length, p,
                hole.value_or(""));
        const std::optional<std::string> disorder = naive::gap(run, whole, p);
        r.check(3, !disorder, "slices run in order forward and in reverse order backward", "sequence", s, "of",
                whole.length, p, disorder.value_or(""));
      }
      if (!known) continue;
      const std::optional<std::string> broken = naive::broken_path(v.packs.of(p), batch, p);
      r.check(3, !broken, "sequences run forward after their parents, and backward before them", p,
              broken.value_or(""));
    }
  }
  for (const sequence& s : batch) {
    if (s.is_root()) continue;
    r.check(1, owners[s.id] == owners[s.parent], "a path is on one replica", "sequence", s.id, "parent", s.parent);
    r.check(1, !sharers.contains(s.id) && !sharers.contains(s.parent), "shared sequences are whole paths", "sequence",
            s.id, "parent", s.parent);
  }
  for (std::size_t s = 0; s < batch.size(); ++s) {
    const sequence_id id{static_cast<std::uint32_t>(s)};
    if (const auto shared = sharers.find(id); shared != sharers.end())
      r.check(1, owners[id] == shared->second, "a shared sequence is on the replicas of its merge", "sequence", id);
    else
      r.check(1, owners[id].size() == 1, "every sequence is on one replica", "sequence", id, "is on",
              owners[id].size());
  }
  return known;
}

/// Law 3, second half: each stage runs each pack once per chunk in run order, and no stage waits for ever.
/// Returns   whether the programs of all replicas run to their end
inline bool check_programs(report& r, const shape& on, std::span<const replica_view> replicas,
                           std::span<const merge> merges) {
  bool sound = true;
  std::vector<naive::running> running;
  for (const replica_view& v : replicas) {
    const bool complete = v.programs.size() == static_cast<std::size_t>(on.stages);
    r.check(3, complete, "there is one program per stage", v.programs.size(), "for", on.stages);
    sound = sound && complete;
    for (std::size_t stage = 0; stage < v.programs.size(); ++stage) {
      const std::optional<std::string> wrong = naive::miscount(v.programs[stage], v.packs, on, v.apart);
      r.check(3, !wrong, "each stage runs each pack once per chunk, in run order", "stage", stage, wrong.value_or(""));
      sound = sound && !wrong;
    }
    running.push_back({&v.packs, v.programs, {}, v.parents});
  }
  if (!sound) return false;
  for (const naive::outcome& one : naive::run(running, merges, on)) {
    r.check(3, !one.stuck, "the programs are free of deadlock", one.stuck.value_or(""));
    sound = sound && !one.stuck;
  }
  return sound;
}

/// Law 4: no stage ever holds more than the limit. The programs must have passed check_programs.
/// kept(piece, stage, first): what pieces keep beside their tokens, of a sequence whose tokens begin here at `first`.
template <class Kept>
void check_memory(report& r, const shape& on, const replica_view& v, std::span<const memory_rates> rates,
                  const Kept& kept) {
  if (!on.memory) return;
  for (std::size_t stage = 0; stage < v.programs.size(); ++stage) {
    const double peak = naive::peak_memory(v.packs, v.programs[stage], rates[stage], on, static_cast<int>(stage), kept,
                                           v.apart, v.others, {}, v.parents);
    r.check(4, naive::at_most(peak, on.memory->amount), "the memory limit holds", "stage", stage, "holds", peak, "of",
            on.memory->amount);
  }
}

}  // namespace slimpack::testing

#endif
