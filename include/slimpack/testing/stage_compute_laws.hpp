#ifndef SLIMPACK_TESTING_STAGE_COMPUTE_LAWS_HPP
#define SLIMPACK_TESTING_STAGE_COMPUTE_LAWS_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/executors/edge_values.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/lending/lending.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>
#include <slimpack/testing/detail/forest_case.hpp>
#include <slimpack/testing/detail/random_sharers.hpp>
#include <slimpack/testing/detail/sharing_diagnosis.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/random_replica.hpp>
#include <slimpack/testing/report.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::testing {

namespace detail {

template <class M>
concept makes_stages = requires(const M& model, int stage, int stages, std::span<const document> batch) {
  requires stage_compute<std::remove_cvref_t<decltype(*model.make(stage, stages))>>;
  model.load(*model.make(stage, stages), batch);
  { model.gradients(*model.make(stage, stages)) } -> std::convertible_to<std::vector<double>>;
  model.zero(*model.make(stage, stages));
};

/// Tries one model.
template <class Model>
class compute_trial {
 public:
  compute_trial(const Model& model, compute_options o)
      : model_(model), o_(o), random_(o.seed), report_("stage compute laws", o.seed), steps_(model_, o_) {}

  [[nodiscard]] report run() {
    for (int i = 0; i < o_.cases && is_whole(); ++i, left_before_ = report_.broken(1)) {
      const std::vector<document> batch = any_batch(i);
      const outcome on_one = uncut(batch, 1);
      for (int stages = 1; stages <= o_.stages && is_whole(); ++stages, left_before_ = report_.broken(1)) {
        const outcome expected = stages == 1 ? on_one : uncut(batch, stages);
        if (o_.one_model && stages > 1 && is_whole())
          compare(expected.gradients, on_one.gradients, "gradients over stages are those of one stage", stages);
        if (is_whole()) try_in_turn(batch, expected, stages);
      }
    }
    return std::move(report_);
  }

 private:
  using steps_of = compute_steps<Model>;
  using compute = typename steps_of::compute;
  using outcome = typename steps_of::outcome;
  using ranks = typename steps_of::ranks;
  static constexpr bool drops = requires(compute & c) { c.abort_step(); };

  /// Whether no law is broken so far. After one is, nothing more is tried: a compute that breaks one breaks most of
  /// those after it, which then say nothing new; and where a check of its own ended the program, nobody would hear of
  /// the first.
  /// What is left of a step that failed (law 1) ends the batch alone, as another batch may say why.
  [[nodiscard]] bool is_whole() const {
    return report_.broken(2) + report_.broken(8) == 0 && report_.broken(1) == left_before_;
  }

  /// From the simplest on.
  void try_in_turn(const std::vector<document>& batch, const outcome& expected, int stages) {
    sliced(batch, expected, stages);
    if (is_whole()) in_two_steps(batch, stages);
    if (is_whole()) without_work(batch, expected, stages);
    if (is_whole()) after_a_failure(batch, expected, stages);
    if constexpr (slimpack::detail::shares_prefixes<compute>)
      if (is_whole()) forked(stages);
    if constexpr (slimpack::detail::lends_attention<compute>)
      if (is_whole() && stages > 1) lent(batch, expected, stages);
    if constexpr (slimpack::detail::shares_rows<compute>)
      if (is_whole())  // all ways, since what goes wrong in one is named by another
        for (const exchange how : {exchange::keep, exchange::queries, exchange::ring})
          for (const int sharers : {2, 3})
            if (slimpack::detail::exchanges_of<compute>().contains(how)) shared(batch, expected, stages, sharers, how);
  }

  /// All packs on the first replica: others have no work.
  [[nodiscard]] plan on_the_first(std::span<const document> batch, int stages, int replicas, partition packs) const {
    const std::vector<tokens> lengths = steps_.lengths_of(batch);
    return on_the_first(batch_view(lengths), stages, replicas, std::move(packs));
  }
  [[nodiscard]] plan on_the_first(const batch_view& batch, int stages, int replicas, partition packs) const {
    solution found{std::vector<replica_solution>(static_cast<std::size_t>(replicas)), {}};
    for (std::uint32_t i = 0; i < batch.size(); ++i) found.replicas[0].sequences.push_back({i});
    found.replicas[0].partition = std::move(packs);
    const std::vector<memory_rates> rates(static_cast<std::size_t>(stages));
    for (replica_solution& r : found.replicas)
      r.programs =
          schedules::list{}
              .programs(price(r.partition, cost_, steps_.shape_of(stages, replicas), rates, {}, {}, batch.parents()))
              .value();
    return steps_.planned(batch, stages, replicas, found);
  }
  [[nodiscard]] plan cut_at_random(std::span<const document> batch, int stages, int replicas = 1) {
    return on_the_first(batch, stages, replicas,
                        random_partition(steps_.lengths_of(batch), o_.quantum, cost_, random_));
  }

  /// Each sequence whole, in a step of its own, on a compute of its own, weighted by hand.
  [[nodiscard]] outcome uncut(std::span<const document> batch, int stages) {
    outcome sum;
    for (const document& d : batch) {
      partition packs;
      for (micropacks* side : {&packs.forward, &packs.backward}) side->push({{0}, {0}, d.length}), side->close();
      ranks all = steps_.fresh(stages);
      const std::span<const document> alone(&d, 1);
      const auto reports = steps_.step(all, on_the_first(alone, stages, 1, std::move(packs)), alone);
      if (!ran(reports, stages)) return {};
      const auto valid = static_cast<double>(reports[0].value().valid_tokens.value);
      const std::vector<double> own = steps_.gradients(all, stages);
      sum.gradients.resize(own.size());
      sum.loss += valid * reports[0].value().loss_sum;
      sum.valid += valid;
      for (std::size_t i = 0; i < own.size(); ++i) sum.gradients[i] += valid * own[i];
    }
    if (sum.valid == 0) return sum;
    sum.loss /= sum.valid;
    for (double& g : sum.gradients) g /= sum.valid;
    return sum;
  }

  void sliced(std::vector<document> batch, const outcome& expected, int stages) {
    for (const bool reversed : {false, true}) {
      if (reversed) std::reverse(batch.begin(), batch.end());
      ranks all = steps_.fresh(stages);
      const plan p = cut_at_random(batch, stages);
      const auto reports = steps_.step(all, p, batch);
      if (!ran(reports, stages)) return;
      const double loss = reports[0].value().loss_sum;
      report_.check(2, steps_.alike(loss, expected.loss), "the loss of cut sequences is that of whole ones", loss,
                    "for", expected.loss, "on", stages, "stages");
      compare(steps_.gradients(all, stages), expected.gradients, "gradients of cut sequences are those of whole ones",
              stages);
      if (!is_whole()) return;
      evaluated(batch, p, reports, stages, 1);
      if (!is_whole()) return;
    }
  }

  /// By the plan of a step that has run, with the same weights.            step: what its ranks report
  void evaluated(std::span<const document> batch, const plan& p, const std::vector<result<step_report>>& step,
                 int stages, int replicas) {
    if (!o_.evaluates && !slimpack::detail::has_member_log_probabilities<compute>) return;
    if (p.shape.vocabulary == vocabulary::spread) return;  // such a plan cannot be evaluated
    ranks all = steps_.fresh(stages, replicas);
    const auto reports = steps_.evaluation(all, p, batch);
    if (!ran(reports, stages, 8)) return;
    const double loss = reports[0].value().loss_sum, expected = step[0].value().loss_sum;
    report_.check(8, same_bits(loss, expected), "an evaluation by the plan of a step has the bits of its loss", loss,
                  "for", expected, "on", stages, "stages");
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
      const std::span<const edge_value> found = reports[rank].value().log_probabilities.all(),
                                        needed = step[rank].value().log_probabilities.all();
      const auto other =
          std::mismatch(found.begin(), found.end(), needed.begin(), needed.end(),
                        [](const edge_value& a, const edge_value& b) {
                          return a.sequence == b.sequence && a.target == b.target && same_bits(a.value, b.value);
                        })
              .first;
      const bool same = found.size() == needed.size() && other == found.end();
      report_.check(8, same, "an evaluation by the plan of a step has the bits of its log-probabilities",
                    same ? std::string() : first_of(other, found.end()), "on", stages, "stages");
    }
  }
  [[nodiscard]] static bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
  template <class Edge>
  [[nodiscard]] static std::string first_of(Edge at, Edge end) {
    if (at == end) return "some are missing";
    return "first other that of the edge to token " + std::to_string(at->target.value) + " of sequence " +
           std::to_string(at->sequence.value);
  }

  void in_two_steps(std::span<const document> batch, int stages) {
    std::span<const document> a = batch.first(batch.size() / 2);
    std::span<const document> b = batch.subspan(batch.size() / 2);
    std::vector<double> expected = uncut(a, stages).gradients;
    const std::vector<double> other = uncut(b, stages).gradients;
    if (expected.size() != other.size()) return;  // a step failed, as reported
    for (std::size_t i = 0; i < other.size(); ++i) expected[i] += other[i];
    for (int order = 0; order < 2 && is_whole(); ++order, std::swap(a, b)) {
      ranks all = steps_.fresh(stages);
      if (ran(steps_.step(all, cut_at_random(a, stages), a), stages) &&
          ran(steps_.step(all, cut_at_random(b, stages), b), stages))
        compare(steps_.gradients(all, stages), expected, "gradients of two steps add up, in either order", stages);
    }
  }

  void without_work(std::span<const document> batch, const outcome& expected, int stages) {
    ranks all = steps_.fresh(stages, 2);
    if (!ran(steps_.step(all, cut_at_random(batch, stages, 2), batch), stages)) return;
    compare(steps_.gradients(all, stages), expected.gradients, "a replica without work changes nothing for others",
            stages);
    const std::vector<double> idle = steps_.gradients(all, stages, 1);
    compare(idle, steps_of::reduces ? expected.gradients : std::vector<double>(idle.size()),
            "what has no weight has no gradient, and adds none where replicas are summed", stages);
  }

  void after_a_failure(std::span<const document> batch, const outcome& expected, int stages) {
    const plan p = cut_at_random(batch, stages);
    after_a_failure(batch, expected, stages, 1, p, [&] { return cut_at_random(batch, stages); });
  }

  /// next: makes the plan of the step after it
  template <class Next>
  void after_a_failure(std::span<const document> batch, const outcome& expected, int stages, int replicas,
                       const plan& p, Next next) {
    ranks all = steps_.fresh(stages, replicas);
    const auto rank = static_cast<int>(random_.between(0, stages * replicas - 1));
    const replica_plan& own = p.replicas[static_cast<std::size_t>(rank / stages)];
    const auto messages = static_cast<std::int64_t>(own.programs[static_cast<std::size_t>(rank % stages)].size());
    const auto reports = steps_.step(all, p, batch, rank, random_.between(0, std::max<std::int64_t>(0, messages - 1)));
    for (std::size_t r = 0; r < reports.size(); ++r) {
      if (reports[r]) return;  // fewer messages than that: nothing has failed
      report_.check(1, held_by(*all.computes[r]) == bytes{}, "after a step that failed nothing is held",
                    held_by(*all.computes[r]), "bytes on", stages, "stages");
      if (!drops) model_.zero(*all.computes[r]);
    }
    if (!ran(steps_.step(all, next(), batch), stages)) return;
    compare(steps_.gradients_of_all(all, stages, replicas), expected.gradients,
            "a step that failed leaves nothing to the next", stages, 1);
  }

  /// Samples that share beginnings, against each of them alone.
  void forked(int stages) requires(slimpack::detail::shares_prefixes<compute>) {
    const forest_case batch = forest_case_maker(o_, random_)();
    ranks alone = steps_.fresh(stages), all = steps_.fresh(stages);
    const auto expected = steps_.step_of_parts(
        alone, on_the_first(batch_view(batch.flat), stages, 1, uncut_packs(batch.flat)), batch.paths);
    const plan p = on_the_first(batch_view(batch.shared), stages, 1, forked_packs(batch.shared, o_.quantum, random_));
    const auto reports = steps_.step_of_parts(all, p, batch.nodes);
    if (!ran(expected, stages) || !ran(reports, stages)) return;
    const double whole = expected[0].value().loss_sum, loss = reports[0].value().loss_sum;
    report_.check(2, steps_.alike(loss, whole), "the loss of samples that share beginnings is that of each alone", loss,
                  "for", whole, "on", stages, "stages");
    const std::vector<double> gradients = steps_.gradients(alone, stages);
    compare(steps_.gradients(all, stages), gradients,
            "gradients of samples that share beginnings are those of each alone", stages);
    ranks again = steps_.fresh(stages);
    const auto rank = static_cast<int>(random_.between(0, stages - 1));
    const auto instructions = static_cast<std::int64_t>(p.replicas[0].programs[static_cast<std::size_t>(rank)].size());
    for (const result<step_report>& r :
         steps_.step_of_parts(again, p, batch.nodes, rank, random_.between(0, instructions - 1)))
      if (r) return;  // fewer messages than that: nothing has failed
    for (const auto& one : again.computes) {
      report_.check(1, held_by(*one) == bytes{},
                    "after a step that failed nothing is held of samples that share "
                    "beginnings",
                    held_by(*one), "bytes on", stages, "stages");
      if (!drops) model_.zero(*one);
    }
    if (ran(steps_.step_of_parts(again, p, batch.nodes), stages))
      compare(steps_.gradients(again, stages), gradients,
              "a step of samples that share beginnings that failed leaves nothing to the next", stages, 1);
  }

  /// Uniform slices, whose stages lend each other attention; nothing where layers are not equal, or the batch is too
  /// short for them.
  void lent(std::span<const document> batch, const outcome& expected, int stages) {
    for (int stage = 1; stage < stages; ++stage)
      if (model_.make(stage, stages)->loans(0) != model_.make(0, stages)->loans(0)) return;
    for (const attention_lending how : {attention_lending::pairs, attention_lending::level}) {
      const std::vector<tokens> lengths = steps_.lengths_of(batch);
      const auto slimpipe = baselines::slimpipe(steps_.shape_of(stages, 1), {}, 2 * stages, how);
      const result<solution> solved = slimpipe.solver.solve(problem{lengths, steps_.shape_of(stages, 1)},
                                                            slimpipe.slicer, cost_, slimpipe.schedule);
      if (!solved || solved.value().replicas[0].loans.empty()) continue;
      const plan p = steps_.planned(batch, stages, 1, solved.value());
      ranks all = steps_.fresh(stages);
      const auto reports = steps_.step(all, p, batch);
      if (!ran(reports, stages)) return;
      const double loss = reports[0].value().loss_sum;
      report_.check(2, steps_.alike(loss, expected.loss),
                    "the loss where stages lend each other attention is that of whole sequences", loss, "for",
                    expected.loss, "on", stages, "stages");
      compare(steps_.gradients(all, stages), expected.gradients,
              "gradients where stages lend each other attention are those of whole sequences", stages);
      evaluated(batch, p, reports, stages, 1);
      after_a_failure(batch, expected, stages, 1, p, [&] { return p; });
    }
  }

  /// The batch, and the longest sequence there may be, on replicas that share as they happen to.
  void shared(std::vector<document> batch, const outcome& rest, int stages, int sharers, exchange how_shared) {
    if (o_.longest < o_.quantum * 4) return;  // too short to be shared in every way
    const document longest{o_.longest, batch.front().key + 1};
    const outcome alone = uncut({&longest, 1}, stages);
    outcome expected{rest.loss * rest.valid + alone.loss * alone.valid, rest.valid + alone.valid, rest.gradients};
    if (expected.valid == 0 || rest.gradients.size() != alone.gradients.size())
      return;  // nothing to learn, or it did
               // not run
    expected.loss /= expected.valid;
    for (std::size_t i = 0; i < expected.gradients.size(); ++i)
      expected.gradients[i] = (rest.gradients[i] * rest.valid + alone.gradients[i] * alone.valid) / expected.valid;
    batch.push_back(longest);
    random_.shuffle(batch);
    const auto any_plan = [&] {
      const auto several_rows = [&](const merge& m) {
        return how_shared == exchange::ring || (m.forward.size() > 1 && m.backward.size() > 1);
      };
      solution how;
      for (int tries = 0; tries < 16 && std::none_of(how.merges.begin(), how.merges.end(), several_rows); ++tries)
        how = random_sharers(steps_.lengths_of(batch), steps_.shape_of(stages, sharers), random_, how_shared);
      return steps_.planned(batch, stages, sharers, how);
    };
    ranks all = steps_.fresh(stages, sharers);
    const plan p = any_plan();
    const auto reports = steps_.step(all, p, batch);
    if (!ran(reports, stages)) return;
    const double loss = reports[0].value().loss_sum;
    const std::vector<double> found = steps_.gradients_of_all(all, stages, sharers);
    const bool right = steps_.alike(loss, expected.loss) && steps_.alike(found, expected.gradients);
    std::string why;
    if (!right) {
      const auto known = why_.find({stages, how_shared});
      why = known != why_.end()            ? known->second
            : how_shared == exchange::keep ? sharing_diagnosis<Model>(steps_, o_, stages)(longest, alone)
                                           : round_diagnosis<Model>(steps_, o_, stages, how_shared)(longest, alone);
      why_[{stages, how_shared}] = why;
    }
    why = " that share by " + std::string(slimpack::name_of(how_shared)) + (why.empty() ? why : ": " + why);
    report_.check(2, steps_.alike(loss, expected.loss),
                  "the loss of sequences that replicas share is that of whole ones", loss, "for", expected.loss, "on",
                  stages, "stages of", sharers, "replicas" + why);
    const auto d = steps_.between(found, expected.gradients);
    report_.check(2, steps_.alike(found, expected.gradients),
                  "gradients of sequences that replicas share are those of whole ones", "difference of norm",
                  d.difference, "for", d.norm, "on", stages, "stages of", sharers, "replicas" + why);
    if (!right) return;  // nor would the next step be
    evaluated(batch, p, reports, stages, sharers);
    const plan fails = any_plan();
    after_a_failure(batch, expected, stages, sharers, fails, any_plan);
  }

  bool ran(const std::vector<result<step_report>>& reports, int stages, int law = 2) {
    bool all = true;
    for (const result<step_report>& r : reports) {
      report_.check(law, r.has_value(), law == 2 ? "a step runs" : "an evaluation runs",
                    r ? std::string() : r.error().detail, "on", stages, "stages");
      all = all && r.has_value();
    }
    return all;
  }

  void compare(const std::vector<double>& found, const std::vector<double>& expected, std::string_view sentence,
               int stages, int law = 2) {
    const auto d = steps_.between(found, expected);
    const bool holds = steps_.alike(found, expected);
    report_.check(
        law, holds, sentence, "difference of norm", d.difference, "for", d.norm, "on", stages,
        "stages" + (holds ? std::string() : "; " + steps_.worst(steps_.fresh(stages), stages, found, expected)));
  }

  /// The edge lengths, then random ones.
  [[nodiscard]] std::vector<document> any_batch(int which) {
    std::vector<document> batch;
    const auto add = [&](tokens length) {
      batch.push_back({length, static_cast<std::uint64_t>(random_.between(0, 1 << 30))});
    };
    if (which == 0)
      for (const tokens t : edge_lengths({.longest = o_.longest, .quantum = o_.quantum})) add(t);
    while (batch.size() < 2 || random_.once_in(2)) add(random_.length(o_.longest));
    return batch;
  }

  const Model& model_;
  compute_options o_;
  costs::quadratic cost_;
  std::int64_t left_before_{};  // breaches of law 1 in earlier batches
  generator random_;
  report report_;
  steps_of steps_;
  std::map<std::pair<int, exchange>, std::string> why_;  // by stages: what is wrong with sharing, once known
};

}  // namespace detail

/// Checks the laws of slimpack::stage_compute that a compute can break: that its gradients are those of uncut sequences
/// and add up, those of sequences that replicas share too, that nothing is left of a step that failed, and that an
/// evaluation has the bits of the step. Steps are run by executors::packflow over threads.
///
///   struct my_model {
///     std::unique_ptr<my_stage> make(int stage, int stages) const;               // the same weights every time
///     void load(my_stage&, std::span<const slimpack::testing::document>) const;  // sequence i of the next step is [i]
///     std::vector<double> gradients(const my_stage&) const;                      // from the first layer to the last
///     void zero(my_stage&) const;                                                // gradients
///   };
///   const slimpack::testing::report found = slimpack::testing::stage_compute_laws(my_model{}, {.stages = 2});
///   EXPECT_TRUE(found) << found;  // in a test of GoogleTest; without one: std::cout << found; return found ? 0 : 1;
///
/// A compute whose vocabulary is spread over two stages or more (vocabulary_rows) has it in one place on one. So that
/// its gradients can be compared, `gradients` gives those of layers alone, and a fifth member the others:
///
///     std::vector<double> vocabulary_gradients(const my_stage&) const;  // word after word, those of both ends
///     together
///
/// So that a line names the parameter whose gradient is most wrong, and not its number, a model may offer
///
///     std::vector<slimpack::testing::parameter> parameters(const my_stage&) const;  // {name, elements}, as in
///     `gradients`
///
/// A compute that shares prefixes is tried with samples that do, too: with sequences that are put together, as a whole
/// or as nodes of a forest (piece::prefix). A sixth member gives it these:
///
///     void load_parts(my_stage&, std::span<const std::vector<slimpack::testing::document>>) const;  // sequence i of
///     the next step has the tokens of all documents [i], one after the other, as its own
///
/// Every stage takes any sequence of up to `longest` tokens. With more than one stage, the gradients of the stages, one
/// after the other, are compared with those of one stage that has all layers, unless there is no such (one_model).
/// Numbers may differ by as much as the elements of messages let them (tolerance_of). What is broken first is reported,
/// and nothing is tried after it: sequences that are cut, then two steps, a replica without work, a step that fails,
/// samples that share beginnings, attention that stages lend each other, and sequences that replicas share, in all
/// ways.
/// Catches   a layer that overwrites a gradient instead of adding to it; a slice that forgets its prefix, or the
///           gradients that later slices have for it; a weight that is not used; caches that outlive a step. Of a
///           compute that counts `reductions`: data-parallel hooks that reduce before the last call of a chunk, or
///           twice. Of one that shares rows: keys and values that are not given as they are, or not used where they are
///           taken; gradients that are not owed, or not added once where they are due. The line names layer and
///           replica. Of one that shares prefixes: an edge at a fork that has no loss; gradients of children that are
///           not added. Of one that lends attention: keys that it still attends to, or results that it does not merge.
///           Of one that spreads its vocabulary: words that no stage has, or several; a softmax that is not that of all
///           words; logits that are left of a step that failed. Of one that evaluates by other kernels than it trains
///           by: a loss, or with log_probabilities an edge, of other bits
/// Returns   a report, which converts to bool; a test has to assert it: EXPECT_TRUE(found) << found
///           (testing/report.hpp)
/// Errors    none; a step whose compute throws breaks a law, with the line that packflow tells of it. What members of
///           the model throw passes through
/// Complexity  cases * stages * 10 steps of a few sequences, and 4 of some that share beginnings; of 22 more where
///             replicas share
template <class Model>
requires(detail::makes_stages<Model> ||
         slimpack::detail::unmet<"a model to try offers make(stage, stages), a pointer to a stage compute, and "
                                 "load(compute, span<const document>), gradients(compute), zero(compute)">())
    [[nodiscard]] report stage_compute_laws(const Model& model, compute_options o = {}) {
  return detail::compute_trial<Model>(model, o).run();
}

}  // namespace slimpack::testing

#endif
