#ifndef SLIMPACK_CORE_SOUNDNESS_IMPL_SOUND_PACKS_IPP
#define SLIMPACK_CORE_SOUNDNESS_IMPL_SOUND_PACKS_IPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/forest/uncut.hpp>
#include <slimpack/core/relays/detail/relay_fault.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/soundness/detail/sound_packs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL result<void> sound_shape(const shape& on) {
  if (const char* const fault = fault_of(on))
    return error{errc::invalid_input, std::string("the plan's shape has ") + fault};
  return success();
}

SLIMPACK_DECL result<void> packs_law::operator()(extent which) {
  if (replicas_ != static_cast<std::size_t>(all_.on->replicas))
    return error{errc::invalid_input,
                 "there are " + number(replicas_) + " replicas, the shape has " + number(all_.on->replicas)};
  if (const std::optional<std::string> fault = all_.batch.fault()) return error{errc::invalid_input, *fault};
  order_ = slice_order(all_.batch);
  for (std::uint32_t m = 0; m < shared_.size(); ++m)
    if (result<void> fine = merge_names_what_there_is(m); !fine) return fine;
  if (result<void> fine = list(); !fine) return fine;
  for (std::size_t s = 0; s < of_.size(); ++s) {
    const std::size_t wanted = of_[s].merged == 0 ? 1 : all_.merges[of_[s].merged - 1].replicas.size();
    if (of_[s].listed == wanted || (which == extent::listed && of_[s].listed == 0 && wanted == 1)) continue;
    return wrong(id_of(s), "is on " + number(of_[s].listed) + " replicas, it must be on " + number(wanted) +
                               (wanted == 1 ? ", or on those that share it" : ", those that share it"));
  }
  if (result<void> fine = lists_paths(which); !fine) return fine;
  for (const pass p : all_.passes)
    if (result<void> fine = run(p); !fine) return fine;
  for (const merge& m : all_.merges)
    if (result<void> fine = same_tokens(m); !fine) return fine;
  return success();
}

/// Sharers that there are, what rows do between them, and rows of their packs.
SLIMPACK_DECL result<void> packs_law::merge_names_what_there_is(std::uint32_t m) {
  const merge& one = all_.merges[m];
  const sequence_id s = one.sequence;
  if (s.value >= of_.size()) return wrong(s, "is merged, the batch has " + number(of_.size()));
  if (std::exchange(of_[s.value].merged, m + 1) != 0) return wrong(s, "is merged twice");
  if (one.replicas.size() < 2 || !is_ascending(one.replicas) || one.replicas.back() >= replicas_)
    return wrong(s, "must be shared by two replicas or more that there are, in ascending order");
  if (const std::optional<std::string> fault = relay_fault(one)) return wrong(s, *fault);
  for (const pass p : both_passes) {
    if (std::find(all_.passes.begin(), all_.passes.end(), p) == all_.passes.end() && !one.of(p).empty())
      return wrong(s, "has " + std::string(name_of(p)) + " rows, and no replica has " + name_of(p) + " packs");
    if (one.exchange == exchange::ring && one.of(p).size() > 1)
      return wrong(s, "goes round in a ring, which is for one row, and has " + number(one.of(p).size()));
    for (std::size_t row = 0; row < one.of(p).size(); ++row)
      if (result<void> fine = row_names_what_there_is(one, p, row); !fine) return fine;
  }
  shared_[m].rows.resize(one.replicas.size());
  return success();
}

SLIMPACK_DECL result<void> packs_law::row_names_what_there_is(const merge& m, pass p, std::size_t row) const {
  const std::vector<pack_id>& packs = m.of(p)[row];
  const auto refused = [&](const std::string& what) {
    return wrong(m.sequence, "has a " + std::string(name_of(p)) + " row, " + number(row) + ", " + what);
  };
  if (packs.size() != m.replicas.size())
    return refused("of " + number(packs.size()) + " packs for " + number(m.replicas.size()) +
                   " replicas: it names a pack of each, or none");
  bool named = false;
  for (std::size_t k = 0; k < packs.size(); ++k) {
    const std::size_t count = all_.replicas[m.replicas[k]].packs->of(p).size();
    if (packs[k] == merge::none && m.exchange != exchange::keep)
      return refused("without a pack of replica " + number(m.replicas[k]) + ", which is for exchange::keep alone");
    if (packs[k] != merge::none && packs[k].value >= count)
      return refused("that names pack " + number(packs[k].value) + " of replica " + number(m.replicas[k]) +
                     ", which has " + number(count));
    named = named || packs[k] != merge::none;
  }
  if (!named) return refused("that names no pack");
  return success();
}

/// Counts the replicas that list each sequence; those that share one list it in their order.
SLIMPACK_DECL result<void> packs_law::list() {
  for (std::uint32_t r = 0; r < replicas_; ++r)
    for (const sequence_id id : all_.replicas[r].sequences) {
      if (id.value >= of_.size()) return wrong(id, "is planned, the batch has " + number(of_.size()));
      state& s = of_[id.value];
      if (s.merged != 0) {
        const std::vector<std::uint32_t>& sharers = all_.merges[s.merged - 1].replicas;
        if (s.listed >= sharers.size() || sharers[s.listed] != r)
          return wrong(id, "is on replica " + number(r) + ", which is not the next of those that share it");
      }
      ++s.listed;
      s.replica = r;
    }
  return success();
}

/// A path is on one replica: its tokens read each other. Replicas share sequences that have no path.
SLIMPACK_DECL result<void> packs_law::lists_paths(extent which) const {
  for (std::uint32_t s = 0; s < of_.size(); ++s) {
    const sequence_id parent = order_.of({s}).parent;
    if (parent == no_parent) continue;
    const state& above = of_[parent.value];
    if (above.merged != 0 || of_[s].merged != 0)
      return wrong({s}, "goes on where sequence " + number(parent.value) +
                            " ends, and replicas share one of them: they share sequences without parent and children");
    const bool apart = of_[s].listed > 0 && above.listed > 0 && of_[s].replica != above.replica;
    if (apart || (which == extent::listed && of_[s].listed > 0 && above.listed == 0))
      return wrong({s}, "is on replica " + number(of_[s].replica) + ", its parent, sequence " + number(parent.value) +
                            ", is not: a path is on one replica");
  }
  return success();
}

/// Goes along all packs of a pass.
SLIMPACK_DECL result<void> packs_law::run(pass p) {
  front_.begin(order_, p);
  for (shared_state& one : shared_) std::fill(one.rows.begin(), one.rows.end(), 0);
  for (std::uint32_t r = 0; r < replicas_; ++r) {
    const micropacks& packs = all_.replicas[r].packs->of(p);
    for (std::uint32_t pack = 0; pack < packs.size(); ++pack)
      for (const slice& one : packs[pack])
        if (result<void> fine = run(one, p, r, pack); !fine) return fine;
  }
  for (std::size_t s = 0; s < of_.size(); ++s)
    if (of_[s].merged == 0 && of_[s].listed > 0 && !front_.has_ended(id_of(s)))
      return ended_early(id_of(s), p, front_.due(id_of(s)));
  for (const merge& m : all_.merges)
    if (result<void> fine = rows_ended(m, p); !fine) return fine;
  return success();
}

SLIMPACK_DECL result<void> packs_law::run(const slice& one, pass p, std::uint32_t replica, std::uint32_t pack) {
  const sequence_id id = one.sequence;
  const auto is_listed = [&](const state& s) {
    if (s.merged == 0) return s.listed > 0 && s.replica == replica;
    const std::vector<std::uint32_t>& sharers = all_.merges[s.merged - 1].replicas;
    return std::binary_search(sharers.begin(), sharers.end(), replica);
  };
  if (id.value >= of_.size() || !is_listed(of_[id.value]))
    return wrong(id, "has a slice on replica " + number(replica) + ", which does not list it");
  const sequence& all = order_.of(id);
  if (!order_.has(one))
    return wrong(id, "has " + number(all.length.value) + " tokens, of which " + name(p, pack, replica) + " runs " +
                         number(one.length.value) + " from token " + number(one.begin.value) + " on");
  if (const std::int64_t at = (one.begin - all.begin).value; at % all_.on->quantum.value != 0)
    return wrong(id, "is cut at token " + number(at) + " by " + name(p, pack, replica) +
                         ", no multiple of the quantum, " + number(all_.on->quantum.value));
  if (of_[id.value].merged != 0) return run_in_row(one, p, replica, pack);
  if (front_.take(one)) return success();
  if (one.entry(p) == front_.due(id)) return too_early(one, p, name(p, pack, replica));
  return not_due(one, p, name(p, pack, replica), front_.due(id));
}

/// The packs of a sharer are those of its rows, one after the other; several slices may be in one.
SLIMPACK_DECL result<void> packs_law::run_in_row(const slice& one, pass p, std::uint32_t replica, std::uint32_t pack) {
  const std::uint32_t m = of_[one.sequence.value].merged - 1;
  const merge& shared = all_.merges[m];
  const std::vector<std::vector<pack_id>>& rows = shared.of(p);
  const auto place = static_cast<std::size_t>(
      std::lower_bound(shared.replicas.begin(), shared.replicas.end(), replica) - shared.replicas.begin());
  std::uint32_t& next = shared_[m].rows[place];  // one past the last that it has run
  if (next == 0 || rows[next - 1][place].value != pack) {
    while (next < rows.size() && rows[next][place] == merge::none) ++next;
    if (next == rows.size() || rows[next][place].value != pack)
      return wrong(one.sequence, "has a slice in " + name(p, pack, replica) + ", which its next row does not name");
    ++next;
  }
  shared_[m].ran[p].push_back({one, next - 1, static_cast<std::uint32_t>(place)});
  return success();
}

/// Rows have run, and run through the sequence from one end to the other. Inside a row the order of slices is free.
SLIMPACK_DECL result<void> packs_law::rows_ended(const merge& m, pass p) {
  shared_state& shared = shared_[of_[m.sequence.value].merged - 1];
  const std::vector<std::vector<pack_id>>& rows = m.of(p);
  for (std::size_t k = 0; k < m.replicas.size(); ++k) {
    std::size_t row = shared.rows[k];
    while (row < rows.size() && rows[row][k] == merge::none) ++row;
    if (row < rows.size())
      return wrong(m.sequence, "has a " + std::string(name_of(p)) + " row, " + number(row) + ", that names pack " +
                                   number(rows[row][k].value) + " of replica " + number(m.replicas[k]) +
                                   ", which holds nothing of it, or only what another row has");
  }
  std::vector<placed>& ran = shared.ran[p];
  std::sort(ran.begin(), ran.end(), [&](const placed& a, const placed& b) {
    return a.row != b.row       ? a.row < b.row
           : p == pass::forward ? a.slice.begin < b.slice.begin
                                : b.slice.end() < a.slice.end();
  });
  tokens due = order_.entry(m.sequence, p);
  for (const placed& one : ran) {
    if (one.slice.entry(p) != due)
      return not_due(
          one.slice, p,
          std::string(name_of(p)) + " row " + number(one.row) + " on replica " + number(m.replicas[one.place]), due);
    due = one.slice.exit(p);
  }
  return due == order_.exit(m.sequence, p) ? result<void>(success()) : ended_early(m.sequence, p, due);
}

/// Each sharer has tokens, and runs the same ones in all passes.
SLIMPACK_DECL result<void> packs_law::same_tokens(const merge& m) const {
  using run = std::tuple<std::uint32_t, tokens, tokens>;  // place, begin and end
  const by_pass<std::vector<placed>>& ran = shared_[of_[m.sequence.value].merged - 1].ran;
  by_pass<std::vector<run>> runs;
  for (const pass p : all_.passes) {
    std::vector<run> apart;
    for (const placed& one : ran[p]) apart.emplace_back(one.place, one.slice.begin, one.slice.end());
    std::sort(apart.begin(), apart.end());
    for (const run& one : apart) {
      if (!runs[p].empty() && std::get<0>(runs[p].back()) == std::get<0>(one) &&
          std::get<2>(runs[p].back()) == std::get<1>(one))
        std::get<2>(runs[p].back()) = std::get<2>(one);
      else
        runs[p].push_back(one);
    }
  }
  for (std::uint32_t k = 0; k < m.replicas.size(); ++k)
    if (std::none_of(runs.forward.begin(), runs.forward.end(), [&](const run& one) { return std::get<0>(one) == k; }))
      return wrong(m.sequence, "is shared by replica " + number(m.replicas[k]) + ", which runs nothing of it");
  if (all_.passes.size() < 2 || runs.forward == runs.backward) return success();
  const auto [first, other] =
      std::mismatch(runs.forward.begin(), runs.forward.end(), runs.backward.begin(), runs.backward.end());
  const run least = other == runs.backward.end() || (first != runs.forward.end() && *first < *other) ? *first : *other;
  return wrong(m.sequence, "is shared by replica " + number(m.replicas[std::get<0>(least)]) +
                               ", which runs other tokens backward than forward");
}

SLIMPACK_DECL result<void> sound_packs(const plan& p, extent which) {
  if (result<void> fine = sound_shape(p.shape); !fine) return fine;
  packs_of_all all{batch_of(p), &p.shape, std::span(both_passes).first(is_forward_only(p) ? 1 : 2), p.merges, {}};
  for (const replica_plan& r : p.replicas) all.replicas.push_back({r.sequences, &r.partition});
  if (result<void> packs = packs_law(all)(which); !packs) return packs;
  if (!p.copies.empty())
    if (const result<uncut_forest> from = uncut(batch_of(p), p.copies); !from) return from.error();
  return sound_ties(p.replicas, batch_of(p), p.shape);
}

}  // namespace slimpack::detail

#endif
