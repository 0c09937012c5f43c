#ifndef SLIMPACK_SOLVERS_IMPROVE_DETAIL_ORDER_SEARCH_HPP
#define SLIMPACK_SOLVERS_IMPROVE_DETAIL_ORDER_SEARCH_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/detail/reduction_waits.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/order/changing_order.hpp>
#include <slimpack/simulators/order/window_change.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/detail/cost_questions.hpp>
#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/improve/sites.hpp>
#include <slimpack/solvers/pack/fill.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

namespace slimpack::detail {

/// Changes the order of a plan and the borders of its packs by little, and keeps what makes the step no longer. What a
/// schedule found is a start: in an order that is fixed, packs can be larger than the schedule could have placed.
///
/// Moves     those of a list for instruction_site and window_site (improve/sites.hpp). Most leave the step as long as
///           it was: the search goes along those until one shortens it.
/// Delay     For some sweeps forwards run later only, which frees memory that larger packs may fill; then earlier
///           only, so that stages behind have work in stock. Swaps both ways at once undo each other.
/// Law       packs cover the same tokens, in legal run order, cut by the slicer, none over `base.size`; the step takes
///           no longer; memory stays under the limit
/// Source    derived: (1+1) hill climbing along plateaus
template <class Slicer, class Cost, class Moves = solvers::improve::shipped>
class order_search {
 public:
  /// Shapes    sequences: indexed by sequence_id; cuts: of both passes, where packs are priced in pieces and the slicer
  ///           cuts between these alone            Requires  what changing_order does
  order_search(const partition& packs, std::span<const program> programs, const workload& work,
               std::span<const sequence> sequences, const Slicer& slicer, const Cost& cost, const cut_budget& base,
               splitmix& random, const solvers::search_options& options = solvers::default_search_options,
               const common_cuts* cuts = nullptr)
      : sequences_(sequences),
        of_slices_({sequences.begin(), sequences.end()}),
        slicer_(slicer),
        cost_(cost),
        base_(base),
        parts_(work.shape.parts()),
        turn_wait_(work.turn_wait.value),
        reduction_waits_(cost, work.shape),
        ends_(ends_of(packs.forward, sequences.size())),
        order_(work, programs, sizes_of(packs.forward), needs_of(packs, work)),
        splits_(work.times.apart.count() > 0),
        random_(random),
        options_(options),
        cuts_(cuts) {
    open_before_.resize(sequences.size());
    std::int64_t open = 0;
    for (const slice& s : packs.backward.slices()) {
      if (of_slices_.is_first(s, pass::backward)) open_before_[s.sequence.value] = open;
      open = s.begin.value;
    }
    for (const pass p : both_passes)
      for (std::size_t i = 0; i < packs.of(p).size(); ++i)
        slices_[p].emplace_back(packs.of(p)[i].begin(), packs.of(p)[i].end());
  }

  /// Goes on until about so many instructions have been timed, many sweeps have found nothing, or the planner is told
  /// to stop.
  void run(std::uint64_t tasks, const std::stop_token& stop) {
    const auto done = [&] { return spent() >= tasks || stop.stop_requested(); };
    // Many packs are smaller than they need be at first; what is left then takes swaps to find.
    double share = 1;
    delayed which = delayed::forwards;
    for (std::int64_t idle = 0; idle < options_.tuning.idle_sweeps && !done(); ++idle) {
      const seconds before = order_.makespan();
      if (sharers_priced_by(cost_) == 0) change_packs(share, done);
      if (random_.uniform() < options_.tuning.delay_chance)
        which = static_cast<delayed>(random_.below(splits_ ? 3 : 2));
      change_order(which, done);
      share = options_.tuning.recut_share;
      if (order_.makespan() < before * (1 - 1e-9)) idle = -1;
    }
  }

  [[nodiscard]] seconds makespan() const noexcept { return order_.makespan(); }
  /// What moves have done so far.
  [[nodiscard]] const solvers::improve::move_counts<Moves>& counts() const noexcept { return counts_; }
  /// Instructions timed and priced so far.
  [[nodiscard]] std::uint64_t spent() const noexcept { return order_.visited() + priced_; }

  /// The packs and programs as they are now.
  [[nodiscard]] partition packs() const {
    partition made;
    for (const pass p : both_passes) {
      for (std::size_t i = 0; i < slices_[p].size(); ++i) {
        if (!order_.has(p, static_cast<node>(i))) continue;
        for (const slice& s : slices_[p][i]) made.of(p).append(s);
        made.of(p).close();
      }
    }
    return made;
  }
  [[nodiscard]] std::vector<program> programs() const { return order_.programs(); }

 private:
  using node = simulators::changing_order::node;

  /// What a sweep lets run later.
  enum class delayed : unsigned char { forwards, backwards, weights };
  static delayed kind_of(const instruction& i) {
    return i.pass() == pass::forward ? delayed::forwards : i.is_weights() ? delayed::weights : delayed::backwards;
  }

  /// Where each sequence ends among the tokens that run forward.
  static std::vector<std::int64_t> ends_of(const micropacks& forward, std::size_t sequences) {
    std::vector<std::int64_t> ends(sequences);
    std::int64_t sum = 0;
    for (const slice& s : forward.slices()) ends[s.sequence.value] = sum += s.length.value;
    return ends;
  }
  [[nodiscard]] std::int64_t needs_of(std::span<const slice> pack) const {
    std::int64_t most = 0;
    for (const slice& s : pack) most = std::max(most, ends_[s.sequence.value]);
    return most;
  }
  static std::vector<std::int64_t> sizes_of(const micropacks& packs) {
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < packs.size(); ++i) sizes.push_back(size_of(packs[i]).value);
    return sizes;
  }
  /// Where packs are priced together, they stand for several that need different forwards: what any needs.
  [[nodiscard]] std::vector<std::int64_t> needs_of(const partition& packs, const workload& work) const {
    std::vector<std::int64_t> needs;
    if (sharers_priced_by(cost_) > 0) {
      std::vector<std::int64_t> ends = sizes_of(packs.forward);
      for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
      for (const std::uint32_t turn : work.turn) needs.push_back(ends[turn]);
    } else {
      for (std::size_t i = 0; i < packs.backward.size(); ++i) needs.push_back(needs_of(packs.backward[i]));
    }
    return needs;
  }
  [[nodiscard]] double time_of(std::span<const slice> pack, pass p) const {
    double sum = 0;
    for (const slice& s : pack) sum += cost_.time(s, p, base_.part).value;
    return sum;
  }

  /// Tries a move at every instruction of a kind.
  template <class Done>
  void change_order(delayed which, const Done& done) {
    for (std::size_t position = 0; position < order_.size() && !done(); ++position) {
      if (kind_of(order_[position]) != which) continue;
      const seconds before = order_.makespan();
      solvers::improve::instruction_site at{order_, position, random_, options_};
      const auto [move, stays] = Moves::try_one(at);
      ++counts_.of[move].tried;
      if (stays) counts_.of[move].take(before - order_.makespan());
    }
    order_.begin();
  }

  /// Tries a move at this share of all packs.
  template <class Done>
  void change_packs(double share, const Done& done) {
    for (std::size_t position = 0; position < order_.size() && !done(); ++position) {
      const instruction i = order_[position];
      const std::size_t first = nth_place(i.pass(), std::size_t{0}, static_cast<std::size_t>(parts_));
      if (i.is_weights() || order_.part(position) != first || !order_.has(i.pass(), i.pack.value)) continue;
      if (i.pass() == pass::backward && order_.splits(i.pack.value)) continue;
      if (random_.uniform() < share) change_from(i.pass(), i.pack.value);
    }
    order_.begin();
  }

  /// Tries a move on the packs from this one on.
  void change_from(pass p, node from) {
    change_.pass = p;
    change_.places.assign(1, from);
    targets_.clear();
    const auto look = [](void* self, std::size_t packs, std::vector<double>& times) {
      static_cast<order_search*>(self)->look(packs, times);
    };
    solvers::improve::window_site at(p, random_, options_, this, look, targets_);
    const auto [move, wanted] = Moves::try_one(at);
    ++counts_.of[move].tried;
    const seconds before = order_.makespan();
    if (wanted && recut(p)) counts_.of[move].take(before - order_.makespan());
  }

  /// The times of up to so many packs, from the one that the change begins with.
  void look(std::size_t packs, std::vector<double>& times) {
    const pass p = change_.pass;
    change_.places.resize(1);
    while (change_.places.size() < packs) {
      const node next = order_.next_pack(p, change_.places.back());
      if (next == simulators::changing_order::none || (p == pass::backward && order_.splits(next))) break;
      change_.places.push_back(next);
    }
    times.clear();
    for (const node place : change_.places) times.push_back(time_of(slices_[p][place], p));
  }

  /// Fills the packs looked at anew, into as many as times are left of them. Whether that stays.
  bool recut(pass p) {
    const std::size_t left = targets_.size();
    if (left == 0 || left > change_.places.size()) return false;
    if (!refill(made_, joined(p), p, targets_, sequences_, slicer_, cost_, base_) || made_.size() != left) return false;
    describe(p);
    if (!order_.recut(change_)) return false;
    for (const node place : change_.places) slices_[p][place].clear();
    for (std::size_t i = 0; i < left; ++i)
      slices_[p][change_.places[change_.first_left() + i]].assign(made_[i].begin(), made_[i].end());
    return true;
  }

  /// What is at the places, each sequence in one slice.
  [[nodiscard]] std::span<const slice> joined(pass p) {
    window_.clear();
    for (const node place : change_.places)
      for (const slice& s : slices_[p][place]) window_.push(s);
    return window_.open();
  }

  void describe(pass p) {
    const micropacks& packs = cuts_ ? in_pieces(p) : made_;
    price_layers(packs, p, cost_, parts_, times_);
    if (!reduction_waits_.empty()) wait_for_reduction(p);
    for (auto* list : {&change_.time, &change_.message, &change_.pairs}) list->clear();
    for (auto* list : {&change_.size, &change_.needs, &change_.gradient_running, &change_.gradient_after})
      list->clear();
    for (const seconds t : times_.calls[p]) change_.time.push_back(t.value);
    for (const seconds t : times_.messages[p]) change_.message.push_back(t.value);
    if (p == pass::forward && turn_wait_ > 0)
      for (auto cell = static_cast<std::size_t>(parts_) - 2; cell < change_.message.size();
           cell += static_cast<std::size_t>(parts_))
        change_.message[cell] += turn_wait_;
    for (std::size_t i = 0; i < packs.size(); ++i) {
      const std::span<const slice> pack = packs[i];
      change_.size.push_back(size_of(pack).value);
      change_.pairs.push_back(dense_pairs_of(pack));
      if (p == pass::forward) continue;
      change_.needs.push_back(needs_of(pack));
      // As in open_gradients: what is left of a sequence that runs backward in several packs, and all above it.
      std::int64_t running =
          of_slices_.is_first(pack.front(), p) ? open_before_[pack.front().sequence.value] : pack.front().end().value;
      for (const slice& s : pack) {
        if (!of_slices_.is_first(s, p)) continue;
        const bool accumulates = !of_slices_.is_last(s, p) || of_slices_.children(s.sequence) > 0;
        const sequence& all = of_slices_.of(s.sequence);
        running += std::max(std::int64_t{}, (accumulates ? all.end() : all.begin).value - open_before_[all.id.value]);
      }
      change_.gradient_running.push_back(running);
      change_.gradient_after.push_back(pack.back().begin.value);
    }
    priced_ += packs.slices().size() * static_cast<std::size_t>(parts_);
  }

  /// As any_cost prices: what the first forward pack of all waits for, and the sums that end after the last backward
  /// pack.
  void wait_for_reduction(pass p) {
    if (p == pass::forward) {
      while (!order_.has(pass::forward, first_forward_)) ++first_forward_;
      if (change_.places.front() == first_forward_) reduction_waits_.wait_for_weights(times_);
    } else if (order_.next_pack(pass::backward, change_.places.back()) == simulators::changing_order::none) {
      std::vector<seconds>& times = times_.calls[pass::backward];
      seconds& last = times[times.size() - static_cast<std::size_t>(parts_)];
      last += reduction_waits_.late_sums(last);
    }
  }

  /// What is made anew, in pieces of both passes.
  [[nodiscard]] const micropacks& in_pieces(pass p) {
    pieces_.clear();
    cuts_->refine(made_, p, pieces_);
    return pieces_;
  }

  std::span<const sequence> sequences_;
  slice_order of_slices_;
  const Slicer& slicer_;
  const Cost& cost_;
  cut_budget base_;
  int parts_;
  double turn_wait_;  // workload::turn_wait
  reduction_waits reduction_waits_;
  node first_forward_{};  // of the packs that are left
  std::vector<std::int64_t> ends_;
  std::vector<std::int64_t> open_before_;  // accumulator tokens when backward comes to a sequence, in their order
  simulators::changing_order order_;
  bool splits_;                                      // weight gradients run apart
  by_pass<std::vector<std::vector<slice>>> slices_;  // by place
  splitmix& random_;
  const solvers::search_options& options_;
  const common_cuts* cuts_;
  solvers::improve::move_counts<Moves> counts_;
  std::uint64_t priced_{};
  // Scratch, kept for its capacity.
  simulators::window_change change_;
  timings times_;
  std::vector<double> targets_;
  micropacks made_;
  micropacks window_;
  micropacks pieces_;
};

}  // namespace slimpack::detail

#endif
