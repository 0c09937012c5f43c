#ifndef SLIMPACK_TESTING_DETAIL_SHARING_DIAGNOSIS_HPP
#define SLIMPACK_TESTING_DETAIL_SHARING_DIAGNOSIS_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/testing/detail/audited_compute.hpp>
#include <slimpack/testing/detail/audited_steps.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::testing::detail {

/// Says what is wrong with a compute that shares rows, by layer and replica, once it is known that something is. One
/// sequence runs in one row, of which one of three replicas has the head and another the tail, so that keys and values
/// travel one way and gradients the other. What goes wrong only from row to row is sought in two rows of two replicas.
///
/// Forward, rows that others give are right up to the first layer whose exchange went wrong; those of a head are right
/// wherever it does not give others than it has. Backward, what a replica owes for what it took in a layer is the
/// derivative of the loss by it, which a small change of it tells, whatever the compute does elsewhere. Who owes
/// wrongly does so as a tail; who does not add what is due to it, as a head, and goes on to owe wrongly in the layers
/// before.
/// Source    derived
/// Requires  one chunk; elements of rows that are float32 or float64: of others it says nothing
template <class Model>
class sharing_diagnosis : audited_steps<Model> {
 public:
  using audit = audited_steps<Model>;
  using audit::audited_steps;
  using typename audit::outcome;

  /// A sentence that names layer and replica, empty where nothing was found.
  /// expected: of the document uncut            Requires  a document of four quanta or more
  [[nodiscard]] std::string operator()(const document& of, const outcome& expected) const {
    const std::int64_t quanta = (of.length.value + o_.quantum.value - 1) / o_.quantum.value;
    const auto cut = [&](std::int64_t quarters) { return o_.quantum * (quanta * quarters / 4); };
    const tokens last = o_.quantum * (quanta - 1);
    const auto pairs = [&](const auto& look) {
      for (int j = 0; j < replicas_; ++j)
        for (int k = 0; k < replicas_; ++k)
          if (std::string found = j == k ? std::string() : look(j, k); !found.empty()) return found;
      return std::string();
    };
    const auto split = [&](int head, int tail) { return rows({{{head, last}, {tail, of.length}}}); };
    const auto split_again = [&](int head, int middle) {
      return rows({{{head, cut(1)}, {middle, last}, {head, of.length}}});
    };
    std::string found = pairs([&](int head, int tail) {
      return forward(of, expected, split(head, tail), split(tail, head), split_again(head, tail), head, tail);
    });
    if (!found.empty()) return found;
    found = backward(of, expected, split, split_again);
    if (!found.empty()) return found;
    return pairs([&](int one, int other) {
      const solution two = rows({{{one, cut(1)}, {other, cut(2)}}, {{one, cut(3)}, {other, of.length}}});
      const std::string kept = from_row_to_row(of, expected, split(one, other), two, one, other);
      return kept.empty() ? owed(of, two, one, other) : kept;
    });
  }

 private:
  using audit::layers_;
  using audit::name_of;
  using audit::o_;
  using audit::rank_of;
  using audit::replicas_;
  using audit::rows;
  using audit::run;
  using audit::steps_;
  using typename audit::outcome_and_logs;
  using typename audit::place;

  /// The derivative of the loss by what a rank takes in a layer, along the change's direction, and what it owes so.
  struct derivative {
    double of_loss{};
    double owed{};
    double scale{};  // of what is owed
    bool is_known{};
  };
  [[nodiscard]] derivative along(const document& of, const solution& how, const outcome_and_logs& base, int replica,
                                 const place& at) const {
    const exchange_log& log = base.logs[rank_of(replica, at.stage)];
    const auto taken = log.taken.find(at.layer);
    const auto owes = log.owed.find(at.layer);
    if (taken == log.taken.end() || owes == log.owed.end()) return {};
    double squares = 0;
    std::size_t count = 0;
    for (const auto& [token, row] : taken->second)
      for (const double x : row) squares += x * x, ++count;
    if (count == 0) return {};
    const double size = squares > 0 ? std::sqrt(squares / static_cast<double>(count)) : 1;
    const double by = std::cbrt(steps_.tolerance()) * size;  // truncation and rounding of a central difference are
                                                             // least there
    const outcome_and_logs up = run(of, how, rank_of(replica, at.stage), {at.layer, by});
    const outcome_and_logs down = run(of, how, rank_of(replica, at.stage), {at.layer, -by});
    derivative found{(up.all.loss - down.all.loss) / (2 * by), 0, 0, up.ran && down.ran};
    for (const auto& [token, row] : owes->second) {
      const auto of_token = taken->second.find(token);
      found.is_known = found.is_known && of_token != taken->second.end() && of_token->second.size() == row.size();
      for (std::size_t i = 0; i < row.size(); ++i)
        found.owed += row[i] * nudge::direction(token, i), found.scale += row[i] * row[i];
    }
    found.scale = std::sqrt(found.scale);
    return found;
  }
  [[nodiscard]] bool owes_wrongly(const derivative& d) const {
    const double close = 10 * std::sqrt(steps_.tolerance());
    return d.is_known && std::abs(d.of_loss - d.owed) > close * std::max(d.scale, std::abs(d.of_loss));
  }

  [[nodiscard]] std::string forward(const document& of, const outcome& expected, const solution& split,
                                    const solution& swapped, const solution& again, int head, int tail) const {
    const outcome_and_logs base = run(of, split);
    if (!base.ran || steps_.alike(base.all.loss, expected.loss)) return {};
    for (const place& at : layers_)
      if (const derivative d = along(of, split, base, tail, at); d.is_known && d.of_loss == 0)
        return name_of(tail) + " makes no use of what it takes in " + name_of(at);
    const outcome_and_logs other = run(of, swapped);
    const outcome_and_logs whole = run(of, again);
    if (!other.ran || !whole.ran) return {};
    const auto wrong_in = [&](const place& at) {
      return name_of(tail) + " does not attend to keys and values as " + name_of(head) + " made them, in " +
             name_of(at);
    };
    for (const place& at : layers_)  // heads need nothing of others
      if (!same_given(other.logs[rank_of(tail, at.stage)], base.logs[rank_of(head, at.stage)], at.layer))
        return wrong_in(at);
    for (std::size_t i = 1; i < layers_.size(); ++i)
      if (!same_given(whole.logs[rank_of(tail, layers_[i].stage)], base.logs[rank_of(head, layers_[i].stage)],
                      layers_[i].layer))
        return wrong_in(layers_[i - 1]);
    return wrong_in(layers_.back());
  }

  [[nodiscard]] bool same_given(const exchange_log& one, const exchange_log& other, int layer) const {
    return audit::same_rows(one.given, other.given, layer);
  }

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// The last layer in which a replica owes wrongly, of those before `end`.
  [[nodiscard]] std::size_t owes_wrongly_in(const document& of, const solution& how, const outcome_and_logs& base,
                                            int replica, std::size_t end) const {
    while (end-- > 0)
      if (owes_wrongly(along(of, how, base, replica, layers_[end]))) return end;
    return none;
  }

  [[nodiscard]] std::string not_owed(int replica, std::size_t layer) const {
    return "what " + name_of(replica) + " owes in " + name_of(layers_[layer]) + " is not the gradient of what it took";
  }
  [[nodiscard]] std::string not_added(int replica, std::size_t layer) const {
    return name_of(replica) + " does not add what is due to it once in " + name_of(layers_[layer]);
  }

  [[nodiscard]] std::string owed(const document& of, const solution& how, int one, int other) const {
    const outcome_and_logs base = run(of, how);
    if (!base.ran) return {};
    for (std::size_t layer = layers_.size(); layer-- > 0;)
      for (const int replica : {one, other})
        if (owes_wrongly(along(of, how, base, replica, layers_[layer]))) return not_owed(replica, layer);
    return {};
  }

  template <class Split, class SplitAgain>
  [[nodiscard]] std::string backward(const document& of, const outcome& expected, const Split& split,
                                     const SplitAgain& split_again) const {
    struct trial {
      bool right{true};
      std::size_t wrong{none};  // layer in which the tail owes wrongly
    };
    trial of_pair[replicas_][replicas_]{};  // head, tail
    for (int head = 0; head < replicas_; ++head)
      for (int tail = 0; tail < replicas_; ++tail) {
        if (head == tail) continue;
        const solution how = split(head, tail);
        const outcome_and_logs base = run(of, how);
        if (!base.ran) return {};
        of_pair[head][tail] = {steps_.alike(base.all.gradients, expected.gradients),
                               owes_wrongly_in(of, how, base, tail, layers_.size())};
      }
    for (int head = 0; head < replicas_; ++head)
      for (int tail = 0; tail < replicas_; ++tail) {
        const std::size_t layer = of_pair[head][tail].wrong;
        if (layer == none) continue;
        bool right_as_head = true;
        bool alone_wrong = false;  // as a head, since who has the tail owes what it should
        for (const trial& one : of_pair[tail])
          right_as_head = right_as_head && one.right, alone_wrong = alone_wrong || (!one.right && one.wrong == none);
        if (right_as_head || layer + 1 == layers_.size()) return not_owed(tail, layer);
        if (alone_wrong) return not_added(tail, layer + 1);
        const solution how = split(head, tail);
        const outcome_and_logs base = run(of, how);
        if (layer > 0 && !owes_wrongly(along(of, how, base, tail, layers_[layer - 1]))) return not_owed(tail, layer);
        return not_owed(tail, layer) + ", or it does not add what is due to it once in " + name_of(layers_[layer + 1]);
      }
    for (int head = 0; head < replicas_; ++head) {
      bool wrong = true;
      for (int tail = 0; tail < replicas_; ++tail) wrong = wrong && (tail == head || !of_pair[head][tail].right);
      if (!wrong) continue;
      const solution how = split_again(head == 0 ? 1 : 0, head);
      const outcome_and_logs base = run(of, how);
      if (!base.ran) return {};
      const std::size_t layer = owes_wrongly_in(of, how, base, head, layers_.size() - 1);
      return not_added(head, layer == none ? 0 : layer + 1);  // before the first layer nobody owes
    }
    return {};
  }

  [[nodiscard]] std::string from_row_to_row(const document& of, const outcome& expected, const solution& split,
                                            const solution& two, int one, int other) const {
    const outcome_and_logs base = run(of, split);
    const outcome_and_logs found = run(of, two);
    if (!base.ran || !found.ran || steps_.alike(found.all.loss, expected.loss)) return {};
    for (std::size_t i = 1; i < layers_.size(); ++i)
      for (const int replica : {one, other})
        if (!same_given(found.logs[rank_of(replica, layers_[i].stage)], base.logs[rank_of(one, layers_[i].stage)],
                        layers_[i].layer))
          return name_of(replica) + " does not keep what it takes from row to row, in " + name_of(layers_[i - 1]);
    const place& last = layers_.back();  // of which no rows tell, and what is owed may
    const bool is_other = owes_wrongly(along(of, two, found, other, last));
    const bool is_one = owes_wrongly(along(of, two, found, one, last));
    const std::string who = is_one == is_other ? "a replica" : name_of(is_one ? one : other);
    return who + " does not keep what it takes from row to row, in " + name_of(last);
  }
};

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
