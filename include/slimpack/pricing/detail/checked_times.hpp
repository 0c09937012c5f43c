#ifndef SLIMPACK_PRICING_DETAIL_CHECKED_TIMES_HPP
#define SLIMPACK_PRICING_DETAIL_CHECKED_TIMES_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/lending/loan_messages.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/shared_row.hpp>
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

/// A cost model as a planner hands it on: each answer is looked at, and one that is no time counts as 0 and goes into the
/// list of faults. So solvers, slicers and schedules see times that add up, and all their loops end, whatever the model
/// answers about slices that nobody can foresee; the planner then gives the fault instead of a plan. It answers the
/// questions that the model does, so that nothing is decided otherwise than with the model itself.
/// Law       answers are those of the model, to the bit, where they are times
/// Complexity that of the model, and two comparisons
///
/// A search asks for slices so often that two comparisons a question cost it a tenth of its time: where EachSlice is false,
/// packs are looked at instead, whose sums show what is no number or infinite; a negative time that others outweigh
/// shows when the plan is checked slice by slice.
template <class Cost, bool EachSlice>
class checked_times {
 public:
  using wraps = Cost;
  static constexpr bool folds = !EachSlice && spreads_vocabulary<Cost>();

  /// Requires  both outlive it
  checked_times(const Cost& cost, time_faults& faults) noexcept : kept_(keep(cost)), faults_(&faults) {}
  /// For a search over a shape whose vocabulary may be spread: the times of its ends are counted to those of layers.
  checked_times(const Cost& cost, time_faults& faults, const shape& on) : kept_(keep(cost)), faults_(&faults), turn_(cost, on) {}

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    if constexpr (EachSlice)
      return sound(model().time(s, p, part), question::time, s, p, part);
    else
      return at(part, [&](int own) { return with_ends(model().time(s, p, own), s.length, p, own); });
  }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const
    requires(prices_packs<Cost>)
  {
    const seconds all = at(part, [&](int own) {
      const seconds layers = model().time(pack, p, own);
      if constexpr (folds)
        if (!turn_.empty()) return layers + turn_.of_pack(p, own) + turn_.of_tokens(size_of(pack), p, own);
      return layers;
    });
    return is_time(all) ? all : blamed(all, pack, p, part);
  }
  /// Of a model that prices packs by their slices.
  friend seconds pack_time(const checked_times& c, std::span<const slice> pack, pass p, int part)
    requires(!prices_packs<Cost>)
  {
    seconds sum = c.overhead(p, part);
    for (const slice& s : pack) sum += c.time(s, p, part);
    sum += call_overhead_of(c, p, part) * static_cast<double>(pack.size());
    return is_time(sum) ? sum : c.blamed(sum, pack, p, part);
  }
  [[nodiscard]] seconds overhead(pass p, int part) const {
    const seconds all = at(part, [&](int own) {
      const seconds layers = pack_overhead(model(), p, own);
      if constexpr (folds)
        if (!turn_.empty()) return layers + turn_.of_pack(p, own);
      return layers;
    });
    return sound(all, question::overhead, {}, p, part);
  }
  [[nodiscard]] seconds call_overhead(pass p, int part) const
    requires(prices_calls<Cost>)
  {
    return at(part, [&](int own) { return sound(model().call_overhead(p, own), question::call_overhead, {}, p, own); });
  }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const {
    return at(part, [&](int own) {
      return with_ends(sound(useful_time(model(), s, p, own), question::useful, s, p, own), s.length, p, own);
    });
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const {
    return at(part, [&](int own) {
      return with_ends(sound(least_time(model(), s, p, own), question::least, s, p, own), s.length, p, own);
    });
  }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const {
    seconds all;
    if constexpr (folds)
      all = turn_.empty() ? message_time(model(), size, p, part) : turn_.message(model(), size, p, part);
    else
      all = message_time(model(), size, p, part);
    return sound(all, question::message, {{}, {0}, size}, p, part);
  }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const {
    const slice first = mine.empty() ? slice{row.sequence, {0}, row.end} : mine.front();
    return at(part, [&](int own) {
      return sound(exchange_time(model(), row, mine, p, own), question::exchange, first, p, own, row.sharers.size());
    });
  }
  [[nodiscard]] seconds covers(const slice& s, pass p, int part) const
    requires(covers_exchanges<Cost>)
  {
    return at(part, [&](int own) { return sound(model().covers(s, p, own), question::covers, s, p, own); });
  }
  [[nodiscard]] loan_messages lending(const loan& l, int part) const {
    if constexpr (folds) part = turn_.empty() ? part : turn_.part_of(part);
    loan_messages m = loan_messages_of(model(), l, part);
    for (seconds* const each : {&m.context, &m.queries, &m.results}) *each = sound(*each, question::message, l.queries, l.pass(), part);
    m.layers = sound({m.layers}, question::message, l.queries, l.pass(), part).value;
    return m;
  }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const
    requires(prices_weights<Cost>)
  {
    return at(part, [&](int own) {
      return with_ends(sound(model().weight_time(s, own), question::weight_time, s, pass::backward, own), s.length, pass::backward, own);
    });
  }
  [[nodiscard]] seconds vocabulary_time(tokens size, vocabulary_call call, int stage) const
    requires(spreads_vocabulary<Cost>())
  {
    return sound(model().vocabulary_time(size, call, stage), question::vocabulary, {{}, {0}, size}, pass_of(call), stage);
  }
  [[nodiscard]] seconds vocabulary_message(tokens size, vocabulary_rows rows, int stage) const {
    const pass p = rows == vocabulary_rows::gradients ? pass::backward : pass::forward;
    return sound(slimpack::vocabulary_message(model(), size, rows, stage), question::message, {{}, {0}, size}, p, stage);
  }
  /// Of each forward pack's message to where packs turn.
  [[nodiscard]] seconds turn_wait(const workload& w) const
    requires(folds)
  {
    return turn_.wait(w);
  }
  [[nodiscard]] seconds reduce_time() const {
    return sound(reduce_time_of(model()), question::reduce_time, {}, pass::backward, 0);
  }
  /// Looked at once, by longest_check.
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const {
    if constexpr (folds)
      if (!turn_.empty()) return turn_.turns(part) ? std::span<const gradient_bucket>{} : gradient_buckets_of(model(), turn_.part_of(part));
    return gradient_buckets_of(model(), part);
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    if constexpr (folds)
      if (!turn_.empty() && turn_.turns_on(stage)) {
        const bool known = memory_of(model(), 0).has_value();
        return known ? std::optional(memory_rates{.fixed = 0, .live_token = 0}) : std::nullopt;
      }
    std::optional<memory_rates> held = memory_of(model(), stage);
    if (!held) return held;
    for (double* const rate : {&held->fixed, &held->live_token, &held->gradient_token, &held->forward_token,
                               &held->backward_token, &held->other_token, &held->weight_token, &held->logit_token,
                               &held->turned_token, &held->lent_token}) {
      if (is_memory(*rate)) continue;
      faults_->add({question::memory, *rate, {}, {}, stage});
      *rate = 0;
    }
    if constexpr (folds)
      if (!turn_.empty()) return turn_.roomy(*held);
    return held;
  }
  [[nodiscard]] bytes kept(const slice& piece, int stage) const
    requires(keeps_by_piece<Cost>)
  {
    if constexpr (folds)
      if (!turn_.empty() && turn_.turns_on(stage)) return {};
    const bytes amount = model().kept(piece, stage);
    if (is_memory(amount.value)) [[likely]]
      return amount;
    faults_->add({question::kept, amount.value, piece, {}, stage});
    return {};
  }
  [[nodiscard]] int like(int part) const {
    if constexpr (folds)
      if (!turn_.empty()) return turn_.like(model(), part);
    return like_of(model(), part);
  }
  [[nodiscard]] int parts() const
    requires requires(const Cost& cost) { { cost.parts() } -> std::same_as<int>; }
  {
    if constexpr (folds)
      if (!turn_.empty()) return turn_.parts();
    return model().parts();
  }

 private:
  [[nodiscard]] static pass pass_of(vocabulary_call call) noexcept {
    return call == vocabulary_call::embed_gradients ? pass::backward : pass::forward;
  }
  /// What is asked of a part, by the model's own number; nothing where packs turn.
  template <class Ask>
  [[nodiscard]] seconds at(int part, const Ask& ask) const {
    if constexpr (folds)
      if (!turn_.empty()) return turn_.turns(part) ? seconds{} : ask(turn_.part_of(part));
    return ask(part);
  }
  /// Layers, and what the ends of the model add for tokens.
  [[nodiscard]] seconds with_ends(seconds layers, tokens n, pass p, int part) const {
    if constexpr (folds)
      if (!turn_.empty()) return layers + turn_.of_tokens(n, p, part);
    return layers;
  }
  [[nodiscard]] seconds sound(seconds t, question asked, const slice& of, pass p, int part, std::size_t count = 0) const {
    return is_time(t) ? t : refused(t, asked, of, p, part, count);
  }

  // Out of line, so that what is asked millions of times is short enough to be inlined with its two comparisons.
  [[gnu::cold, gnu::noinline]] seconds refused(seconds t, question asked, const slice& of, pass p, int part,
                                               std::size_t count) const {
    faults_->add({asked, t.value, of, p, part, count});
    return {};
  }

  /// A pack is to blame only where none of its slices is.
  [[gnu::cold, gnu::noinline]] seconds blamed(seconds all, std::span<const slice> pack, pass p, int part) const {
    for (const slice& s : pack)
      if (const seconds own = model().time(s, p, part); !is_time(own)) return refused(own, question::time, s, p, part, 0);
    faults_->add({question::pack, all.value, pack.empty() ? slice{} : pack.front(), p, part, pack.size()});
    return {};
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
    no_turn() = default;
    no_turn(const Cost&, const shape&) noexcept {}
  };

  kept_model kept_;
  time_faults* faults_;
  [[no_unique_address]] std::conditional_t<folds, vocabulary_turn, no_turn> turn_{};
};

}  // namespace slimpack::detail

#endif
