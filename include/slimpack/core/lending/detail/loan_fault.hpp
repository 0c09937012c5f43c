#ifndef SLIMPACK_CORE_LENDING_DETAIL_LOAN_FAULT_HPP
#define SLIMPACK_CORE_LENDING_DETAIL_LOAN_FAULT_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Which unit each stage runs in a lock step of a pass (core/lending/loans_of.hpp).
/// Requires  packs that are a multiple of the stages
class lock_steps {
 public:
  lock_steps(std::size_t packs, const shape& on)
      : stages_(static_cast<std::size_t>(on.stages)),
        chunks_(static_cast<std::size_t>(on.chunks)),
        units_(packs * chunks_) {}

  [[nodiscard]] std::size_t stages() const noexcept { return stages_; }
  [[nodiscard]] std::size_t size() const noexcept { return units_ + stages_ - 1; }
  /// Those in which every stage has a unit are [first_full, end_full).
  [[nodiscard]] std::size_t first_full() const noexcept { return stages_ - 1; }
  [[nodiscard]] std::size_t end_full() const noexcept { return units_; }

  /// Requires  a full step
  [[nodiscard]] instruction unit(pass p, std::size_t step, std::size_t stage) const noexcept {
    const std::size_t unit = step - nth_place(p, stage, stages_);
    const std::size_t group = unit / (stages_ * chunks_), inside = unit % (stages_ * chunks_);
    return {pass_kind(p),
            {static_cast<std::uint32_t>(group * stages_ + inside % stages_)},
            static_cast<std::uint32_t>(nth_place(p, inside / stages_, chunks_))};
  }

  /// The step in which a stage runs a pack on a chunk.
  [[nodiscard]] std::size_t step_of(const instruction& i, std::size_t stage) const noexcept {
    const std::size_t pack = i.pack.value, turn = nth_place(i.pass(), std::size_t{i.chunk}, chunks_);
    return (pack / stages_ * chunks_ + turn) * stages_ + pack % stages_ + nth_place(i.pass(), stage, stages_);
  }

 private:
  std::size_t stages_, chunks_, units_;
};

/// The law of loans (core/lending/loans_of.hpp), asked of the loans of one replica.
class loan_law {
 public:
  /// Requires  all outlive it
  loan_law(std::span<const loan> loans, const partition& packs, const slice_order& order, const shape& on)
      : loans_(loans), packs_(packs), order_(order), on_(on), steps_(packs.forward.size(), on) {}

  [[nodiscard]] std::optional<std::string> fault() {
    for (std::size_t k = 0; k < loans_.size(); ++k)
      if (std::optional<std::string> wrong = fault_of(loans_[k])) return told(k, *wrong);
    for (std::size_t k = 0; k < loans_.size(); ++k) by_lender_.push_back({cell_of(loans_[k].lender), k});
    std::sort(by_lender_.begin(), by_lender_.end());
    if (std::optional<std::string> wrong = fault_of_lenders()) return wrong;
    if (std::optional<std::string> wrong = fault_of_pairs()) return wrong;
    return fault_of_lock_steps();
  }

 private:
  using numbered = std::pair<std::uint64_t, std::size_t>;  // what loans are sorted by, and the loan's number

  [[nodiscard]] std::string name_of(const loan::side& s) const {
    return slimpack::name_of(s.what, on_.chunks) + " of stage " + std::to_string(s.stage);
  }
  [[nodiscard]] std::string told(std::size_t k, const std::string& what) const {
    return "loan " + std::to_string(k) + ' ' + what;
  }
  /// A number for each instruction of a pass on a stage.
  [[nodiscard]] std::uint64_t cell_of(const loan::side& s) const {
    const std::uint64_t pack = s.what.pack.value + (s.what.pass() == pass::forward ? 0 : packs_.forward.size());
    return pack * static_cast<std::uint64_t>(on_.parts()) + s.what.chunk * static_cast<std::uint64_t>(on_.stages) +
           s.stage;
  }

  /// Of one loan alone.            Complexity  O(slices of the pack)
  [[nodiscard]] std::optional<std::string> fault_of(const loan& l) const {
    for (const loan::side& s : {l.lender, l.helper})
      if (s.stage >= static_cast<std::uint32_t>(on_.stages) || !s.what.is_pass() || s.what.pass() != l.pass() ||
          s.what.chunk >= static_cast<std::uint32_t>(on_.chunks) || s.what.pack.value >= packs_.of(l.pass()).size())
        return "is between instructions that are not there, or of two passes: name F or B of stages of this plan";
    if (l.lender.stage == l.helper.stage)
      return "is from stage " + std::to_string(l.lender.stage) + " to itself: name another stage as its helper";
    const std::span<const slice> pack = packs_.of(l.pass())[l.lender.what.pack.value];
    if (std::find(pack.begin(), pack.end(), l.queries) == pack.end())
      return "has queries that are no slice of the lender's pack, " + name_of(l.lender) + ": name one of its slices";
    if (std::count_if(pack.begin(), pack.end(), [&](const slice& s) { return s.sequence == l.queries.sequence; }) > 1)
      return "has queries of sequence " + std::to_string(l.queries.sequence.value) + ", of which the lender's pack, " +
             name_of(l.lender) + ", has other slices, too: join them, or lend nothing there";
    if (!order_.reads_before(l.queries, l.context))
      return "is of keys that its queries do not all see: lend tokens of their sequence that lie before them";
    const std::size_t lends = steps_.step_of(l.lender.what, l.lender.stage),
                      helps = steps_.step_of(l.helper.what, l.helper.stage);
    if (lends != helps)
      return "is from " + name_of(l.lender) + " in lock step " + std::to_string(lends) + " to " + name_of(l.helper) +
             " in lock step " + std::to_string(helps) + ": name a helper in the lender's lock step";
    return std::nullopt;
  }

  /// Each instruction lends for one slice, the oldest keys first and each once.
  [[nodiscard]] std::optional<std::string> fault_of_lenders() const {
    for (std::size_t n = 0; n < by_lender_.size(); ++n) {
      const bool is_first = n == 0 || by_lender_[n - 1].first != by_lender_[n].first;
      const std::size_t k = by_lender_[n].second;
      const loan& l = loans_[k];
      if (!is_first && loans_[by_lender_[n - 1].second].queries != l.queries)
        return told(k, "has other queries than loan " + std::to_string(by_lender_[n - 1].second) + ", which " +
                           name_of(l.lender) + " lends, too: lend for one slice of a pack");
      const tokens expected = is_first ? tokens{} : loans_[by_lender_[n - 1].second].context.end();
      if (l.context.begin != expected)
        return told(k, "begins at token " + std::to_string(l.context.begin.value) +
                           ", where the next oldest keys that " + name_of(l.lender) + " lends begin at " +
                           std::to_string(expected.value) + ": lend the oldest keys first, and each once");
    }
    return std::nullopt;
  }

  /// Nobody lends and helps at the same time, and two instructions are joined by one loan.
  [[nodiscard]] std::optional<std::string> fault_of_pairs() const {
    const auto lends = [](const numbered& one, std::uint64_t cell) { return one.first < cell; };
    for (std::size_t k = 0; k < loans_.size(); ++k) {
      const std::uint64_t helper = cell_of(loans_[k].helper);
      const auto found = std::lower_bound(by_lender_.begin(), by_lender_.end(), helper, lends);
      if (found != by_lender_.end() && found->first == helper)
        return told(k, "has the helper " + name_of(loans_[k].helper) + ", which lends itself in loan " +
                           std::to_string(found->second) + ": nobody lends and helps at the same time");
    }
    std::vector<std::pair<numbered, std::uint64_t>> pairs;
    for (const auto& [lender, k] : by_lender_) pairs.push_back({{lender, cell_of(loans_[k].helper)}, k});
    std::sort(pairs.begin(), pairs.end());
    for (std::size_t n = 1; n < pairs.size(); ++n)
      if (pairs[n - 1].first == pairs[n].first)
        return told(pairs[n].second, "is between the instructions of loan " + std::to_string(pairs[n - 1].second) +
                                         ": join them to one loan");
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> fault_of_lock_steps() const {
    std::vector<numbered> steps;
    for (std::size_t k = 0; k < loans_.size(); ++k)
      steps.push_back({2 * std::uint64_t{steps_.step_of(loans_[k].lender.what, loans_[k].lender.stage)} +
                           (loans_[k].pass() == pass::forward ? 0 : 1),
                       k});
    std::sort(steps.begin(), steps.end());
    const auto most = static_cast<std::size_t>(on_.stages) - 1;
    for (std::size_t n = most; n < steps.size(); ++n)
      if (steps[n - most].first == steps[n].first)
        return told(steps[n].second, "is one of " + std::to_string(most + 1) + " or more in lock step " +
                                         std::to_string(steps[n].first / 2) +
                                         ": stages of one lock step have at most " + std::to_string(most) + " loans");
    return std::nullopt;
  }

  std::span<const loan> loans_;
  const partition& packs_;
  const slice_order& order_;
  const shape& on_;
  lock_steps steps_;
  std::vector<numbered> by_lender_;
};

/// What is wrong with the loans of a replica, and what to choose instead; none where its stages can lend so: between
/// instructions that there are, on two stages in one lock step of a pass; for one slice of the lender's pack, the only
/// one of its sequence there; of keys that its queries all see, the oldest first and each once; nobody lends and helps
/// at the same time; a lender has each helper once, and a lock step has fewer loans than stages.
/// Complexity O(loans * (slices of a pack + log loans))
[[nodiscard]] inline std::optional<std::string> loan_fault(std::span<const loan> loans, const partition& packs,
                                                           const slice_order& order, const shape& on) {
  return loan_law(loans, packs, order, on).fault();
}

}  // namespace slimpack::detail

#endif
