#ifndef SLIMPACK_PRICING_DETAIL_SEARCHED_TIMES_HPP
#define SLIMPACK_PRICING_DETAIL_SEARCHED_TIMES_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/lending/loan_messages.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>
#include <slimpack/pricing/detail/vocabulary_turn.hpp>
#include <slimpack/pricing/workload.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>

namespace slimpack::detail {

/// A cost model as a planner hands it to a solver: answers are looked at, and one that is no time counts as 0 and goes
/// into the list of faults. So solvers, slicers and schedules see times that add up, and all their loops end, whatever
/// the model answers about slices that nobody can foresee; the planner then gives the fault instead of a plan. It
/// answers the questions that the model does, so that nothing is decided otherwise than with the model itself. Where
/// the shape spreads the vocabulary, the times of its ends are counted to those of layers (vocabulary_turn.hpp).
/// Law       answers are those of the model, to the bit, where they are times and the vocabulary is in one place
/// Complexity that of the model, and two comparisons
///
/// A search asks for slices so often that two comparisons a question cost it a tenth of its time, so packs are looked
/// at instead, whose sums show what is no number or infinite; a negative time that others outweigh shows when the plan
/// that is accepted is checked slice by slice (cost_answers.hpp).
template <class Cost>
class searched_times {
 public:
  using wraps = Cost;

  /// Requires  both outlive it
  searched_times(const Cost& cost, time_faults& faults, const shape& on)
      : kept_(keep(cost)), faults_(&faults), turn_(*this, on) {}

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    if constexpr (folds)
      if (!turn_.empty()) return folded_time(s, p, part);
    return model().time(s, p, part);
  }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const requires(prices_packs<Cost>) {
    const seconds all = at(part, [&](int own) {
      const seconds layers = model().time(pack, p, own);
      if constexpr (folds)
        if (!turn_.empty()) return layers + turn_.of_pack(p, own) + turn_.of_tokens(size_of(pack), p, own);
      return layers;
    });
    return is_time(all) ? all : blamed(all, pack, p, part);
  }
  /// Of a model that prices packs by their slices.
  friend seconds pack_time(const searched_times& c, std::span<const slice> pack, pass p,
                           int part) requires(!prices_packs<Cost>) {
    seconds sum = c.overhead(p, part);
    for (const slice& s : pack) sum += c.time(s, p, part);
    sum += call_overhead_of(c, p, part) * static_cast<double>(pack.size());
    return is_time(sum) ? sum : c.blamed(sum, pack, p, part);
  }
  [[nodiscard]] seconds overhead(pass p, int part) const {
    return at(part, [&](int own) {
      const seconds layers = faults_->sound(pack_overhead(model(), p, own), question::overhead, {}, p, own);
      if constexpr (folds)
        if (!turn_.empty()) return layers + turn_.of_pack(p, own);
      return layers;
    });
  }
  [[nodiscard]] seconds call_overhead(pass p, int part) const requires(prices_calls<Cost>) {
    return at(part, [&](int own) {
      return faults_->sound(model().call_overhead(p, own), question::call_overhead, {}, p, own);
    });
  }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const {
    return at(part, [&](int own) {
      return with_ends(faults_->sound(useful_time(model(), s, p, own), question::useful, s, p, own), s.length, p, own);
    });
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const {
    return at(part, [&](int own) {
      return with_ends(faults_->sound(least_time(model(), s, p, own), question::least, s, p, own), s.length, p, own);
    });
  }
  [[nodiscard]] bool has_borders() const { return slimpack::has_borders(model()); }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const {
    seconds all;
    if constexpr (folds)
      all = turn_.empty() ? message_time(model(), size, p, part) : turn_.message(model(), size, p, part);
    else
      all = message_time(model(), size, p, part);
    return faults_->sound(all, question::message, {{}, {0}, size}, p, own_part(part));
  }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const {
    const slice first = mine.empty() ? slice{row.sequence, {0}, row.end} : mine.front();
    return at(part, [&](int own) {
      return faults_->sound(exchange_time(model(), row, mine, p, own), question::exchange, first, p, own,
                            row.sharers.size());
    });
  }
  [[nodiscard]] seconds covers(const slice& s, pass p, int part) const requires(covers_exchanges<Cost>) {
    return at(part, [&](int own) { return faults_->sound(model().covers(s, p, own), question::covers, s, p, own); });
  }
  [[nodiscard]] loan_messages lending(const loan& l, int part) const {
    const int own = own_part(part);
    return loan_messages_of(model(), l, own).checked([&](seconds t) {
      return faults_->sound(t, question::message, l.queries, l.pass(), own);
    });
  }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const requires(prices_weights<Cost>) {
    return at(part, [&](int own) {
      return with_ends(faults_->sound(model().weight_time(s, own), question::weight_time, s, pass::backward, own),
                       s.length, pass::backward, own);
    });
  }
  [[nodiscard]] seconds vocabulary_time(tokens size, instruction_kind call, int stage) const
      requires(spreads_vocabulary<Cost>()) {
    return faults_->sound_vocabulary(model().vocabulary_time(size, call, stage), size, call, stage);
  }
  [[nodiscard]] seconds vocabulary_message(tokens size, message_kind rows, int stage) const {
    return faults_->sound_vocabulary(slimpack::vocabulary_message(model(), size, rows, stage), size, rows, stage);
  }
  /// Of each forward pack's message to where packs turn.
  [[nodiscard]] seconds turn_wait(const workload& w) const requires(spreads_vocabulary<Cost>()) {
    return turn_.wait(w);
  }
  [[nodiscard]] seconds reduce_time() const {
    return faults_->sound(reduce_time_of(model()), question::reduce_time, {}, pass::backward, 0);
  }
  /// Looked at once, by longest_check.
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const {
    if constexpr (folds)
      if (!turn_.empty())
        return turn_.turns(part) ? std::span<const gradient_bucket>{}
                                 : gradient_buckets_of(model(), turn_.part_of(part));
    return gradient_buckets_of(model(), part);
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    if constexpr (folds)
      if (!turn_.empty() && turn_.turns_on(stage)) {
        const bool known = memory_of(model(), 0).has_value();
        return known ? std::optional(memory_rates{.fixed = 0, .live_token = 0}) : std::nullopt;
      }
    const std::optional<memory_rates> held = faults_->sound(memory_of(model(), stage), stage);
    if constexpr (folds)
      if (held && !turn_.empty()) return turn_.roomy(*held);
    return held;
  }
  /// Only of shapes with the vocabulary in one place, as evaluations are.
  [[nodiscard]] std::optional<memory_rates> evaluation_memory(int stage) const {
    return faults_->sound(evaluation_memory_of(model(), stage), stage);
  }
  [[nodiscard]] bytes kept(const slice& piece, int stage) const requires(keeps_by_piece<Cost>) {
    if constexpr (folds)
      if (!turn_.empty() && turn_.turns_on(stage)) return {};
    return faults_->sound(model().kept(piece, stage), piece, stage);
  }
  [[nodiscard]] bytes evaluation_kept(const slice& piece, int stage, tokens first) const
      requires(keeps_in_evaluations<Cost>) {
    return faults_->sound(model().evaluation_kept(piece, stage, first), piece, stage);
  }
  [[nodiscard]] int like(int part) const {
    if constexpr (folds)
      if (!turn_.empty())
        return turn_.like(part, [&](int own) { return faults_->sound_like(like_of(model(), own), own); });
    return faults_->sound_like(like_of(model(), part), part);
  }
  [[nodiscard]] int parts() const requires requires(const Cost& cost) {
    { cost.parts() } -> std::same_as<int>;
  }
  {
    if constexpr (folds)
      if (!turn_.empty()) return turn_.parts();
    return model().parts();
  }

 private:
  static constexpr bool folds = spreads_vocabulary<Cost>();

  /// What is asked of a part, by the model's own number; nothing where packs turn.
  template <class Ask>
  [[nodiscard]] seconds at(int part, const Ask& ask) const {
    if constexpr (folds)
      if (!turn_.empty()) return turn_.turns(part) ? seconds{} : ask(turn_.part_of(part));
    return ask(part);
  }
  /// The model's number of a part. Of where packs turn, that of no part.
  [[nodiscard]] int own_part(int part) const noexcept {
    if constexpr (folds)
      if (!turn_.empty()) return turn_.part_of(part);
    return part;
  }
  /// Layers, and what the ends of the model add for tokens.
  [[nodiscard]] seconds with_ends(seconds layers, tokens n, pass p, int part) const {
    if constexpr (folds)
      if (!turn_.empty()) return layers + turn_.of_tokens(n, p, part);
    return layers;
  }

  /// Apart, so that compilers take the way of most searches, which fold nothing, into their loops: a twelfth of
  /// planning.
  [[nodiscard, gnu::noinline]] seconds folded_time(const slice& s, pass p, int part) const {
    return at(part, [&](int own) { return with_ends(model().time(s, p, own), s.length, p, own); });
  }

  [[gnu::cold]] seconds blamed(seconds all, std::span<const slice> pack, pass p, int part) const {
    const int own = own_part(part);  // a part that takes time: where packs turn they take none
    return faults_->blamed(all, pack, p, own, [&](const slice& s) { return model().time(s, p, own); });
  }

  // A small model is kept by value: one step less to it for each of millions of questions.
  static constexpr bool by_value = std::is_trivially_copyable_v<Cost> && sizeof(Cost) <= 256;
  using kept_model = std::conditional_t<by_value, Cost, const Cost*>;

  [[nodiscard]] static kept_model keep(const Cost& cost) noexcept {
    if constexpr (by_value)
      return cost;
    else
      return &cost;
  }
  [[nodiscard]] const Cost& model() const noexcept {
    if constexpr (by_value)
      return kept_;
    else
      return *kept_;
  }

  struct no_turn {
    no_turn(const searched_times&, const shape&) noexcept {}
  };

  kept_model kept_;  // and the faults before what is made by asking
  time_faults* faults_;
  [[no_unique_address]] std::conditional_t<folds, vocabulary_turn, no_turn> turn_;
};

}  // namespace slimpack::detail

#endif
