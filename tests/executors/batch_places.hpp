#ifndef SLIMPACK_TESTS_EXECUTORS_BATCH_PLACES_HPP
#define SLIMPACK_TESTS_EXECUTORS_BATCH_PLACES_HPP

#include "path_model.hpp"

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::tests {

/// Where the tokens of a plan's sequences are in its batch: those of copied paths have other sequences there.
class batch_places {
 public:
  explicit batch_places(const plan& p)
      : of_plan_(batch_of(p).sequences()), copies_(of_plan_.size()), of_batch_(batch_view(uncut_of(p)).sequences()) {
    for (const path_copy& c : p.copies) copies_[c.sequence.value] = c;
  }

  /// The batch's sequence that a token of a path is of.
  /// s: of the plan, which has the token
  [[nodiscard]] sequence_id sequence_of(sequence_id s, std::int64_t at) const {
    if (at >= home_begin(s).value) return s;
    sequence_id of = copies_[s.value].of;
    while (of_batch_[of.value].begin.value > at) of = of_batch_[of.value].parent;
    return of;
  }
  /// The first token of a sequence that is no copy; its end, where all are.
  [[nodiscard]] tokens home_begin(sequence_id s) const {
    return std::max(of_plan_[s.value].begin, copies_[s.value].until);
  }
  [[nodiscard]] const sequence& of_plan(sequence_id s) const { return of_plan_[s.value]; }
  /// Of the plan's sequences, those that the tests' model has where nothing is copied.
  [[nodiscard]] std::vector<std::vector<std::size_t>> words() const {
    std::vector<std::vector<std::size_t>> all;
    for (const sequence& s : of_plan_) {
      std::vector<std::size_t>& own = all.emplace_back();
      for (std::int64_t at = s.begin.value; at < s.end().value; ++at)
        own.push_back(path_model::word(sequence_of(s.id, at), at));
    }
    return all;
  }
  [[nodiscard]] bool is_copy(sequence_id s) const { return s.value >= of_batch_.size(); }

 private:
  static uncut_forest uncut_of(const plan& p) { return uncut(batch_of(p), p.copies).value(); }

  std::vector<sequence> of_plan_;
  std::vector<path_copy> copies_;  // by sequence; up to 0 where there is none
  std::vector<sequence> of_batch_;
};

}  // namespace slimpack::tests

#endif
