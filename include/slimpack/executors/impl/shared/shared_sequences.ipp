#ifndef SLIMPACK_EXECUTORS_IMPL_SHARED_SHARED_SEQUENCES_IPP
#define SLIMPACK_EXECUTORS_IMPL_SHARED_SHARED_SEQUENCES_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/executors/detail/shared/shared_sequences.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace slimpack::detail {

SLIMPACK_DECL shared_sequences::shared_sequences(const plan& p, std::uint32_t replica) {
  for (const merge& m : p.merges)
    if (const auto self = std::find(m.replicas.begin(), m.replicas.end(), replica); self != m.replicas.end())
      all_.push_back(part_of(p, m, static_cast<std::size_t>(self - m.replicas.begin())));
  // In one order on every rank: packs that hold rows of several sequences run them in this one.
  std::sort(all_.begin(), all_.end(), [](const shared_sequence& a, const shared_sequence& b) { return a.id < b.id; });
}

SLIMPACK_DECL const shared_sequence* shared_sequences::find(sequence_id id) const noexcept {
  for (const shared_sequence& s : all_)
    if (s.id == id) return &s;
  return nullptr;
}

SLIMPACK_DECL std::vector<std::vector<slice>> shared_sequences::slices_of(const plan& p, const merge& m, pass way,
                                                                          std::size_t row) {
  const std::vector<pack_id>& packs = m.of(way)[row];
  std::vector<std::vector<slice>> slices(packs.size());
  for (std::size_t k = 0; k < packs.size(); ++k) {
    if (packs[k] == merge::none) continue;
    for (const slice& s : p.replicas[m.replicas[k]].partition.of(way)[packs[k].value])
      if (s.sequence == m.sequence) slices[k].push_back(s);
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

SLIMPACK_DECL shared_sequence shared_sequences::part_of(const plan& p, const merge& m, std::size_t self) {
  shared_sequence s{m.sequence, m.replicas, self, {}, {}, m.exchange, m.legs()};
  by_pass<std::vector<std::vector<std::vector<slice>>>> rows;  // by row and sharer
  for (const pass way : both_passes)
    for (std::size_t row = 0; row < m.of(way).size(); ++row) rows[way].push_back(slices_of(p, m, way, row));
  std::vector<tokens> end(m.replicas.size());  // of each sharer's last token
  for (const std::vector<std::vector<slice>>& row : rows.forward) {
    s.own.insert(s.own.end(), row[self].begin(), row[self].end());
    for (std::size_t k = 0; k < end.size(); ++k)
      if (!row[k].empty()) end[k] = row[k].back().end();
  }
  s.own = joined(std::move(s.own));
  for (const pass way : both_passes) {
    for (std::size_t row = 0; row < rows[way].size(); ++row)
      s.rows[way].push_back(row_of(m.of(way)[row][self].value, std::move(rows[way][row]), self, end, m.exchange));
    know(s.rows[way], way);
  }
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
