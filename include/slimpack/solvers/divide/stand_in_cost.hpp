#ifndef SLIMPACK_SOLVERS_DIVIDE_STAND_IN_COST_HPP
#define SLIMPACK_SOLVERS_DIVIDE_STAND_IN_COST_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/divide/priced_group.hpp>
#include <slimpack/solvers/divide/sharing_group.hpp>
#include <slimpack/solvers/divide/unfold.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What stand-ins cost: a cost model of slimpack::detail::sharing_group. A slice takes the mean of its sharers. Packs
/// are priced sharer by sharer, as they are unfolded; each takes as long, needs as many forwards and holds as much as
/// on the sharer where that is most, so that programs made for them suit every sharer, and no replica of the group is
/// slower than planned.
class stand_in_cost final : public any_cost {
 public:
  /// replicas: those that the sharers are, ascending; exchanges: that they may use; common_cuts: each sharer's packs
  /// are refined (pricing/refine.hpp); parents: those of the batch
  /// Requires  all of them outlive it
  stand_in_cost(const any_cost& cost, const sharing_group& of, std::span<const std::uint32_t> replicas,
                exchange_set exchanges, bool common_cuts, std::span<const sequence_id> parents)
      : cost_(&cost),
        group_(&of),
        replicas_(replicas),
        exchanges_(exchanges),
        common_cuts_(common_cuts),
        parents_(parents) {}

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const override {
    return group_->mean(s, [&](const slice& own) { return cost_->time(own, p, part); });
  }
  [[nodiscard]] seconds of_pack(std::span<const slice> pack, pass p, int part) const override {
    seconds sum = overhead(p, part);
    for (const slice& s : pack) sum += time(s, p, part);
    return sum + call_overhead(p, part) * static_cast<double>(pack.size());
  }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const override {
    return group_->mean(s, [&](const slice& own) { return cost_->weight_time(own, part); });
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const override {
    return group_->mean(s, [&](const slice& own) { return cost_->least(own, p, part); });
  }
  [[nodiscard]] seconds overhead(pass p, int part) const override { return cost_->overhead(p, part); }
  [[nodiscard]] seconds call_overhead(pass p, int part) const override { return cost_->call_overhead(p, part); }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const override { return cost_->message(size, p, part); }
  /// Exchanges are in `priced`: a stand-in is in no row.
  [[nodiscard]] seconds exchange(const shared_row&, std::span<const slice>, pass, int) const override { return {}; }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const override { return cost_->memory(stage); }
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const override {
    return cost_->gradient_buckets(part);
  }

  /// A pack is what its stand-ins take; what of it depends on other packs is in `priced`.
  void layers(const micropacks& packs, pass p, int parts, timings& times) const override {
    price_layers<any_cost>(packs, p, *this, parts, times);
  }
  [[nodiscard]] bool has_pack_times() const noexcept override { return false; }
  /// Sharers, of which each is priced.
  [[nodiscard]] std::size_t sharers() const noexcept override { return group_->count(); }

  /// Packs of stand-ins as those of each sharer.
  [[nodiscard]] std::vector<sharer_packs> unfolded(const partition& packs) const {
    const common_cuts cuts(packs);
    std::vector<sharer_packs> made;
    for (std::size_t sharer = 0; sharer < group_->count(); ++sharer) {
      made.push_back(detail::unfolded(packs, cuts, *group_, sharer));
      if (common_cuts_) made.back().packs = common_refinement(made.back().packs);
    }
    return made;
  }

  /// The workload of each sharer, `of` being its packs.
  [[nodiscard]] std::vector<workload> priced_sharers(const partition& packs, std::span<const sharer_packs> of,
                                                     const shape& on, const std::vector<memory_rates>& rates,
                                                     weight_gradients weights) const {
    const std::vector<merge> merges = merges_of(packs, *group_, of, replicas_, exchanges_);
    const auto packs_of = [&](std::uint32_t r) -> const partition& {
      return of[static_cast<std::size_t>(std::lower_bound(replicas_.begin(), replicas_.end(), r) - replicas_.begin())]
          .packs;
    };
    const simulators::rows_of_merges rows(merges, packs_of, replicas_);
    std::vector<workload> works;
    for (std::size_t sharer = 0; sharer < of.size(); ++sharer)
      works.push_back(cost_->priced(of[sharer].packs, on, rates, weights, rows.of(replicas_[sharer]), parents_));
    return works;
  }

  /// What price() is to say of packs of stand-ins, which are in no row themselves.
  [[nodiscard]] workload priced(const partition& packs, const shape& on, const std::vector<memory_rates>& rates,
                                weight_gradients weights, std::span<const shared_row> = {},
                                std::span<const sequence_id> = {}) const override {
    const std::vector<sharer_packs> of = unfolded(packs);
    const std::vector<workload> works = priced_sharers(packs, of, on, rates, weights);
    most_of most(packs, on, rates);
    if (!group_->has_trees()) {
      for (std::size_t sharer = 0; sharer < of.size(); ++sharer) most.add(works[sharer], of[sharer]);
      return std::move(most).work();
    }
    for (std::size_t sharer = 0; sharer < of.size(); ++sharer)
      most.add(works[sharer], of[sharer],
               group_->own_tokens(packs, [&](const slice& s) { return group_->fraction(s, sharer).length; }));
    return std::move(most).work(group_->own_tokens(packs, [&](const slice& s) { return group_->most_held(s); }));
  }

 private:
  const any_cost* cost_;
  const sharing_group* group_;
  std::span<const std::uint32_t> replicas_;
  exchange_set exchanges_;
  bool common_cuts_;
  std::span<const sequence_id> parents_;
};

/// Cuts the stand-ins of slimpack::detail::sharing_group as another slicer does, but for shared sequences that may only
/// go round in a ring: they are for one row.
class stand_in_slicer final : public any_slicer {
 public:
  /// Requires  slicer and group outlive it
  stand_in_slicer(const any_slicer& slicer, const sharing_group& of, const exchange_set& exchanges)
      : slicer_(&slicer), group_(&of), one_row_(exchanges == exchange_set::only(exchange::ring)) {}

  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                           const any_cost& cost) const override {
    if (one_row_ && group_->is_shared(s.whole())) return slicers::whole{}.next(s, at, p, left, cost);
    return slicer_->next(s, at, p, left, cost);
  }

 private:
  const any_slicer* slicer_;
  const sharing_group* group_;
  bool one_row_;
};

}  // namespace slimpack::detail

#endif
