#ifndef SLIMPACK_SOLVERS_DIVIDE_STAND_IN_COST_HPP
#define SLIMPACK_SOLVERS_DIVIDE_STAND_IN_COST_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/solvers/divide/most_of.hpp>
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
template <class Cost>
class stand_in_cost {
 public:
  /// replicas: those that the sharers are, ascending; exchanges: that they may use; common_cuts: each sharer's packs are
  /// refined (pricing/refine.hpp)
  /// Requires  all of them outlive it
  stand_in_cost(const Cost& cost, const sharing_group& of, std::span<const std::uint32_t> replicas, exchange_set exchanges,
                bool common_cuts)
      : cost_(&cost), group_(&of), replicas_(replicas), exchanges_(exchanges), common_cuts_(common_cuts) {}

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return group_->mean(s, [&](const slice& own) { return cost_->time(own, p, part); });
  }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return group_->mean(s, [&](const slice& own) { return slimpack::weight_time(*cost_, own, part); });
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const {
    return group_->mean(s, [&](const slice& own) { return least_time(*cost_, own, p, part); });
  }
  [[nodiscard]] seconds overhead(pass p, int part) const { return pack_overhead(*cost_, p, part); }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const { return message_time(*cost_, size, p, part); }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const { return memory_of(*cost_, stage); }

  /// Sharers, of which each is priced.
  [[nodiscard]] std::size_t count() const noexcept { return group_->count(); }

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
      return of[static_cast<std::size_t>(std::lower_bound(replicas_.begin(), replicas_.end(), r) - replicas_.begin())].packs;
    };
    std::vector<workload> works;
    for (std::size_t sharer = 0; sharer < of.size(); ++sharer)
      works.push_back(price(of[sharer].packs, *cost_, on, rates, weights,
                            simulators::shared_rows(merges, packs_of, replicas_[sharer])));
    return works;
  }

  /// What price() is to say of packs of stand-ins.
  [[nodiscard]] workload priced(const partition& packs, const shape& on, const std::vector<memory_rates>& rates,
                                weight_gradients weights) const {
    const std::vector<sharer_packs> of = unfolded(packs);
    const std::vector<workload> works = priced_sharers(packs, of, on, rates, weights);
    most_of most(packs, on, rates);
    for (std::size_t sharer = 0; sharer < of.size(); ++sharer) most.add(works[sharer], of[sharer]);
    return std::move(most).work();
  }

 private:
  const Cost* cost_;
  const sharing_group* group_;
  std::span<const std::uint32_t> replicas_;
  exchange_set exchanges_;
  bool common_cuts_;
};

}  // namespace slimpack::detail

#endif
