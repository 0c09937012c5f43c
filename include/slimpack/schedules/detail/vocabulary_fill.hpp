#ifndef SLIMPACK_SCHEDULES_DETAIL_VOCABULARY_FILL_HPP
#define SLIMPACK_SCHEDULES_DETAIL_VOCABULARY_FILL_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/detail/flow.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/first_least.hpp>
#include <slimpack/simulators/graph/detail/tied_packs.hpp>
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

/// Puts the calls of a vocabulary that is spread over the stages (E, V, U and G, core/vocabulary.hpp) between the
/// forwards and backwards of programs, whatever schedule these come from.
///
/// The programs run in simulated time, those of all replicas of a group together, with the packs of a row tied. A stage that is
/// free runs the first of these that is ready:
///   V, since the backward of its pack waits for it
///   E, of a pack that stage 0 runs soon
///   the next instruction of its program
///   U and G, where the stage would wait, or where more packs than `late` are owed: nobody waits for them
/// Forwards and backwards keep their order.
/// Law       each call runs once on each stage, packs in order; what the calls are put between keeps its order; programs that
///           run to their end, do so with these calls
/// Source    derived; waits filled by what nobody waits for are those of zero bubble (arXiv:2401.10241, section 3.1)
/// Errors    cyclic_schedule: the programs wait for each other
/// Complexity O(instructions * stages * replicas of the group)
class vocabulary_fill {
 public:
  /// works: one per replica of the group, priced for a shape that spreads the vocabulary; programs: of layers alone
  /// late: packs of which a stage may owe U, and as many of which G
  /// Requires  that all outlive it
  vocabulary_fill(std::span<const std::uint32_t> group, std::span<const workload> works,
                  std::span<const std::vector<program>> programs, std::span<const merge> merges, std::uint32_t late)
      : group_(group), works_(works), programs_(programs), on_(works.front().shape), stages_(static_cast<std::size_t>(on_.stages)),
        late_(late), packs_(group.size(), [&](std::size_t g, pass p) { return works[g].of(p).size(); }) {
    if (group.size() == 1) return;
    tied_ = tie_rows(packs_, group, merges);
    if (tied_) apart_ = rows_apart(packs_, group, merges);
  }

  /// Programs of each replica.
  [[nodiscard]] result<std::vector<std::vector<program>>> programs() {
    if (!tied_) return std::move(tied_).error();
    begin();
    std::size_t left = 0;
    for (std::size_t g = 0; g < works_.size(); ++g)
      for (const program& code : programs_[g]) left += code.size() + 3 * works_[g].forward.size() + works_[g].backward.size();
    for (std::size_t s = 0; s < states_.size(); ++s) look(s);
    for (; left > 0; --left) {
      const std::size_t first = first_least(start_);
      if (start_[first] == never) return stuck();
      left -= run(first) - 1;
    }
    std::vector<std::vector<program>> made(works_.size());
    for (std::size_t s = 0; s < states_.size(); ++s) made[s / stages_].push_back(std::move(states_[s].code));
    return made;
  }

  /// When the last stage ended.            Requires  programs() gave some
  [[nodiscard]] seconds makespan() const noexcept { return {makespan_}; }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr std::array ends{flow::output, flow::embedding, flow::output_weights, flow::embedding_gradients};

  /// One stage of one replica.
  struct state {
    program code{};
    std::size_t at{};                        // in its program of layers
    std::array<std::uint32_t, flows> ran{};  // packs, of the ends
    std::uint32_t forwards{};                // packs, of its last chunk
    double free{};
    instruction next{};  // what it runs next, if start_ is known
  };

  void begin() {
    states_.resize(works_.size() * stages_);
    start_.assign(states_.size(), never);
    for (const workload& work : works_) number_.emplace_back(work), arrival_.emplace_back(number_.back().size(), never);
    if (!apart_.empty()) ended_.assign(packs_.size() * static_cast<std::size_t>(on_.parts()), never);
  }

  /// When an instruction can begin on its stage, as far as is known.
  [[nodiscard]] double ready(std::size_t s, const instruction& i) {
    const std::size_t g = s / stages_;
    const auto stage = static_cast<std::uint32_t>(s % stages_);
    double at = states_[s].free;
    if (i.is_weights()) return at;
    const flow_place place = place_of(i, stage, on_);
    if (const std::optional<flow_place> own = waits_on_stage(place, on_)) {
      const std::uint32_t pack = place.flow == flow::backward ? works_[g].turn[i.pack.value] : i.pack.value;
      const state& now = states_[s];  // of the packs that it has run there
      if ((own->flow == flow::forward ? now.forwards : now.ran[static_cast<std::size_t>(own->flow)]) <= pack) return never;
    }
    each_before(place, on_, [&](flow_place from) { at = std::max(at, arrival_[g][number_[g](from, place, i.pack)]); });
    return at;
  }

  /// The row that a stage has next in its program, by the pack that stands for it.
  [[nodiscard]] std::optional<std::uint32_t> next_row(std::size_t s) {
    const program& code = programs_[s / stages_][s % stages_];
    if (works_.size() == 1 || states_[s].at == code.size() || !code[states_[s].at].is_pass()) return std::nullopt;
    return packs_.stand_in(s / stages_, code[states_[s].at].pass, code[states_[s].at].pack);
  }

  /// When what a stage has next in its program can begin. Sharers that have come to a row ask alike: it is found once for all.
  [[nodiscard]] double next_ready(std::size_t s) {
    const program& code = programs_[s / stages_][s % stages_];
    if (states_[s].at == code.size()) return never;
    const std::optional<std::uint32_t> row = next_row(s);
    if (!row) return ready(s, code[states_[s].at]);
    const std::array<std::size_t, 3> asked{*row, s % stages_, code[states_[s].at].chunk};
    const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const auto& r) { return r.first == asked; });
    return known != rows_.end() ? known->second : rows_.emplace_back(asked, ready_together(s, *row)).second;
  }

  /// The same of a row, whose sharers wait for each other: never, if one of them has not come to it.
  [[nodiscard]] double ready_together(std::size_t s, std::uint32_t row, std::vector<std::size_t>* with = nullptr) {
    const instruction& i = programs_[s / stages_][s % stages_][states_[s].at];
    double at = 0;
    for (std::size_t other = 0; other < works_.size(); ++other) {
      const std::size_t o = other * stages_ + s % stages_;
      if (!sharers(row)[other]) continue;
      if (next_row(o) != row) return never;
      const instruction& its = programs_[other][s % stages_][states_[o].at];
      if (its.pass != i.pass || its.chunk != i.chunk) return never;
      at = std::max({at, ready(o, its), row_before(other, its, s % stages_)});
      if (with) with->push_back(o);
    }
    return at;
  }

  /// When the row before a pack's own has ended on the same part, where no sharer runs both.
  [[nodiscard]] double row_before(std::size_t g, const instruction& i, std::size_t stage) const {
    double at = 0;
    for (const auto& [from, to] : apart_)
      if (to == packs_.number(g, i.pass, i.pack)) at = std::max(at, ended_[ended_at(from, i, stage)]);
    return at;
  }
  /// Of a pack, by its number, and the part that an instruction runs on.
  [[nodiscard]] std::size_t ended_at(std::uint32_t pack, const instruction& i, std::size_t stage) const {
    return pack * static_cast<std::size_t>(on_.parts()) + i.chunk * stages_ + stage;
  }

  /// Which replicas of the group run packs of a row.
  [[nodiscard]] const std::vector<bool>& sharers(std::uint32_t row) {
    if (sharers_.empty()) {
      sharers_.resize(packs_.size());
      for (std::size_t g = 0; g < works_.size(); ++g)
        for (const pass p : both_passes)
          for (std::uint32_t pack = 0; pack < works_[g].of(p).size(); ++pack)
            if (const std::optional<std::uint32_t> of = packs_.stand_in(g, p, {pack})) {
              std::vector<bool>& who = sharers_[*of];
              who.resize(works_.size());
              who[g] = true;
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
    if (next < never) own.next = programs_[g][s % stages_][own.at];
    for (const flow f : ends) {
      const std::uint32_t pack = own.ran[static_cast<std::size_t>(f)];
      if (pack >= works_[g].of(pass_of(f)).size()) continue;
      if (f == flow::embedding && pack >= embedded(g) + stages_ + 2) continue;
      const bool at_once = start == own.free;  // nothing can run before what was found
      if (at_once && !is_first(f, own.next, false)) continue;
      const bool is_urgent = f == flow::output || f == flow::embedding || is_late(s, f);
      if (at_once && !is_urgent) continue;  // it would have to be sooner
      const instruction call = instruction_at({f, static_cast<std::uint32_t>(s % stages_)}, {pack}, on_);
      const double at = ready(s, call);
      if (at == never) continue;
      // What nobody waits for may run on for half its time into what comes next.
      const bool takes = is_urgent ? at <= start : at < start && (next == never || at + time_of(g, call, s % stages_) / 2 <= next);
      if (takes && (at < start || is_first(f, own.next, start == never))) start = at, own.next = call;
    }
    start_[s] = start;
  }

  /// Of two that are ready at the same time.
  [[nodiscard]] static bool is_first(flow f, const instruction& other, bool none) {
    if (none || other.end == model_end::none) return true;
    return f == flow::output && !(other.end == model_end::output && !other.weights_only);
  }

  /// Forward packs that stage 0 has run on part 0.
  [[nodiscard]] std::uint32_t embedded(std::size_t g) const { return forwards_.empty() ? 0 : forwards_[g]; }

  /// Whether the calls of more packs could run than may be late. Packs come in order, so the last of them tells.
  [[nodiscard]] bool is_late(std::size_t s, flow f) {
    const std::uint32_t pack = states_[s].ran[static_cast<std::size_t>(f)] + late_;
    return pack < works_[s / stages_].of(pass_of(f)).size() &&
           ready(s, instruction_at({f, static_cast<std::uint32_t>(s % stages_)}, {pack}, on_)) <= states_[s].free;
  }

  [[nodiscard]] double time_of(std::size_t g, const instruction& i, std::size_t stage) const {
    return slimpack::time_of(works_[g], i, stage, on_).value;
  }

  /// Runs what a stage, or all stages of a row, are about to. Returns how many ran.
  std::size_t run(std::size_t s) {
    std::vector<std::size_t> with;
    const instruction next = states_[s].next;
    const double start = start_[s];
    if (const std::optional<std::uint32_t> row = next.is_pass() ? next_row(s) : std::nullopt) static_cast<void>(ready_together(s, *row, &with));
    if (with.empty()) with.push_back(s);
    const auto its = [&](std::size_t o) { return with.size() == 1 ? next : programs_[o / stages_][o % stages_][states_[o].at]; };
    double longest = 0;
    for (const std::size_t o : with) longest = std::max(longest, time_of(o / stages_, its(o), o % stages_));
    for (const std::size_t o : with) end(o, its(o), start + longest);
    look_again(s, next, with);
    return with.size();
  }

  /// What was waited for may be there now, and the stage is free later. So the stage looks again, and the one that it sends to. After
  /// F on part 0 (more packs may be embedded), F on the last part and V on the last stage (both send to all) every stage of the
  /// replica does. Of other replicas those stages look again that are at a row with one of these replicas.
  void look_again(std::size_t s, const instruction& ran, std::span<const std::size_t> with) {
    const std::size_t stage = s % stages_;
    const flow_place place = place_of(ran, static_cast<std::uint32_t>(stage), on_);
    const bool is_down = place.flow == flow::forward || place.flow == flow::embedding;
    const bool is_up = place.flow == flow::backward || place.flow == flow::embedding_gradients;
    const std::size_t beside = is_down ? (stage + 1) % stages_ : is_up ? (stage + stages_ - 1) % stages_ : stage;
    const std::size_t receiver = place.flow == flow::output ? stages_ - 1 : beside;
    rows_.clear();
    const bool to_all = place == flow_place{flow::forward, 0} || place == flow_place{flow::forward, static_cast<std::uint32_t>(on_.parts()) - 1} ||
                        place == flow_place{flow::output, static_cast<std::uint32_t>(stages_) - 1};
    for (std::size_t g = 0; g < works_.size(); ++g) {
      const std::size_t first = g * stages_;
      const bool ran_there = std::any_of(with.begin(), with.end(), [&](std::size_t one) { return one - first < stages_; });
      if (ran_there && to_all) {
        for (std::size_t o = first; o < first + stages_; ++o) look(o);
        continue;
      }
      if (ran_there || next_row(first + stage)) look(first + stage);
      if (receiver != stage && (ran_there || next_row(first + receiver))) look(first + receiver);
    }
  }

  void end(std::size_t s, const instruction& i, double at) {
    state& own = states_[s];
    const std::size_t g = s / stages_, stage = s % stages_;
    own.code.push_back(i);
    own.free = at;
    makespan_ = std::max(makespan_, at);
    if (i.end == model_end::none)
      ++own.at;
    else
      ++own.ran[static_cast<std::size_t>(flow_of(i))];
    if (i.is_weights()) return;
    if (i.is_pass() && !ended_.empty()) ended_[ended_at(packs_.number(g, i.pass, i.pack), i, stage)] = at;
    const flow_place place = place_of(i, static_cast<std::uint32_t>(stage), on_);
    if (place == flow_place{flow::forward, 0}) {
      forwards_.resize(works_.size());
      forwards_[g] = i.pack.value + 1;
    }
    if (place.flow == flow::forward && i.chunk + 1 == static_cast<std::uint32_t>(on_.chunks)) own.forwards = i.pack.value + 1;
    each_after(place, on_, [&](flow_place to) {
      arrival_[g][number_[g](place, to, i.pack)] = at + message_of(works_[g], place, to, i.pack, on_).value;
    });
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
  std::size_t stages_;
  std::uint32_t late_;
  tied_packs packs_;
  result<void> tied_{success()};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> apart_;  // rows_apart
  std::vector<double> ended_;               // by pack and part, where rows are apart; never: it has not run
  std::vector<std::vector<bool>> sharers_;  // by the pack that stands for a row
  std::vector<std::pair<std::array<std::size_t, 3>, double>> rows_;  // next_ready by row, stage and chunk, as long as nothing runs
  std::vector<state> states_;   // [replica * stages + stage]
  std::vector<double> start_;   // of what it runs next, by state; never: nothing is known that it could
  std::vector<messages_under_way> number_;     // by replica
  std::vector<std::vector<double>> arrival_;   // by replica: of each message
  std::vector<std::uint32_t> forwards_;        // by replica: that part 0 has run
  double makespan_{};
};

}  // namespace slimpack::detail

#endif
