#ifndef SLIMPACK_SOLVERS_DETAIL_ANY_POLICIES_HPP
#define SLIMPACK_SOLVERS_DETAIL_ANY_POLICIES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/timings.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/detail/reduction_waits.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/timed.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/detail/cost_questions.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace slimpack::detail {

/// A cost model behind virtual calls, so that a search is compiled once for all of them. What is asked most
/// often is asked for many slices at once: a call then costs next to nothing beside its answer.
/// Law       every answer but `priced` is that of the model, to the bit
class any_cost {
 public:
  /// Against cost_model law 3, stand-ins (solvers/divide/stand_in_cost.hpp) may take less with a quantum more: they are
  /// means of sharers whose quanta alternate. slicers::equal_cost heeds it.
  static constexpr bool times_may_fall = true;

  [[nodiscard]] virtual seconds time(const slice& s, pass p, int part) const = 0;
  [[nodiscard]] virtual seconds of_pack(std::span<const slice> pack, pass p, int part) const = 0;
  [[nodiscard]] virtual seconds overhead(pass p, int part) const = 0;
  [[nodiscard]] virtual seconds call_overhead(pass p, int part) const = 0;
  [[nodiscard]] virtual seconds least(const slice& s, pass p, int part) const = 0;
  [[nodiscard]] virtual seconds weight_time(const slice& s, int part) const = 0;
  [[nodiscard]] virtual seconds message(tokens size, pass p, int part) const = 0;
  [[nodiscard]] virtual seconds exchange(const shared_row& row, std::span<const slice> mine, pass p,
                                         int part) const = 0;
  [[nodiscard]] virtual std::optional<memory_rates> memory(int stage) const = 0;
  [[nodiscard]] virtual std::span<const gradient_bucket> gradient_buckets(int part) const = 0;
  /// price_layers of pricing/price.hpp.
  virtual void layers(const micropacks& packs, pass p, int parts, timings& times) const = 0;
  /// price of pricing/price.hpp, with the sums of gradients that end after the last backward pack counted to it.
  [[nodiscard]] virtual workload priced(const partition& packs, const shape& on, const std::vector<memory_rates>& rates,
                                        weight_gradients weights, std::span<const shared_row> shared,
                                        std::span<const sequence_id> parents) const = 0;
  /// Whether packs have times of their own, beside those of their slices.
  [[nodiscard]] virtual bool has_pack_times() const noexcept = 0;
  /// sharers_priced_by (cost_questions.hpp).
  [[nodiscard]] virtual std::size_t sharers() const noexcept = 0;

  friend seconds pack_time(const any_cost& cost, std::span<const slice> pack, pass p, int part) {
    return cost.of_pack(pack, p, part);
  }
  friend void price_layers(const micropacks& packs, pass p, const any_cost& cost, int parts, timings& times) {
    cost.layers(packs, p, parts, times);
  }

 protected:
  any_cost() = default;
  any_cost(const any_cost&) = default;
  any_cost& operator=(const any_cost&) = default;
  ~any_cost() = default;
};

/// That of a model.
template <class Cost>
class cost_behind final : public any_cost {
 public:
  /// Requires  the model outlives it
  explicit cost_behind(const Cost& cost) noexcept : cost_(cost) {}

  [[nodiscard]] const Cost& model() const noexcept { return cost_; }

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const override { return cost_.time(s, p, part); }
  [[nodiscard]] seconds of_pack(std::span<const slice> pack, pass p, int part) const override {
    return pack_time(cost_, pack, p, part);
  }
  [[nodiscard]] seconds overhead(pass p, int part) const override { return pack_overhead(cost_, p, part); }
  [[nodiscard]] seconds call_overhead(pass p, int part) const override { return call_overhead_of(cost_, p, part); }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const override { return least_time(cost_, s, p, part); }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const override {
    return slimpack::weight_time(cost_, s, part);
  }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const override {
    return message_time(cost_, size, p, part);
  }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const override {
    return exchange_time(cost_, row, mine, p, part);
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const override { return memory_of(cost_, stage); }
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const override {
    return gradient_buckets_of(cost_, part);
  }
  void layers(const micropacks& packs, pass p, int parts, timings& times) const override {
    price_layers(packs, p, cost_, parts, times);
  }
  [[nodiscard]] workload priced(const partition& packs, const shape& on, const std::vector<memory_rates>& rates,
                                weight_gradients weights, std::span<const shared_row> shared,
                                std::span<const sequence_id> parents) const override {
    workload w = price(packs, cost_, on, rates, weights, shared, parents);
    count_late_sums(cost_, w);
    return w;
  }
  [[nodiscard]] bool has_pack_times() const noexcept override { return prices_packs<Cost>; }
  [[nodiscard]] std::size_t sharers() const noexcept override { return sharers_priced_by(cost_); }

 private:
  const Cost& cost_;
};

/// A slicer behind a virtual call, so that a search is compiled once for all of them.
class any_slicer {
 public:
  [[nodiscard]] virtual slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                                   const any_cost& cost) const = 0;

 protected:
  any_slicer() = default;
  any_slicer(const any_slicer&) = default;
  any_slicer& operator=(const any_slicer&) = default;
  ~any_slicer() = default;
};

/// That of a slicer. Where it cuts by the model that it was made with, as it nearly always does, it asks it itself.
template <class Slicer, class Cost>
class slicer_behind final : public any_slicer {
 public:
  /// Requires  both outlive it
  slicer_behind(const Slicer& slicer, const cost_behind<Cost>& cost) noexcept : slicer_(slicer), cost_(cost) {}

  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                           const any_cost& cost) const override {
    if (&cost == &cost_) return slicer_.next(s, at, p, left, cost_.model());
    return slicer_.next(s, at, p, left, cost);
  }

 private:
  const Slicer& slicer_;
  const cost_behind<Cost>& cost_;
};

/// Cuts between given pieces alone, where that comes nearest to the pack's time: packs that are cut anew then change no
/// piece of the other pass.
class piece_slicer final : public any_slicer {
 public:
  /// Requires  it outlives this
  explicit piece_slicer(const common_cuts& cuts) noexcept : cuts_(&cuts) {}

  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                           const any_cost& cost) const override {
    const slice rest = p == pass::forward ? slice{s.id, at, s.length - at} : slice{s.id, {0}, at};
    slice best{s.id, at, {0}};
    double off = left.empty ? std::numeric_limits<double>::infinity() : left.time.value;
    slice grown = best;
    cuts_->each_piece_while(rest, p, [&](const slice& piece) {
      if (p == pass::backward) grown.begin = piece.begin;
      grown.length += piece.length;
      if (grown.length > left.size) return false;
      const double over = cost.time(grown, p, left.part).value - left.time.value;
      if (std::abs(over) <= off) best = grown, off = std::abs(over);
      return over <= 0;  // further pieces are further off
    });
    return best;
  }

 private:
  const common_cuts* cuts_;
};

/// A schedule behind virtual calls, so that a search is compiled once for all of them.
class any_schedule {
 public:
  /// schedules::timed of it.
  [[nodiscard]] virtual result<timed_programs> timed(const workload& work) const = 0;
  /// The same of the schedule that a long search asks (longer_of).
  [[nodiscard]] virtual result<timed_programs> timed_longer(const workload& work) const = 0;
  /// weight_gradients_of it.
  [[nodiscard]] weight_gradients weights() const noexcept { return weights_; }
  [[nodiscard]] bool orders_may_change() const noexcept { return orders_may_change_; }

 protected:
  any_schedule(weight_gradients weights, bool orders_may_change) noexcept
      : weights_(weights), orders_may_change_(orders_may_change) {}
  any_schedule(const any_schedule&) = default;
  any_schedule& operator=(const any_schedule&) = default;
  ~any_schedule() = default;

 private:
  weight_gradients weights_;
  bool orders_may_change_;
};

/// That of a schedule.
template <class Schedule>
class schedule_behind final : public any_schedule {
 public:
  /// Requires  the schedule outlives it
  explicit schedule_behind(const Schedule& schedule)
      : any_schedule(weight_gradients_of<Schedule>, slimpack::orders_may_change(schedule)),
        given_(schedule),
        longer_(longer_of(schedule)) {}

  [[nodiscard]] result<timed_programs> timed(const workload& work) const override {
    return schedules::timed(given_, work);
  }
  [[nodiscard]] result<timed_programs> timed_longer(const workload& work) const override {
    return schedules::timed(longer_, work);
  }

 private:
  const Schedule& given_;
  Schedule longer_;
};

}  // namespace slimpack::detail

#endif
