#ifndef SLIMPACK_CORE_LENDING_IMPL_LOANS_OF_IPP
#define SLIMPACK_CORE_LENDING_IMPL_LOANS_OF_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/lending/detail/loan_fault.hpp>
#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace slimpack {

namespace detail {

/// What keeps packs from lending, or nothing.
[[nodiscard]] SLIMPACK_DECL result<void> can_lend(const partition& packs, const shape& on, attention_lending how,
                                                  int slices) {
  const auto wrong = [&](const std::string& what) {
    return error{errc::invalid_input, std::string("lending ") + name_of(how) + " needs " + what};
  };
  const std::string stages = std::to_string(on.stages);
  if (on.stages < 2) return wrong("2 stages or more, and there is 1: choose more stages, or lending none");
  if (slices < 1 || slices % on.stages != 0)
    return wrong("rows of slices that are a multiple of the " + stages + " stages, got " + std::to_string(slices) +
                 ": choose " + stages + " or " + std::to_string(2 * on.stages) + " slices, or lending none");
  const auto row = static_cast<std::size_t>(slices);
  const std::size_t count = packs.forward.size();
  if (count % row != 0 || packs.backward.size() != count)
    return wrong("rows of " + std::to_string(slices) + " slices in both passes, got " + std::to_string(count) +
                 " forward and " + std::to_string(packs.backward.size()) +
                 " backward packs: choose uniform slices, or lending none");
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = i / row * row;
    const std::int64_t differs = size_of(packs.forward[i]).value - size_of(packs.forward[first]).value;
    if (differs >= 2 * on.quantum.value || differs <= -2 * on.quantum.value)
      return wrong("slices of a row that are uniform, and forward packs " + std::to_string(first) + " and " +
                   std::to_string(i) + " have " + std::to_string(size_of(packs.forward[first]).value) + " and " +
                   std::to_string(size_of(packs.forward[i]).value) + " tokens: choose uniform slices, or lending none");
    const std::span<const slice> ahead = packs.forward[i], back = packs.backward[first + row - 1 - (i - first)];
    if (!std::is_permutation(ahead.begin(), ahead.end(), back.begin(), back.end()))
      return wrong("backward packs that are a row's forward packs in reverse, and those of forward pack " +
                   std::to_string(i) + " differ: choose uniform slices, or lending none");
  }
  return success();
}

/// Where slices of each sequence begin, ascending.
[[nodiscard]] inline std::map<sequence_id, std::vector<tokens>> cuts_in(const micropacks& packs) {
  std::map<sequence_id, std::vector<tokens>> cuts;
  for (const slice& s : packs.slices()) cuts[s.sequence].push_back(s.begin);
  for (auto& [sequence, begins] : cuts) std::sort(begins.begin(), begins.end());
  return cuts;
}

/// What the stages of one lock step have, and lend each other.
class lock_step_loans {
 public:
  lock_step_loans(const partition& packs, const lock_steps& steps,
                  const std::map<sequence_id, std::vector<tokens>>& cuts, std::vector<loan>& to)
      : packs_(packs),
        steps_(steps),
        cuts_(cuts),
        to_(to),
        queries_(steps.stages()),
        lent_(steps.stages()),
        load_(steps.stages()),
        by_load_(steps.stages()) {}

  void lend(attention_lending how, pass p, std::size_t step) {
    pass_ = p, step_ = step;
    for (std::size_t r = 0; r < load_.size(); ++r) {
      const std::span<const slice> pack = packs_.of(p)[steps_.unit(p, step, r).pack.value];
      // Sequences lie in a row one behind the other, so that one at most has tokens in packs before.
      queries_[r] =
          *std::max_element(pack.begin(), pack.end(), [](const slice& a, const slice& b) { return a.begin < b.begin; });
      lent_[r] = {};
      load_[r] = 0;
      for (const slice& s : pack) load_[r] += s.pairs();
    }
    std::iota(by_load_.begin(), by_load_.end(), std::size_t{0});
    std::stable_sort(by_load_.begin(), by_load_.end(),
                     [&](std::size_t a, std::size_t b) { return load_[a] < load_[b]; });
    how == attention_lending::pairs ? in_pairs() : to_level();
  }

 private:
  void in_pairs() {
    for (std::size_t i = 0, j = by_load_.size() - 1; i < j; ++i, --j) {
      const std::size_t lender = by_load_[j], helper = by_load_[i];
      const double room = (load_[lender] - load_[helper]) / 2 / static_cast<double>(queries_[lender].length.value);
      const std::vector<tokens>& cuts = cuts_.at(queries_[lender].sequence);
      const auto last = std::upper_bound(cuts.begin(), cuts.end(), queries_[lender].begin);
      auto whole = std::upper_bound(cuts.begin(), last, room,
                                    [](double most, tokens t) { return most < static_cast<double>(t.value); });
      if (whole != cuts.begin()) add(lender, helper, *(whole - 1));
    }
  }

  void to_level() {
    const double mean = std::accumulate(load_.begin(), load_.end(), 0.0) / static_cast<double>(load_.size());
    std::size_t helper = 0, lender = load_.size() - 1;
    while (helper < lender) {
      const std::size_t from = by_load_[lender], to = by_load_[helper];
      const auto queries = static_cast<double>(queries_[from].length.value);
      const auto surplus = static_cast<std::int64_t>(std::floor((load_[from] - mean) / queries));
      const auto deficit = static_cast<std::int64_t>(std::ceil((mean - load_[to]) / queries));
      const std::int64_t has = std::min(surplus, (queries_[from].begin - lent_[from]).value);
      if (has > 0 && deficit > 0) add(from, to, {std::min(has, deficit)});
      deficit > has ? void(--lender) : void(++helper);
    }
  }

  void add(std::size_t lender, std::size_t helper, tokens keys) {
    if (keys <= tokens{}) return;
    const slice& queries = queries_[lender];
    to_.push_back({{static_cast<std::uint32_t>(lender), steps_.unit(pass_, step_, lender)},
                   {static_cast<std::uint32_t>(helper), steps_.unit(pass_, step_, helper)},
                   queries,
                   {queries.sequence, lent_[lender], keys}});
    lent_[lender] += keys;
    load_[lender] -= to_.back().pairs(), load_[helper] += to_.back().pairs();
  }

  const partition& packs_;
  const lock_steps& steps_;
  const std::map<sequence_id, std::vector<tokens>>& cuts_;
  std::vector<loan>& to_;
  pass pass_{};
  std::size_t step_{};
  std::vector<slice> queries_;
  std::vector<tokens> lent_;
  std::vector<double> load_;
  std::vector<std::size_t> by_load_;
};

}  // namespace detail

SLIMPACK_DECL result<std::vector<loan>> loans_of(const partition& packs, const shape& on, attention_lending how,
                                                 int slices) {
  std::vector<loan> loans;
  if (how == attention_lending::none) return loans;
  if (result<void> fine = detail::can_lend(packs, on, how, slices); !fine) return std::move(fine).error();
  const detail::lock_steps steps(packs.forward.size(), on);
  const auto cuts = detail::cuts_in(packs.forward);
  detail::lock_step_loans of(packs, steps, cuts, loans);
  for (const pass p : both_passes)
    for (std::size_t k = steps.first_full(); k < steps.end_full(); ++k) of.lend(how, p, k);
  return loans;
}

}  // namespace slimpack

#endif
