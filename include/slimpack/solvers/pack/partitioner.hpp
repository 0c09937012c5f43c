#ifndef SLIMPACK_SOLVERS_PACK_PARTITIONER_HPP
#define SLIMPACK_SOLVERS_PACK_PARTITIONER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/order/detail/local_ids.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/detail/cost_questions.hpp>
#include <slimpack/solvers/pack/fill.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/pack/sequence_bins.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/pack/sequence_orders.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/size_ratios.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Makes packs of one replica's sequences, by a rule's ratios or whole, and foretells which even ones are fast.
/// Knows sequences by local ids (0, 1, ...), their work on the busiest part, and the room that memory leaves them.
template <class Slicer, class Cost>
class partitioner {
 public:
  /// An even rule, and the least time that a step takes with it, ramps aside.
  struct forecast {
    partition_rule of;
    seconds least;
  };

  /// Requires  a sequence in the group
  partitioner(std::span<const sequence> group, const shape& on, const Slicer& slicer, const Cost& cost,
              std::span<const memory_rates> rates,
              const solvers::search_options& options = solvers::default_search_options)
      : shape_(on),
        slicer_(slicer),
        cost_(cost),
        options_(options),
        sequences_(under_local_ids(group)),
        parents_(parents_of(sequences_)),
        orders_(sequences_) {
    rising_ = sequences_;
    std::stable_sort(rising_.begin(), rising_.end(),
                     [](const sequence& a, const sequence& b) { return a.length < b.length; });
    for (const sequence& s : sequences_) longest_path_ = std::max(longest_path_, s.end());
    part_ = solvers::busiest_part(cost_, rising_, shape_.parts());
    measure_work();
    measure_room(rates);
  }

  /// Indexed by local id.
  [[nodiscard]] std::span<const sequence> sequences() const noexcept { return sequences_; }
  /// Their parents, where samples share beginnings; else empty.
  [[nodiscard]] std::span<const sequence_id> parents() const noexcept { return parents_; }
  [[nodiscard]] const sequence& longest() const noexcept { return rising_.back(); }
  /// Quanta of a stage's share of the room that packs are sized for.
  [[nodiscard]] double share() const noexcept { return share_; }

  /// What an empty pack can take, but for time.
  [[nodiscard]] cut_budget limits(tokens quantum) const {
    const auto most = room_ < 9e15 ? static_cast<std::int64_t>(room_) : std::numeric_limits<std::int64_t>::max();
    return {{}, {most}, quantum, part_, true};
  }

  /// Whether the longest sequence may take less time uncut than its cuts tell.
  [[nodiscard]] bool cuts_cost() const {
    const slice whole = uncut(longest());
    const auto less = [&](pass p) { return least_time(cost_, whole, p, part_) < cost_.time(whole, p, part_); };
    return less(pass::forward) || less(pass::backward);
  }

  [[nodiscard]] bool has_pack_times() const { return detail::has_pack_times(cost_); }

  /// The packs of a rule, of steady ones about `most` a pass at most.
  /// Errors    out_of_memory: a slice does not fit
  [[nodiscard]] result<partition> packs(const partition_rule& how, double most) const {
    const by_pass<std::vector<sequence>> order = orders_.of(how.front);
    result<micropacks> forward = filled(pass::forward, how, order.forward, most);
    if (!forward) return std::move(forward).error();
    result<micropacks> backward = filled(pass::backward, how, order.backward, most);
    if (!backward) return std::move(backward).error();
    return partition{std::move(forward).value(), std::move(backward).value()};
  }

  /// Packs of about equal work, of the size that takes each pass the least: M packs of time c on a part occupy a stage
  /// of k chunks for k M c, and p - 1 of them and of their messages pass before the last stage has its first, or the
  /// first its last. None where a slice does not fit. Counts the slices it prices in `nodes`.
  [[nodiscard]] std::optional<forecast> even(tokens quantum, double most, std::uint64_t& nodes) const {
    const solvers::size_ratios ratios_of_both = options_.tuning.forward_ratios();
    forecast made{
        {.sizes = {ratios_of_both, ratios_of_both}, .front = options_.front, .crowding = 1, .quantum = quantum}, {}};
    const by_pass<std::vector<sequence>> order = orders_.of(made.of.front);
    for (const pass p : both_passes) {
      const work& all = work_[p];
      solvers::size_ratios& ratios = made.of.sizes[p];
      double least = std::numeric_limits<double>::infinity();
      double chosen = 0;
      // From all work, or as much as a stage has room for beside p packs on their way, down to a quarter of the
      // best.
      const double quanta = room_ / static_cast<double>(shape_.quantum.value) / (shape_.stages + 1);
      // Smaller sizes than `most` packs have give the same packs again, and numbers below the smallest normal one would
      // not fall any more: whatever the cost model answers, this ends.
      const double smallest = std::max(all.total / most, std::numeric_limits<double>::min());
      for (double size = std::min(all.total, quanta * all.grain); size > std::max(chosen / 4, smallest);
           size *= options_.even_step) {
        ratios.steady = size / (share_ * all.grain);
        ratios.ramp_least = size / all.grain;
        const result<micropacks> packs = filled(p, made.of, order[p], most);
        if (!packs) return std::nullopt;
        nodes += packs.value().slices().size();
        const double time = even_time(packs.value(), p);
        if (time < least) least = time, chosen = size;
      }
      ratios.steady = chosen / (share_ * all.grain);
      ratios.ramp_least = chosen / all.grain;
      made.least += seconds{least};
    }
    return made;
  }

  /// The packs of solvers::megatron, unless the slicer insists on cuts, they are more than `most`, or are surely slower
  /// than `limit`: a stage runs them all, and the longest sequence, which is what a pack may hold and so has one of its
  /// own, passes every stage there and back. None where samples share beginnings, which it knows nothing of.
  [[nodiscard]] std::optional<partition> whole(seconds limit, double most) const {
    if (!parents_.empty()) return std::nullopt;
    const slice alone = uncut(longest());
    cut_budget unhurried = limits(shape_.quantum);
    unhurried.time = {std::numeric_limits<double>::infinity()};
    if (slicer_.next(longest(), {0}, pass::forward, unhurried, cost_) != alone) return std::nullopt;
    seconds chain{};
    for (const pass p : both_passes)
      for (int part = 0; part < shape_.parts(); ++part) chain += pack_time(cost_, std::span(&alone, 1), p, part);
    if (chain > limit) return std::nullopt;
    partition packs = symmetric(first_fit_decreasing(rising_, longest().length));
    if (static_cast<double>(packs.forward.size()) > most) return std::nullopt;
    seconds busy{};
    for (const pass p : both_passes)
      for (int part = part_ % shape_.stages; part < shape_.parts(); part += shape_.stages)
        for (std::size_t i = 0; i < packs.forward.size(); ++i) busy += pack_time(cost_, packs.forward[i], p, part);
    if (busy > limit) return std::nullopt;
    return packs;
  }

 private:
  struct work {
    double total{};     // seconds
    double grain{};     // of a sequence's first quantum: sizes are counted in it
    double overhead{};  // of a pack of a quantum, beside the slice's own: launches, reading weights
  };

  static slice uncut(const sequence& s) { return s.whole(); }
  [[nodiscard]] double time_of(const sequence& s, pass p) const { return times_[p][s.id.value]; }

  void measure_work() {
    const slice least{{}, {0}, shape_.quantum};
    for (const sequence& s : rising_) tokens_ += static_cast<double>(s.length.value);
    for (const pass p : both_passes) {
      work& w = work_[p];
      times_[p].reserve(sequences_.size());
      for (const sequence& s : sequences_)
        times_[p].push_back((cost_.time(uncut(s), p, part_) + call_overhead_of(cost_, p, part_)).value);
      for (const sequence& s : rising_) w.total += time_of(s, p);
      w.grain = cost_.time(least, p, part_).value;
      w.overhead = pack_time(cost_, std::span(&least, 1), p, part_).value - w.grain;
    }
  }

  void measure_room(std::span<const memory_rates> rates) {
    const auto longest_tokens = static_cast<double>(longest_path_.value);
    const double quantum = static_cast<double>(shape_.quantum.value);
    if (shape_.memory)
      for (const memory_rates& r : rates)
        room_ = std::min(room_, (shape_.memory->amount - r.fixed) / (r.live_token + r.gradient_token));
    room_ = std::max(room_, longest_tokens);
    // Without a limit, the same shapes as with room for the longest sequence twice, or for an even share; and packs of
    // many times their overhead, or short sequences would drown in it.
    const work& forward = work_.forward;
    const double quiet = forward.grain > 0
                             ? options_.tuning.quiet_packs * forward.overhead / forward.grain * quantum * shape_.stages
                             : 0;
    wanted_ = std::min(room_, std::max({options_.room_longest * longest_tokens, tokens_ / shape_.stages, quiet}));
    share_ = wanted_ / quantum / (shape_.stages + 1);
  }

  [[nodiscard]] result<micropacks> filled(pass p, const partition_rule& how, std::span<const sequence> order,
                                          double most) const {
    const work& all = work_[p];
    const solvers::size_ratios& ratios = how.sizes[p];
    const bool flowing = ratios.steady * share_ * all.grain > 0;
    size_curve size(ratios, {.total = all.total,
                             .share = share_ * all.grain,
                             .grain = all.grain,
                             .overhead = all.overhead,
                             .depth = shape_.parts() - 1.0,
                             .least = flowing ? all.total / most : 0,
                             .smallest = flowing ? all.total / most_of_pass() : 0,
                             .overhead_packs = options_.overhead_packs});
    double before = 0;
    for (const sequence& s : order) {
      const double time = time_of(s, p);
      const auto length = static_cast<double>(s.end().value);
      if (length > how.crowding * wanted_ && orders_.ends_path(s))
        size.turn(p == pass::backward ? before : before + time, 1 - length / wanted_);
      before += time;
    }
    // Without a size, because the least memory is wanted or because nothing takes time, no two share a pack.
    const auto apart = [&](const sequence& s) {
      return !flowing || static_cast<double>(s.end().value) > room_ * options_.tuning.room_apart;
    };
    micropacks packs;
    result<void> done =
        fill(packs, order, p, slicer_, cost_, limits(how.quantum), size, apart, options_.tuning.worth_overheads);
    if (!done) return std::move(done).error();
    return packs;
  }

  /// Packs of a pass so that both have about 16 million instructions on all parts. Ramps have as many packs as the
  /// pipeline is deep, times some: without an end, the instructions of a plan would grow as the square of its stages.
  /// Not a search option: plans of a few hundred stages do not come near it, and it only keeps those of thousands
  /// within a minute and some GB.
  [[nodiscard]] double most_of_pass() const { return 0x1p24 / (2.0 * shape_.parts()); }

  /// What a pass of about equal packs takes.
  [[nodiscard]] double even_time(const micropacks& packs, pass p) const {
    double sum = 0;
    for (std::size_t i = 0; i < packs.size(); ++i) sum += pack_time(cost_, packs[i], p, part_).value;
    const auto count = static_cast<double>(packs.size());
    double time = sum * (shape_.chunks + (shape_.stages - 1) / count);
    const tokens mean{static_cast<std::int64_t>(tokens_ / count)};
    for (int r = 1; r < shape_.stages; ++r) time += message_time(cost_, mean, p, p == pass::forward ? r - 1 : r).value;
    return time;
  }

  const shape& shape_;
  const Slicer& slicer_;
  const Cost& cost_;
  const solvers::search_options& options_;
  std::vector<sequence> sequences_;   // under local ids
  std::vector<sequence_id> parents_;  // of these, where samples share beginnings
  sequence_orders orders_;
  tokens longest_path_{};
  std::vector<sequence> rising_;                          // shortest first
  double tokens_{};                                       // of them all
  int part_{};                                            // the busiest
  by_pass<std::vector<double>> times_;                    // of uncut sequences on it, with their call, by local id
  by_pass<work> work_;                                    // on it
  double room_{std::numeric_limits<double>::infinity()};  // tokens that the fullest stage can hold
  double wanted_{};                                       // tokens of it that packs are sized for
  double share_{};
};

}  // namespace slimpack::detail

#endif
