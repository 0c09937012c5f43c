#ifndef SLIMPACK_PRICING_DETAIL_COST_ANSWERS_HPP
#define SLIMPACK_PRICING_DETAIL_COST_ANSWERS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/lending/loan_messages.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>
#include <slimpack/pricing/workload.hpp>

#include <optional>
#include <span>
#include <string>

namespace slimpack::detail {

/// Every question of costs/hooks.hpp behind virtual calls, so that what is asked once a plan is compiled once for all
/// cost models: the checks before a search, and the pricing, bounds and shares of time of the plan that is accepted. A
/// search, which asks millions of times, has solvers/detail/any_policies.hpp.
/// Law       every answer is what the hook gives for the model, its default included, to the bit
class cost_answers {
 public:
  [[nodiscard]] virtual seconds time(const slice& s, pass p, int part) const = 0;
  [[nodiscard]] virtual seconds overhead(pass p, int part) const = 0;
  [[nodiscard]] virtual seconds call_overhead(pass p, int part) const = 0;
  [[nodiscard]] virtual seconds useful(const slice& s, pass p, int part) const = 0;
  [[nodiscard]] virtual seconds collectives(const slice& s, pass p, int part) const = 0;
  [[nodiscard]] virtual seconds least(const slice& s, pass p, int part) const = 0;
  [[nodiscard]] virtual bool has_borders() const = 0;
  [[nodiscard]] virtual seconds message(tokens size, pass p, int part) const = 0;
  [[nodiscard]] virtual std::optional<memory_rates> memory(int stage) const = 0;
  [[nodiscard]] virtual std::optional<memory_rates> evaluation_memory(int stage) const = 0;
  [[nodiscard]] virtual bytes kept(const slice& piece, int stage) const = 0;
  [[nodiscard]] virtual bytes evaluation_kept(const slice& piece, int stage, tokens first) const = 0;
  [[nodiscard]] virtual seconds exchange(const shared_row& row, std::span<const slice> mine, pass p,
                                         int part) const = 0;
  [[nodiscard]] virtual seconds covers(const slice& s, pass p, int part) const = 0;
  [[nodiscard]] virtual loan_messages lending(const loan& l, int part) const = 0;
  [[nodiscard]] virtual seconds reduce_time() const = 0;
  [[nodiscard]] virtual std::span<const gradient_bucket> gradient_buckets(int part) const = 0;
  [[nodiscard]] virtual int like(int part) const = 0;
  [[nodiscard]] virtual seconds vocabulary_time(tokens size, instruction_kind call, int stage) const = 0;
  [[nodiscard]] virtual seconds vocabulary_message(tokens size, message_kind rows, int stage) const = 0;

  /// Whether packs have a time of their own, and that time without calls.
  [[nodiscard]] virtual bool has_pack_times() const noexcept = 0;
  [[nodiscard]] virtual seconds of_pack(std::span<const slice> pack, pass p, int part) const = 0;
  /// Whether weight gradients have a time of their own, and that time.
  [[nodiscard]] virtual bool has_weight_times() const noexcept = 0;
  [[nodiscard]] virtual seconds of_weights(const slice& s, int part) const = 0;

  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return has_weight_times() ? of_weights(s, part) : time(s, pass::backward, part) * 0.5;
  }
  friend seconds pack_time(const cost_answers& cost, std::span<const slice> pack, pass p, int part) {
    const seconds calls = cost.call_overhead(p, part) * static_cast<double>(pack.size());
    if (cost.has_pack_times()) return cost.of_pack(pack, p, part) + calls;
    seconds sum = cost.overhead(p, part);
    for (const slice& s : pack) sum += cost.time(s, p, part);
    return sum + calls;
  }

 protected:
  cost_answers() = default;
  cost_answers(const cost_answers&) = default;
  cost_answers& operator=(const cost_answers&) = default;
  ~cost_answers() = default;
};

/// Those of a model.
template <class Cost>
class answers_of final : public cost_answers {
 public:
  /// Requires  the model outlives it
  explicit answers_of(const Cost& cost) noexcept : cost_(cost) {}

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const override { return cost_.time(s, p, part); }
  [[nodiscard]] seconds overhead(pass p, int part) const override { return pack_overhead(cost_, p, part); }
  [[nodiscard]] seconds call_overhead(pass p, int part) const override { return call_overhead_of(cost_, p, part); }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const override {
    return useful_time(cost_, s, p, part);
  }
  [[nodiscard]] seconds collectives(const slice& s, pass p, int part) const override {
    return collective_time(cost_, s, p, part);
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const override { return least_time(cost_, s, p, part); }
  [[nodiscard]] bool has_borders() const override { return slimpack::has_borders(cost_); }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const override {
    return message_time(cost_, size, p, part);
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const override { return memory_of(cost_, stage); }
  [[nodiscard]] std::optional<memory_rates> evaluation_memory(int stage) const override {
    return evaluation_memory_of(cost_, stage);
  }
  [[nodiscard]] bytes kept(const slice& piece, int stage) const override { return kept_of(cost_, piece, stage); }
  [[nodiscard]] bytes evaluation_kept(const slice& piece, int stage, tokens first) const override {
    return evaluation_kept_of(cost_, piece, stage, first);
  }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const override {
    return exchange_time(cost_, row, mine, p, part);
  }
  [[nodiscard]] seconds covers(const slice& s, pass p, int part) const override {
    return covered_time(cost_, s, p, part);
  }
  [[nodiscard]] loan_messages lending(const loan& l, int part) const override {
    return loan_messages_of(cost_, l, part);
  }
  [[nodiscard]] seconds reduce_time() const override { return reduce_time_of(cost_); }
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const override {
    return gradient_buckets_of(cost_, part);
  }
  [[nodiscard]] int like(int part) const override { return like_of(cost_, part); }
  [[nodiscard]] seconds vocabulary_time(tokens size, instruction_kind call, int stage) const override {
    return slimpack::vocabulary_time(cost_, size, call, stage);
  }
  [[nodiscard]] seconds vocabulary_message(tokens size, message_kind rows, int stage) const override {
    return slimpack::vocabulary_message(cost_, size, rows, stage);
  }
  [[nodiscard]] bool has_pack_times() const noexcept override { return prices_packs<Cost>; }
  [[nodiscard]] seconds of_pack(std::span<const slice> pack, pass p, int part) const override {
    if constexpr (prices_packs<Cost>)
      return cost_.time(pack, p, part);
    else
      return {};
  }
  [[nodiscard]] bool has_weight_times() const noexcept override { return prices_weights<Cost>; }
  [[nodiscard]] seconds of_weights(const slice& s, int part) const override {
    if constexpr (prices_weights<Cost>)
      return cost_.weight_time(s, part);
    else
      return {};
  }

 private:
  const Cost& cost_;
};

/// A cost model as accepted plans are priced by it, for all models the same type: each answer is looked at, slice by
/// slice, and one that is no time, or no amount of memory, counts as 0 and goes into the list of faults; the planner
/// then gives the fault instead of a plan. So a negative time that others of its pack outweigh shows, too, which a
/// search does not see (searched_times.hpp).
/// Law       answers are those of the model, to the bit, where they are times
class checked_answers {
 public:
  /// Requires  both outlive it
  checked_answers(const cost_answers& model, time_faults& faults) noexcept : model_(&model), faults_(&faults) {}

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return faults_->sound(model_->time(s, p, part), question::time, s, p, part);
  }
  [[nodiscard]] seconds overhead(pass p, int part) const {
    return faults_->sound(model_->overhead(p, part), question::overhead, {}, p, part);
  }
  [[nodiscard]] seconds call_overhead(pass p, int part) const {
    return faults_->sound(model_->call_overhead(p, part), question::call_overhead, {}, p, part);
  }
  friend seconds pack_time(const checked_answers& c, std::span<const slice> pack, pass p, int part) {
    const auto blamed = [&](seconds all) {
      return c.faults_->blamed(all, pack, p, part, [&](const slice& s) { return c.model_->time(s, p, part); });
    };
    const seconds calls = c.call_overhead(p, part) * static_cast<double>(pack.size());
    if (c.model_->has_pack_times()) {
      const seconds own = c.model_->of_pack(pack, p, part);
      return (is_time(own) ? own : blamed(own)) + calls;
    }
    seconds sum = c.overhead(p, part);
    for (const slice& s : pack) sum += c.time(s, p, part);
    sum += calls;
    return is_time(sum) ? sum : blamed(sum);
  }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const {
    return faults_->sound(model_->useful(s, p, part), question::useful, s, p, part);
  }
  [[nodiscard]] seconds collectives(const slice& s, pass p, int part) const {
    return faults_->sound(model_->collectives(s, p, part), question::collectives, s, p, part);
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const {
    return faults_->sound(model_->least(s, p, part), question::least, s, p, part);
  }
  [[nodiscard]] bool has_borders() const { return model_->has_borders(); }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const {
    return faults_->sound(model_->message(size, p, part), question::message, {{}, {0}, size}, p, part);
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    return faults_->sound(model_->memory(stage), stage);
  }
  [[nodiscard]] std::optional<memory_rates> evaluation_memory(int stage) const {
    return faults_->sound(model_->evaluation_memory(stage), stage);
  }
  [[nodiscard]] bytes kept(const slice& piece, int stage) const {
    return faults_->sound(model_->kept(piece, stage), piece, stage);
  }
  [[nodiscard]] bytes evaluation_kept(const slice& piece, int stage, tokens first) const {
    return faults_->sound(model_->evaluation_kept(piece, stage, first), piece, stage);
  }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const {
    const slice first = mine.empty() ? slice{row.sequence, {0}, row.end} : mine.front();
    return faults_->sound(model_->exchange(row, mine, p, part), question::exchange, first, p, part, row.sharers.size());
  }
  [[nodiscard]] seconds covers(const slice& s, pass p, int part) const {
    return faults_->sound(model_->covers(s, p, part), question::covers, s, p, part);
  }
  [[nodiscard]] loan_messages lending(const loan& l, int part) const {
    return model_->lending(l, part).checked(
        [&](seconds t) { return faults_->sound(t, question::message, l.queries, l.pass(), part); });
  }
  [[nodiscard]] seconds reduce_time() const {
    return faults_->sound(model_->reduce_time(), question::reduce_time, {}, pass::backward, 0);
  }
  /// Looked at once, by longest_check.
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const {
    return model_->gradient_buckets(part);
  }
  [[nodiscard]] int like(int part) const { return faults_->sound_like(model_->like(part), part); }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    if (!model_->has_weight_times()) return time(s, pass::backward, part) * 0.5;
    return faults_->sound(model_->of_weights(s, part), question::weight_time, s, pass::backward, part);
  }
  friend seconds least_weight_time(const checked_answers& c, const slice& s, int part) {
    return c.model_->has_weight_times() ? c.weight_time(s, part) : c.least(s, pass::backward, part) * 0.5;
  }
  [[nodiscard]] seconds vocabulary_time(tokens size, instruction_kind call, int stage) const {
    return faults_->sound_vocabulary(model_->vocabulary_time(size, call, stage), size, call, stage);
  }
  [[nodiscard]] seconds vocabulary_message(tokens size, message_kind rows, int stage) const {
    return faults_->sound_vocabulary(model_->vocabulary_message(size, rows, stage), size, rows, stage);
  }

 private:
  const cost_answers* model_;
  time_faults* faults_;
};

/// Whether the model gives times for the longest sequence, which takes the longest (cost_model law 3), and for sharing
/// it among all replicas that get a quantum of it, the longest exchange: what can be said before any work.
/// And whether each part is like one that there is.
/// Errors    invalid_input            Complexity  O(parts) questions
class longest_check {
 public:
  longest_check(const cost_answers& cost, const shape& on, tokens longest)
      : cost_(cost),
        on_(on),
        whole_{{}, {0}, longest},
        sequence_("a sequence of " + std::to_string(longest.value) + " tokens") {}

  [[nodiscard]] result<void> operator()(weight_gradients split) const;

 private:
  [[nodiscard]] static error wrong(const std::string& what);
  [[nodiscard]] static error no_time(seconds t, const std::string& what);
  [[nodiscard]] result<void> packs(pass p, int part) const;
  /// With all replicas that get a quantum of it.
  [[nodiscard]] seconds longest_exchange(pass p, int part) const;
  [[nodiscard]] result<void> weights(int part) const;
  [[nodiscard]] result<void> buckets(int part) const;
  [[nodiscard]] result<void> ends_of_model() const;
  [[nodiscard]] error no_end(seconds t, int stage) const;

  const cost_answers& cost_;
  const shape& on_;
  slice whole_;
  std::string sequence_;
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/pricing/impl/longest_check.ipp>
#endif

#endif
