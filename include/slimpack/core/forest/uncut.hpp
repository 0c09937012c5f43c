#ifndef SLIMPACK_CORE_FOREST_UNCUT_HPP
#define SLIMPACK_CORE_FOREST_UNCUT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack {

/// The batch that a forest was cut from.
/// Shapes    forest: without a fault()            Errors    invalid_input: it was cut from none
/// Complexity O(sequences + copies * depth)
struct uncut_forest {
  std::vector<tokens> lengths;
  std::vector<sequence_id> parents;  ///< empty where there are roots alone

  operator batch_view() const noexcept { return {lengths, parents}; }
};
[[nodiscard]] inline result<uncut_forest> uncut(const batch_view& forest, std::span<const path_copy> copies) {
  const std::vector<sequence> all = forest.sequences();
  const auto wrong = [](sequence_id s, const std::string& what) {
    return error{errc::invalid_input, "sequence " + std::to_string(s.value) + ' ' + what};
  };
  std::size_t whole = 0;  // copies that are all of a sequence
  for (std::size_t k = 0; k < copies.size(); ++k) {
    const path_copy& c = copies[k];
    if (c.sequence.value >= all.size() || (k > 0 && c.sequence <= copies[k - 1].sequence))
      return wrong(c.sequence, "has a copied path; such sequences are there, and in ascending order");
    const sequence& s = all[c.sequence.value];
    if (c.until <= s.begin || c.until > s.end())
      return wrong(c.sequence, "has copied tokens up to " + std::to_string(c.until.value) + ", its own run from " +
                                   std::to_string(s.begin.value) + " to " + std::to_string(s.end().value));
    whole += c.until == s.end();
  }
  const std::size_t count = all.size() - whole;
  std::vector<const path_copy*> of(all.size());
  for (const path_copy& c : copies) {
    if ((c.until == all[c.sequence.value].end()) != (c.sequence.value >= count))
      return wrong(c.sequence, "is out of its place: sequences that are copies alone come behind all others");
    if (c.of.value >= count)
      return wrong(c.sequence, "is a copy of sequence " + std::to_string(c.of.value) + ", which is none of the batch");
    of[c.sequence.value] = &c;
  }
  // The batch's sequence that the last token of one is of.
  const auto last_of = [&](sequence_id s) { return s.value < count ? s : of[s.value]->of; };
  uncut_forest batch;
  for (std::size_t i = 0; i < count; ++i) {
    const sequence& s = all[i];
    batch.lengths.push_back(of[i] ? s.end() - of[i]->until : s.length);
    batch.parents.push_back(of[i] ? of[i]->of : s.is_root() ? no_parent : last_of(s.parent));
  }
  const batch_view made = batch;
  if (std::optional<std::string> fault = made.fault()) return error{errc::invalid_input, *std::move(fault)};
  if (std::optional<std::string> fault = made.disorder()) return error{errc::invalid_input, *std::move(fault)};
  const std::vector<sequence> cut_from = made.sequences();
  for (const path_copy& c : copies) {
    const sequence& s = all[c.sequence.value];
    const sequence* first = &cut_from[c.of.value];  // of what is copied
    if (first->end() != c.until)
      return wrong(c.sequence, "copies tokens up to " + std::to_string(c.until.value) + ", sequence " +
                                   std::to_string(c.of.value) + " ends at " + std::to_string(first->end().value));
    while (first->begin > s.begin && !first->is_root()) first = &cut_from[first->parent.value];
    if (first->begin != s.begin || first->parent != (s.is_root() ? no_parent : last_of(s.parent)))
      return wrong(c.sequence, "copies tokens from " + std::to_string(s.begin.value) +
                                   " on, where no sequence of the path begins, or goes on from another path");
  }
  if (!made.shares_prefixes()) batch.parents.clear();
  return batch;
}

}  // namespace slimpack

#endif
