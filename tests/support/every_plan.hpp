#ifndef SLIMPACK_TESTS_SUPPORT_EVERY_PLAN_HPP
#define SLIMPACK_TESTS_SUPPORT_EVERY_PLAN_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

/// The shortest step of a very small batch, found by trying every plan: assignments to replicas, cuts, packs, their
/// orders, programs, and backward packs with their weight gradients left in or taken out. Merges: every_merge.hpp.
namespace slimpack::tests {

/// Every way to run sequences in packs, in order of the pass: all compositions of their quanta. A sequence begins when
/// its parent has ended forward, and all its children backward, in the same pack or before.
/// Requires  a batch in depth-first order that has the parents of all its sequences
[[nodiscard]] inline std::vector<micropacks> every_order(std::span<const sequence> batch, pass p, tokens quantum) {
  std::vector<micropacks> found;
  std::vector<std::int64_t> done(batch.size(), 0);  // tokens
  const auto has_ended = [&](const sequence& s) {
    return done[static_cast<std::size_t>(&s - batch.data())] == s.length.value;
  };
  const auto may_run = [&](const sequence& s) {
    return std::all_of(batch.begin(), batch.end(), [&](const sequence& other) {
      return (p == pass::forward ? s.parent != other.id : other.parent != s.id) || has_ended(other);
    });
  };
  const bool children_first =
      p == pass::backward && std::any_of(batch.begin(), batch.end(), [](const sequence& s) { return !s.is_root(); });
  const std::function<void(const micropacks&)> extend = [&](const micropacks& so_far) {
    const std::function<void(std::size_t, const micropacks&, bool)> take = [&](std::size_t k, const micropacks& open,
                                                                               bool some) {
      if (k == batch.size()) {
        if (!some) return;
        micropacks closed = open;
        closed.close();
        extend(closed);
        return;
      }
      take(k + 1, open, some);
      const std::size_t s = children_first ? batch.size() - 1 - k : k;
      if (!may_run(batch[s])) return;
      const std::int64_t begin = batch[s].begin.value, length = batch[s].length.value;
      const std::int64_t at = done[s];
      for (std::int64_t next = at; next < length;) {
        // The next cut, from the front or from the back.
        next = p == pass::forward ? std::min(length, (next / quantum.value + 1) * quantum.value)
                                  : length - (length - next - 1) / quantum.value * quantum.value;
        micropacks more = open;
        more.push({batch[s].id, {begin + (p == pass::forward ? at : length - next)}, {next - at}});
        done[s] = next;
        take(k + 1, more, true);
        done[s] = at;
      }
    };
    bool all = true;
    for (std::size_t s = 0; s < batch.size(); ++s) all = all && done[s] == batch[s].length.value;
    if (all)
      found.push_back(so_far);
    else
      take(0, so_far, false);
  };
  extend({});
  return found;
}

/// Tries every program of one replica's packs by branch and bound: instructions are started in the order of their
/// start times, each as early as it can, and a stage with more work left than the best step allows ends the branch.
/// A backward pack runs whole, or, with `split_weights`, its weight gradients later with their own overhead. No stage
/// ever holds more than the shape's limit: tokens, or what memory and `kept` of the cost model say, B giving back what
/// pieces keep and W tokens. Requires  of rates, fixed and live_token alone
template <class Cost>
class every_program {
 public:
  every_program(const Cost& cost, const shape& on, bool split_weights)
      : parts_(static_cast<std::size_t>(on.parts())),
        stages_(static_cast<std::size_t>(on.stages)),
        cost_(cost),
        split_weights_(split_weights) {
    const bool in_bytes = on.memory && on.memory->unit == memory_unit::byte;
    counts_kept_ = slimpack::detail::asks_by_piece<Cost>() && in_bytes;
    for (int stage = 0; stage < on.stages; ++stage) {
      const memory_rates rates = in_bytes ? memory_of(cost, stage).value() : memory_rates{};
      rate_[stage] = rates.live_token;
      limit_[stage] =
          on.memory ? (on.memory->amount - rates.fixed) * on.chunks : std::numeric_limits<double>::infinity();
    }
  }

  /// Lowers `best` to the shortest makespan of these packs, if that is shorter.
  void improve(double& best, const micropacks& forward, const micropacks& backward) {
    packs_[down] = forward.size(), packs_[up] = backward.size();
    ASSERT_LE(std::max({parts_, packs_[down], packs_[up]}), most);
    for (const direction d : {down, up}) time_[d].clear(), message_[d].clear(), size_[d].clear();
    for (std::size_t i = 0; i < forward.size(); ++i) size_[down].push_back(count(size_of(forward[i])));
    for (std::size_t i = 0; i < backward.size(); ++i) size_[up].push_back(count(size_of(backward[i])));
    for (const direction d : {down, up}) kept_[d].assign(stages_ * packs_[d], 0);
    if (counts_kept_) keep(forward, backward);
    weights_.clear(), overhead_.clear(), need_.clear();
    state start;
    for (std::size_t part = 0; part < parts_; ++part) {
      for (const direction d : {down, up}) {
        const micropacks& packs = d == down ? forward : backward;
        const pass p = d == down ? pass::forward : pass::backward;
        for (std::size_t i = 0; i < packs.size(); ++i) {
          time_[d].push_back(pack_time(cost_, packs[i], p, static_cast<int>(part)).value);
          message_[d].push_back(message_time(cost_, size_of(packs[i]), p, static_cast<int>(part)).value);
          start.left[part % stages_] += time_[d].back();
        }
      }
      for (std::size_t i = 0; i < backward.size(); ++i) {
        weights_.push_back(0);
        for (const slice& s : backward[i]) weights_.back() += weight_time(cost_, s, static_cast<int>(part)).value;
      }
      overhead_.push_back(pack_overhead(cost_, pass::backward, static_cast<int>(part)).value);
    }
    way_back_.assign(1, 0.0);
    for (std::size_t part = 0; part < parts_; ++part) {
      const std::size_t last = part * packs_[up] + packs_[up] - 1;
      const double least = time_[up][last] - (split_weights_ ? weights_[last] : 0);
      way_back_.push_back(way_back_.back() + least + (part > 0 ? message_[up][last] : 0));
    }
    way_back_.erase(way_back_.begin());
    for (std::size_t i = 0; i < backward.size(); ++i) {
      need_.push_back(need_.empty() ? 0 : need_.back());
      for (std::size_t j = 0; j < forward.size(); ++j)
        for (const slice& mine : backward[i])
          for (const slice& theirs : forward[j])
            if (mine.sequence == theirs.sequence) need_.back() = std::max(need_.back(), j + 1);
    }
    best_ = best;
    search(start, 0.0, 0);
    best = best_;
  }

 private:
  enum direction : std::size_t { down, up };

  static constexpr std::size_t most = 6;  // parts, and packs of a direction
  struct state {
    std::size_t next[2][most]{};    // per part, the next pack of each direction
    double at[2][most][most]{};     // per part and pack, when its input arrives
    std::uint32_t apart{};          // backward packs whose weight gradients run apart, as the last part chose
    std::uint32_t weights[most]{};  // per part, packs whose weight gradients are still to run
    double live[most]{};            // per stage, what is held of the limit, counted of each chunk
    double free[most]{};            // per stage
    double left[most]{};            // per stage, work that has not started
  };

  void search(const state& s, double last_start, std::size_t last_stage) {
    double end = 0;
    bool done = true;
    for (std::size_t r = 0; r < stages_; ++r) {
      const bool idle = s.left[r] < 1e-9;
      end = std::max(end, idle ? s.free[r] : std::max(s.free[r], last_start) + s.left[r]);
      done = done && idle;
    }
    // A last backward that has not run on a part has the way from there to part 0 before it.
    for (std::size_t part = 0; part < parts_; ++part)
      if (s.next[up][part] < packs_[up]) end = std::max(end, last_start + way_back_[part]);
    if (end >= best_) return;
    if (done) return void(best_ = end);
    // Of two instructions that start together neither depends on the other, so the lower stage may go first.
    const auto in_order = [&](double start, std::size_t part) {
      return start > last_start || (start == last_start && part % stages_ >= last_stage);
    };
    for (std::size_t part = 0; part < parts_; ++part) {
      const std::size_t r = part % stages_;
      for (const direction d : {up, down}) {
        const std::size_t i = s.next[d][part];
        if (i == packs_[d]) continue;
        const bool first = part == (d == down ? 0 : parts_ - 1);
        const bool arrived =
            !first ? s.next[d][d == down ? part - 1 : part + 1] > i : d == down || s.next[down][part] >= need_[i];
        const double start = std::max(s.free[r], s.at[d][part][i]);
        if (!arrived || !in_order(start, part)) continue;
        if (d == down) {
          if (s.live[r] + rate_[r] * size_[down][i] + kept_[down][r * packs_[down] + i] <= limit_[r])
            run(s, d, part, start, false);
        } else if (part + 1 == parts_) {
          run(s, d, part, start, false);
          if (split_weights_) run(s, d, part, start, true);
        } else {
          run(s, d, part, start, (s.apart >> i & 1) != 0);
        }
      }
      for (std::size_t i = 0; i < s.next[up][part]; ++i) {
        if ((s.weights[part] >> i & 1) == 0 || !in_order(s.free[r], part)) continue;
        state after = s;
        after.weights[part] &= ~(1u << i);
        after.live[r] -= rate_[r] * size_[up][i];
        occupy(after, part, s.free[r], weights_[part * packs_[up] + i] + overhead_[part]);
        search(after, s.free[r], r);
      }
    }
  }

  void run(const state& s, direction d, std::size_t part, double start, bool apart) {
    state after = s;
    const std::size_t pack = after.next[d][part]++;
    const std::size_t cell = part * packs_[d] + pack;
    const std::size_t r = part % stages_;
    const double kept = kept_[d][r * packs_[d] + pack];
    if (d == down) after.live[r] += rate_[r] * size_[down][pack] + kept;
    if (d == up) after.live[r] -= kept + (apart ? 0 : rate_[r] * size_[up][pack]);
    if (apart) {
      after.apart |= 1u << pack;
      after.weights[part] |= 1u << pack;
      after.left[r] += overhead_[part];
    }
    occupy(after, part, start, time_[d][cell] - (apart ? weights_[cell] : 0));
    const double arrival = after.free[r] + message_[d][cell];
    if (d == down && part + 1 < parts_) after.at[d][part + 1][pack] = arrival;
    if (d == up && part > 0) after.at[d][part - 1][pack] = arrival;
    search(after, start, r);
  }

  /// Fills what packs keep beside their tokens: that of their pieces between cuts of either pass.
  void keep(const micropacks& forward, const micropacks& backward) {
    std::map<sequence_id, std::set<tokens>> cuts;
    for (const micropacks* packs : {&forward, &backward})
      for (const slice& s : packs->slices()) cuts[s.sequence].insert({s.begin, s.end()});
    for (const direction d : {down, up}) {
      const micropacks& packs = d == down ? forward : backward;
      for (std::size_t r = 0; r < stages_; ++r)
        for (std::size_t i = 0; i < packs.size(); ++i)
          for (const slice& s : packs[i])
            for (auto at = cuts[s.sequence].find(s.begin); *at < s.end(); ++at)
              kept_[d][r * packs_[d] + i] +=
                  std::ceil(kept_of(cost_, {s.sequence, *at, *std::next(at) - *at}, static_cast<int>(r)).value);
    }
  }

  static double count(tokens n) { return static_cast<double>(n.value); }

  void occupy(state& s, std::size_t part, double start, double time) const {
    s.free[part % stages_] = start + time;
    s.left[part % stages_] -= time;
  }

  std::size_t parts_, stages_;
  const Cost& cost_;
  bool split_weights_;
  bool counts_kept_{};
  double rate_[most]{};   // per stage, of a token
  double limit_[most]{};  // per stage, of all its chunks
  std::size_t packs_[2]{};
  std::vector<double> time_[2];     // [part][pack], weight gradients included
  std::vector<double> message_[2];  // [part][pack]
  std::vector<double> size_[2];     // [pack], tokens
  std::vector<double> kept_[2];     // [stage][pack], beside its tokens
  std::vector<double> weights_;     // [part][backward pack]
  std::vector<double> overhead_;    // [part]
  std::vector<double> way_back_;    // per part, from the start of its last backward to the end of part 0's
  std::vector<std::size_t> need_;   // per backward pack, forwards that the last part must have run
  double best_{};
};

/// The shortest makespan of one replica.
template <class Cost>
[[nodiscard]] seconds shortest_replica(const Cost& cost, const shape& on, std::span<const sequence> own,
                                       bool split_weights) {
  if (own.empty()) return {};
  double best = std::numeric_limits<double>::infinity();
  const std::vector<micropacks> forwards = every_order(own, pass::forward, on.quantum);
  const std::vector<micropacks> backwards = every_order(own, pass::backward, on.quantum);
  for (const bool split : {false, true}) {  // the first answer makes the second search shorter
    if (split && !split_weights) break;
    every_program<Cost> programs(cost, on, split);
    for (const micropacks& forward : forwards)
      for (const micropacks& backward : backwards) programs.improve(best, forward, backward);
  }
  return {best};
}

/// The shortest step of a batch; of samples that share beginnings on one replica.
template <class Cost>
[[nodiscard]] seconds shortest_step(const Cost& cost, const shape& on, std::span<const sequence> batch,
                                    bool split_weights) {
  std::map<std::uint32_t, seconds> replica;  // by the set of its sequences
  const std::uint32_t all = (1u << batch.size()) - 1;
  for (std::uint32_t set = 0; set <= all; ++set) {
    std::vector<sequence> own;
    for (std::size_t s = 0; s < batch.size(); ++s)
      if ((set >> s & 1) != 0) own.push_back(batch[s]);
    if (on.replicas > 1 || set == all) replica[set] = shortest_replica(cost, on, own, split_weights);
  }
  const std::function<seconds(std::uint32_t, int)> shared = [&](std::uint32_t set, int replicas) {
    if (replicas == 1) return replica.at(set);
    seconds best = replica.at(set);
    for (std::uint32_t first = set; first > 0; first = (first - 1) & set)
      best = std::min(best, std::max(replica.at(first), shared(set & ~first, replicas - 1)));
    return best;
  };
  return shared(all, on.replicas) + (on.replicas > 1 ? reduce_time_of(cost) : seconds{});
}

}  // namespace slimpack::tests

#endif
