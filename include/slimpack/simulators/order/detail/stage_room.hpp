#ifndef SLIMPACK_SIMULATORS_ORDER_DETAIL_STAGE_ROOM_HPP
#define SLIMPACK_SIMULATORS_ORDER_DETAIL_STAGE_ROOM_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/order/detail/stage_chains.hpp>
#include <slimpack/simulators/order/window_change.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace slimpack::detail {

/// How much more each stage could hold while each of its instructions runs. It is kept up to date while the order, or
/// the packs, change.
/// Law       the account of simulators::stage_memory, for tokens alone
/// Units     those of the memory limit; without one there is always room
/// Errors    none
class stage_room {
 public:
  using node = stage_chains::node;

  /// Complexity O(instructions)
  stage_room(const workload& work, std::span<const program> programs, const stage_chains& chains)
      : chunks_(work.shape.chunks),
        rates_(work.rates),
        room_(chains.size()),
        gradient_running_(work.gradient_running),
        gradient_after_(work.gradient_before.begin() + 1, work.gradient_before.end()) {
    for (const pass p : {pass::forward, pass::backward}) {
      const std::vector<std::int64_t>& before = work.times.before[p];
      std::vector<std::int64_t>& size = size_[p == pass::backward];
      for (std::size_t i = 0; i + 1 < before.size(); ++i) {
        size.push_back(before[i + 1] - before[i]);
        pairs_[p].push_back(work.pairs_of(p, i));
      }
    }
    double limit = std::numeric_limits<double>::infinity();
    if (work.shape.memory) {
      limit = work.shape.memory->amount;
      // Sums of whole numbers are exact. Other sums are rounded: they must stay so far below the limit that no rounding
      // can carry them over it.
      if (chunks_ > 1 || !std::all_of(rates_.begin(), rates_.end(), is_whole)) margin_ = 1e-9 * limit;
    }
    for (std::size_t stage = 0; stage < programs.size(); ++stage)
      simulators::follow_memory(work, programs[stage], static_cast<int>(stage), [&](const instruction& i, double held) {
        room_[chains.at(i, i.chunk * chains.stages() + stage)] = limit - held;
      });
  }

  /// Lets x and the y that follows it on its stage change places, if there is room: y then does not find what x takes,
  /// and x finds what y takes. A backward that opens more gradients than it releases is better run later.
  /// Returns   whether there is            Complexity  O(1)
  bool swap(const stage_chains& chains, node x, node y) {
    const double x_more = taken(chains, y), y_more = -taken(chains, x);
    if (!has(x, x_more) || !has(y, y_more)) return false;
    room_[x] -= x_more;
    room_[y] -= y_more;
    return true;
  }

  /// Whether there is room if packs change.            Complexity  O(instructions that run meanwhile)
  [[nodiscard]] bool allows(const stage_chains& chains, const simulators::window_change& change) {
    add_up(chains, change);
    if (chunks_ == 1) {
      for (std::size_t stage = 0; stage < chains.stages(); ++stage)
        if (!each_held(chains, change, stage, [this](node n, double more) { return has(n, more); })) return false;
      return true;
    }
    // What several chunks take of an instruction's room adds up.
    more_.resize(room_.size());
    touched_.clear();
    for (std::size_t part = 0; part < chains.parts(); ++part)
      each_held(chains, change, part, [this](node n, double more) {
        if (more_[n] == 0) touched_.push_back(n);
        more_[n] += more;
        return true;
      });
    bool fits = true;
    for (const node n : touched_) fits = fits && has(n, more_[n]), more_[n] = 0;
    return fits;
  }

  /// Changes packs.
  /// Requires  `allows` was asked of this change last            Complexity  O(instructions that run meanwhile)
  void recut(const stage_chains& chains, const simulators::window_change& change) {
    for (std::size_t part = 0; part < chains.parts(); ++part)
      each_held(chains, change, part, [this](node n, double more) {
        room_[n] -= more;
        return true;
      });
    for (std::size_t i = 0; i < change.size.size(); ++i) {
      const node place = change.places[change.first_left() + i];
      size_[change.pass == pass::backward][place] = change.size[i];
      pairs_[change.pass][place] = change.pairs[i];
      if (change.pass == pass::forward) continue;
      gradient_running_[place] = change.gradient_running[i];
      gradient_after_[place] = change.gradient_after[i];
    }
  }

 private:
  /// Tokens of a change's places so far, and the gradients that are open then.
  struct sums {
    std::int64_t tokens{};
    std::int64_t gradient{};
  };

  static bool is_whole(const memory_rates& r) {
    const auto whole = [](double rate) { return std::floor(rate) == rate; };
    return whole(r.fixed) && whole(r.live_token) && whole(r.gradient_token) && whole(r.forward_token) &&
           whole(r.backward_token) && whole(r.weight_token) && whole(r.forward_pair) && whole(r.backward_pair);
  }
  [[nodiscard]] bool has(node n, double more) const { return more <= 0 || more + margin_ <= room_[n]; }

  /// What is held more after an instruction than before it: the tokens of a forward; less those of a backward, and what
  /// gradients it leaves behind. Where weight gradients run apart, tokens stay until these have run, and hold more.
  [[nodiscard]] double taken(const stage_chains& chains, node n) const {
    const stage_chains::entry& t = chains[n];
    const memory_rates& rates = rates_[t.stage];
    const auto size = static_cast<double>(size_[t.backward][t.pack]);
    if (!t.backward) return rates.live_token * size / chunks_;
    if (t.weights) return -(rates.live_token + rates.weight_token) * size / chunks_;
    const node previous = chains.previous_pack(pass::backward, t.pack);
    const std::int64_t before = previous == stage_chains::none ? 0 : gradient_after_[previous];
    const double tokens = (chains.splits(t.pack) ? rates.weight_token : -rates.live_token) * size;
    return (rates.gradient_token * static_cast<double>(gradient_after_[t.pack] - before) + tokens) / chunks_;
  }

  /// Sums after each place, as they are and as they would be.
  void add_up(const stage_chains& chains, const simulators::window_change& change) {
    const bool backward = change.pass == pass::backward;
    now_.clear(), then_.clear();
    sums now{}, then{};
    const node previous = chains.previous_pack(change.pass, change.places.front());
    if (backward && previous != stage_chains::none) now.gradient = then.gradient = gradient_after_[previous];
    for (std::size_t i = 0; i < change.places.size(); ++i) {
      now.tokens += size_[backward][change.places[i]];
      if (backward) now.gradient = gradient_after_[change.places[i]];
      if (change.is_left(i)) {
        then.tokens += change.size[i - change.first_left()];
        if (backward) then.gradient = change.gradient_after[i - change.first_left()];
      }
      now_.push_back(now), then_.push_back(then);
    }
  }

  /// What a stage holds more of a part while it runs the i-th place there, which is left. What runs counts whole.
  [[nodiscard]] double more_at(const simulators::window_change& change, std::size_t i,
                               const memory_rates& rates) const {
    const bool backward = change.pass == pass::backward;
    const std::size_t left = i - change.first_left();
    const auto running = static_cast<double>(change.size[left] - size_[backward][change.places[i]]);
    const double pairs = change.pairs[left] - pairs_[change.pass][change.places[i]];
    if (!backward)
      return rates.live_token * static_cast<double>(then_[i].tokens - now_[i].tokens) / chunks_ +
             rates.forward_token * running + rates.forward_pair * pairs;
    const std::int64_t gradient = change.gradient_running[left] - gradient_running_[change.places[i]];
    return (rates.live_token * static_cast<double>(i == 0 ? 0 : now_[i - 1].tokens - then_[i - 1].tokens) +
            rates.gradient_token * static_cast<double>(gradient)) /
               chunks_ +
           rates.backward_token * running + rates.backward_pair * pairs;
  }

  /// What it holds more between the i-th place and the next.
  [[nodiscard]] double more_after(const simulators::window_change& change, std::size_t i,
                                  const memory_rates& rates) const {
    const std::int64_t tokens = then_[i].tokens - now_[i].tokens;
    return (rates.live_token * static_cast<double>(change.pass == pass::forward ? tokens : -tokens) +
            rates.gradient_token * static_cast<double>(then_[i].gradient - now_[i].gradient)) /
           chunks_;
  }

  /// Visits what a stage holds more of a part while it runs each instruction from the first place there to the last,
  /// until one says no.
  template <class Visit>
  bool each_held(const stage_chains& chains, const simulators::window_change& change, std::size_t part, Visit&& visit) {
    const memory_rates& rates = rates_[part % chains.stages()];
    for (std::size_t i = 0; i < change.places.size(); ++i) {
      const node place = chains.at(change.pass, change.places[i], part);
      if (change.is_left(i) && !visit(place, more_at(change, i, rates))) return false;
      if (i + 1 == change.places.size()) break;
      const double more = more_after(change, i, rates);
      if (more == 0) continue;
      // A place that was dropped still knows who came after it.
      const node until = chains[chains.at(change.pass, change.places[i + 1], part)].position;
      for (node n = chains[place].next; n != stage_chains::none && chains[n].position < until; n = chains[n].next)
        if (!visit(n, more)) return false;
    }
    return true;
  }

  int chunks_;
  std::vector<memory_rates> rates_;                // per stage
  std::vector<double> room_;                       // per instruction
  std::array<std::vector<std::int64_t>, 2> size_;  // tokens of each pack, by pass
  by_pass<std::vector<double>> pairs_;             // dense pairs of each pack
  std::vector<std::int64_t> gradient_running_;
  std::vector<std::int64_t> gradient_after_;
  double margin_{};
  // Scratch, kept for its capacity.
  std::vector<sums> now_, then_;
  std::vector<double> more_;  // per instruction, 0 between
  std::vector<node> touched_;
};

}  // namespace slimpack::detail

#endif
