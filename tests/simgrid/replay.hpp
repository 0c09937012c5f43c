#ifndef SLIMPACK_TESTS_SIMGRID_REPLAY_HPP
#define SLIMPACK_TESTS_SIMGRID_REPLAY_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>

#include "experiment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// A message of a replica, or an instruction of its program.
struct place {
  std::uint32_t replica{};
  instruction_kind kind{};
  std::size_t pack{};
  std::size_t part{};  ///< of a call of a spread vocabulary: the stage

  friend bool operator<(const place& a, const place& b) {
    const auto all = [](const place& x) { return std::tie(x.replica, x.kind, x.pack, x.part); };
    return all(a) < all(b);
  }
};

/// Instructions and messages that take the time the plan gives them.
class as_planned {
 public:
  explicit as_planned(const plan& p) : plan_(&p) {}

  /// Adds what an instruction does on a host. Returns its first task and its last.
  std::pair<experiment::task, experiment::task> run(experiment& to, std::size_t host, const place& at) const {
    const experiment::task all = to.compute(host, times_of(at)[cell(at)]);
    return {all, all};
  }
  /// Adds the message that a pack's output on a part goes on as.
  experiment::task carry(experiment& to, const place& from) const {
    return to.carry(plan_->replicas[from.replica].times.messages[facts_of(from.kind).pass][cell(from)]);
  }
  /// The same of a spread vocabulary, whose column has the time at a place.
  experiment::task carry_rows(experiment& to, message_kind rows, const place& at) const {
    return to.carry(plan_->replicas[at.replica].times.messages[rows][cell(at)]);
  }

 protected:
  [[nodiscard]] const slimpack::plan& plan() const { return *plan_; }
  [[nodiscard]] std::size_t cell(const place& at) const {
    return at.pack * static_cast<std::size_t>(facts_of(at.kind).each == places::parts ? plan_->shape.parts()
                                                                                      : plan_->shape.stages) +
           at.part;
  }

 private:
  [[nodiscard]] const std::vector<seconds>& times_of(const place& at) const {
    const replica_plan& r = plan_->replicas[at.replica];
    switch (at.kind) {
      case instruction_kind::weights:
        return r.times.calls[instruction_kind::weights];
      case instruction_kind::embed:
        return r.times.calls[instruction_kind::embed];
      case instruction_kind::output:
        return r.times.calls[instruction_kind::output];
      case instruction_kind::output_weights:
        return r.times.calls[instruction_kind::output_weights];
      case instruction_kind::embed_gradients:
        return r.times.calls[instruction_kind::embed_gradients];
      default:
        return r.times.calls[facts_of(at.kind).pass];
    }
  }

  const slimpack::plan* plan_;
};

/// What replicas of a plan that run together do, told by what its plan file has: programs, times, messages, rows, and
/// the slices of packs, from which the rules that plans obey follow anew. Shares nothing with the simulator but the
/// vocabulary of core/.
class replay {
 public:
  /// replicas: all that share sequences with one of them; one alone where it shares none
  /// how: says how instructions run and messages go, as `as_planned` does
  /// Requires  programs that run every pack once on every part (std::out_of_range where one is missing)
  template <class How>
  replay(const plan& p, std::vector<std::uint32_t> replicas, const How& how)
      : replicas_(std::move(replicas)),
        stages_(static_cast<std::size_t>(p.shape.stages)),
        parts_(static_cast<std::size_t>(p.shape.parts())),
        is_spread_(p.shape.vocabulary == vocabulary::spread),
        todo_(p.shape.stages * static_cast<int>(replicas_.size())) {
    for (std::size_t r = 0; r < replicas_.size(); ++r) run_programs(r, p, how);
    join_rows(p.merges);
    for (std::size_t r = 0; r < replicas_.size(); ++r) {
      const replica_plan& of = p.replicas[replicas_[r]];
      carry_messages(replicas_[r], of.partition, how);
      if (is_spread_) call_ends(replicas_[r], of, how);
      keep_sequences_in_order(replicas_[r], of.partition);
      for (std::size_t pack = 0; pack < of.partition.backward.size(); ++pack)
        for (std::size_t part = 0; part < parts_ && of.times.apart.splits(pack); ++part)
          order({replicas_[r], instruction_kind::backward, pack, part},
                {replicas_[r], instruction_kind::weights, pack, part});
    }
    for (const auto& [first, then] : after_) todo_.order(last_of(first), first_of(then));
  }

  [[nodiscard]] std::size_t size() const noexcept { return todo_.size(); }
  /// When each replica has run its programs, in order of `replicas`.
  [[nodiscard]] std::vector<seconds> makespans() const {
    const std::vector<seconds> ends = todo_.ends();
    std::vector<seconds> found(replicas_.size());
    for (const auto& [at, ran] : ran_) {
      const auto r =
          static_cast<std::size_t>(std::find(replicas_.begin(), replicas_.end(), at.replica) - replicas_.begin());
      found[r] = std::max(found[r], ends[last_of(at)]);
    }
    return found;
  }

 private:
  using tasks = std::pair<experiment::task, experiment::task>;  // the first and the last

  void order(const place& first, const place& then) { after_.emplace_back(first, then); }

  /// What a place waits with, and what waits for it: its row, if it has one.
  [[nodiscard]] experiment::task first_of(const place& at) const {
    const auto row = rows_.find(at);
    return row == rows_.end() ? ran_.at(at).first : row->second.first;
  }
  [[nodiscard]] experiment::task last_of(const place& at) const {
    const auto row = rows_.find(at);
    return row == rows_.end() ? ran_.at(at).second : row->second.second;
  }

  /// A stage runs its program one by one.
  template <class How>
  void run_programs(std::size_t r, const plan& p, const How& how) {
    const std::vector<program>& programs = p.replicas[replicas_[r]].programs;
    for (std::size_t stage = 0; stage < programs.size(); ++stage) {
      for (std::size_t at = 0; at < programs[stage].size(); ++at) {
        const auto place_of = [&](const instruction& i) {
          return place{replicas_[r], i.kind, i.pack.value, std::size_t{i.chunk} * stages_ + stage};
        };
        const place here = place_of(programs[stage][at]);
        ran_[here] = how.run(todo_, r * stages_ + stage, here);
        if (at > 0) order(place_of(programs[stage][at - 1]), here);
      }
    }
  }

  /// On each part the packs of a row start together and end together; a pack of several rows joins them to one. A row
  /// starts when the one before has ended.
  void join_rows(const std::vector<merge>& merges) {
    using pack_of = std::tuple<std::uint32_t, pass, std::size_t>;
    std::map<pack_of, std::set<pack_of>> together;
    for (const merge& m : merges) {
      for (const pass p : {pass::forward, pass::backward}) {
        for (const std::vector<pack_id>& row : m.of(p)) {
          if (std::find(replicas_.begin(), replicas_.end(), m.replicas[0]) == replicas_.end()) continue;
          std::set<pack_of> all;
          for (std::size_t k = 0; k < row.size(); ++k) {
            if (row[k] == merge::none) continue;
            const pack_of one{m.replicas[k], p, row[k].value};
            all.insert(one);
            all.insert(together[one].begin(), together[one].end());
          }
          for (const pack_of& one : all) together[one] = all;
        }
      }
    }
    for (const merge& m : merges)
      for (const pass p : {pass::forward, pass::backward})
        for (std::size_t row = 1; row < m.of(p).size(); ++row)
          for (std::size_t part = 0; part < parts_; ++part) follow(m, p, row, part);
    for (const auto& [one, all] : together) {
      if (one != *all.begin()) continue;
      for (std::size_t part = 0; part < parts_; ++part) {
        const experiment::task begin = todo_.carry({}), end = todo_.carry({});
        for (const auto& [replica, p, pack] : all) {
          const place member{replica, pass_kind(p), pack, part};
          todo_.order(begin, ran_.at(member).first);
          todo_.order(ran_.at(member).second, end);
          rows_[member] = {begin, end};
        }
      }
    }
  }

  void follow(const merge& m, pass p, std::size_t row, std::size_t part) {
    for (std::size_t k = 0; k < m.replicas.size(); ++k)
      for (std::size_t j = 0; j < m.replicas.size(); ++j) {
        const pack_id before = m.of(p)[row - 1][k], then = m.of(p)[row][j];
        const bool here = std::find(replicas_.begin(), replicas_.end(), m.replicas[k]) != replicas_.end();
        if (here && before != merge::none && then != merge::none && (k != j || before != then))
          order({m.replicas[k], pass_kind(p), before.value, part}, {m.replicas[j], pass_kind(p), then.value, part});
      }
  }

  template <class How>
  void carry_messages(std::uint32_t replica, const partition& packs, const How& how) {
    for (const pass p : {pass::forward, pass::backward}) {
      for (std::size_t pack = 0; pack < packs.of(p).size(); ++pack)
        for (std::size_t part = 0; part < parts_; ++part) {
          if (part == (p == pass::forward ? parts_ - 1 : 0)) continue;
          const place from{replica, pass_kind(p), pack, part};
          const experiment::task message = how.carry(todo_, from);
          todo_.order(last_of(from), message);
          todo_.order(message, first_of({replica, pass_kind(p), pack, p == pass::forward ? part + 1 : part - 1}));
        }
    }
  }

  /// The ends of a model whose vocabulary is spread over the stages. Rows are looked up from stage 0 to the last, from
  /// which they go to part 0. Hidden rows of a pack go from the last part to all stages; what each has of the softmax
  /// goes to the last stage, whose own share waits for all of it, and which tells the whole to all. Gradients of rows
  /// go from part 0 to the last stage and on, down to stage 0. What goes from a stage to itself takes no message.
  template <class How>
  void call_ends(std::uint32_t replica, const replica_plan& of, const How& how) {
    const std::size_t last = stages_ - 1;
    const auto send = [&](const place& from, message_kind rows, const place& priced, const place& to) {
      const experiment::task message = how.carry_rows(todo_, rows, priced);
      todo_.order(last_of(from), message);
      todo_.order(message, first_of(to));
    };
    for (std::size_t pack = 0; pack < of.partition.forward.size(); ++pack) {
      const auto at = [&](instruction_kind kind, std::size_t where) { return place{replica, kind, pack, where}; };
      const auto embed = [&](std::size_t stage) { return at(instruction_kind::embed, stage); };
      const auto output = [&](std::size_t stage) { return at(instruction_kind::output, stage); };
      const auto weights = [&](std::size_t stage) { return at(instruction_kind::output_weights, stage); };
      const place first = at(instruction_kind::forward, 0), turn = at(instruction_kind::forward, parts_ - 1);
      for (std::size_t stage = 0; stage < stages_; ++stage) {
        send(embed(stage), message_kind::embedded, embed(stage), stage < last ? embed(stage + 1) : first);
        order(output(stage), weights(stage));
        if (stage == last) continue;
        send(turn, message_kind::hidden, output(stage), output(stage));
        send(output(stage), message_kind::partial, output(stage), output(last));
        send(output(last), message_kind::statistics, weights(stage), weights(stage));
      }
      order(turn, output(last));
    }
    for (std::size_t pack = 0; pack < of.partition.backward.size(); ++pack) {
      const auto gradient = [&](std::size_t stage) {
        return place{replica, instruction_kind::embed_gradients, pack, stage};
      };
      const place from{replica, instruction_kind::backward, pack, 0};
      const experiment::task message = how.carry(todo_, from);
      todo_.order(last_of(from), message);
      todo_.order(message, first_of(gradient(last)));
      for (std::size_t stage = last; stage > 0; --stage)
        send(gradient(stage), message_kind::gradients, gradient(stage), gradient(stage - 1));
    }
  }

  /// Rules 1 to 3: on each part, a sequence runs forward front to back and backward back to front; on the last part its
  /// backward begins when its forward is over, and with a spread vocabulary the last stage's share of its logits, too.
  void keep_sequences_in_order(std::uint32_t replica, const partition& packs) {
    const chains forward = packs_of_sequences(packs.forward), backward = packs_of_sequences(packs.backward);
    for (const auto& [sequence, front_to_back] : forward) {
      std::vector<std::size_t> back_to_front = backward.at(sequence);
      std::reverse(back_to_front.begin(), back_to_front.end());
      for (std::size_t part = 0; part < parts_; ++part) {
        keep_in_order(replica, pass::forward, front_to_back, part);
        keep_in_order(replica, pass::backward, back_to_front, part);
      }
      order({replica, instruction_kind::forward, front_to_back.back(), parts_ - 1},
            {replica, instruction_kind::backward, back_to_front.front(), parts_ - 1});
      if (is_spread_)
        order({replica, instruction_kind::output, front_to_back.back(), stages_ - 1},
              {replica, instruction_kind::backward, back_to_front.front(), parts_ - 1});
    }
  }

  using chains = std::map<sequence_id, std::vector<std::size_t>>;
  /// The packs that hold a sequence's slices, from its front to its back.
  static chains packs_of_sequences(const micropacks& packs) {
    std::map<sequence_id, std::map<tokens, std::size_t>> by_begin;
    for (std::size_t pack = 0; pack < packs.size(); ++pack)
      for (const slice& s : packs[pack]) by_begin[s.sequence][s.begin] = pack;
    chains found;
    for (const auto& [sequence, slices] : by_begin)
      for (const auto& [begin, pack] : slices) found[sequence].push_back(pack);
    return found;
  }

  void keep_in_order(std::uint32_t replica, pass p, const std::vector<std::size_t>& packs, std::size_t part) {
    for (std::size_t k = 1; k < packs.size(); ++k)  // slices of one pack run together
      if (packs[k - 1] != packs[k])
        order({replica, pass_kind(p), packs[k - 1], part}, {replica, pass_kind(p), packs[k], part});
  }

  std::vector<std::uint32_t> replicas_;
  std::size_t stages_;
  std::size_t parts_;
  bool is_spread_;
  experiment todo_;
  std::map<place, tasks> ran_;
  std::map<place, tasks> rows_;  // what starts and what ends the row of a place
  std::vector<std::pair<place, place>> after_;
};

}  // namespace slimpack::tests

#endif
