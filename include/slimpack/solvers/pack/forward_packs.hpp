#ifndef SLIMPACK_SOLVERS_PACK_FORWARD_PACKS_HPP
#define SLIMPACK_SOLVERS_PACK_FORWARD_PACKS_HPP

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/order/detail/local_ids.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/detail/interleaved_order.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/pack/fill.hpp>
#include <slimpack/solvers/pack/sequence_orders.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Searches the forward packs of one replica that runs no backward.
///
/// All stages run the packs in one order; with virtual stages groups of as many packs as there are stages pass chunk
/// after chunk (units.hpp). So the step is a permutation flow shop: on p equal stages n packs of times t_i take sum t_i
/// + (p - 1) max t_i in any order, and of all packs of a batch equal ones are best. They are W / n + o long, with W the
/// work and o what a pack costs besides, and n = sqrt((p - 1) W / o) of them take least. On stages that are not equal,
/// small packs at both ends help, since the slowest stage waits for the first of them and those behind it for the last.
/// So even packs of all numbers are tried, in steps, then those near the best one by one, then ramps at the ends; each
/// by its makespan. Memory: a stage holds what the order says, whatever its lead: the sequences that are under way. The
/// less, the smaller packs are, and the fewer sequences begin in the pack that another ends in; both orders of lengths
/// are tried. Samples that share beginnings are run depth-first, so that of a tree one path is under way, and what has
/// ended of it goes with the last that goes on behind it.
/// Source    flow shop: S. M. Johnson, 1954, with p equal stages; the rest derived
/// Law       equal questions get equal answers, unless stopped
template <class Slicer, class Cost>
class forward_packs {
 public:
  /// parents: by sequence_id, where samples share beginnings; else empty
  /// Requires  a sequence; with each its parent; rates from evaluation_rates_of; all outlive it
  forward_packs(std::span<const sequence> group, std::span<const sequence_id> parents, const shape& on,
                const Slicer& slicer, const Cost& cost, std::span<const memory_rates> rates, int busiest,
                const solvers::search_options& options = solvers::default_search_options)
      : parents_(parents),
        shape_(on),
        slicer_(slicer),
        cost_(cost),
        rates_(rates.begin(), rates.end()),
        part_(busiest),
        options_(options) {
    const sequence_orders orders(under_local_ids(group));
    for (const sequence& s : orders.of(1).forward) rising_.push_back(group[s.id.value]);
    for (const sequence& s : orders.of(0).forward) falling_.push_back(group[s.id.value]);
    for (const sequence& s : group) {
      longest_ = std::max(longest_, s.end());
      if (!s.is_root()) inner_.push_back(s.parent);
    }
    std::sort(inner_.begin(), inner_.end());
    for (const sequence& s : rising_) total_ += cost_.time(s.whole(), pass::forward, part_).value;
    for (const memory_rates& r : rates_)
      if (shape_.memory)
        room_ = std::min(room_, (shape_.memory->amount - r.fixed) / (r.live_token / shape_.chunks + r.forward_token));
    room_ = std::max(room_, static_cast<double>(longest_.value));  // what does not fit is told in numbers
  }

  /// The packs that were fastest, with their programs, and when the last of them ends.
  /// Errors    out_of_memory: none of the packs that were tried fit; the detail has the shortfall in numbers
  ///           those of the slicer's packs
  [[nodiscard]] result<replica_solution> best(std::stop_token stop, seconds& end) {
    for (const bool apart : {false, true}) {
      if (apart && !shape_.memory) break;
      for (const std::vector<sequence>* order : {&falling_, &rising_}) search(order, apart, stop);
    }
    if (!found_) attempt({&falling_, true, smallest, 0});
    if (!found_) return why_;
    end = found_->makespan;
    replica_solution made;
    for (const sequence& s : rising_) made.sequences.push_back(s.id);
    std::sort(made.sequences.begin(), made.sequences.end());
    made.partition = std::move(found_->packs);
    made.programs = forward_programs(found_->work);
    return made;
  }

 private:
  /// How packs are filled.
  struct rule {
    const std::vector<sequence>* order;
    bool apart;         // nothing begins in the pack that a sequence ends in which no other goes on from
    std::size_t count;  // even packs that the work is enough for, or `smallest`
    double ramp;        // how fast sizes grow from the ends, by the work done; 0: even
  };
  static constexpr std::size_t smallest = 0;
  struct candidate {
    partition packs;
    workload work;
    seconds makespan;
  };

  /// So many times a number of packs, rounded down.
  static std::size_t times(std::size_t count, double factor) {
    return static_cast<std::size_t>(static_cast<double>(count) * factor);
  }
  [[nodiscard]] bool is_beyond(std::size_t count, std::size_t best) const {
    return static_cast<double>(count) > options_.evaluation_beyond * static_cast<double>(best);
  }

  void search(const std::vector<sequence>* order, bool apart, const std::stop_token& stop) {
    seconds least{std::numeric_limits<double>::infinity()};
    std::size_t best = 0, packs = 0;
    for (std::size_t count = 1;; count = std::max(count + 1, times(count, options_.evaluation_growth))) {
      const std::optional<tried> t = attempt({order, apart, count, 0});
      if (!t || (found_ && stop.stop_requested())) return;
      if (t->fits && t->makespan < least) least = t->makespan, best = count;
      // Until slices get no smaller, or packs fit and are slower than the best.
      if ((t->packs == packs && is_beyond(count, packs)) || (t->fits && is_beyond(count, best) && t->makespan > least))
        break;
      packs = t->packs;
    }
    if (best == 0) return;  // none fits
    const std::size_t step = std::max<std::size_t>(1, best / options_.tuning.evaluation_steps);
    const std::size_t most = times(best, options_.tuning.evaluation_around) + 1;
    for (std::size_t count = std::max<std::size_t>(1, times(best, 1 / options_.tuning.evaluation_around));
         count <= most; count += step)
      if (!found_ || !stop.stop_requested()) attempt({order, apart, count, 0});
    for (const double twice : {1, 2, 4, 8})
      for (const std::size_t count : {best, most})
        if (!found_ || !stop.stop_requested()) attempt({order, apart, count, twice * options_.tuning.evaluation_ramp});
  }

  [[nodiscard]] bool ends_path(const sequence& s) const {
    return !std::binary_search(inner_.begin(), inner_.end(), s.id);
  }

  struct tried {
    std::size_t packs;
    seconds makespan;
    bool fits;
  };

  /// Makes packs, and keeps them if they are faster than those before. None: the slicer's packs do not fit.
  std::optional<tried> attempt(const rule& how) {
    const bool is_smallest = how.count == smallest;
    // One pack of all: the sum of the sequences' times may round below the time of the pack.
    const bool in_one = !is_smallest && (!(total_ > 0) || (how.count == 1 && !(how.ramp > 0)));
    const double size = in_one        ? std::numeric_limits<double>::infinity()
                        : is_smallest ? 0
                                      : total_ / static_cast<double>(how.count);
    const auto budget = [&](seconds done) {
      const double ends = std::min(done.value, std::max(0.0, total_ - done.value));
      return seconds{how.ramp > 0 && !in_one ? std::min(size, size * options_.tuning.evaluation_end + how.ramp * ends)
                                             : size};
    };
    const auto most =
        room_ < 9e15 ? static_cast<std::int64_t>(std::max(room_, 1.0)) : std::numeric_limits<std::int64_t>::max();
    candidate made;
    result<void> filled =
        fill(made.packs.forward, *how.order, pass::forward, slicer_, cost_, {{}, {most}, shape_.quantum, part_, true},
             budget, [&](const sequence& s) { return how.apart && ends_path(s); });
    if (!filled) {
      if (!found_) why_ = std::move(filled).error();
      return std::nullopt;
    }
    made.work = price(made.packs, cost_, shape_, rates_, weight_gradients::with_inputs, {}, parents_);
    const std::vector<program> code = forward_programs(made.work);
    const std::vector<double> peak = simulators::peak_memory(made.work, code);
    const double held = *std::max_element(peak.begin(), peak.end());
    const result<seconds> makespan = simulators::makespan(made.work, code);
    if (!makespan) {
      why_ = makespan.error();
      return std::nullopt;
    }
    made.makespan = makespan.value();
    const tried t{made.packs.forward.size(), made.makespan, !shape_.memory || held <= shape_.memory->amount};
    if (!t.fits && !found_ && held < fullest_) {
      fullest_ = held;
      const memory_unit unit = shape_.memory->unit;
      why_ = {errc::out_of_memory, "forward packs of " + std::to_string(longest_.value) + " tokens and less need " +
                                       amount(held, unit) + ", the limit is " + amount(shape_.memory->amount, unit) +
                                       ": " + amount(held - shape_.memory->amount, unit) + " are missing"};
    }
    if (t.fits && (!found_ || made.makespan < found_->makespan)) found_ = std::move(made);
    return t;
  }

  std::vector<sequence> rising_;
  std::vector<sequence> falling_;
  std::vector<sequence_id> inner_;  // that others go on from, ascending
  tokens longest_{};                // path
  std::span<const sequence_id> parents_;
  const shape& shape_;
  const Slicer& slicer_;
  const Cost& cost_;
  std::vector<memory_rates> rates_;
  int part_;
  const solvers::search_options& options_;
  double total_{};                                        // seconds of the batch on the busiest part
  double room_{std::numeric_limits<double>::infinity()};  // tokens that a pack may have
  std::optional<candidate> found_;
  double fullest_{std::numeric_limits<double>::infinity()};  // what the packs that need least hold, while none fit
  error why_{};
};

}  // namespace slimpack::detail

#endif
