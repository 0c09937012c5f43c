#ifndef SLIMPACK_EXECUTORS_IMPL_SHARED_SHARED_SEQUENCES_IPP
#define SLIMPACK_EXECUTORS_IMPL_SHARED_SHARED_SEQUENCES_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/relays/detail/relay_fault.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace slimpack::detail {

SLIMPACK_DECL result<shared_sequences> shared_sequences::of(const plan& p, std::uint32_t replica) {
  shared_sequences found;
  for (const merge& m : p.merges) {
    const auto self = std::find(m.replicas.begin(), m.replicas.end(), replica);
    if (self == m.replicas.end()) continue;
    result<shared_sequence> read = part_of(p, m, static_cast<std::size_t>(self - m.replicas.begin()));
    if (!read) return std::move(read).error();
    found.all_.push_back(std::move(read).value());
  }
  // In one order on every rank: packs that hold rows of several sequences run them in this one.
  std::sort(found.all_.begin(), found.all_.end(),
            [](const shared_sequence& a, const shared_sequence& b) { return a.id < b.id; });
  return found;
}

SLIMPACK_DECL const shared_sequence* shared_sequences::find(sequence_id id) const noexcept {
  for (const shared_sequence& s : all_)
    if (s.id == id) return &s;
  return nullptr;
}

SLIMPACK_DECL error shared_sequences::refused(const merge& m, const std::string& why) {
  return {errc::invalid_input, "sequence " + std::to_string(m.sequence.value) + ", which replicas share: " + why};
}

SLIMPACK_DECL result<std::vector<std::vector<slice>>> shared_sequences::slices_of(const plan& p, const merge& m,
                                                                                  pass way, std::size_t row) {
  const std::vector<pack_id>& packs = m.of(way)[row];
  const std::string name = std::string(name_of(way)) + " row " + std::to_string(row);
  if (packs.size() != m.replicas.size())
    return refused(m, name + " names " + std::to_string(packs.size()) + " packs for " +
                          std::to_string(m.replicas.size()) + " replicas");
  std::vector<std::vector<slice>> slices(packs.size());
  if (std::all_of(packs.begin(), packs.end(), [](pack_id k) { return k == merge::none; }))
    return refused(m, name + " names no pack");
  for (std::size_t k = 0; k < packs.size(); ++k) {
    if (packs[k] == merge::none) {
      if (m.exchange != exchange::keep)
        return refused(m, name + " names no pack of replica " + std::to_string(m.replicas[k]) +
                              ", which is for exchange::keep alone");
      continue;
    }
    const micropacks& from = p.replicas[m.replicas[k]].partition.of(way);
    if (packs[k].value >= from.size())
      return refused(m, name + " names a pack that replica " + std::to_string(m.replicas[k]) + " has not");
    for (const slice& s : from[packs[k].value])
      if (s.sequence == m.sequence) slices[k].push_back(s);
    if (slices[k].empty())
      return refused(m,
                     name + " names a pack of replica " + std::to_string(m.replicas[k]) + " that holds nothing of it");
    std::sort(slices[k].begin(), slices[k].end(), [](const slice& a, const slice& b) { return a.begin < b.begin; });
  }
  return slices;
}

SLIMPACK_DECL std::vector<slice> shared_sequences::joined(std::vector<slice> slices) {
  std::sort(slices.begin(), slices.end(), [](const slice& a, const slice& b) { return a.begin < b.begin; });
  std::vector<slice> runs;
  for (const slice& s : slices) {
    if (!runs.empty() && runs.back().end() == s.begin)
      runs.back().length += s.length;
    else
      runs.push_back(s);
  }
  return runs;
}

SLIMPACK_DECL result<void> shared_sequences::tile(const merge& m, pass way, tokens length, const slices_of_rows& rows) {
  const slice whole{m.sequence, {}, length};
  tokens at = whole.entry(way);
  for (const auto& row : rows) {
    std::vector<slice> all;
    for (const std::vector<slice>& part : row) all.insert(all.end(), part.begin(), part.end());
    const std::vector<slice> runs = joined(std::move(all));
    if (runs.size() != 1 || runs[0].entry(way) != at)
      return refused(m,
                     std::string(name_of(way)) + " rows overlap or leave a gap at token " + std::to_string(at.value));
    at = runs[0].exit(way);
  }
  if (at != whole.exit(way)) return refused(m, "rows leave out tokens");
  return success();
}

SLIMPACK_DECL result<shared_sequence> shared_sequences::part_of(const plan& p, const merge& m, std::size_t self) {
  if (m.exchange == exchange::ring && std::max(m.forward.size(), m.backward.size()) > 1)
    return refused(
        m, "a ring is for one row, the plan has " + std::to_string(std::max(m.forward.size(), m.backward.size())));
  if (const std::optional<std::string> fault = relay_fault(m)) return refused(m, "it " + *fault);
  shared_sequence s{m.sequence, m.replicas, self, {}, {}, m.exchange, legs_in_order(m.relays)};
  by_pass<slices_of_rows> rows;
  by_pass<std::vector<std::vector<slice>>> runs;  // of each sharer
  const bool forward_only = is_forward_only(p);
  for (const pass way : both_passes) {
    if (way == pass::backward && forward_only) break;
    runs[way].resize(m.replicas.size());
    for (std::size_t row = 0; row < m.of(way).size(); ++row) {
      result<std::vector<std::vector<slice>>> slices = slices_of(p, m, way, row);
      if (!slices) return std::move(slices).error();
      for (std::size_t k = 0; k < m.replicas.size(); ++k)
        runs[way][k].insert(runs[way][k].end(), slices.value()[k].begin(), slices.value()[k].end());
      rows[way].push_back(std::move(slices).value());
    }
    if (result<void> tiled = tile(m, way, p.lengths[m.sequence.value], rows[way]); !tiled)
      return std::move(tiled).error();
    for (std::vector<slice>& of_one : runs[way]) of_one = joined(std::move(of_one));
  }
  std::vector<tokens> end;  // of each sharer's last token
  for (std::size_t k = 0; k < m.replicas.size(); ++k) {
    if (!forward_only && runs[pass::forward][k] != runs[pass::backward][k])
      return refused(m, "replica " + std::to_string(m.replicas[k]) + " runs other tokens backward than forward");
    if (runs[pass::forward][k].empty())
      return refused(m, "replica " + std::to_string(m.replicas[k]) + " runs nothing of it");
    end.push_back(runs[pass::forward][k].back().end());
  }
  s.own = runs[pass::forward][self];
  for (const pass way : both_passes)
    for (std::size_t row = 0; row < rows[way].size(); ++row)
      s.rows[way].push_back(row_of(m.of(way)[row][self].value, std::move(rows[way][row]), self, end, m.exchange));
  for (const pass way : both_passes) know(s.rows[way], way);
  return s;
}

SLIMPACK_DECL void shared_sequences::know(std::vector<row_part>& rows, pass way) {
  std::vector<std::uint32_t> waiting;
  row_part* last = nullptr;
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    row_part& one = rows[row];
    if (one.own.empty()) {
      if (one.others.empty()) continue;
      if (way == pass::forward) waiting.push_back(row);
      if (way == pass::backward && last != nullptr) last->beside.push_back(row);
      continue;
    }
    one.beside = std::exchange(waiting, {});
    last = &one;
  }
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    row_part& one = rows[row];
    if (one.own.empty()) continue;
    std::vector<std::tuple<tokens, slice, std::uint32_t, std::uint32_t>> all;
    const auto add = [&](std::uint32_t of) {
      for (std::size_t i = 0; i < rows[of].others.size(); ++i)
        all.emplace_back(rows[of].others[i].begin, rows[of].others[i], of, rows[of].owner[i]);
    };
    add(row);
    for (const std::uint32_t other : one.beside) add(other);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
    for (const auto& [begin, s, of, owner] : all) {
      one.known.push_back(s);
      one.from.push_back({of, owner});
    }
  }
}

SLIMPACK_DECL row_part shared_sequences::row_of(std::uint32_t pack, std::vector<std::vector<slice>> slices,
                                                std::size_t self, std::span<const tokens> end, exchange how) {
  row_part part;
  part.pack = pack;
  part.own = slices[self];
  if (how != exchange::keep) {
    part.parcels = std::move(slices);
    return part;
  }
  std::vector<std::pair<slice, std::uint32_t>> others;
  for (std::size_t k = 0; k < slices.size(); ++k) {
    std::int64_t sent = 0;
    for (const slice& s : slices[self])
      if (k != self) sent += std::max<std::int64_t>(0, std::min(s.end(), end[k]).value - s.begin.value);
    part.sent.push_back(sent);
    if (k == self) continue;
    for (slice s : slices[k]) {
      s.length = std::min(s.end(), end[self]) - s.begin;
      if (s.length > tokens{}) others.push_back({s, static_cast<std::uint32_t>(k)});
    }
  }
  std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  for (const auto& [s, owner] : others) {
    part.others.push_back(s);
    part.owner.push_back(owner);
  }
  return part;
}

}  // namespace slimpack::detail

#endif
