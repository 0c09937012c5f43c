#ifndef SLIMPACK_CORE_ENSEMBLE_IMPL_ENSEMBLES_IPP
#define SLIMPACK_CORE_ENSEMBLE_IMPL_ENSEMBLES_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/ensemble/ensembles.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack {

namespace detail {

/// Positions of the sharers of a merge in a group; empty where it is of another group.
[[nodiscard]] inline std::vector<std::size_t> positions_of(const merge& m, std::span<const std::uint32_t> group) {
  std::vector<std::size_t> positions;
  for (const std::uint32_t r : m.replicas) {
    const auto at = std::lower_bound(group.begin(), group.end(), r);
    if (at == group.end() || *at != r) return {};
    positions.push_back(static_cast<std::size_t>(at - group.begin()));
  }
  return positions;
}

}  // namespace detail

SLIMPACK_DECL ensembles::member ensembles::at(std::uint32_t cell) const {
  const auto after = std::upper_bound(first_.begin(), first_.end(), cell);
  const auto place = static_cast<std::size_t>(after - first_.begin()) - 1;
  const std::uint32_t own = cell - first_[place], part = own % parts_;
  return {place / 2,
          part % stages_,
          {pass_kind(place % 2 == 0 ? pass::forward : pass::backward), {own / parts_}, part / stages_}};
}

SLIMPACK_DECL error ensembles::no_such(const member& m) {
  return {errc::invalid_input, "stages run " + name_of(m.what, 2) + " of stage " + std::to_string(m.stage) +
                                   " together with another instruction, and there is no such F or B"};
}

SLIMPACK_DECL void ensembles::tie(std::size_t one_position, pack_id one, std::size_t other_position, pack_id other,
                                  pass p) {
  for (std::uint32_t part = 0; part < parts_; ++part)
    unite(cell(one_position, p, one, part), cell(other_position, p, other, part));
}

SLIMPACK_DECL result<void> ensembles::tie_rows(std::span<const std::uint32_t> group, std::span<const merge> merges) {
  for (const merge& m : merges) {
    const std::vector<std::size_t> position = detail::positions_of(m, group);
    if (position.empty()) continue;
    for (const pass p : both_passes)
      for (const std::vector<pack_id>& row : m.of(p))
        for (std::size_t k = 0, first = row.size(); k < row.size(); ++k) {
          if (row[k] == merge::none) continue;
          first = std::min(first, k);
          if (row[k].value >= packs(position[k], p))
            return error{errc::invalid_input, "a row of sequence " + std::to_string(m.sequence.value) + " names pack " +
                                                  std::to_string(row[k].value) + " of replica " +
                                                  std::to_string(m.replicas[k]) + ", which has no such pack"};
          tie(position[first], row[first], position[k], row[k], p);
        }
  }
  return success();
}

SLIMPACK_DECL std::vector<std::vector<std::uint32_t>> ensembles::lists() {
  if (std::find(together_.begin(), together_.end(), true) == together_.end()) return {};
  std::vector<std::vector<std::uint32_t>> lists(size());
  for (std::uint32_t cell = 0; cell < size(); ++cell)
    if (together_[cell]) lists[sets_.representative(cell)].push_back(cell);
  return lists;
}

SLIMPACK_DECL std::vector<std::pair<std::uint32_t, std::uint32_t>> rows_apart(const ensembles& of,
                                                                              std::span<const std::uint32_t> group,
                                                                              std::span<const merge> merges) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> apart;
  for (const merge& m : merges) {
    const std::vector<std::size_t> position = detail::positions_of(m, group);
    if (position.empty()) continue;
    for (const pass p : both_passes)
      for (std::size_t row = 1; row < m.of(p).size(); ++row) {
        const std::vector<pack_id>&before = m.of(p)[row - 1], &after = m.of(p)[row];
        const auto here = [](const std::vector<pack_id>& packs) {
          return static_cast<std::size_t>(
              std::find_if(packs.begin(), packs.end(), [](pack_id k) { return k != merge::none; }) - packs.begin());
        };
        bool joined = false;
        for (std::size_t k = 0; k < after.size(); ++k)
          joined = joined || (before[k] != merge::none && after[k] != merge::none);
        const std::size_t from = here(before), to = here(after);
        if (joined || from == before.size() || to == after.size()) continue;
        apart.emplace_back(of.cell(position[from], p, before[from]), of.cell(position[to], p, after[to]));
      }
  }
  return apart;
}

}  // namespace slimpack

#endif
