#ifndef SLIMPACK_TESTING_NAIVE_JOINT_RUN_HPP
#define SLIMPACK_TESTING_NAIVE_JOINT_RUN_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/testing/naive/apart_packs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::testing::naive {

/// A kind of instruction (letter_of) at a place: F, B and W on a part of the model, the others on a stage.
struct spot {
  char kind{};
  std::size_t place{};
};

[[nodiscard]] inline std::size_t place_of(const instruction& i, std::size_t stage, const shape& on) {
  return i.chunk * static_cast<std::size_t>(on.stages) + stage;  // an end of the model has chunk 0
}

/// A kind on the stages before the last.
[[nodiscard]] inline std::vector<spot> all_but_last(char kind, const shape& on) {
  std::vector<spot> found;
  for (std::size_t r = 0; r + 1 < static_cast<std::size_t>(on.stages); ++r) found.push_back({kind, r});
  return found;
}

/// What sends a pack here.
[[nodiscard]] inline std::vector<spot> senders_to(spot here, const shape& on) {
  const auto stages = static_cast<std::size_t>(on.stages), parts = static_cast<std::size_t>(on.parts());
  switch (here.kind) {
    case 'E':
      return here.place == 0 ? std::vector<spot>{} : std::vector<spot>{{'E', here.place - 1}};
    case 'F':
      if (here.place > 0) return {{'F', here.place - 1}};
      return on.vocabulary == vocabulary::spread ? std::vector<spot>{{'E', stages - 1}} : std::vector<spot>{};
    case 'V':
      return here.place + 1 == stages ? all_but_last('V', on) : std::vector<spot>{{'F', parts - 1}};
    case 'B':
      return here.place + 1 == parts ? std::vector<spot>{} : std::vector<spot>{{'B', here.place + 1}};
    case 'U':
      return here.place + 1 == stages ? std::vector<spot>{} : std::vector<spot>{{'V', stages - 1}};
    case 'G':
      return {here.place + 1 == stages ? spot{'B', 0} : spot{'G', here.place + 1}};
    default:
      return {};
  }
}

/// Where a pack is sent from here.
[[nodiscard]] inline std::vector<spot> receivers_of(spot here, const shape& on) {
  const auto stages = static_cast<std::size_t>(on.stages), parts = static_cast<std::size_t>(on.parts());
  const bool spread = on.vocabulary == vocabulary::spread;
  switch (here.kind) {
    case 'E':
      return {here.place + 1 == stages ? spot{'F', 0} : spot{'E', here.place + 1}};
    case 'F':
      if (here.place + 1 < parts) return {{'F', here.place + 1}};
      return spread ? all_but_last('V', on) : std::vector<spot>{};
    case 'V':
      return here.place + 1 == stages ? all_but_last('U', on) : std::vector<spot>{{'V', stages - 1}};
    case 'B':
      if (here.place > 0) return {{'B', here.place - 1}};
      return spread ? std::vector<spot>{{'G', stages - 1}} : std::vector<spot>{};
    case 'G':
      return here.place == 0 ? std::vector<spot>{} : std::vector<spot>{{'G', here.place - 1}};
    default:
      return {};
  }
}

/// Why a stage's program does not run each pack once per chunk, in run order; nothing if it does. And each W once per
/// chunk, in run order and after its backward. And each call of a spread vocabulary once, in run order, U after V.
[[nodiscard]] inline std::optional<std::string> miscount(const program& code, const partition& packs, const shape& on,
                                                         apart_packs apart = {}) {
  std::map<std::pair<char, std::uint32_t>, std::size_t> done;  // by kind and chunk
  std::map<std::uint32_t, std::vector<std::size_t>> weights;   // per chunk, packs whose W has run
  for (const instruction& i : code) {
    const bool is_end = !i.is_of_part();
    if (is_end && (on.vocabulary == vocabulary::last || i.chunk != 0))
      return name_of(i, 2) + " of a vocabulary that is not spread";
    if (i.chunk >= static_cast<std::uint32_t>(on.chunks))
      return name_of(i, 2) + " of " + std::to_string(on.chunks) + " chunks";
    if (i.is_weights() && !is_end) {
      if (i.pass() != pass::backward || i.pack.value >= done[{'B', i.chunk}])
        return name_of(i, 2) + " before its backward";
      weights[i.chunk].push_back(i.pack.value);
      continue;
    }
    if (letter_of(i) == 'U' && i.pack.value >= done[{'V', 0}]) return name_of(i, 2) + " before its V";
    std::size_t& next = done[{letter_of(i), i.chunk}];
    if (i.pack.value != next) return name_of(i, 2) + " where pack " + std::to_string(next) + " is next";
    ++next;
  }
  std::vector<std::size_t> wanted;
  for (std::size_t pack = 0; pack < packs.backward.size(); ++pack)
    if (is_apart(apart, pack)) wanted.push_back(pack);
  for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(on.chunks); ++c)
    if (weights[c] != wanted)
      return "W of " + std::to_string(weights[c].size()) + " packs, or in another order, where " +
             std::to_string(wanted.size()) + " packs run theirs apart";
  const auto short_of = [&](char kind, std::uint32_t chunk, pass p) -> std::optional<std::string> {
    const std::size_t ran = done[{kind, chunk}];
    if (ran == packs.of(p).size()) return std::nullopt;
    return kind + (" of " + std::to_string(ran)) + " of " + std::to_string(packs.of(p).size()) + " packs";
  };
  for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(on.chunks); ++c)
    for (const char kind : {'F', 'B'})
      if (const auto missing = short_of(kind, c, kind == 'F' ? pass::forward : pass::backward)) return missing;
  for (const char kind : {'E', 'V', 'U', 'G'})
    if (const auto missing = short_of(kind, 0, kind == 'G' ? pass::backward : pass::forward);
        missing && on.vocabulary == vocabulary::spread)
      return missing;
  return std::nullopt;
}

/// What happened when a replica's programs were run.
struct outcome {
  std::optional<std::string> stuck;  ///< which instruction each stage waits for, if they wait for ever
  seconds makespan;
  std::vector<seconds> busy;             ///< per stage
  std::vector<seconds> first;            ///< per reduced part (shape::reduced_parts), the end of its first instruction
  std::vector<gradient_span> gradients;  ///< per reduced part, its last backward, or weight gradients
};

/// One replica to run.
struct running {
  const partition* packs;
  std::span<const program> programs;
  std::span<const loan> loans{};
  std::span<const sequence_id> parents{};  ///< by sequence, where samples share beginnings; else empty
};

/// Runs replicas slice by slice: an instruction runs when its tokens have arrived from the part before, its sequences'
/// earlier (backward: later) tokens have run on its part, and, on the last part, a backward's sequences have run
/// forward to their ends. A sequence that goes on where another ends waits forward for that end, and the other one
/// backward until all that go on there have run. A W waits for nothing but its stage. Of a sequence that replicas
/// share, rows take the place of slices: the packs of a row start together and end together. So do instructions of
/// stages that lend each other attention. Where the vocabulary is spread, its calls wait for messages alone, but for U,
/// which follows V on its stage, and the last stage's V, which follows the last F there; and a backward on the last
/// part waits until all its sequences have passed V on the last stage. `time` is asked (replica, instruction, place),
/// `message` (replica, from, to, pack).
/// Requires  miscount finds nothing; merges whose rows name each pack of their sequence
/// Complexity O(instructions * stages * slices), with merges times replicas
template <class Time, class Message>
class joint_run {
 public:
  joint_run(std::span<const running> replicas, std::span<const merge> merges, const shape& on, const Time& time,
            const Message& message)
      : replicas_(replicas), on_(on), parts_(static_cast<std::size_t>(on.parts())), time_(time), message_(message) {
    for (std::size_t r = 0; r < replicas.size(); ++r) {
      state& own = states_.emplace_back();
      for (const slice& s : replicas[r].packs->forward.slices())
        own.length[s.sequence] = std::max(own.length[s.sequence], s.end()), own.unturned[s.sequence] += s.length.value;
      for (const merge& m : merges) own.length.erase(m.sequence);
      std::map<sequence_id, tokens> begin;
      for (const slice& s : replicas[r].packs->forward.slices())
        begin[s.sequence] = std::min(begin.try_emplace(s.sequence, s.begin).first->second, s.begin);
      own.begin = begin;
      own.front.assign(parts_, begin);
      own.back.assign(parts_, own.length);
      own.next.assign(replicas[r].programs.size(), 0);
      own.free.resize(replicas[r].programs.size());
      own.found.busy.resize(replicas[r].programs.size());
      own.found.first.resize(static_cast<std::size_t>(on.reduced_parts()));
      own.found.gradients.resize(static_cast<std::size_t>(on.reduced_parts()));
      for (const loan& l : replicas[r].loans)
        partners_[{r, l.lender.stage, name_of(l.lender.what, 2)}].push_back(l.helper),
            partners_[{r, l.helper.stage, name_of(l.helper.what, 2)}].push_back(l.lender);
    }
    for (std::size_t m = 0; m < merges.size(); ++m) {
      rows_run_.push_back({std::vector<std::size_t>(parts_, 0), std::vector<std::size_t>(parts_, 0)});
      rows_end_.push_back({std::vector<seconds>(parts_), std::vector<seconds>(parts_)});
      rows_.push_back({merges[m].forward.size(), merges[m].backward.size()});
      for (const pass p : {pass::forward, pass::backward})
        for (std::size_t k = 0; k < merges[m].of(p).size(); ++k)
          for (std::size_t j = 0; j < merges[m].replicas.size(); ++j) {
            if (merges[m].of(p)[k][j] == merge::none) continue;
            row& one = row_of_[{p, merges[m].replicas[j], merges[m].of(p)[k][j].value}].emplace_back();
            one = {m, k, {}};
            for (std::size_t i = 0; i < merges[m].replicas.size(); ++i)
              if (merges[m].of(p)[k][i] != merge::none)
                one.packs.push_back({merges[m].replicas[i], merges[m].of(p)[k][i].value});
          }
    }
  }

  [[nodiscard]] std::vector<outcome> operator()() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t r = 0; r < replicas_.size(); ++r) progress = run_on(r) || progress;
    }
    std::vector<outcome> found;
    for (std::size_t r = 0; r < replicas_.size(); ++r) {
      outcome& one = states_[r].found;
      for (std::size_t stage = 0; stage < replicas_[r].programs.size(); ++stage)
        if (states_[r].next[stage] < replicas_[r].programs[stage].size())
          one.stuck =
              one.stuck.value_or("") + " stage " + std::to_string(stage) + " at " + name_of(next_of(r, stage), 2);
      found.push_back(std::move(one));
    }
    return found;
  }

 private:
  struct state {
    std::map<sequence_id, tokens> begin;                          // on their paths
    std::map<sequence_id, tokens> length;                         // of their paths
    std::vector<std::map<sequence_id, tokens>> front;             // tokens [0, front) have run forward
    std::vector<std::map<sequence_id, tokens>> back;              // tokens [back, length) have run backward
    std::map<sequence_id, std::int64_t> unturned;                 // tokens whose V has not run on the last
                                                                  // stage
    std::set<std::tuple<char, std::uint32_t, std::size_t>> done;  // (kind, pack, place)
    std::map<std::tuple<char, std::uint32_t, std::size_t>, std::vector<seconds>> arrivals;  // of (kind, pack) at a
                                                                                            // place
    std::vector<std::size_t> next;                                                          // per stage
    std::vector<seconds> free;
    outcome found;
  };
  struct row {
    std::size_t merge;
    std::size_t number;
    std::vector<std::pair<std::size_t, std::uint32_t>> packs;  // replica and pack
  };

  /// Runs a replica until each of its stages waits. Returns whether anything ran.
  bool run_on(std::size_t r) {
    bool ran = false;
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t stage = 0; stage < replicas_[r].programs.size(); ++stage)
        while (states_[r].next[stage] < replicas_[r].programs[stage].size() && try_next(r, stage))
          progress = ran = true;
    }
    return ran;
  }

  [[nodiscard]] const instruction& next_of(std::size_t r, std::size_t stage) const {
    return replicas_[r].programs[stage][states_[r].next[stage]];
  }

  /// When a replica's next instruction on a stage can start, were it alone; nothing if it has to wait.
  [[nodiscard]] std::optional<seconds> ready(std::size_t r, std::size_t stage) {
    const instruction& i = next_of(r, stage);
    state& own = states_[r];
    if (i.is_weights()) return own.free[stage];
    const std::size_t part = place_of(i, stage, on_);
    const bool forward = i.pass() == pass::forward;
    const bool is_last_part = part == parts_ - 1;
    const char kind = letter_of(i);
    const std::vector<seconds>& arrived = own.arrivals[{kind, i.pack.value, part}];
    if (arrived.size() < senders_to({kind, part}, on_).size()) return std::nullopt;
    seconds start = own.free[stage];
    for (const seconds at : arrived) start = std::max(start, at);
    if (kind == 'U' && !own.done.contains({'V', i.pack.value, stage})) return std::nullopt;
    if (kind == 'V' && stage + 1 == own.next.size() && !own.done.contains({'F', i.pack.value, parts_ - 1}))
      return std::nullopt;
    if (!i.is_pass()) return start;
    std::map<sequence_id, tokens> border = forward ? own.front[part] : own.back[part];
    for (const slice& s : replicas_[r].packs->of(i.pass())[i.pack.value]) {
      if (!forward && is_last_part && on_.vocabulary == vocabulary::spread && own.unturned[s.sequence] > 0)
        return std::nullopt;
      if (!own.length.contains(s.sequence)) continue;  // shared
      if (!forward && is_last_part && own.front[part][s.sequence] != own.length[s.sequence]) return std::nullopt;
      if (awaits_others(r, s.sequence, i.pass(), border)) return std::nullopt;
      tokens& at = border[s.sequence];
      if (at != (forward ? s.begin : s.end())) return std::nullopt;
      at = forward ? s.end() : s.begin;
    }
    if (const auto rows = row_of_.find({i.pass(), r, i.pack.value}); rows != row_of_.end())
      for (const row& one : rows->second) {
        if (rows_run_[one.merge][i.pass()][part] != one.number) return std::nullopt;
        if (!forward && is_last_part && rows_run_[one.merge].forward[part] != rows_[one.merge].forward)
          return std::nullopt;
      }
    return start;
  }

  /// Whether a parent has not run forward, or children have not run backward.
  /// border: where the pass has come
  [[nodiscard]] bool awaits_others(std::size_t r, sequence_id s, pass p,
                                   const std::map<sequence_id, tokens>& border) const {
    const std::span<const sequence_id> parents = replicas_[r].parents;
    const state& own = states_[r];
    if (parents.empty()) return false;
    if (const sequence_id parent = parents[s.value]; p == pass::forward)
      return parent != no_parent && own.length.contains(parent) && border.at(parent) != own.length.at(parent);
    return std::any_of(own.begin.begin(), own.begin.end(), [&](const auto& one) {
      return own.length.contains(one.first) && parents[one.first.value] == s && border.at(one.first) != one.second;
    });
  }

  /// An instruction that may run together with others.
  struct member {
    std::size_t replica;
    std::size_t stage;
    instruction what;
    friend bool operator==(const member&, const member&) = default;
  };

  /// Runs a replica's next instruction on a stage, and with it all that run together with it, if all can.
  bool try_next(std::size_t r, std::size_t stage) {
    const instruction i = next_of(r, stage);
    std::vector<member> together{{r, stage, i}};
    const auto join = [&](const member& m) {
      if (std::find(together.begin(), together.end(), m) == together.end()) together.push_back(m);
    };
    std::set<std::tuple<std::size_t, std::size_t, std::size_t>> rows_done;  // merge, row, and part
    for (std::size_t at = 0; at < together.size() && i.is_pass(); ++at) {
      const member one = together[at];
      if (const auto rows = row_of_.find({i.pass(), one.replica, one.what.pack.value}); rows != row_of_.end())
        for (const row& of : rows->second)
          if (rows_done.insert({of.merge, of.number, place_of(one.what, one.stage, on_)}).second)
            for (const auto& [other, pack] : of.packs) join({other, one.stage, {i.kind, {pack}, one.what.chunk}});
      if (const auto lending = partners_.find({one.replica, one.stage, name_of(one.what, 2)});
          lending != partners_.end())
        for (const loan::side& other : lending->second) join({one.replica, other.stage, other.what});
    }
    seconds start{};
    seconds duration{};
    for (const member& m : together) {
      if (states_[m.replica].next[m.stage] == replicas_[m.replica].programs[m.stage].size() ||
          next_of(m.replica, m.stage) != m.what)
        return false;
      const std::optional<seconds> when = ready(m.replica, m.stage);
      if (!when) return false;
      start = std::max(start, *when);
      duration = std::max(duration, time_(m.replica, m.what, place_of(m.what, m.stage, on_)));
    }
    for (const auto& [merge, number, part] : rows_done) start = std::max(start, rows_end_[merge][i.pass()][part]);
    for (const auto& [merge, number, part] : rows_done) {
      rows_run_[merge][i.pass()][part] = number + 1;
      rows_end_[merge][i.pass()][part] = start + duration;
    }
    for (const member& m : together) finish(m.replica, m.stage, place_of(m.what, m.stage, on_), start, duration);
    return true;
  }

  void finish(std::size_t r, std::size_t stage, std::size_t part, seconds start, seconds duration) {
    const instruction i = next_of(r, stage);
    state& own = states_[r];
    own.free[stage] = start + duration;
    own.found.busy[stage] += duration;
    own.found.makespan = std::max(own.found.makespan, own.free[stage]);
    ++own.next[stage];
    const char kind = letter_of(i);
    const std::size_t reduced = i.is_of_part() ? part : parts_ + stage;
    if ((kind == 'F' || kind == 'E') && i.pack.value == 0) own.found.first[reduced] = own.free[stage];
    if (kind != 'F' && kind != 'E' && kind != 'V') own.found.gradients[reduced] = {start, own.free[stage]};
    const bool forward = i.pass() == pass::forward;
    for (const slice& s : replicas_[r].packs->of(i.pass())[i.pack.value]) {
      if (i.is_pass() && own.length.contains(s.sequence))
        (forward ? own.front[part] : own.back[part])[s.sequence] = forward ? s.end() : s.begin;
      if (kind == 'V' && stage + 1 == own.next.size()) own.unturned[s.sequence] -= s.length.value;
    }
    own.done.insert({kind, i.pack.value, part});
    for (const spot to : receivers_of({kind, part}, on_))
      own.arrivals[{to.kind, i.pack.value, to.place}].push_back(own.free[stage] +
                                                                message_(r, spot{kind, part}, to, i.pack.value));
  }

  std::span<const running> replicas_;
  shape on_;
  std::size_t parts_;
  Time time_;
  Message message_;
  std::vector<state> states_;
  std::map<std::tuple<pass, std::size_t, std::uint32_t>, std::vector<row>> row_of_;  // by pass, replica, pack
  std::map<std::tuple<std::size_t, std::size_t, std::string>, std::vector<loan::side>> partners_;  // by replica, stage,
                                                                                                   // instruction
  std::vector<by_pass<std::size_t>> rows_;                   // per merge, how many
  std::vector<by_pass<std::vector<std::size_t>>> rows_run_;  // per merge and part
  std::vector<by_pass<std::vector<seconds>>> rows_end_;      // when the last of those ended
};

/// Runs the programs of one replica that shares nothing. `time` is asked (instruction, place), `message` (from, to,
/// pack).
template <class Time, class Message>
[[nodiscard]] outcome run(const partition& packs, std::span<const program> programs, const shape& on, const Time& time,
                          const Message& message) {
  const running one{&packs, programs};
  const auto time_of = [&](std::size_t, const instruction& i, std::size_t part) { return time(i, part); };
  const auto message_of = [&](std::size_t, spot from, spot to, std::uint32_t pack) { return message(from, to, pack); };
  return joint_run(std::span(&one, 1), std::span<const merge>{}, on, time_of, message_of)().front();
}

/// Runs the programs with no regard to time: do they end?
[[nodiscard]] inline std::vector<outcome> run(std::span<const running> replicas, std::span<const merge> merges,
                                              const shape& on) {
  const auto time = [](std::size_t, const instruction&, std::size_t) { return seconds{}; };
  const auto message = [](std::size_t, spot, spot, std::uint32_t) { return seconds{}; };
  return joint_run(replicas, merges, on, time, message)();
}

}  // namespace slimpack::testing::naive

#endif
