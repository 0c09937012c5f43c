#ifndef SLIMPACK_SOLVERS_DIVIDE_LANE_COST_HPP
#define SLIMPACK_SOLVERS_DIVIDE_LANE_COST_HPP

#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/solvers/divide/lanes.hpp>
#include <slimpack/solvers/divide/most_of.hpp>
#include <slimpack/solvers/divide/priced_group.hpp>
#include <slimpack/solvers/divide/unfold.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What stand-ins cost: a cost model of slimpack::detail::lanes. A slice takes the mean of its lanes. Packs are priced lane
/// by lane, as they are unfolded; each takes as long, needs as many forwards and holds as much as on the lane where that
/// is most, so that programs made for them suit every lane, and no replica of the group is slower than planned.
template <class Cost>
class lane_cost {
 public:
  /// replicas: those that the lanes are, ascending            Requires  all of them outlive it
  lane_cost(const Cost& cost, const lanes& of, std::span<const std::uint32_t> replicas)
      : cost_(&cost), lanes_(&of), replicas_(replicas) {}

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return lanes_->mean(s, [&](const slice& own) { return cost_->time(own, p, part); });
  }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return lanes_->mean(s, [&](const slice& own) { return slimpack::weight_time(*cost_, own, part); });
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const {
    return lanes_->mean(s, [&](const slice& own) { return least_time(*cost_, own, p, part); });
  }
  [[nodiscard]] seconds overhead(pass p, int part) const { return pack_overhead(*cost_, p, part); }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const { return message_time(*cost_, size, p, part); }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const { return memory_of(*cost_, stage); }

  /// Lanes, of which each is priced.
  [[nodiscard]] std::size_t count() const noexcept { return lanes_->count(); }

  /// Packs of stand-ins as those of each lane.
  [[nodiscard]] std::vector<lane_packs> unfolded(const partition& packs) const {
    const common_cuts cuts(packs);
    std::vector<lane_packs> made;
    for (std::size_t lane = 0; lane < lanes_->count(); ++lane) made.push_back(detail::unfolded(packs, cuts, *lanes_, lane));
    return made;
  }

  /// The workload of each lane, `of` being its packs.
  [[nodiscard]] std::vector<workload> priced_lanes(const partition& packs, std::span<const lane_packs> of,
                                                   const shape& on, const std::vector<memory_rates>& rates,
                                                   weight_gradients weights) const {
    const std::vector<merge> merges = merges_of(packs, *lanes_, of, replicas_);
    const auto packs_of = [&](std::uint32_t r) -> const partition& {
      return of[static_cast<std::size_t>(std::lower_bound(replicas_.begin(), replicas_.end(), r) - replicas_.begin())].packs;
    };
    std::vector<workload> works;
    for (std::size_t lane = 0; lane < of.size(); ++lane)
      works.push_back(price(of[lane].packs, *cost_, on, rates, weights, simulators::shared_rows(merges, packs_of, replicas_[lane])));
    return works;
  }

  /// What price() is to say of packs of stand-ins.
  [[nodiscard]] workload priced(const partition& packs, const shape& on, const std::vector<memory_rates>& rates,
                                weight_gradients weights) const {
    const std::vector<lane_packs> of = unfolded(packs);
    const std::vector<workload> works = priced_lanes(packs, of, on, rates, weights);
    most_of most(packs, on, rates);
    for (std::size_t lane = 0; lane < of.size(); ++lane) most.add(works[lane], of[lane]);
    return std::move(most).work();
  }

 private:
  const Cost* cost_;
  const lanes* lanes_;
  std::span<const std::uint32_t> replicas_;
};

}  // namespace slimpack::detail

#endif
