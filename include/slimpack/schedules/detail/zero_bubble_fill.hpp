#ifndef SLIMPACK_SCHEDULES_DETAIL_ZERO_BUBBLE_FILL_HPP
#define SLIMPACK_SCHEDULES_DETAIL_ZERO_BUBBLE_FILL_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/first_least.hpp>
#include <slimpack/simulators/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// Where the weight gradients (W) of an order of forwards and backwards run: behind schedules::zero_bubble.
namespace slimpack::detail::zero_bubble {

/// Programs with their weight gradients in place.
struct filled {
  std::vector<program> programs;
  double makespan{};  ///< seconds
  double span{};      ///< seconds from the first to the last instruction of the stage where they lie furthest apart
};

/// When a W may overrun: run although the instruction that is next is ready before the W ends, and has to wait.
enum class overrun : unsigned char {
  alike,     ///< if the stage, should it wait, would have waited longest of all: that stage decides the step
  draining,  ///< once the stage has no forward left: its W must run before the step ends, and few stages are to come
};

/// Runs an order of forwards and backwards in simulated time, and fills it with the W. Where a stage would wait, it
/// runs the W of the earliest backward that still lacks one, if that W ends before the wait does, or may overrun it.
/// Where it would not wait, it runs a W only if the budget has no room for the instruction that is next. All W that are
/// left then run at the end.
///
/// If `order` fits the budget with each W right after its backward, what W needs from there on (weight_token) counted,
/// the programs fit it, too. For a stage that has run
/// all its W so far holds what it would hold in that order, and a W holds no more than the instruction before it.
/// Source    Qi et al. (arXiv:2401.10241), section 3.1, of whose rules these are the ones about W
/// Requires  order: one program per stage without W, free of deadlock
/// Complexity O(instructions * stages), the second factor a scan for the earliest stage
class fill {
 public:
  fill(const workload& work, std::span<const program> order, double budget, overrun rule)
      : work_(work), order_(order), budget_(budget), rule_(rule), stages_(order.size()) {}

  [[nodiscard]] filled programs() && {
    const auto parts = static_cast<std::size_t>(work_.shape.parts());
    for (const pass p : both_passes) arrival_[p].assign(work_.times.packs(p) * parts, never);
    for (std::size_t i = 0; i < work_.times.packs(pass::forward); ++i) arrival_.forward[i * parts] = 0;
    std::size_t left = 0;
    for (std::size_t r = 0; r < stages_; ++r) {
      states_.emplace_back(work_, r);
      states_.back().code.reserve(order_[r].size() +
                                  work_.times.apart.count() * static_cast<std::size_t>(work_.shape.chunks));
      states_.back().forwards = work_.times.packs(pass::forward) * static_cast<std::size_t>(work_.shape.chunks);
      left += order_[r].size();
    }
    rule_ == overrun::alike ? run_in_time(left) : run_in_turn(left);
    filled out;
    for (std::size_t r = 0; r < stages_; ++r) {
      stage_state& l = states_[r];
      while (l.owes()) run_weights(r);
      out.makespan = std::max(out.makespan, l.free);
      out.span = std::max(out.span, l.free - l.begin);
      out.programs.push_back(std::move(l.code));
    }
    return out;
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// One stage as far as it has run.
  struct stage_state {
    stage_state(const workload& work, std::size_t stage) : memory(work, static_cast<int>(stage)) {}
    [[nodiscard]] bool owes() const { return paid < owed.size(); }

    program code{};
    std::size_t at{};                 // in the order
    std::size_t forwards{};           // that it still has to run
    std::vector<instruction> owed{};  // weight gradients, of backwards that have run
    std::size_t paid{};               // those of them that have run
    double begin{};
    double free{};
    double waited{};  // since begin
    simulators::stage_memory memory;
  };

  /// One instruction after the other, in order of their starts: who has waited longest changes with time.
  void run_in_time(std::size_t left) {
    start_.resize(stages_);
    for (std::size_t r = 0; r < stages_; ++r) start_[r] = ready(r);
    for (; left > 0; --left) {
      const std::size_t first = first_least(start_);
      SLIMPACK_ASSERT(start_[first] < never, "the order is free of deadlock, so some stage can go on");
      advance(first);
      // Only this stage went on, and only those beside it may have got what they wait for.
      for (const std::size_t r : {first, (first + 1) % stages_, (first + stages_ - 1) % stages_})
        start_[r] = std::max(states_[r].free, ready(r));
    }
  }

  /// Each stage as far as its inputs are there, in turn.
  void run_in_turn(std::size_t left) {
    while (left > 0) {
      [[maybe_unused]] const std::size_t before = left;
      for (std::size_t r = 0; r < stages_; ++r)
        for (; ready(r) < never; --left) advance(r);
      SLIMPACK_ASSERT(left < before, "the order is free of deadlock, so some stage can go on");
    }
  }

  [[nodiscard]] std::size_t part_of(const instruction& i, std::size_t stage) const { return i.chunk * stages_ + stage; }
  [[nodiscard]] std::size_t cell_of(const instruction& i, std::size_t stage) const {
    return i.pack.value * static_cast<std::size_t>(work_.shape.parts()) + part_of(i, stage);
  }

  /// When the input of a stage's next instruction is there, as far as is known.
  [[nodiscard]] double ready(std::size_t stage) {
    const stage_state& l = states_[stage];
    if (l.at == order_[stage].size()) return never;
    const instruction& i = order_[stage][l.at];
    return arrival_[i.pass()][cell_of(i, stage)];
  }

  void run_weights(std::size_t stage) {
    stage_state& l = states_[stage];
    const instruction& i = l.owed[l.paid++];
    l.free += work_.times.calls[instruction_kind::weights][cell_of(i, stage)].value;
    l.memory.run(i);
    l.code.push_back(i);
  }

  void advance(std::size_t stage) {
    stage_state& l = states_[stage];
    const instruction& next = order_[stage][l.at];
    const double at = ready(stage);
    while (l.owes() && l.memory.during(next) > budget_) run_weights(stage);
    while (l.owes() &&
           l.free + work_.times.calls[instruction_kind::weights][cell_of(l.owed[l.paid], stage)].value <= at)
      run_weights(stage);
    if (rule_ == overrun::alike) {
      if (l.owes() && l.free < at && l.waited + (at - l.free) > longest_wait_) run_weights(stage);
    } else if (l.forwards == 0) {
      while (l.owes() && l.free < at) run_weights(stage);
    }
    if (l.code.empty())
      l.begin = l.free = at;
    else if (l.free < at)
      l.waited += at - l.free, l.free = at, longest_wait_ = std::max(longest_wait_, l.waited);
    run(stage, next);
    ++l.at;
  }

  void run(std::size_t stage, const instruction& i) {
    stage_state& l = states_[stage];
    const std::size_t cell = cell_of(i, stage);
    const std::size_t part = part_of(i, stage);
    l.free += work_.times.calls[i.kind][cell].value;
    l.memory.run(i);
    l.code.push_back(i);
    const bool forward = i.pass() == pass::forward;
    if (forward) --l.forwards;
    const auto last = static_cast<std::size_t>(work_.shape.parts()) - 1;
    const std::vector<seconds>& messages = work_.times.messages[i.pass()];
    if (forward && part < last) arrival_.forward[cell + 1] = l.free + messages[cell].value;
    if (!forward && part > 0) arrival_.backward[cell - 1] = l.free + messages[cell].value;
    if (forward && part == last) {  // the backward that turns here waits for its forwards only, by the order
      for (; turned_ < work_.times.packs(pass::backward) && work_.turn[turned_] <= i.pack.value; ++turned_)
        arrival_.backward[turned_ * (last + 1) + last] = l.free;
    }
    if (!forward && work_.times.apart.splits(i.pack.value))
      l.owed.push_back({instruction_kind::weights, i.pack, i.chunk});
  }

  const workload& work_;
  std::span<const program> order_;
  double budget_;
  overrun rule_;
  std::size_t stages_;
  std::vector<stage_state> states_;
  std::vector<double> start_;             // per stage, of its next instruction; never: not known yet
  by_pass<std::vector<double>> arrival_;  // [pack * parts + part]: when its input is there
  std::size_t turned_{};                  // backwards whose forwards have run on the last part
  double longest_wait_{};                 // of any stage
};

}  // namespace slimpack::detail::zero_bubble

#endif
