#ifndef SLIMPACK_SOLVERS_DETAIL_LANE_COST_HPP
#define SLIMPACK_SOLVERS_DETAIL_LANE_COST_HPP

#include <slimpack/core/shared_row.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/solvers/detail/lanes.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace slimpack::detail {

/// What stand-ins cost: a cost model of slimpack::detail::lanes. A slice takes the mean of its lanes; a pack as long as
/// its longest lane, exchanges included, so that no replica of the group is slower than planned.
/// Law       a pack of one lane costs what the model says
/// Complexity a pack: O(lanes * slices) questions
template <class Cost>
class lane_cost {
 public:
  /// Requires  lanes and cost outlive it; `replicas`: those that the lanes are, ascending
  lane_cost(const Cost& cost, const lanes& of, std::span<const std::uint32_t> replicas)
      : cost_(&cost), lanes_(&of), replicas_(replicas.begin(), replicas.end()) {}

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return mean(s, [&](const slice& own) { return cost_->time(own, p, part); });
  }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return mean(s, [&](const slice& own) { return slimpack::weight_time(*cost_, own, part); });
  }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const
    requires requires(const Cost& c) { c.least(s, p, part); }
  {
    return mean(s, [&](const slice& own) { return cost_->least(own, p, part); });
  }
  [[nodiscard]] seconds overhead(pass p, int part) const { return pack_overhead(*cost_, p, part); }
  [[nodiscard]] seconds message(tokens size, pass p, int part) const { return message_time(*cost_, size, p, part); }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const { return memory_of(*cost_, stage); }
  [[nodiscard]] bytes kept(const slice& s, int stage) const
    requires keeps_by_piece<Cost>
  {
    bytes most{};
    for (std::size_t lane = 0; lane < lanes_->count(); ++lane) {
      bytes own{};
      lanes_->each(s, lane, [&](const slice& piece) { own += cost_->kept(piece, stage); });
      most = std::max(most, own);
    }
    return most;
  }

  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    boost::container::small_vector<slice, 64> own;
    seconds longest{};
    for (std::size_t lane = 0; lane < lanes_->count(); ++lane) {
      own.clear();
      seconds exchanges{};
      for (const slice& s : pack) {
        const std::size_t first = own.size();
        lanes_->each(s, lane, [&](const slice& piece) { own.push_back(piece); });
        if (!lanes_->is_shared(s)) continue;
        const slice row = lanes_->row(s);
        exchanges += exchange_time(*cost_, {row.sequence, p, {}, row.end(), replicas_},
                                   {own.data() + first, own.size() - first}, p, part);
      }
      if (own.empty()) continue;
      longest = std::max(longest, exchanges + pack_time(*cost_, {own.data(), own.size()}, p, part));
    }
    return longest;
  }

 private:
  template <class Time>
  [[nodiscard]] seconds mean(const slice& s, const Time& time_of) const {
    seconds sum{};
    // The pairs of head and tail make lanes of a shared sequence alike.
    const std::size_t asked = lanes_->is_shared(s) ? 1 : lanes_->count();
    for (std::size_t lane = 0; lane < asked; ++lane)
      lanes_->each(s, lane, [&](const slice& own) { sum += time_of(own); });
    return sum * (1.0 / static_cast<double>(asked));
  }

  const Cost* cost_;
  const lanes* lanes_;
  std::vector<std::uint32_t> replicas_;
};

}  // namespace slimpack::detail

#endif
