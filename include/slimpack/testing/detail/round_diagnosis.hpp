#ifndef SLIMPACK_TESTING_DETAIL_ROUND_DIAGNOSIS_HPP
#define SLIMPACK_TESTING_DETAIL_ROUND_DIAGNOSIS_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/testing/detail/audited_compute.hpp>
#include <slimpack/testing/detail/audited_steps.hpp>
#include <slimpack/testing/detail/compute_options.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::testing::detail {

/// Says where a compute goes wrong whose rows go round (exchange::queries, exchange::ring), once it is known that it
/// does. Two of three replicas share a document, in turn, so that pairs without a faulty one are right and name it.
/// What goes round of a token, and what comes home, is the same wherever the document is cut and whoever runs it: the
/// first layer, in the order in which layers run, where a wrong pair has something else than a right pair, or than
/// itself with other cuts, is where the fault shows first.
/// Source    derived
/// Requires  as audited_steps; elements that are float32 or float64: of others it says nothing
template <class Model>
class round_diagnosis : audited_steps<Model> {
 public:
  using base = audited_steps<Model>;
  using typename base::outcome;

  template <class Steps>
  round_diagnosis(const Steps& steps, const compute_options& o, int stages, exchange how)
      : base(steps, o, stages), how_(how) {}

  /// A sentence that names replica, pass and layer; empty where nothing was found.
  /// expected: of the document uncut            Requires  a document of four quanta or more
  [[nodiscard]] std::string operator()(const document& of, const outcome& expected) const {
    struct trial {
      int one{}, other{};
      outcome_and_logs seen{};
    };
    std::vector<trial> right, wrong;
    for (int one = 0; one < base::replicas_; ++one)
      for (int other = 0; other < base::replicas_; ++other) {
        if (one == other) continue;
        trial t{one, other, run(of, cut(of, one, other, 2))};
        if (!t.seen.ran) return {};
        const bool is_right = base::steps_.alike(t.seen.all.loss, expected.loss) &&
                              base::steps_.alike(t.seen.all.gradients, expected.gradients);
        (is_right ? right : wrong).push_back(std::move(t));
      }
    if (wrong.empty()) return {};
    std::vector<int> times(static_cast<std::size_t>(base::replicas_));
    for (const trial& t : wrong) ++times[static_cast<std::size_t>(t.one)], ++times[static_cast<std::size_t>(t.other)];
    std::string who;
    for (int r = 0; r < base::replicas_; ++r)
      if (times[static_cast<std::size_t>(r)] == static_cast<int>(wrong.size()))
        who += (who.empty() ? "" : " or ") + base::name_of(r);
    const trial& bad = wrong.front();
    const std::string where = right.empty()
                                  ? first_difference(all_of(bad.seen), all_of(run(of, cut(of, bad.one, bad.other, 1))))
                                  : first_difference(all_of(bad.seen), all_of(right.front().seen));
    return (who.empty() ? "every replica" : who) + " goes wrong where " + std::string(slimpack::name_of(how_)) +
           (how_ == exchange::ring ? " sends keys and values round" : " go round") + where;
  }

 private:
  using base::run;
  using typename base::outcome_and_logs;
  using typename base::place;

  /// The document in one row, in turns that end after so many eighths and go on after them.
  [[nodiscard]] solution cut(const document& of, int one, int other, std::int64_t eighths) const {
    const tokens quantum = base::o_.quantum;
    const std::int64_t quanta = (of.length.value + quantum.value - 1) / quantum.value;
    const auto at = [&](std::int64_t n) { return quantum * std::max<std::int64_t>(1, quanta * n / 8); };
    return base::rows(
        {{{one, at(eighths)}, {other, at(eighths + 3)}, {one, quantum * (quanta - 1)}, {other, of.length}}}, how_);
  }

  using by_layer = std::vector<exchange_log>;  // of each stage, all replicas' together

  [[nodiscard]] by_layer all_of(const outcome_and_logs& seen) const {
    by_layer all(static_cast<std::size_t>(base::stages_));
    for (std::size_t rank = 0; rank < seen.logs.size(); ++rank)
      for (const auto member : {&exchange_log::launched, &exchange_log::home})
        for (const auto& [step, rows] : seen.logs[rank].*member)
          (all[rank % all.size()].*member)[step].insert(rows.begin(), rows.end());
    return all;
  }

  [[nodiscard]] std::string first_difference(const by_layer& one, const by_layer& other) const {
    for (const pass p : both_passes)
      for (std::size_t i = 0; i < base::layers_.size(); ++i) {
        const place& at = base::layers_[nth_place(p, i, base::layers_.size())];
        const auto stage = static_cast<std::size_t>(at.stage);
        const std::string in = std::string(name_of(p)) + " in " + base::name_of(at);
        const exchange_log::step step{p, at.layer};
        if (!base::same_rows(one[stage].launched, other[stage].launched, step))
          return ": seen first in what is launched " + in;
        if (!base::same_rows(one[stage].home, other[stage].home, step)) return ": seen first in what comes home " + in;
      }
    return ": seen in nothing that goes round, so after the last of it";
  }

  exchange how_;
};

}  // namespace slimpack::testing::detail

#endif
