#ifndef SLIMPACK_PRICING_DETAIL_VOCABULARY_TURN_HPP
#define SLIMPACK_PRICING_DETAIL_VOCABULARY_TURN_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/costs/vocabulary_rates.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A spread vocabulary as a search sees it: packs turn on one stage more.
///
/// A search orders forwards and backwards; the calls of the ends of the model are put between them afterwards
/// (schedules/spread_vocabulary.hpp). So that packs come out balanced and stages have time for these calls, each
/// forward of a stage takes its share of E and V longer, each backward its share of U and G, a chunk its part of them.
/// And behind the last stage comes one that takes no time and holds nothing, where packs turn: the message to it takes
/// as long as hidden rows, V and its gathering do. So every schedule, simulator and search knows how long gradients are
/// on their way, without a word about vocabularies.
/// Complexity O(stages) to make, O(1) each
class vocabulary_turn {
 public:
  vocabulary_turn() = default;

  /// None where the shape has its vocabulary in one place.
  template <class Cost>
  vocabulary_turn(const Cost& cost, const shape& on) : stages_(on.stages), chunks_(on.chunks) {
    if (on.vocabulary == vocabulary::last || !spreads_vocabulary<Cost>()) {
      stages_ = 0;
      return;
    }
    const rate last =
        line_of([&](tokens n) { return vocabulary_time(cost, n, instruction_kind::output, on.stages - 1); });
    for (int stage = 0; stage < on.stages; ++stage) {
      const auto call = [&](instruction_kind one) {
        return line_of([&](tokens n) { return vocabulary_time(cost, n, one, stage) * (1.0 / on.chunks); });
      };
      share_.forward.push_back(sum_of(call(instruction_kind::embed), call(instruction_kind::output)));
      share_.backward.push_back(
          sum_of(call(instruction_kind::output_weights), call(instruction_kind::embed_gradients)));
      if (stage + 1 == on.stages) continue;
      const rate way = line_of([&](tokens n) {
        return vocabulary_message(cost, n, message_kind::hidden, stage) +
               vocabulary_time(cost, n, instruction_kind::output, stage) +
               vocabulary_message(cost, n, message_kind::partial, stage);
      });
      way_ = {std::max(way_.call, way.call), std::max(way_.token, way.token)};
    }
    way_ = sum_of(way_, last);
  }

  [[nodiscard]] bool empty() const noexcept { return stages_ == 0; }

  /// What a solver is asked for instead of a shape.
  [[nodiscard]] static shape searched(shape on) {
    if (on.vocabulary == vocabulary::last) return on;
    on = with_whole_vocabulary(std::move(on));
    ++on.stages;
    return on;
  }

  /// Parts of the search, of which each chunk has one where packs turn.
  [[nodiscard]] int parts() const noexcept { return (stages_ + 1) * chunks_; }
  [[nodiscard]] bool turns(int part) const noexcept {
    return chunks_ == 1 ? part == stages_ : part % (stages_ + 1) == stages_;
  }
  [[nodiscard]] bool turns_on(int stage) const noexcept { return stage == stages_; }
  /// The model's part.            Requires  !turns(part)
  [[nodiscard]] int part_of(int part) const noexcept {
    return chunks_ == 1 ? part : part / (stages_ + 1) * stages_ + part % (stages_ + 1);
  }

  /// The part of the search that is asked instead of one (like_of).
  /// Shapes    like_of_model(int own): the same of the model's parts, from 0 to own
  template <class Like>
  [[nodiscard]] int like(int part, const Like& like_of_model) const {
    if (turns(part)) return stages_;
    const int own = part_of(part), other = like_of_model(own);
    for (const auto* const share : {&share_.forward, &share_.backward})
      if ((*share)[stage(own)] != (*share)[stage(other)]) return part;
    return chunks_ == 1 ? other : other / stages_ * (stages_ + 1) + other % stages_;
  }

  /// What a call's overhead, and its tokens, add to a pack of layers.            Requires  the model's part
  [[nodiscard]] seconds of_pack(pass p, int part) const noexcept { return {share_[p][stage(part)].call}; }
  [[nodiscard]] seconds of_tokens(tokens n, pass p, int part) const noexcept {
    return {share_[p][stage(part)].token * static_cast<double>(n.value)};
  }

  /// From a part of the search to the next of its pass. On its way between two chunks a message passes the stage where
  /// packs turn: it takes its time before that stage, and none behind it.
  template <class Cost>
  [[nodiscard]] seconds message(const Cost& cost, tokens n, pass p, int part) const {
    if (turns(part)) return {};
    const int own = part_of(part);
    if (p == pass::forward && own == stages_ * chunks_ - 1) return way_(n);
    return message_time(cost, n, p, own);
  }

  /// What V waits for until the stages have ended what they run when hidden rows come: `waits` times what forward and
  /// backward of a mean pack take on the last stage.
  [[nodiscard]] seconds wait(const workload& w) const {
    if (empty() || w.times.packs(pass::forward) == 0) return {};
    const auto stages = static_cast<std::size_t>(w.shape.stages);
    seconds busy{};
    for (const pass p : both_passes)
      for (std::size_t cell = stages - 2; cell < w.times.calls[p].size(); cell += stages)
        busy += w.times.calls[p][cell];
    return busy * (waits / static_cast<double>(w.times.packs(pass::forward)));
  }

  /// With room for what packs of a spread vocabulary hold while others run.
  [[nodiscard]] static memory_rates roomy(memory_rates r) noexcept {
    r.forward_token += packs_held * r.logit_token;
    r.backward_token += packs_held * r.logit_token;
    r.live_token += r.turned_token;
    return r;
  }

 private:
  using rate = costs::vocabulary_rate;

  /// The straight line through packs of no tokens and of many; level where more tokens take less.
  template <class Time>
  static rate line_of(const Time& time) {
    constexpr std::int64_t many = 16384;
    const double none = time(tokens{0}).value;
    return {none, std::max(0.0, time(tokens{many}).value - none) / many};
  }
  static rate sum_of(const rate& a, const rate& b) noexcept { return {a.call + b.call, a.token + b.token}; }

  /// About a backward, two thirds of both: of several stages, the slowest has just begun one. Measured on five lists of
  /// lengths, 4 and 8 stages: of 0.3, 0.5, 0.7, 0.94, 1.2 and 1.5 the steps are shortest at 0.7.
  static constexpr double waits = 0.7;
  /// Packs whose logits a stage holds: one between its V and its U.
  static constexpr double packs_held = 1;

  [[nodiscard]] std::size_t stage(int part) const noexcept { return static_cast<std::size_t>(part % stages_); }

  int stages_{};
  int chunks_{1};
  by_pass<std::vector<rate>> share_{};  // by stage
  rate way_{};                          // of hidden rows, V, its part and V on the last stage, without waiting
};

}  // namespace slimpack::detail

#endif
