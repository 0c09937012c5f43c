#ifndef SLIMPACK_TESTING_DETAIL_TRANSFERS_IN_ORDER_HPP
#define SLIMPACK_TESTING_DETAIL_TRANSFERS_IN_ORDER_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/simulators/transfer_order.hpp>

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
#include <variant>
#include <vector>

namespace slimpack::testing::detail {

/// Runs an order of transfers one by one, as ranks would over a transport that moves one message at a time: a transfer
/// may stand only where all that it waits for has been.
class transfer_walk {
 public:
  /// replicas: ascending, which share sequences with no other            Requires  a plan and replicas that outlive it
  transfer_walk(const plan& p, std::span<const std::uint32_t> replicas)
      : plan_(p),
        wires_(p.shape),
        replicas_(replicas),
        stages_(static_cast<std::uint32_t>(p.shape.stages)),
        parts_(static_cast<std::uint32_t>(p.shape.parts())) {
    for (const merge& m : p.merges)
      for (std::size_t k = 0; k < m.replicas.size(); ++k)
        for (const pass way : both_passes)
          for (const std::vector<pack_id>& row : m.of(way))
            for (std::uint32_t part = 0; part < parts_ && row[k] != merge::none; ++part)
              rowed_.insert(place_of(m.replicas[k], part % stages_, {pass_kind(way), row[k], part / stages_}));
    for (const std::uint32_t r : replicas)
      for (const loan& l : p.replicas[r].loans)
        for (const auto& [side, other] : {std::pair(l.lender, l.helper), std::pair(l.helper, l.lender)})
          tied_with_[place_of(r, side.stage, side.what)].insert(place_of(r, other.stage, other.what));
  }

  /// The next transfer of the order.            Returns   why it may not stand here
  [[nodiscard]] std::optional<std::string> run(const simulators::transfer& t) {
    std::optional<std::string> why = std::visit([&](const auto& one) { return run_one(one); }, t);
    last_ = &t;
    return why;
  }

  /// After the last one.            Returns   what has no place in the order
  [[nodiscard]] std::optional<std::string> missing() const {
    std::size_t expected = 0;
    for (const std::uint32_t r : replicas_)
      for (std::uint32_t stage = 0; stage < stages_; ++stage)
        for (const instruction& i : plan_.replicas[r].programs[stage])
          if (!i.is_weights())
            if (std::optional<std::string> why = missing_of(r, stage, i, expected)) return why;
    if (std::optional<std::string> why = missing_leg()) return why;
    if (!open_ties_.empty()) return "ties of what runs together do not stand next to each other";
    if (messages_ != expected)
      return std::to_string(messages_) + " messages where the programs send " + std::to_string(expected);
    return std::nullopt;
  }

 private:
  using rank = std::pair<std::uint32_t, std::uint32_t>;  // replica, stage
  using place =
      std::tuple<std::uint32_t, instruction_kind, std::uint32_t, std::uint32_t>;  // replica, kind, where, pack
  using row_of = std::tuple<std::uint32_t, pass, std::uint32_t, std::uint32_t, std::uint32_t>;  // merge, pass, row,
                                                                                                // part, and whose or
                                                                                                // which leg

  [[nodiscard]] pack_place pack_place_of(std::uint32_t stage, const instruction& i) const {
    return slimpack::place_of(i, stage, plan_.shape);
  }
  [[nodiscard]] static place named(std::uint32_t replica, pack_place at, pack_id pack) {
    return {replica, at.kind, at.at, pack.value};
  }
  [[nodiscard]] place place_of(std::uint32_t replica, std::uint32_t stage, const instruction& i) const {
    return named(replica, pack_place_of(stage, i), i.pack);
  }
  /// last: whose, or which leg
  template <class Transfer>
  [[nodiscard]] row_of row(const Transfer& t, std::uint32_t last) const {
    return {t.merge, t.pass, t.row, t.chunk * stages_ + t.stage, last};
  }
  [[nodiscard]] std::string name(std::uint32_t replica, std::uint32_t stage, const instruction& i) const {
    return name_of(i, plan_.shape.chunks) + " of replica " + std::to_string(replica) + ", stage " +
           std::to_string(stage);
  }
  [[nodiscard]] bool is_of_group(std::uint32_t replica) const {
    return std::binary_search(replicas_.begin(), replicas_.end(), replica);
  }

  /// Of a relay: its legs stand one behind the other, after the rows of both parties.
  std::optional<std::string> run_one(const simulators::transfers::leg& t) {
    if (t.merge >= plan_.merges.size() || t.row >= plan_.merges[t.merge].of(t.pass).size()) return "a leg is of no row";
    const merge& m = plan_.merges[t.merge];
    const std::vector<leg> legs = m.legs();
    const std::string own_name = "leg " + std::to_string(t.number) + " of merge " + std::to_string(t.merge);
    if (t.number >= legs.size() || legs[t.number].from != t.replica || legs[t.number].to != t.receiver)
      return own_name + " has other parties";
    for (const std::uint32_t party : {t.replica, t.receiver}) {
      const auto column =
          static_cast<std::size_t>(std::find(m.replicas.begin(), m.replicas.end(), party) - m.replicas.begin());
      const instruction own{pass_kind(t.pass), m.of(t.pass)[t.row][column], t.chunk};
      if (!exchanged_.contains(place_of(party, t.stage, own)))
        return own_name + " stands before the rows of replica " + std::to_string(party);
    }
    const auto* const before = last_ != nullptr ? std::get_if<simulators::transfers::leg>(last_) : nullptr;
    const bool goes_on = before != nullptr && before->merge == t.merge && before->pass == t.pass &&
                         before->row == t.row && before->chunk == t.chunk;
    if (t.number == 0 ? goes_on && before->number + 1 != legs.size() : !goes_on || before->number + 1 != t.number)
      return own_name + " does not follow the leg before it";
    legs_seen_.insert(row(t, t.number));
    return std::nullopt;
  }

  /// Of a sharer without tokens of a row.
  std::optional<std::string> run_one(const simulators::transfers::absent& t) {
    if (absent_.insert(row(t, t.replica)).second) return std::nullopt;
    return "row " + std::to_string(t.row) + " of merge " + std::to_string(t.merge) + " stands twice for replica " +
           std::to_string(t.replica);
  }

  /// Of an instruction: a message that it sends.
  std::optional<std::string> run_one(const simulators::transfers::message& t) {
    const place self = place_of(t.replica, t.stage, t.what);
    const bool is_new = !moved_.contains({self, t.receiver});
    if (std::optional<std::string> why = misplaced(t, is_new, before_own::messages)) return why;
    moved_.insert({self, t.receiver}), ++messages_;
    return std::nullopt;
  }
  /// The rows that it exchanges.
  std::optional<std::string> run_one(const simulators::transfers::rows& t) {
    const place self = place_of(t.replica, t.stage, t.what);
    if (std::optional<std::string> why = misplaced(t, !exchanged_.contains(self), before_own::rows)) return why;
    exchanged_.insert(self);
    return std::nullopt;
  }
  /// What it and others that it is tied to send each other: when all of these have come as far.
  std::optional<std::string> run_one(const simulators::transfers::ties& t) {
    const place self = place_of(t.replica, t.stage, t.what);
    if (!tied_with_.contains(self)) return name(t.replica, t.stage, t.what) + " is tied to nothing";
    if (std::optional<std::string> why = misplaced(t, !tied_.contains(self), before_own::ties)) return why;
    tied_.insert(self);
    const auto* const before = last_ != nullptr ? std::get_if<simulators::transfers::ties>(last_) : nullptr;
    if (before == nullptr || before->gate != t.gate) gate_of_.clear();
    gate_of_.insert(self);
    // The last of those that stand next to each other finds all others.
    open_ties_.erase(self);
    for (const place& other : tied_with_[self])
      if (!gate_of_.contains(other)) open_ties_.insert(other);
    return std::nullopt;
  }

  /// Which transfers of an instruction come next: its rows come before its ties, and these before its messages.
  enum class before_own { rows, ties, messages };

  /// Why a transfer of an instruction may not stand here, if so.
  template <class Transfer>
  [[nodiscard]] std::optional<std::string> misplaced(const Transfer& t, bool is_new, before_own which) {
    const auto is = [&](const char* what) { return name(t.replica, t.stage, t.what) + what; };
    if (!is_of_group(t.replica)) return is(" is of no replica of the group");
    if (!is_new) return is(" stands twice");
    if (which != before_own::ties && !open_ties_.empty()) return is(" stands between ties of what runs together");
    if (!reaches(t.replica, t.stage, t.what, which)) return is(" stands before what it waits for");
    return std::nullopt;
  }

  /// Runs a rank on until `i`, if nothing before it waits for a transfer that has not been.
  bool reaches(std::uint32_t replica, std::uint32_t stage, const instruction& i, before_own which) {
    const program& code = plan_.replicas[replica].programs[stage];
    for (std::size_t& next = at_[{replica, stage}]; next < code.size(); ++next) {
      const instruction& own = code[next];
      const bool moves = !own.is_weights();
      const place self = place_of(replica, stage, own);
      if (moves && !has_all(replica, stage, own)) return false;
      if (own == i && which == before_own::rows) return true;
      if (moves && rowed_.contains(self) && !exchanged_.contains(self)) return false;
      if (own == i && which == before_own::ties) return true;
      if (moves && tied_with_.contains(self) && !tied_.contains(self)) return false;
      if (own == i) return true;
      if (moves && !sent_all(replica, stage, own)) return false;
    }
    return false;
  }
  [[nodiscard]] bool has_all(std::uint32_t replica, std::uint32_t stage, const instruction& i) const {
    const std::span<const wire> all = wires_.before(pack_place_of(stage, i));
    return std::all_of(all.begin(), all.end(), [&](const wire& w) {
      return moved_.contains({named(replica, w.from, i.pack), stage});
    });
  }
  [[nodiscard]] bool sent_all(std::uint32_t replica, std::uint32_t stage, const instruction& i) const {
    const std::span<const wire> all = wires_.after(pack_place_of(stage, i));
    return std::all_of(all.begin(), all.end(), [&](const wire& w) {
      return moved_.contains({place_of(replica, stage, i), w.receiver});
    });
  }

  /// expected: the messages of the programs, to which those of the instruction are added
  std::optional<std::string> missing_of(std::uint32_t replica, std::uint32_t stage, const instruction& i,
                                        std::size_t& expected) const {
    expected += wires_.after(pack_place_of(stage, i)).size();
    if (!sent_all(replica, stage, i)) return name(replica, stage, i) + " sends what has no place";
    const place self = place_of(replica, stage, i);
    if (rowed_.contains(self) != exchanged_.contains(self))
      return name(replica, stage, i) + " has rows without a place";
    if (tied_with_.contains(self) != tied_.contains(self)) return name(replica, stage, i) + " has ties without a place";
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> missing_leg() const {
    for (std::uint32_t m = 0; m < plan_.merges.size(); ++m) {
      const merge& own = plan_.merges[m];
      if (!is_of_group(own.replicas.front())) continue;
      const auto legs = static_cast<std::uint32_t>(own.legs().size());
      for (const pass way : both_passes)
        for (std::uint32_t row = 0; row < own.of(way).size(); ++row)
          for (std::uint32_t part = 0; part < parts_; ++part)
            for (std::uint32_t k = 0; k < legs; ++k)
              if (!legs_seen_.contains({m, way, row, part, k}))
                return "leg " + std::to_string(k) + " of merge " + std::to_string(m) + " has no place";
    }
    return std::nullopt;
  }

  const plan& plan_;
  wiring wires_;
  std::span<const std::uint32_t> replicas_;
  std::uint32_t stages_;
  std::uint32_t parts_;
  std::set<place> rowed_;                            // that exchange rows
  std::set<std::pair<place, std::uint32_t>> moved_;  // by receiver
  std::set<place> exchanged_;
  std::map<place, std::set<place>> tied_with_;
  std::set<place> tied_;       // whose ties have been
  std::set<place> gate_of_;    // of these, those that stand next to each other
  std::set<place> open_ties_;  // that have to follow them
  std::set<row_of> absent_;
  std::set<row_of> legs_seen_;
  std::map<rank, std::size_t> at_;  // how far each rank has run its program
  const simulators::transfer* last_{};
  std::size_t messages_{};
};

/// Whether an order of transfers can be run one by one.
/// order: of the transfers of `replicas`, which share sequences with no other
/// Requires  programs that run each pack once            Returns   what stands where it may not, or is missing
[[nodiscard]] inline std::optional<std::string> out_of_order(const plan& p, std::span<const std::uint32_t> replicas,
                                                             std::span<const simulators::transfer> order) {
  transfer_walk walk(p, replicas);
  for (const simulators::transfer& t : order)
    if (std::optional<std::string> why = walk.run(t)) return why;
  return walk.missing();
}

}  // namespace slimpack::testing::detail

#endif
