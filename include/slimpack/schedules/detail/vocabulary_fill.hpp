#ifndef SLIMPACK_SCHEDULES_DETAIL_VOCABULARY_FILL_HPP
#define SLIMPACK_SCHEDULES_DETAIL_VOCABULARY_FILL_HPP

#include <slimpack/core/ensemble/ensembles.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/first_least.hpp>
#include <slimpack/simulators/graph/detail/walk.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Puts the calls of a vocabulary that is spread over the stages (E, V, U and G, core/wiring/step_kinds.hpp) between
/// the forwards and backwards of programs, whatever schedule these come from.
///
/// The programs run in simulated time, those of all replicas of a group together, with the packs of a row tied. A stage
/// that is free runs the first of these that is ready:
///   V, since the backward of its pack waits for it
///   E, of a pack that stage 0 runs soon
///   the next instruction of its program
///   U and G, where the stage would wait, or where more packs than `late` are owed: nobody waits for them
/// Forwards and backwards keep their order.
/// Law       each call runs once on each stage, packs in order; what the calls are put between keeps its order;
///           programs that run to their end, do so with these calls
/// Source    derived; waits filled by what nobody waits for are those of zero bubble (arXiv:2401.10241, section 3.1)
/// Errors    cyclic_schedule: the programs wait for each other; not_faster: they take no less than `to_beat`, which a
///           stage tells as soon as what it has left does not end before
/// Complexity O(instructions * stages + rows * sharers)
class vocabulary_fill {
 public:
  /// works: one per replica of the group, priced for a shape that spreads the vocabulary; programs: of layers alone
  /// late: packs of which a stage may owe U, and as many of which G; to_beat: what takes no less is left
  /// Requires  that all outlive it
  vocabulary_fill(std::span<const std::uint32_t> group, std::span<const workload> works,
                  std::span<const std::vector<program>> programs, std::span<const merge> merges, std::uint32_t late,
                  seconds to_beat = {never})
      : group_(group),
        works_(works),
        programs_(programs),
        on_(works.front().shape),
        wires_(on_),
        stages_(static_cast<std::size_t>(on_.stages)),
        late_(late),
        to_beat_(to_beat.value),
        ensembles_(on_, group.size(), [&](std::size_t g, pass p) { return works[g].times.packs(p); }) {
    if (group.size() == 1) return;
    tied_ = ensembles_.tie_rows(group, merges);
    if (tied_) apart_ = rows_apart(ensembles_, group, merges);
  }

  /// Programs of each replica.
  [[nodiscard]] result<std::vector<std::vector<program>>> programs() {
    if (!tied_) return std::move(tied_).error();
    begin();
    std::size_t left = 0;
    for (std::size_t g = 0; g < works_.size(); ++g)
      for (const program& code : programs_[g])
        left += code.size() + 3 * works_[g].times.packs(pass::forward) + works_[g].times.packs(pass::backward);
    for (; left > 0; --left) {
      const std::size_t first = first_least(start_);
      if (start_[first] == never) return stuck();
      left -= run(first) - 1;
      if (least_ >= to_beat_) break;
    }
    if (least_ >= to_beat_) return error{errc::not_faster, "a stage takes no less than what the step has to beat"};
    std::vector<std::vector<program>> made(works_.size());
    for (std::size_t s = 0; s < states_.size(); ++s) made[s / stages_].push_back(std::move(states_[s].code));
    return made;
  }

  /// When the last stage ended.            Requires  programs() gave some
  [[nodiscard]] seconds makespan() const noexcept { return {makespan_}; }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr std::array ends{instruction_kind::output, instruction_kind::embed, instruction_kind::output_weights,
                                   instruction_kind::embed_gradients};
  template <class T>
  using by_kind = std::array<T, instruction_kinds.size()>;

  /// One stage of one replica.
  struct state {
    program code{};
    std::size_t at{};              // in its program of layers
    by_kind<std::uint32_t> ran{};  // packs, of the ends
    std::uint32_t forwards{};      // packs, of its last chunk
    double free{};
    double left{};       // time of all that it has not run, where there is something to beat
    instruction next{};  // what it runs next, if start_ is known
    // When what it needs is there, as far as is known:
    double layers{never};                // of what comes next in its program of layers
    by_kind<double> call{};              // of the next call of each end
    by_kind<double> late{};              // of U and G, of the call `late` packs on: once that could run, the next is
                                         // urgent
    std::optional<std::uint32_t> row{};  // that comes next in its program, by the cell of a pack that stands for it
  };

  void begin() {
    states_.resize(works_.size() * stages_);
    start_.assign(states_.size(), never);
    looked_.assign(states_.size(), 0), embedded_.assign(works_.size(), 0);
    for (const workload& work : works_)
      number_.emplace_back(wires_, work), arrival_.emplace_back(number_.back().size(), never);
    if (to_beat_ < never)
      for (std::size_t s = 0; s < states_.size(); ++s) states_[s].left = work_of(s), may_end(states_[s]);
    if (!apart_.empty()) ended_.assign(ensembles_.size(), never);
    for (std::size_t s = 0; s < states_.size(); ++s) {
      renew_next(s);
      for (const instruction_kind f : ends) renew(s, f);
    }
    for (std::size_t s = 0; s < states_.size(); ++s) look(s);
  }

  /// Time of all that a stage runs.
  [[nodiscard]] double work_of(std::size_t s) const {
    double sum = 0;
    for (const instruction& i : layers_of(s)) sum += time_of(s / stages_, i, s % stages_);
    for (const instruction_kind f : ends) {
      const std::vector<seconds>& calls = works_[s / stages_].times.calls[f];
      for (std::size_t i = s % stages_; i < calls.size(); i += stages_) sum += calls[i].value;
    }
    return sum;
  }

  /// What the step takes at least, now that a stage is known to be free at a time. Sums of the same times in another
  /// order may differ a little.
  void may_end(const state& one) { least_ = std::max(least_, (one.free + one.left) * (1 - 1e-12)); }

  /// When all that an instruction needs is there, as far as is known.
  [[nodiscard]] double inputs_of(std::size_t s, const instruction& i) const {
    if (i.is_weights()) return 0;
    const std::size_t g = s / stages_;
    const pack_place place = place_of(i, static_cast<std::uint32_t>(s % stages_), on_);
    if (const std::optional<pack_place>& own = wires_.awaited_by(place)) {
      const std::uint32_t pack = facts_of(own->kind).pass == i.pass() ? i.pack.value : works_[g].turn[i.pack.value];
      const state& now = states_[s];  // of the packs that it has run there
      if ((own->kind == instruction_kind::forward ? now.forwards : now.ran[static_cast<std::size_t>(own->kind)]) <=
          pack)
        return never;
    }
    double at = 0;
    for (const wire& w : wires_.before(place)) at = std::max(at, arrival_[g][number_[g](w, i.pack)]);
    return at;
  }

  /// What comes next in a stage's program is another, or its inputs may be there now.
  void renew_next(std::size_t s) {
    state& own = states_[s];
    const program& code = layers_of(s);
    const bool is_over = own.at == code.size();
    own.layers = is_over ? never : inputs_of(s, code[own.at]);
    own.row = is_over || works_.size() == 1 || !code[own.at].is_pass()
                  ? std::nullopt
                  : ensembles_.ensemble_of(ensembles_.cell(s / stages_, code[own.at].pass(), code[own.at].pack));
  }

  /// The same of an end's next call.
  void renew(std::size_t s, instruction_kind f) {
    state& own = states_[s];
    const std::size_t end = static_cast<std::size_t>(f);
    const auto inputs = [&](std::uint32_t pack) {
      return pack < works_[s / stages_].times.packs(facts_of(f).pass) ? inputs_of(s, call_of(s, f, pack)) : never;
    };
    own.call[end] = inputs(own.ran[end]);
    if (!is_awaited(f)) own.late[end] = inputs(own.ran[end] + late_);
  }

  [[nodiscard]] const program& layers_of(std::size_t s) const { return programs_[s / stages_][s % stages_]; }
  [[nodiscard]] instruction call_of(std::size_t s, instruction_kind f, std::uint32_t pack) const {
    return instruction_at({f, static_cast<std::uint32_t>(s % stages_)}, {pack}, on_);
  }
  /// Whether passes wait for it: for V and E.
  [[nodiscard]] static constexpr bool is_awaited(instruction_kind f) {
    return f == instruction_kind::output || f == instruction_kind::embed;
  }

  /// When what a stage has next in its program can begin. Sharers that have come to a row ask alike: it is found once
  /// for all.
  [[nodiscard]] double next_ready(std::size_t s) {
    const state& own = states_[s];
    if (own.layers == never) return never;
    if (!own.row) return std::max(own.free, own.layers);
    const std::array<std::size_t, 3> asked{*own.row, s % stages_, layers_of(s)[own.at].chunk};
    const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const auto& r) { return r.first == asked; });
    return known != rows_.end() ? known->second : rows_.emplace_back(asked, ready_together(s, *own.row)).second;
  }

  /// The same of a row, whose sharers wait for each other: never, if one of them has not come to it.
  [[nodiscard]] double ready_together(std::size_t s, std::uint32_t row) {
    const instruction& i = layers_of(s)[states_[s].at];
    double at = 0;
    for (const std::uint32_t other : sharers(row)) {
      const std::size_t o = other * stages_ + s % stages_;
      const state& its = states_[o];
      if (its.row != row) return never;
      const instruction& next = layers_of(o)[its.at];
      if (next.kind != i.kind || next.chunk != i.chunk) return never;
      at = std::max({at, its.free, its.layers, row_before(other, next, s % stages_)});
    }
    return at;
  }

  /// When the row before a pack's own has ended on the same part, where no sharer runs both.
  [[nodiscard]] double row_before(std::size_t g, const instruction& i, std::size_t stage) const {
    double at = 0;
    for (const auto& [from, to] : apart_)
      if (to == ensembles_.cell(g, i.pass(), i.pack)) at = std::max(at, ended_[from + i.chunk * stages_ + stage]);
    return at;
  }

  /// The replicas of the group that run packs of a row.
  [[nodiscard]] std::span<const std::uint32_t> sharers(std::uint32_t row) {
    if (sharers_.empty()) {
      sharers_.resize(ensembles_.size());
      for (std::size_t g = 0; g < works_.size(); ++g)
        for (const pass p : both_passes)
          for (std::uint32_t pack = 0; pack < works_[g].times.packs(p); ++pack)
            if (const std::optional<std::uint32_t> of = ensembles_.ensemble_of(ensembles_.cell(g, p, {pack}))) {
              std::vector<std::uint32_t>& who = sharers_[*of];
              if (who.empty() || who.back() != g) who.push_back(static_cast<std::uint32_t>(g));
            }
    }
    return sharers_[row];
  }

  /// Decides what a stage runs next, as far as its inputs are known.
  void look(std::size_t s) {
    state& own = states_[s];
    const std::size_t g = s / stages_;
    const double next = next_ready(s);
    double start = next;
    if (next < never) own.next = layers_of(s)[own.at];
    for (const instruction_kind f : ends) {
      const std::size_t end = static_cast<std::size_t>(f);
      if (own.call[end] == never) continue;
      if (f == instruction_kind::embed && own.ran[end] >= embedded_[g] + stages_ + 2) continue;
      const bool at_once = start == own.free;  // nothing can run before what was found
      if (at_once && !is_first(f, own.next, false)) continue;
      const bool is_urgent = is_awaited(f) || own.late[end] <= own.free;  // packs come in order, so one tells whether
                                                                          // more are owed
      if (at_once && !is_urgent) continue;                                // it would have to be sooner
      const instruction call = call_of(s, f, own.ran[end]);
      const double at = std::max(own.free, own.call[end]);
      // What nobody waits for may run on for half its time into what comes next.
      const bool takes =
          is_urgent ? at <= start : at < start && (next == never || at + time_of(g, call, s % stages_) / 2 <= next);
      if (takes && (at < start || is_first(f, own.next, start == never))) start = at, own.next = call;
    }
    start_[s] = start;
  }

  /// Of two that are ready at the same time.
  [[nodiscard]] static bool is_first(instruction_kind f, const instruction& other, bool none) {
    if (none || other.is_of_part()) return true;
    return f == instruction_kind::output && other.kind != instruction_kind::output;
  }

  [[nodiscard]] double time_of(std::size_t g, const instruction& i, std::size_t stage) const {
    return slimpack::time_of(works_[g].times, i, stage, on_).value;
  }

  /// Runs what a stage, or all stages of a row, are about to. Returns how many ran.
  std::size_t run(std::size_t s) {
    const instruction next = states_[s].next;
    const double start = start_[s];
    const std::size_t stage = s % stages_;
    with_.clear();
    if (next.is_pass() && states_[s].row)
      for (const std::uint32_t g : sharers(*states_[s].row)) with_.push_back(g * stages_ + stage);
    else
      with_.push_back(s);
    const auto its = [&](std::size_t o) { return with_.size() == 1 ? next : layers_of(o)[states_[o].at]; };
    double longest = 0;
    for (const std::size_t o : with_) longest = std::max(longest, time_of(o / stages_, its(o), stage));
    for (const std::size_t o : with_) end(o, its(o), start + longest);
    look_again(stage, next);
    return with_.size();
  }

  /// What was waited for may be there now, and the stage is free later. So the stage looks again, and the one that it
  /// sends to. After F on part 0 (more packs may be embedded), F on the last part and V on the last stage (both send to
  /// all) every stage of the replica does. Of other replicas those stages look again that are at a row with one of
  /// these, or at one that follows apart.
  void look_again(std::size_t stage, const instruction& ran) {
    const pack_place place = place_of(ran, static_cast<std::uint32_t>(stage), on_);
    const bool is_down = place.kind == instruction_kind::forward || place.kind == instruction_kind::embed;
    const bool is_up = place.kind == instruction_kind::backward || place.kind == instruction_kind::embed_gradients;
    const std::size_t beside = is_down ? (stage + 1) % stages_ : is_up ? (stage + stages_ - 1) % stages_ : stage;
    const std::size_t receiver = place.kind == instruction_kind::output ? stages_ - 1 : beside;
    rows_.clear();
    const bool to_all = place == pack_place{instruction_kind::forward, 0} ||
                        place == pack_place{instruction_kind::forward, static_cast<std::uint32_t>(on_.parts()) - 1} ||
                        place == pack_place{instruction_kind::output, static_cast<std::uint32_t>(stages_) - 1};
    ++round_;
    for (const std::size_t s : with_) {
      const std::size_t first = s - stage;
      for (std::size_t o = first; to_all && o < first + stages_; ++o) look_once(o);
      for (const std::size_t o : {s, first + receiver}) {
        look_once(o);
        if (states_[o].row)
          for (const std::uint32_t g : sharers(*states_[o].row)) look_once(g * stages_ + o % stages_);
      }
    }
    for (std::size_t s = stage; !apart_.empty() && s < states_.size(); s += stages_)
      if (states_[s].row) look_once(s);
  }
  void look_once(std::size_t s) {
    if (std::exchange(looked_[s], round_) != round_) look(s);
  }

  void end(std::size_t s, const instruction& i, double at) {
    state& own = states_[s];
    const std::size_t g = s / stages_, stage = s % stages_;
    const pack_place place = place_of(i, static_cast<std::uint32_t>(stage), on_);
    own.code.push_back(i);
    own.free = at;
    if (to_beat_ < never) own.left -= time_of(g, i, stage), may_end(own);
    makespan_ = std::max(makespan_, at);
    if (i.is_of_part())
      ++own.at;
    else
      ++own.ran[static_cast<std::size_t>(place.kind)];
    if (place == pack_place{instruction_kind::forward, 0}) embedded_[g] = i.pack.value + 1;
    if (place.kind == instruction_kind::forward && i.chunk + 1 == static_cast<std::uint32_t>(on_.chunks))
      own.forwards = i.pack.value + 1;
    if (i.is_pass() && !ended_.empty()) ended_[ensembles_.cell({g, static_cast<std::uint32_t>(stage), i})] = at;
    if (i.is_of_part())
      renew_next(s);
    else
      renew(s, place.kind);
    // What waits on its own stage (core/wiring/wiring.hpp): V for F, U and B for V.
    if (place.kind == instruction_kind::forward) renew(s, instruction_kind::output);
    if (place.kind == instruction_kind::output) renew(s, instruction_kind::output_weights), renew_next(s);
    for (const wire& w : wires_.after(place)) {
      arrival_[g][number_[g](w, i.pack)] = at + message_of(works_[g].times, w, i.pack, on_).value;
      const std::size_t receiver = g * stages_ + w.receiver;
      if (facts_of(w.to.kind).each == places::parts)
        renew_next(receiver);
      else
        renew(receiver, w.to.kind);
    }
  }

  [[nodiscard]] error stuck() const {
    std::string detail = "with a spread vocabulary the programs wait for each other; stuck:";
    for (std::size_t s = 0; s < states_.size(); ++s) {
      const program& code = programs_[s / stages_][s % stages_];
      if (states_[s].at < code.size())
        detail += " replica " + std::to_string(group_[s / stages_]) + " stage " + std::to_string(s % stages_) + " at " +
                  name_of(code[states_[s].at], on_.chunks) + ",";
    }
    detail.back() = '.';
    return {errc::cyclic_schedule, detail};
  }

  std::span<const std::uint32_t> group_;
  std::span<const workload> works_;
  std::span<const std::vector<program>> programs_;
  shape on_;
  wiring wires_;
  std::size_t stages_;
  std::uint32_t late_;
  double to_beat_;
  ensembles ensembles_;
  result<void> tied_{success()};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> apart_;  // rows_apart
  std::vector<double> ended_;                                   // by cell, where rows are apart; never: it has not run
  std::vector<std::vector<std::uint32_t>> sharers_;             // by the cell that stands for a row
  std::vector<std::pair<std::array<std::size_t, 3>, double>> rows_;  // next_ready by row, stage and chunk, as long as
                                                                     // nothing runs
  std::vector<state> states_;                                        // [replica * stages + stage]
  std::vector<double> start_;                 // of what it runs next, by state; never: nothing is known that it could
  std::vector<messages_under_way> number_;    // by replica
  std::vector<std::vector<double>> arrival_;  // by replica: of each message
  std::vector<std::uint32_t> embedded_;       // by replica: forward packs that stage 0 has run on part 0
  std::vector<std::size_t> with_;             // stages that run together
  std::vector<std::uint32_t> looked_;         // by state: in which round it looked last
  std::uint32_t round_{};
  double makespan_{};
  double least_{};  // what the step takes, as far as is known
};

}  // namespace slimpack::detail

#endif
