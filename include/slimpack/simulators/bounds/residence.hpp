#ifndef SLIMPACK_SIMULATORS_BOUNDS_RESIDENCE_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_RESIDENCE_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>
#include <slimpack/simulators/bounds/quantum_times.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace slimpack::simulators {

/// How many packs memory forces: the tokens of a pack stay on a stage until the whole pack has been down the pipeline
/// and back, so large packs fill memory for long.
///
/// Setting   Stage a, one of its chunks at a time (averages over chunks below), with stages after it. A token's weight
///           there rises from 0 to 1 as the work of its forward pack is done, and falls from 1 to 0 with its work in
///           backward and weight gradients. It is never more than what the token holds.
/// Envelope  The weights of all tokens add up to at most h = min(cap, tokens), the cap being of what a token of any
///           sequence keeps at least; to (t - fill) / (least forward time of a token), since that much work has been
///           done by t; and to (step - t) / (least backward time of a token).
///           Their integral over the step is at most h (step - fill) - h^2 / 2 (sum of the two least times), with h
///           also at most (step - fill) / (sum of the two least times). The envelope is concave, so replicas hold most
///           when they share alike.
/// Residence Pack i of forward time f_i(q) on part q, holding n_i tokens, adds to that integral at least
///               n_i (f_i(a) / 2 + sum over q > a of f_i(q) + overhead and messages on the way),
///           and so do backward packs. Between a token's forward and its backward, its sequence's later slices run on
///           the last part one after the other, forward and then backward; their weight gradients may come later.
///           What is below the sequence would count, too, and is left out.
///           Counting them leaves out f_i and b_k on the last part, in which they may be. A merge divides them by its
///           sharers.
/// Packs     n_i v_i >= (sum over the pack's quanta of sqrt(n v))^2 for any times v that add up (Cauchy), and again:
///               sum over packs of n_i v_i >= (sum over all quanta of sqrt(n v))^2 / packs.
///           So with C = (sum of sqrt(n v), v on the parts before the last)^2 + (the same on the last, of short
///           sequences only)^2
///               C_forward / forward packs + C_backward / backward packs <= room,                            (1)
///           room = the integral's most, less overhead, messages and later slices. The overhead of the fewest packs is
///               (sqrt(overhead_F C_forward) + sqrt(overhead_B C_backward))^2 / room.
///           Which sequences count as long is free: by length, the best of all limits that are powers of two.
/// Split     A backward pack whose weight gradients run apart stays for its B alone, yet costs two overheads. It counts
///           as two packs, and C_backward shrinks by 2 (least share of B without weight gradients) if that is below 1.
/// Source    derived            Units  seconds and tokens
class residence {
 public:
  /// Sums over the batch. Requires  shape.stages >= 2; rates: one per stage
  /// Complexity O((sequences + groups of quanta) * parts)
  template <class Cost>
  residence(const Cost& cost, const shape& on, std::span<const sequence> batch, const batch_quanta& all,
            std::span<const memory_rates> rates)
      : shape_(on), stages_(static_cast<std::size_t>(on.stages) - 1) {
    gather(cost, all);
    gather_long(cost, batch, all);
    for (const sequence& s : batch) tokens_ += static_cast<double>(s.length.value);
    for (std::size_t a = 0; a < stages_.size(); ++a) {
      stage_sums& stage = stages_[a];
      stage.cap = tokens_ / on.replicas;
      const memory_rates& r = rates[a];
      if (on.memory && r.least_token() > 0)
        stage.cap = std::min(stage.cap, std::max(0.0, (on.memory->amount - r.fixed) / r.least_token()));
      for (int part = 0; part < on.parts() - 1; ++part)
        stage.constant +=
            chunks_up_to(static_cast<int>(a), part + 1) * (message_time(cost, {1}, pass::forward, part).value +
                                                           message_time(cost, {1}, pass::backward, part + 1).value);
      for (int part = 0; part < on.parts(); ++part)
        stage.constant += weight_of(static_cast<int>(a), part) * (pack_overhead(cost, pass::forward, part).value +
                                                                  pack_overhead(cost, pass::backward, part).value);
    }
  }

  /// The stage that forces most packs when a step takes `step`.
  [[nodiscard]] int tightest(seconds step) const {
    int found = 0;
    double most = -1;
    for (int a = 0; a < static_cast<int>(stages_.size()); ++a)
      if (const double packs = least_overhead(a, step.value, 1, 1); packs > most) most = packs, found = a;
    return found;
  }

  /// Overhead of all packs of the batch together, on a stage where packs cost so much, that the memory of stage `a`
  /// forces when the step takes `step`; infinite when no plan is so fast.
  /// Shapes    fewer: what to leave out of the sums of sqrt(n v), forward and backward
  [[nodiscard]] double least_overhead(int a, double step, double forward, double backward,
                                      std::array<double, 2> fewer = {}) const {
    const stage_sums& stage = stages_[static_cast<std::size_t>(a)];
    const double time = std::max(0.0, step - stage.fill);
    const double ends = stage.forward_token + stage.backward_token;
    const double held = ends * stage.cap > time ? time / ends : stage.cap;
    const double most = shape_.replicas * (held * time - held * held * ends / 2) - tokens_ * stage.constant;
    double best = 0;
    const std::array<double, 2> price{std::sqrt(forward), std::sqrt(backward * split_)};
    std::array<double, 2> here{};  // of sequences up to this class, which count as short
    double later = 0;              // of those above it
    for (const length_class& c : classes_) later += c.later;
    for (std::size_t c = 0;; ++c) {
      const double room = most - later / shape_.replicas;
      if (!(room > 0)) return std::numeric_limits<double>::infinity();
      double root = 0;
      for (const std::size_t p : pass_numbers)
        root += price[p] * std::max(0.0, std::sqrt(stage.before[p] * stage.before[p] + here[p] * here[p]) - fewer[p]);
      best = std::max(best, root * root / room);
      if (c == classes_.size()) return best;
      for (const std::size_t p : pass_numbers) here[p] += classes_[c].last[p];
      later = std::max(0.0, later - classes_[c].later);
    }
  }

  /// What a quantum adds at most to the sums of sqrt(n v) of stage `a`, forward and backward.
  [[nodiscard]] std::array<double, 2> root_of(int a, const quantum_times& t, double tokens) const {
    const auto root = [&](const std::vector<double>& times) {
      double sum = times.back();
      each_way(times, [&](std::size_t stage, double way) { sum += stage == static_cast<std::size_t>(a) ? way : 0; });
      return std::sqrt(tokens * sum);
    };
    return {root(t.forward), root(t.backward)};
  }

 private:
  struct stage_sums {
    std::array<double, 2> before{};  // of sqrt(n v), v the time on this stage (half) and those after but the last part
    double cap{};                    // tokens of one replica
    double fill{};
    double constant{};  // overhead and messages, a token
    double forward_token{std::numeric_limits<double>::infinity()};
    double backward_token{std::numeric_limits<double>::infinity()};
  };
  struct length_class {
    int bits{};                    // of their lengths
    std::array<double, 2> last{};  // of sqrt(n v), v the time on the last part
    double later{};                // tokens times the later work of their sequences
  };

  /// A quantum on the last part.
  struct last_part {
    std::array<double, 2> root{};  // sqrt(n v), v its time
    double work{};                 // forward, and backward without weight gradients, which may run later

    template <class Cost>
    static last_part of(const Cost& cost, const slice& s, const shape& on) {
      const int part = on.parts() - 1;
      const double forward = least_time(cost, s, pass::forward, part).value;
      const double backward = least_time(cost, s, pass::backward, part).value;
      const auto n = static_cast<double>(s.length.value);
      return {{std::sqrt(n * forward), std::sqrt(n * backward)},
              forward + std::max(0.0, backward - least_weight_time(cost, s, part).value)};
    }
    /// No more than any quantum of a group.
    template <class Cost>
    static last_part cheapest(const Cost& cost, const batch_quanta& all, const quantum_group& g, const shape& on) {
      std::optional<last_part> least;
      all.each_cheap(g, has_borders(cost), [&](const slice& s) {
        const last_part one = of(cost, s, on);
        if (!least) return void(least = one);
        for (const std::size_t p : pass_numbers) least->root[p] = std::min(least->root[p], one.root[p]);
        least->work = std::min(least->work, one.work);
      });
      return *least;
    }
  };
  /// The first quanta of a sequence on the last part.
  struct run {
    std::array<double, 2> root{};
    double work{};
    double earlier{};  // tokens times the work before their quantum

    void add(const last_part& one, double count, double tokens) {
      for (const std::size_t p : pass_numbers) root[p] += count * one.root[p];
      earlier += tokens * (count * work + one.work * count * (count - 1) / 2);
      work += count * one.work;
    }
  };

  /// How many chunks of stage `a` come before `part`, as a share of all its chunks.
  [[nodiscard]] double chunks_up_to(int a, int part) const {
    int chunks = 0;
    for (int own = a; own < part; own += shape_.stages) ++chunks;
    return static_cast<double>(chunks) / shape_.chunks;
  }
  /// How often a token of stage `a` waits for a pack on `part`: half where it is held, for the pack comes and goes.
  [[nodiscard]] double weight_of(int a, int part) const {
    return chunks_up_to(a, part) + (part % shape_.stages == a ? 0.5 / shape_.chunks : 0.0);
  }
  /// Calls visit(stage, time) for each part but the last: half of the time there and that of the parts after it but the
  /// last, over the number of chunks. What a stage is told adds up to the sum of weight_of times time.
  template <class Visit>
  void each_way(const std::vector<double>& times, Visit&& visit) const {
    double after = 0;
    for (std::size_t part = times.size() - 1; part-- > 0;) {
      visit(part % static_cast<std::size_t>(shape_.stages), (after + times[part] / 2) / shape_.chunks);
      after += times[part];
    }
  }

  template <class Cost>
  void gather(const Cost& cost, const batch_quanta& all) {
    const auto last = static_cast<std::size_t>(shape_.parts() - 1);
    std::vector<double> fill(stages_.size(), std::numeric_limits<double>::infinity());
    std::array<std::vector<double>, 2> way;
    const auto add = [&](const quantum_times& t, const quantum_times& dearest, double count, double n) {
      for (const std::size_t p : pass_numbers) {
        way[p].assign(stages_.size() + 1, 0);
        each_way(p == 0 ? t.forward : t.backward, [&](std::size_t a, double time) { way[p][a] += time; });
      }
      double come = 0;
      for (std::size_t a = 0; a < stages_.size(); ++a) {
        stage_sums& s = stages_[a];
        for (const std::size_t p : pass_numbers) s.before[p] += count * std::sqrt(n * way[p][a]);
        for (std::size_t part = a; part <= last; part += static_cast<std::size_t>(shape_.stages)) {
          s.forward_token = std::min(s.forward_token, t.forward[part] / n * shape_.chunks);
          s.backward_token = std::min(s.backward_token, t.backward[part] / n * shape_.chunks);
        }
        fill[a] = std::min(fill[a], come);
        come += t.forward[a];
      }
      for (std::size_t part = 0; part <= last; ++part)
        if (dearest.backward[part] > 0) split_ = std::min(split_, 2 * t.inputs[part] / dearest.backward[part]);
    };
    each_quantum(all, cost, shape_.parts(), add);
    double come = 0;
    for (std::size_t a = 0; a < stages_.size(); ++a) {
      stages_[a].fill = come + fill[a];
      const auto part = static_cast<int>(a);
      come += pack_overhead(cost, pass::forward, part).value + message_time(cost, {1}, pass::forward, part).value;
    }
  }

  template <class Cost>
  void gather_long(const Cost& cost, std::span<const sequence> batch, const batch_quanta& all) {
    const auto n = static_cast<double>(all.quantum().value);
    std::vector<last_part> one;   // a quantum of each group
    std::vector<run> so_far{{}};  // the groups before
    for (const quantum_group& g : all.groups()) {
      one.push_back(last_part::cheapest(cost, all, g, shape_));
      run next = so_far.back();
      next.add(one.back(), static_cast<double>(all.group_size()), n);
      so_far.push_back(next);
    }
    classes_.resize(64);
    for (const sequence& s : batch) {
      const std::int64_t size = all.group_size(), end = all.end_quantum(s);
      run mine;
      std::int64_t at = all.first_quantum(s);
      if (at == 0) mine = so_far[static_cast<std::size_t>(end / size)], at = end / size * size;
      while (at < end) {
        const std::int64_t next = std::min(end, (at / size + 1) * size);
        mine.add(one[static_cast<std::size_t>(at / size)], static_cast<double>(next - at), n);
        at = next;
      }
      if (const slice rest = all.rest_of(s); rest.length.value > 0)
        mine.add(last_part::of(cost, rest, shape_), 1, static_cast<double>(rest.length.value));
      const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(s.end().value)));
      length_class& c = classes_[static_cast<std::size_t>(bits)];
      c.bits = bits;
      for (const std::size_t p : pass_numbers) c.last[p] += mine.root[p];
      c.later += static_cast<double>(s.length.value) * mine.work - mine.earlier;
    }
    std::erase_if(classes_, [](const length_class& c) { return c.bits == 0; });
  }

  shape shape_;
  std::vector<stage_sums> stages_;     // all but the last
  std::vector<length_class> classes_;  // shortest first
  double tokens_{};
  double split_{1};
};

}  // namespace slimpack::simulators

#endif
