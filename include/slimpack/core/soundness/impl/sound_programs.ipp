#ifndef SLIMPACK_CORE_SOUNDNESS_IMPL_SOUND_PROGRAMS_IPP
#define SLIMPACK_CORE_SOUNDNESS_IMPL_SOUND_PROGRAMS_IPP

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/ensemble/ensembles.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/order/releases.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/soundness/completed_times.hpp>
#include <slimpack/core/soundness/detail/sound_programs.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The programs of replicas that run together, without times: each stage comes as far as it can.
class joint_programs {
 public:
  /// Requires  as sound_programs; all outlive it
  joint_programs(const plan& p, std::span<const std::uint32_t> replicas)
      : plan_(p),
        on_(p.shape),
        stages_(static_cast<std::size_t>(on_.stages)),
        parts_(static_cast<std::size_t>(on_.parts())) {
    for (const std::uint32_t r : replicas) all_.push_back({r, &p.replicas[r]});
  }

  [[nodiscard]] result<void> run() {
    for (of_replica& one : all_) {
      if (result<void> counted = has_programs(one); !counted) return counted;
      begin(one);
    }
    ensembles_.emplace(on_, all_.size(), [&](std::size_t g, pass p) { return packs(all_[g], p); });
    tie_rows();
    for (std::size_t g = 0; g < all_.size(); ++g)
      if (result<void> tied = ensembles_->tie_stages(g, *all_[g].of); !tied) return tied;
    lists_ = ensembles_->lists();
    for (std::size_t g = 0; g < all_.size(); ++g)
      for (std::uint32_t stage = 0; stage < all_[g].at.size(); ++stage) push(g, stage);
    while (!ready_.empty()) {
      const auto [g, stage] = ready_.back();
      ready_.pop_back();
      all_[g].queued[stage] = 0;
      for (bool moved = true; moved;) {
        const result<bool> next = advance(g, stage);
        if (!next) return next.error();
        moved = next.value();
      }
    }
    return ended();
  }

 private:
  struct of_replica {
    std::uint32_t number{};
    const replica_plan* of{};
    std::vector<std::uint32_t> ran{};      // packs, by place
    std::vector<std::uint32_t> weights{};  // by part: the backward pack whose W comes next
    std::vector<std::uint32_t> turn{};     // by backward pack: forward packs that come before it on the last part
    std::vector<std::size_t> at{};         // by stage: the next of its program
    std::vector<std::uint8_t> queued{};
  };
  using member = ensembles::member;

  [[nodiscard]] static std::size_t packs(const of_replica& one, pass p) { return one.of->partition.of(p).size(); }
  [[nodiscard]] static std::string name(const of_replica& one) { return "replica " + std::to_string(one.number); }
  [[nodiscard]] std::string name(const member& m) const {
    return name_of(m.what, on_.chunks) + " of stage " + std::to_string(m.stage);
  }
  [[nodiscard]] const program& code(std::size_t g, std::size_t stage) const { return all_[g].of->programs[stage]; }
  [[nodiscard]] std::uint32_t ran(std::size_t g, pack_place place) const {
    return all_[g].ran[wires_->number_of(place)];
  }
  [[nodiscard]] error wrong(const member& m, const std::string& why) const {
    return {errc::out_of_order, name(all_[m.position]) + ", stage " + std::to_string(m.stage) + ": " +
                                    name_of(m.what, on_.chunks) + ' ' + why};
  }

  /// Whether a replica has a program for each stage, long enough for its packs, and times that fit them: what is kept
  /// of packs is as much as is written of them.
  [[nodiscard]] result<void> has_programs(const of_replica& one) const {
    const std::vector<program>& programs = one.of->programs;
    const std::size_t forward = packs(one, pass::forward), backward = packs(one, pass::backward);
    if (forward + backward == 0 &&
        std::all_of(programs.begin(), programs.end(), [](const program& code) { return code.empty(); }))
      return success();
    if (programs.size() != stages_)
      return error{errc::invalid_input, name(one) + " has " + std::to_string(programs.size()) + " programs for " +
                                            std::to_string(stages_) + " stages"};
    if (result<void> fits = fits_packs(one.of->times, one.of->partition, on_, one.number); !fits) return fits;
    const std::size_t least = (forward + backward) * static_cast<std::size_t>(on_.chunks);
    for (std::size_t stage = 0; stage < stages_; ++stage)
      if (programs[stage].size() < std::max<std::size_t>(least, 1))
        return error{errc::out_of_order, name(one) + ", stage " + std::to_string(stage) + ": the program has " +
                                             std::to_string(programs[stage].size()) +
                                             " instructions, F and B of its packs are " + std::to_string(least)};
    return success();
  }
  /// It keeps nothing about a replica without instructions.
  void begin(of_replica& one) {
    if (one.of->programs.empty() || one.of->programs.front().empty()) return;
    if (!wires_) wires_.emplace(on_);
    one.ran.resize(wires_->size());
    one.weights.assign(parts_, static_cast<std::uint32_t>(one.of->times.apart.next(0)));
    one.at.resize(stages_), one.queued.resize(stages_);
    find_turns(one);
  }

  /// Each backward pack waits for the forward packs up to the last that reads one of its slices.
  void find_turns(of_replica& one) const {
    const forward_readers readers(one.of->partition.forward, plan_.parents);
    const micropacks& backward = one.of->partition.backward;
    one.turn.resize(backward.size());
    for (std::size_t i = 0; i < backward.size(); ++i)
      for (const slice& s : backward[i]) one.turn[i] = std::max(one.turn[i], readers.last(s) + 1);
  }

  /// Position of a replica in the group; one past the last where it is not among these.
  [[nodiscard]] std::size_t position(std::uint32_t replica) const {
    const auto found = std::lower_bound(all_.begin(), all_.end(), replica,
                                        [](const of_replica& one, std::uint32_t r) { return one.number < r; });
    return found != all_.end() && found->number == replica ? static_cast<std::size_t>(found - all_.begin())
                                                           : all_.size();
  }

  void tie_rows() {
    for (const merge& m : plan_.merges) {
      std::vector<std::size_t> sharers;
      for (const std::uint32_t r : m.replicas) sharers.push_back(position(r));
      if (std::count(sharers.begin(), sharers.end(), all_.size()) == static_cast<std::ptrdiff_t>(sharers.size()))
        continue;
      for (const pass p : both_passes) {
        std::optional<member> before;  // of the row before
        for (std::size_t row = 0; row < m.of(p).size(); ++row) {
          const std::vector<pack_id>& of_row = m.of(p)[row];
          std::optional<member> first;
          for (std::size_t k = 0; k < sharers.size(); ++k) {
            if (of_row[k] == merge::none) continue;
            const member own{sharers[k], 0, {pass_kind(p), of_row[k]}};
            if (!first) first = own;
            ensembles_->tie(first->position, first->what.pack, own.position, own.what.pack, p);
            if (before) rows_before_.push_back({ensembles_->cell(own.position, p, own.what.pack), *before});
          }
          if (first) before = first;
        }
      }
    }
    std::sort(rows_before_.begin(), rows_before_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  /// This finds the instructions that begin together with one, itself among them.
  void find_together(const member& m) {
    together_.clear();
    const std::optional<std::uint32_t> of =
        m.what.is_pass() ? ensembles_->ensemble_of(ensembles_->cell(m)) : std::nullopt;
    if (!of) return together_.push_back(m);
    for (const std::uint32_t cell : lists_[*of]) together_.push_back(ensembles_->at(cell));
  }

  /// Whether an instruction may be the next of its stage.            Errors    out_of_order
  [[nodiscard]] result<void> may_be_next(const member& m) const {
    const instruction& i = m.what;
    const of_replica& one = all_[m.position];
    if (!has(on_, i.kind)) return wrong(m, is_not_of_shape);
    if (!has(on_, i)) return wrong(m, "is of a chunk that the plan has not");
    const pack_place place = place_of(i, m.stage, on_);
    const std::size_t count = packs(one, i.pass());
    if (i.is_weights()) {
      if (i.pass() == pass::forward || i.pack.value >= count || !one.of->times.apart.splits(i.pack.value))
        return wrong(m, "is of a pack whose weight gradients do not run apart");
      if (ran(m.position, {instruction_kind::backward, place.at}) <= i.pack.value)
        return wrong(m, "would run before its backward");
      if (i.pack.value == one.weights[place.at]) return success();
      return wrong(m, "stands where " +
                          (one.weights[place.at] < count ? 'W' + std::to_string(one.weights[place.at]) : "no W") +
                          " comes next");
    }
    const std::uint32_t next = ran(m.position, place);
    if (i.pack.value == next && next < count) return success();
    return wrong(m, "stands where pack " + std::to_string(next) + " of " + std::to_string(count) + " comes next");
  }

  /// What an instruction still waits for, if anything.
  [[nodiscard]] std::optional<member> lacks(const member& m) const {
    const instruction& i = m.what;
    if (i.is_weights()) return std::nullopt;
    std::optional<member> missing;
    const auto needs = [&](std::size_t g, pack_place from, std::uint32_t packs) {
      if (!missing && ran(g, from) < packs)
        missing = member{g, stage_of(from, on_), instruction_at(from, {packs - 1}, on_)};
    };
    const pack_place place = place_of(i, m.stage, on_);
    for (const wire& w : wires_->before(place)) needs(m.position, w.from, i.pack.value + 1);
    if (const std::optional<pack_place>& own = wires_->awaited_by(place))
      needs(m.position, *own,
            facts_of(own->kind).pass == i.pass() ? i.pack.value + 1 : all_[m.position].turn[i.pack.value]);
    if (!i.is_pass()) return missing;
    const auto before = [](const auto& row, std::uint32_t cell) { return row.first < cell; };
    const std::uint32_t cell = ensembles_->cell(m.position, i.pass(), i.pack);
    for (auto at = std::lower_bound(rows_before_.begin(), rows_before_.end(), cell, before);
         at != rows_before_.end() && at->first == cell; ++at)
      needs(at->second.position, place, at->second.what.pack.value + 1);
    return missing;
  }

  /// Runs the next instruction of a stage, and those that begin together with it; false while these wait, or there is
  /// none.
  [[nodiscard]] result<bool> advance(std::size_t g, std::uint32_t stage) {
    if (all_[g].at[stage] == code(g, stage).size()) return false;
    const member own{g, stage, code(g, stage)[all_[g].at[stage]]};
    if (result<void> fine = may_be_next(own); !fine) return std::move(fine).error();
    find_together(own);
    for (const member& m : together_)
      if (!is_at(m) || lacks(m)) return false;
    const std::vector<member> now = together_;
    for (const member& m : now) {
      if (result<void> fine = may_be_next(m); !fine) return std::move(fine).error();
      take(m);
    }
    for (const member& m : now) wake(m);
    return true;
  }
  [[nodiscard]] bool is_at(const member& m) const {
    const std::size_t at = all_[m.position].at[m.stage];
    return at < code(m.position, m.stage).size() && code(m.position, m.stage)[at] == m.what;
  }
  void take(const member& m) {
    of_replica& one = all_[m.position];
    const pack_place place = place_of(m.what, m.stage, on_);
    m.what.is_weights()
        ? void(one.weights[place.at] = static_cast<std::uint32_t>(one.of->times.apart.next(m.what.pack.value + 1)))
        : void(++one.ran[wires_->number_of(place)]);
    ++one.at[m.stage];
  }
  /// This wakes the stages that may have waited for it.
  void wake(const member& m) {
    push(m.position, m.stage);
    const pack_place place = place_of(m.what, m.stage, on_);
    for (const wire& w : wires_->after(place)) push(m.position, w.receiver);
    if (!rows_before_.empty())
      for (std::size_t g = 0; g < all_.size(); ++g) push(g, m.stage);
  }
  void push(std::size_t g, std::uint32_t stage) {
    if (stage < all_[g].at.size() && std::exchange(all_[g].queued[stage], std::uint8_t{1}) == 0)
      ready_.push_back({g, stage});
  }

  /// Whether all has run.
  [[nodiscard]] result<void> ended() {
    for (std::size_t g = 0; g < all_.size(); ++g)
      for (std::uint32_t stage = 0; stage < all_[g].at.size(); ++stage)
        if (const std::optional<instruction> left = left_on(g, stage))
          return error{errc::out_of_order, name(all_[g]) + ", stage " + std::to_string(stage) +
                                               ": the program ends before " + name_of(*left, on_.chunks)};
    std::optional<member> waiting;
    for (std::size_t g = 0; g < all_.size(); ++g)
      for (std::uint32_t stage = 0; stage < all_[g].at.size(); ++stage) {
        if (all_[g].at[stage] == code(g, stage).size()) continue;
        const member own{g, stage, code(g, stage)[all_[g].at[stage]]};
        if (const std::optional<member> missing = lacks(own);
            missing && missing->position == g && missing->stage == stage)
          return wrong(own, "would run before " + name_of(missing->what, on_.chunks) + ", which it needs");
        if (!waiting) waiting = own;
      }
    if (waiting) return stuck(*waiting);
    return success();
  }
  /// What a program has not run, and does not have either in what is left of it.
  [[nodiscard]] std::optional<instruction> left_on(std::size_t g, std::size_t stage) const {
    const of_replica& one = all_[g];
    const std::span<const instruction> rest = std::span(code(g, stage)).subspan(one.at[stage]);
    const auto is_left = [&](const instruction& i) { return std::find(rest.begin(), rest.end(), i) == rest.end(); };
    for (std::size_t k = 0; k < instruction_kinds.size(); ++k) {
      const auto kind = static_cast<instruction_kind>(k);
      if (kind == instruction_kind::weights) continue;  // not of all packs
      for (auto at = static_cast<std::uint32_t>(stage); at < wires_->places(kind);
           at += static_cast<std::uint32_t>(stages_))
        if (const std::uint32_t next = ran(g, {kind, at}); next < packs(one, facts_of(kind).pass))
          if (const instruction i = instruction_at({kind, at}, {next}, on_); is_left(i)) return i;
    }
    for (std::size_t part = stage; part < parts_; part += stages_)
      if (const std::uint32_t next = one.weights[part]; next < one.of->times.apart.flags.size())
        if (const instruction i{instruction_kind::weights, {next}, static_cast<std::uint32_t>(part / stages_)};
            is_left(i))
          return i;
    return std::nullopt;
  }
  [[nodiscard]] error stuck(const member& m) {
    find_together(m);
    std::string why;
    for (const member& other : together_) {
      const std::optional<member> missing = lacks(other);
      if (!missing && is_at(other)) continue;
      const member& awaited = missing ? *missing : other;
      why = "waits for " + name(awaited) +
            (awaited.position == m.position ? "" : " of " + name(all_[awaited.position])) +
            (missing ? "" : ", which begins together with it") + " and waits itself";
      break;
    }
    error e = wrong(m, why + ": the programs wait for each other for ever; order them as one of the schedules does");
    e.code = errc::cyclic_schedule;
    return e;
  }

  const plan& plan_;
  const shape& on_;
  std::optional<wiring> wires_;  // once a replica is known to have a program for each stage
  std::size_t stages_, parts_;
  std::vector<of_replica> all_;
  std::optional<ensembles> ensembles_;             // once packs are known to be as many as programs are long
  std::vector<std::vector<std::uint32_t>> lists_;  // of ensembles_
  std::vector<std::pair<std::uint32_t, member>>
      rows_before_;  // cell of a pack on part 0, and one that runs in a row before one of its own
  std::vector<member> together_;
  std::vector<std::pair<std::size_t, std::uint32_t>> ready_;  // stages that may come further
};

/// From some backward pack of a sequence on its weight gradients run apart, or nowhere: a compute lets go of its tokens
/// from the last to the first, and has done with it after the first.
[[nodiscard]] inline result<void> ends_with_weights_apart(const plan& p, std::uint32_t replica) {
  const replica_plan& one = p.replicas[replica];
  if (one.times.apart.count() == 0) return success();
  std::vector<std::uint8_t> apart(p.lengths.size());  // whether some of a sequence was
  for (std::uint32_t pack = 0; pack < one.partition.backward.size(); ++pack)
    for (const slice& s : one.partition.backward[pack]) {
      std::uint8_t& before = apart[s.sequence.value];
      if (before != 0 && !one.times.apart.splits(pack))
        return error{errc::invalid_input, "replica " + std::to_string(replica) + ": B" + std::to_string(pack) +
                                              " holds weight gradients of sequence " +
                                              std::to_string(s.sequence.value) +
                                              ", those of a pack before it are in W: they would be done with in the "
                                              "wrong order"};
      before = one.times.apart.splits(pack);
    }
  return success();
}

/// No stage holds more than the limit, where the plan says both.
[[nodiscard]] inline result<void> fits_memory(const plan& p, std::uint32_t replica) {
  const std::vector<double>& peaks = p.replicas[replica].peak_memory;
  if (!p.shape.memory || p.shape.memory->unit != p.memory_unit) return success();
  for (std::size_t stage = 0; stage < peaks.size(); ++stage)
    if (peaks[stage] > p.shape.memory->amount * (1 + 1e-12))
      return error{errc::invalid_input, "replica " + std::to_string(replica) + ", stage " + std::to_string(stage) +
                                            " holds " + amount(peaks[stage], p.memory_unit) + ", the limit is " +
                                            amount(p.shape.memory->amount, p.memory_unit)};
  return success();
}

SLIMPACK_DECL result<void> sound_programs(const plan& p, std::span<const std::uint32_t> replicas) {
  if (result<void> run = joint_programs(p, replicas).run(); !run) return run;
  for (const std::uint32_t r : replicas) {
    if (result<void> apart = ends_with_weights_apart(p, r); !apart) return apart;
    if (result<void> memory = fits_memory(p, r); !memory) return memory;
  }
  return success();
}

}  // namespace slimpack::detail

#endif
