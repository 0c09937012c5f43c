#ifndef SLIMPACK_SIMULATORS_BOUNDS_STAGE_LOSS_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_STAGE_LOSS_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>
#include <slimpack/simulators/bounds/quantum_times.hpp>
#include <slimpack/simulators/bounds/ramp.hpp>
#include <slimpack/simulators/bounds/residence.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

namespace slimpack::simulators {

/// What a stage loses at least to idleness and overhead, by the packs that the ends of a step and memory force.
///
/// Ends      Let x and y be way work (time on the stages before) of forward and backward, small enough that packs of
///           less than x and of less than y cannot hold all tokens. Let the forward packs that start before time s have
///           less than x, with the one that starts at s more; and mirrored, from the end, e with y. Then s < e, the
///           forward pack at s and the backward pack that ends at e run between, and the loss before s, the loss after
///           e and the overhead between add up.
/// Fill      The loss before s is the least_loss(x) of a ramp of forward packs.
/// Drain     If no weight gradients run apart after e, the loss after e is that of a ramp of backward packs, backward
///           in time. If some do, of packs whose backward came before e, they bring work that the ramp's packs did not
///           allow: each at most its share of a way that fits into the step.
/// Between   The overhead of one pack of each pass. Or that of the packs which memory forces (residence), those of the
///           tokens of both ends left out; it may be, in the drain, of weight gradients that belong to packs between,
///           so the drain is not added to it.
/// Replicas  Every replica with at least half of the mean work loses as much. One with less loses half of the mean, and
///           no less than its own overhead, so it loses the fill and 1 - fill / (half of the mean) of its overhead.
/// Source    derived            Units  seconds
template <class Cost>
class stage_loss {
 public:
  /// Complexity O((sequences + groups of quanta) * parts)
  stage_loss(const Cost& cost, const shape& on, std::span<const sequence> batch, const batch_quanta& all, int stage,
             const residence& memory, int memory_stage)
      : shape_(on), stage_(stage), memory_(&memory), memory_stage_(memory_stage) {
    gather(cost, all);
    double work = 0;
    double way = 0;
    for (const sequence& s : batch) {
      const slice whole = s.whole();
      for (int part = stage; part < on.parts(); part += on.stages)
        work +=
            least_time(cost, whole, pass::forward, part).value + least_time(cost, whole, pass::backward, part).value;
      for (int part = 0; part < stage; ++part) way += least_time(cost, whole, pass::forward, part).value;
    }
    mean_ = work / on.replicas;
    way_ = on.replicas == 1 ? way : mean_ / 2 * way_of_work_;
    price(cost, batch);
  }

  /// A step of the batch takes at least this.
  /// Requires  no step is shorter than `from` (another bound)
  [[nodiscard]] seconds bound(seconds from) const {
    const double longest = 1.5 * from.value;  // what weight gradients bring depends on it
    std::array<ends, 6> tried{};              // x and y as shares of the most they may be
    double share = 0;
    for (ends& e : tried) {
      e = ends_of(share, longest);
      share = share > 0 ? share * 4 : 1.0 / 256;
    }
    // The bound falls as the step it is told grows: a step that is less than its own bound is less than any.
    const auto at = [&](double step) {
      double best = 0;
      for (const ends& e : tried) best = std::max(best, bound_of(e, step));
      return best;
    };
    double low = from.value;
    double high = longest;
    if (at(high) >= high) return {high};
    while (high - low > std::max(1e-6 * high, std::numeric_limits<double>::min())) {
      const double middle = low + (high - low) / 2;
      (at(middle) >= middle ? low : high) = middle;
    }
    return {low};
  }

 private:
  struct ends {
    double fill{};
    double alone{};                    // loss if memory forces no packs
    std::array<double, 2> fewer{};     // of sqrt(n v) in the ends, forward and backward
    std::array<double, 2> overhead{};  // of a pass between, forward and backward
  };

  [[nodiscard]] ends ends_of(double share, double longest) const {
    ends e;
    const double x = way_ / 2 * share;
    const double y = forward_of_backward_ > 0 && std::isfinite(forward_of_backward_) ? x / forward_of_backward_ : 0;
    ramp apart = drain_apart_;
    apart.brought = weight_of_way_ * std::max(0.0, longest - drain_.constant);
    for (const std::size_t p : pass_numbers) {
      e.fewer[p] = shape_.replicas * (x * root_of_way_[0][p] + y * root_of_way_[1][p]);
      if (!std::isfinite(e.fewer[p])) e.fewer[p] = 0;  // x and y are 0
      // All chunks' packs run between the ends when these are one pack long.
      e.overhead[p] = share > 0 ? overhead_[p] : overhead_of_chunks_[p];
    }
    e.fill = fill_.least_loss(x);
    e.alone =
        e.fill + e.overhead[0] + e.overhead[1] + std::min(drain_.least_loss(y), apart.least_loss(y * inputs_of_way_));
    return e;
  }

  [[nodiscard]] double bound_of(const ends& e, double step) const {
    const double counted = shape_.replicas == 1 ? 1 : 1 - 2 * e.fill / mean_;
    const double forced = memory_->least_overhead(memory_stage_, step, e.overhead[0], e.overhead[1], e.fewer);
    const double alone = shape_.replicas == 1 ? e.alone : std::min(e.alone, mean_ / 2);
    return mean_ + std::max(alone, counted > 0 ? e.fill + counted / shape_.replicas * forced : 0.0);
  }

  void gather(const Cost& cost, const batch_quanta& all) {
    const auto r = static_cast<std::size_t>(stage_);
    each_quantum(all, cost, shape_.parts(), [&](const quantum_times& low, const quantum_times& high, double, double n) {
      double forward = 0, backward = 0, inputs = 0, high_forward = 0, high_backward = 0;
      for (std::size_t part = 0; part < r; ++part) {
        forward += low.forward[part], backward += low.backward[part], inputs += low.inputs[part];
        high_forward += high.forward[part], high_backward += high.backward[part];
      }
      double work = 0, weights = 0;
      for (std::size_t part = r; part < high.forward.size(); part += static_cast<std::size_t>(shape_.stages)) {
        work += high.forward[part] + high.backward[part];
        weights += high.backward[part] - low.inputs[part];
      }
      const auto most = [](double& kept, double of, double per) { kept = std::max(kept, of > 0 ? of / per : 0); };
      most(fill_.rate, work - low.forward[0], forward);
      most(fill_.own_rate, high.forward[r] - low.forward[0], forward);
      most(drain_.rate, work - low.backward[0], backward);
      most(drain_.own_rate, high.backward[r] - low.backward[0], backward);
      most(drain_apart_.rate, work - low.inputs[0], inputs);
      most(drain_apart_.own_rate, std::max(high.backward[r] - low.backward[0], high.inputs[r] - low.inputs[0]), inputs);
      most(weight_of_way_, weights, inputs);
      most(forward_of_backward_, high_forward, backward);
      if (high_backward > 0) inputs_of_way_ = std::min(inputs_of_way_, inputs / high_backward);
      if (work > 0) way_of_work_ = std::min(way_of_work_, forward / work);
      const std::array<double, 2> root = memory_->root_of(memory_stage_, high, n);
      for (const std::size_t p : pass_numbers) {
        most(root_of_way_[0][p], root[p], forward);
        most(root_of_way_[1][p], root[p], backward);
      }
    });
  }

  void price(const Cost& cost, std::span<const sequence> batch) {
    const auto overhead = [&](pass p, int part) { return pack_overhead(cost, p, part).value; };
    overhead_ = {overhead(pass::forward, stage_), overhead(pass::backward, stage_)};
    double other = overhead_[1];  // what may run beside a forward pack of part `stage_`
    for (int part = stage_; part < shape_.parts(); part += shape_.stages) {
      for (const std::size_t p : pass_numbers)
        overhead_of_chunks_[p] += overhead(p == 0 ? pass::forward : pass::backward, part);
      other = std::min(other, overhead(pass::backward, part));
      if (part != stage_) other = std::min(other, overhead(pass::forward, part));
    }
    for (int part = 0; part < stage_; ++part) {
      fill_.constant += overhead(pass::forward, part) + message_time(cost, {1}, pass::forward, part).value;
      drain_.constant += overhead(pass::backward, part) + message_time(cost, {1}, pass::backward, part + 1).value;
    }
    double forward = std::numeric_limits<double>::infinity();
    double backward = forward;
    bool has_quantum = false;  // with which most begin
    for (const sequence& s : batch) {
      if (!s.is_root()) continue;
      const slice first{s.id, {0}, std::min(shape_.quantum, s.length)};
      if (first.length == shape_.quantum && std::exchange(has_quantum, true)) continue;
      double there = 0, back = 0;
      for (int part = 0; part < stage_; ++part) {
        there += least_time(cost, first, pass::forward, part).value;
        back += least_time(cost, first, pass::backward, part).value;
      }
      forward = std::min(forward, there);
      backward = std::min(backward, back);
    }
    fill_.first = fill_.constant + forward;
    drain_.first = drain_.constant + backward;
    fill_.own = std::min(overhead_[0], overhead(pass::forward, 0));
    drain_.own = std::min(overhead_[1], overhead(pass::backward, 0));
    fill_.other = other;
    drain_.other = std::min(overhead_[0], other);
    drain_apart_.constant = drain_.constant;
    drain_apart_.own = drain_.own;
    drain_apart_.other = std::min(overhead_[0], other);
    drain_apart_.others = 1;
  }

  shape shape_;
  int stage_;
  const residence* memory_;
  int memory_stage_;
  double mean_{};  // work of a replica on this stage
  double way_{};   // least way work forward of a replica with as much work as counts
  ramp fill_, drain_, drain_apart_;
  double weight_of_way_{};        // most weight gradients here over way work of B without them
  double forward_of_backward_{};  // most way work forward over backward
  double inputs_of_way_{std::numeric_limits<double>::infinity()};  // least way work without weight gradients over with
  double way_of_work_{std::numeric_limits<double>::infinity()};
  std::array<double, 2> overhead_{};                    // of a pack of a pass on part `stage_`
  std::array<double, 2> overhead_of_chunks_{};          // on all parts of the stage
  std::array<std::array<double, 2>, 2> root_of_way_{};  // most sqrt(n v) [of pass] per way work [of pass]
};

}  // namespace slimpack::simulators

#endif
