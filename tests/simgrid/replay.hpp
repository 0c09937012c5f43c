#ifndef SLIMPACK_TESTS_SIMGRID_REPLAY_HPP
#define SLIMPACK_TESTS_SIMGRID_REPLAY_HPP

#include <slimpack/core/plan.hpp>

#include "experiment.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// What one replica of a plan does, told by what its plan file has: programs, times, messages, and the slices of packs,
/// from which the rules that plans obey follow anew. Shares nothing with the simulator but the vocabulary of core/.
class replay {
 public:
  /// `carry(to, pass, pack, part)` adds the message that a pack's output on a part goes on as, and returns it.
  /// Requires  programs that run every pack once on every part (std::out_of_range where one is missing)
  template <class Carry>
  replay(const replica_plan& r, const shape& on, const Carry& carry)
      : parts_(static_cast<std::size_t>(on.parts())), todo_(on.stages) {
    for (std::size_t stage = 0; stage < r.programs.size(); ++stage) run(r, r.programs[stage], stage, on);
    for (const pass p : {pass::forward, pass::backward}) {
      for (std::size_t pack = 0; pack < r.partition.of(p).size(); ++pack)
        for (std::size_t part = 0; part < parts_; ++part) {
          if (part == (p == pass::forward ? parts_ - 1 : 0)) continue;
          const experiment::task message = carry(todo_, p, pack, part);
          todo_.order(ran_.at({p, false, pack, part}), message);
          todo_.order(message, ran_.at({p, false, pack, p == pass::forward ? part + 1 : part - 1}));
        }
    }
    keep_sequences_in_order(r.partition);
    for (std::size_t pack = 0; pack < r.partition.backward.size(); ++pack)
      for (std::size_t part = 0; part < parts_ && r.weight.splits(pack); ++part)
        todo_.order(ran_.at({pass::backward, false, pack, part}), ran_.at({pass::backward, true, pack, part}));
  }

  [[nodiscard]] std::size_t size() const noexcept { return todo_.size(); }
  [[nodiscard]] seconds makespan() const {
    const std::vector<seconds> ends = todo_.ends();
    return *std::max_element(ends.begin(), ends.end());
  }

 private:
  using place = std::tuple<pass, bool, std::size_t, std::size_t>;  // pass, weights only, pack, part

  /// A stage runs its program one by one.
  void run(const replica_plan& r, const program& code, std::size_t stage, const shape& on) {
    for (std::size_t at = 0; at < code.size(); ++at) {
      const instruction& i = code[at];
      const std::size_t part = std::size_t{i.chunk} * static_cast<std::size_t>(on.stages) + stage;
      const std::size_t cell = i.pack.value * parts_ + part;
      const experiment::task self =
          todo_.compute(stage, i.weights_only ? r.weight.time[cell] : r.of(i.pass).time[cell]);
      ran_[{i.pass, i.weights_only, i.pack.value, part}] = self;
      if (at > 0) todo_.order(self - 1, self);
    }
  }

  /// Rules 1 to 3: on each part, a sequence runs forward front to back and backward back to front; on the last part its
  /// backward begins when its forward is over.
  void keep_sequences_in_order(const partition& packs) {
    const chains forward = packs_of_sequences(packs.forward), backward = packs_of_sequences(packs.backward);
    for (const auto& [sequence, front_to_back] : forward) {
      std::vector<std::size_t> back_to_front = backward.at(sequence);
      std::reverse(back_to_front.begin(), back_to_front.end());
      for (std::size_t part = 0; part < parts_; ++part) {
        keep_in_order(pass::forward, front_to_back, part);
        keep_in_order(pass::backward, back_to_front, part);
      }
      todo_.order(ran_.at({pass::forward, false, front_to_back.back(), parts_ - 1}),
                  ran_.at({pass::backward, false, back_to_front.front(), parts_ - 1}));
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

  void keep_in_order(pass p, const std::vector<std::size_t>& packs, std::size_t part) {
    for (std::size_t k = 1; k < packs.size(); ++k)  // slices of one pack run together
      if (packs[k - 1] != packs[k])
        todo_.order(ran_.at({p, false, packs[k - 1], part}), ran_.at({p, false, packs[k], part}));
  }

  std::size_t parts_;
  experiment todo_;
  std::map<place, experiment::task> ran_;
};

/// Messages that take the time the plan gives them.
struct timed_messages {
  const replica_plan& replica;
  std::size_t parts;

  experiment::task operator()(experiment& to, pass p, std::size_t pack, std::size_t part) const {
    return to.carry(replica.of(p).message[pack * parts + part]);
  }
};

}  // namespace slimpack::tests

#endif
