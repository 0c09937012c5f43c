#ifndef SLIMPACK_SOLVERS_DETAIL_LOCAL_SEARCH_HPP
#define SLIMPACK_SOLVERS_DETAIL_LOCAL_SEARCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/problem.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/solution.hpp>
#include <slimpack/costs/price.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/detail/fill.hpp>
#include <slimpack/simulator/graph.hpp>
#include <slimpack/solvers/assign.hpp>
#include <slimpack/solvers/pack_sizes.hpp>
#include <slimpack/solvers/search_budget.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Phase 2 on one replica: coordinate descent over pack sizes and orders of sequences, each candidate filled, priced,
/// scheduled and simulated. Works on local sequence ids (0, 1, ...) and translates its answer.
template <class Slicer, class Cost, class Schedule>
class local_search {
 public:
  struct sizes {
    solvers::pack_sizes forward;
    solvers::pack_sizes backward;
  };

  local_search(std::span<const sequence> group, const problem& batch, const Slicer& slicer, const Cost& cost,
               const Schedule& schedule, std::span<const memory_rates> rates)
      : group_(group), batch_(batch), slicer_(slicer), cost_(cost), schedule_(schedule),
        rates_(rates.begin(), rates.end()) {
    for (const sequence& s : group) local_.push_back({{static_cast<std::uint32_t>(local_.size())}, s.length});
    measure();
    arrange();
  }

  /// The best of the candidates that the budget allows, and at least the first.
  result<replica_solution> best(const sizes& start, solvers::search_budget budget) {
    if (group_.empty()) return replica_solution{{}, {}, std::vector<program>(stages())};
    budget_ = budget;
    std::optional<error> failure;
    for (const order o : {order::pipe, order::rising}) {
      if (best_ && spent()) break;
      if (std::optional<error> e = consider({start, o}); e && !failure) failure = std::move(e);
    }
    // Measured times do not add up: cutting may cost more than slices tell, and whole sequences be the faster ones.
    if constexpr (requires(const slice& s) { cost_.least(s, pass::forward, 0); })
      for (const order o : {order::pipe, order::rising})
        if (best_ && !batch_.stop.stop_requested()) static_cast<void>(consider({start, o, true}));
    // Nothing fits: smaller packs need less memory beside the longest sequence. Packs of one slice need the least,
    // since then, with one chunk, no sequence waits for another: whatever fits alone fits.
    for (double share = 0.5; !best_ && failure->code == errc::out_of_memory; share *= 0.25) {
      const bool least = share * steady_ < 0.01;  // quanta; short sequences share packs of less than one
      candidate small{start, order::rising};
      for (solvers::pack_sizes* p : {&small.sizes.forward, &small.sizes.backward})
        for (double* size : {&p->steady, &p->turn_least, &p->turn}) *size *= least ? 0 : share;
      failure = consider(small);
      if (least) break;
    }
    if (!best_) return std::move(*failure);
    descend();
    return translated();
  }

 private:
  /// In which order sequences enter; all are legal.
  enum class order : std::size_t { pipe, rising };  // short at both ends, short first
  struct candidate {
    local_search::sizes sizes;
    order sequences{};
    bool whole{};  ///< no sequence is cut
  };

  [[nodiscard]] std::size_t stages() const { return static_cast<std::size_t>(batch_.shape.stages); }
  [[nodiscard]] bool spent() const {
    const std::uint64_t next = graph_.size();  // about as large as the last
    return nodes_ + next > budget_.nodes || candidates_ >= budget_.candidates || batch_.stop.stop_requested();
  }

  /// What candidates share: the work of the batch, of a quantum, and what memory leaves room for.
  void measure() {
    part_ = solvers::busiest_part(cost_, local_, batch_.shape.parts());
    double longest = 0;
    double total = 0;
    for (const sequence& s : local_) {
      for (const pass p : {pass::forward, pass::backward}) work_[p == pass::backward] += time_of(s, p);
      longest = std::max(longest, static_cast<double>(s.length.value));
      total += static_cast<double>(s.length.value);
    }
    double room = std::numeric_limits<double>::infinity();  // tokens that the fullest stage can hold
    if (batch_.shape.memory)
      for (const memory_rates& r : rates_)
        room = std::min(room, (batch_.shape.memory->amount - r.fixed) / (r.live_token + r.gradient_token));
    room = std::max(room, longest);
    room_ = room;
    const double quantum = static_cast<double>(batch_.shape.quantum.value);
    grain_ = cost_.time({{}, {0}, batch_.shape.quantum}, pass::forward, part_).value;
    // Without a limit, the same shapes as with half as much again as the longest sequence, or an even share; and packs
    // of 50 times their overhead, or short sequences would drown in it.
    for (const pass p : {pass::forward, pass::backward}) {
      const slice least{{}, {0}, batch_.shape.quantum};
      fixed_[p == pass::backward] = (pack_time(cost_, std::span(&least, 1), p, part_) - cost_.time(least, p, part_)).value;
    }
    const double overhead = fixed_[0];
    const double quiet = grain_ > 0 ? 50 * overhead / grain_ * quantum * batch_.shape.stages : 0;
    const double wanted = std::min(room, std::max({1.5 * longest, total / batch_.shape.stages, quiet}));
    steady_ = wanted / quantum / batch_.shape.stages;
    beside_ = std::max(0.0, std::min(room, 2 * wanted) - longest) / quantum / batch_.shape.stages;
  }

  [[nodiscard]] double time_of(const sequence& s, pass p) const { return cost_.time({s.id, {0}, s.length}, p, part_).value; }

  /// The sequences in each order, once.
  void arrange() {
    std::vector<sequence>& rising = arranged(order::rising);
    rising = local_;
    std::stable_sort(rising.begin(), rising.end(), [](const sequence& a, const sequence& b) { return a.length < b.length; });
    std::vector<sequence>& pipe = arranged(order::pipe);
    pipe.reserve(rising.size());
    for (std::size_t i = 0; i < rising.size(); i += 2) pipe.push_back(rising[i]);
    for (std::size_t i = rising.size() / 2; i-- > 0;) pipe.push_back(rising[2 * i + 1]);
  }
  [[nodiscard]] std::vector<sequence>& arranged(order o) { return arranged_[static_cast<std::size_t>(o)]; }

  /// Scores a candidate and keeps it if it is the best so far. Returns why it has no plan, if it has none.
  std::optional<error> consider(const candidate& c) {
    ++candidates_;
    partition packs;
    const std::vector<sequence>& sequences = arranged(c.sequences);
    for (const pass p : {pass::forward, pass::backward})
      if (result<void> filled = fill_pass(p == pass::forward ? packs.forward : packs.backward, sequences, p, c); !filled)
        return std::move(filled).error();
    const workload work = price(packs, cost_, batch_.shape, rates_, weight_gradients_of<Schedule>);
    result<std::vector<program>> programs = schedule_.programs(work);
    if (!programs) return std::move(programs).error();
    if (result<void> built = graph_.assign(work, programs.value()); !built) return std::move(built).error();
    nodes_ += graph_.size();
    const seconds makespan = graph_.sweep(start_);
    if (!best_ || makespan < makespan_) {
      best_ = c;
      makespan_ = makespan;
      answer_.partition = std::move(packs);
      answer_.programs = std::move(programs).value();
    }
    return std::nullopt;
  }

  result<void> fill_pass(micropacks& packs, std::span<const sequence> sequences, pass p, const candidate& c) const {
    const sizes& all = c.sizes;
    const bool backward = p == pass::backward;
    const solvers::pack_sizes& size = backward ? all.backward : all.forward;
    const double total = work_[backward];
    const double depth = std::max(1.0, batch_.shape.parts() - 1.0);
    const auto turning = std::max_element(sequences.begin(), sequences.end(),
                                          [](const sequence& a, const sequence& b) { return a.length < b.length; });
    double turn = 0;  // work before the longest sequence's turn
    for (auto s = sequences.begin(); s != turning; ++s) turn += time_of(*s, p);
    if (!backward) turn += time_of(*turning, p);
    // More than 1000 packs a stage cost planning time and gain less than they take.
    const double steady = size.steady > 0 ? std::max(size.steady * steady_ * grain_, total / (1000.0 * batch_.shape.stages)) : 0;
    const double least = size.ramp_least * grain_;
    const double turn_least = size.turn_least * beside_ * grain_;
    // Packs of less than what each costs besides lose more than smaller ones can gain.
    const double floor = fixed_[backward];
    const auto budget = [&](seconds done) {
      const double to_end = backward ? total - done.value : done.value;
      return seconds{std::max(floor, std::min({steady, least + size.ramp * to_end / depth,
                                               turn_least + size.turn * std::abs(done.value - turn) / depth}))};
    };
    const double crowded = room_ / 2;
    // Without a size, because the least memory is wanted or because nothing takes time, no two share a pack.
    const auto apart = [&](const sequence& s) { return steady <= 0 || static_cast<double>(s.length.value) > crowded; };
    const tokens cap{room_ < 9e15 ? static_cast<std::int64_t>(room_) : std::numeric_limits<std::int64_t>::max()};
    if (c.whole)
      return fill(packs, sequences, p, slicers::whole{}, cost_, {{}, cap, batch_.shape.quantum, part_, true}, budget,
                  apart);
    return fill(packs, sequences, p, slicer_, cost_, {{}, cap, batch_.shape.quantum, part_, true}, budget, apart);
  }

  /// Coordinate descent: each size up or down by a factor that shrinks towards 1, while the budget lasts.
  void descend() {
    for (double factor = 1.6; factor > 1.02 && !spent(); factor = std::sqrt(factor)) {
      for (double solvers::pack_sizes::*member : solvers::pack_sizes::all()) {
        for (solvers::pack_sizes sizes::*side : {&sizes::forward, &sizes::backward}) {
          for (const double step : {factor, 1 / factor}) {
            bool better = false;
            for (bool go = true; go && !spent();) {
              candidate next = *best_;
              next.sizes.*side.*member *= step;
              const seconds before = makespan_;
              consider(next);
              go = makespan_ < before;
              better |= go;
            }
            if (better) break;  // the other direction led here
          }
        }
      }
    }
  }

  /// The answer in the batch's sequence ids.
  replica_solution translated() {
    for (const sequence& s : group_) answer_.sequences.push_back(s.id);
    for (micropacks* packs : {&answer_.partition.forward, &answer_.partition.backward}) {
      micropacks renamed;
      for (std::size_t i = 0; i < packs->size(); ++i) {
        for (slice s : (*packs)[i]) {
          s.sequence = group_[s.sequence.value].id;
          renamed.push(s);
        }
        renamed.close();
      }
      *packs = std::move(renamed);
    }
    return std::move(answer_);
  }

  std::span<const sequence> group_;
  const problem& batch_;
  const Slicer& slicer_;
  const Cost& cost_;
  const Schedule& schedule_;
  std::vector<memory_rates> rates_;
  std::vector<sequence> local_;
  std::vector<sequence> arranged_[2];  // by order

  int part_{};          // the busiest
  double work_[2]{};    // seconds on it, by pass
  double fixed_[2]{};   // seconds of a pack of a quantum on it beside the slice's own, by pass: launches, reading weights
  double grain_{};      // forward seconds of a sequence's first quantum: both passes are sized in it
  double room_{};       // tokens
  double steady_{};     // quanta in a steady pack of size 1
  double beside_{};     // quanta beside the longest sequence, over p

  solvers::search_budget budget_{};
  std::uint64_t nodes_{};
  std::uint64_t candidates_{};
  simulator::task_graph graph_;
  std::vector<seconds> start_;
  std::optional<candidate> best_;
  seconds makespan_{};
  replica_solution answer_;
};

}  // namespace slimpack::detail

#endif
