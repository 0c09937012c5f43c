#ifndef SLIMPACK_EXECUTORS_IMPL_TRANSFER_SCRIPT_IPP
#define SLIMPACK_EXECUTORS_IMPL_TRANSFER_SCRIPT_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/executors/detail/script/transfer_script.hpp>
#include <slimpack/simulators/transfer_order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace slimpack::detail {

/// Finds a rank's part of the order of transfers.
class transfer_script_maker {
 public:
  /// Requires  all outlive it
  transfer_script_maker(const plan& p, std::uint32_t replica, std::uint32_t stage,
                        std::span<const simulators::transfer> order)
      : plan_(p), replica_(replica), stage_(stage), order_(order), wires_(p.shape) {
    for (const pass way : both_passes) {
      const std::size_t packs = p.replicas[replica].partition.of(way).size();
      message_[way].assign(packs * wires_.wires(way), never);
      rows_[way].assign(packs * parts_of(way), never);
    }
  }

  [[nodiscard]] transfer_script made() {
    read_order();
    place_instructions();
    place_absent_rows();
    std::sort(placed_.begin(), placed_.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.first, a.second.at) < std::tuple(b.first, b.second.at);
    });
    for (const auto& [place, one] : placed_) script_.steps.push_back(one);
    return std::move(script_);
  }

 private:
  using kind = transfer_script::kind;
  static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] std::size_t parts_of(pass way) const { return wires_.places(pass_kind(way)); }
  /// place: of F or B
  [[nodiscard]] std::uint32_t& rows_of(pack_place place, pack_id pack) {
    const pass way = facts_of(place.kind).pass;
    return rows_[way][std::size_t{pack.value} * parts_of(way) + place.at];
  }
  [[nodiscard]] std::uint32_t& message_of(const wire& w, pack_id pack) {
    const pass way = facts_of(w.carries).pass;
    return message_[way][std::size_t{pack.value} * wires_.wires(way) + w.number];
  }

  /// Notes where in the order what is this replica's stands, and what all ranks compare.
  void read_order() {
    script_.together = replica_;
    word_hash hash;
    for (std::uint32_t n = 0; n < order_.size(); ++n)
      std::visit(
          [&](const auto& t) {
            add(t, hash);
            script_.together = std::min(script_.together, t.replica);
            note(t, n);
          },
          order_[n]);
    script_.hash = hash.value();
  }
  void note(const simulators::transfers::message& t, std::uint32_t n) {
    if (t.replica != replica_) return;
    for (const wire& w : wires_.after(place_of(t.what, t.stage, plan_.shape)))
      if (w.receiver == t.receiver) message_of(w, t.what.pack) = n;
  }
  void note(const simulators::transfers::rows& t, std::uint32_t n) {
    if (t.replica == replica_)
      own_rows_[{t.gate, t.stage}] = rows_of(place_of(t.what, t.stage, plan_.shape), t.what.pack) = n;
  }
  void note(const simulators::transfers::absent& t, std::uint32_t n) {
    if (t.stage != stage_) return;
    apart_.insert(t.gate);
    if (t.replica == replica_) away_.push_back(n);
  }
  void note(const simulators::transfers::leg&, std::uint32_t) {}  // the exchange of rows posts it
  /// The call of the instruction posts them, behind its rows.
  void note(const simulators::transfers::ties& t, std::uint32_t) { apart_.insert(t.gate); }

  static constexpr std::uint32_t of_rows = 1, of_absent = 2, of_leg = 4, of_ties = 8;

  /// Each of the last 0 where it has none. merge: of the plan; leg: which of its merge's
  template <class Transfer>
  static void add(word_hash& hash, const Transfer& t, const instruction& i, std::uint32_t of_what,
                  std::uint32_t merge = 0, std::uint32_t receiver = 0, std::uint32_t leg = 0) {
    hash.add(t.replica), hash.add(t.stage), hash.add(i.chunk), hash.add(i.pack.value);
    hash.add(facts_of(i.kind).hash), hash.add(of_what);
    hash.add(merge), hash.add(receiver), hash.add(leg);
  }
  static void add(const simulators::transfers::message& t, word_hash& hash) { add(hash, t, t.what, 0, 0, t.receiver); }
  static void add(const simulators::transfers::rows& t, word_hash& hash) { add(hash, t, t.what, of_rows); }
  static void add(const simulators::transfers::absent& t, word_hash& hash) {
    add(hash, t, {pass_kind(t.pass), {t.row}, t.chunk}, of_rows + of_absent, t.merge);
  }
  static void add(const simulators::transfers::leg& t, word_hash& hash) {
    add(hash, t, {pass_kind(t.pass), {t.row}, t.chunk}, of_leg, t.merge, t.receiver, t.number);
  }
  static void add(const simulators::transfers::ties& t, word_hash& hash) { add(hash, t, t.what, of_ties); }

  /// What the rank's instructions read, exchange and send.
  void place_instructions() {
    const program& code = plan_.replicas[replica_].programs[stage_];
    for (std::uint32_t at = 0; at < code.size(); ++at) {
      const instruction& i = code[at];
      const pack_place place = place_of(i, stage_, plan_.shape);
      std::uint32_t number = 0;
      for (const wire& w : wires_.before(place))
        placed_.push_back({message_of(w, i.pack), {kind::receive, at, number++}});
      if (i.is_pass() && rows_of(place, i.pack) != never) placed_.push_back({rows_of(place, i.pack), {kind::rows, at}});
      number = 0;
      for (const wire& w : wires_.after(place)) placed_.push_back({message_of(w, i.pack), {kind::send, at, number++}});
    }
    for (const auto& [place, n] : own_rows_) {
      const auto& t = std::get<simulators::transfers::rows>(order_[n]);
      if (t.stage == stage_ && apart_.contains(t.gate)) script_.apart[t.what.pass()].push_back(t.what.pack);
    }
  }

  /// Transfers with rows of which the rank has no tokens: beside its own rows of the same gate, or on their own.
  void place_absent_rows() {
    for (const std::uint32_t n : away_) {
      const auto& t = std::get<simulators::transfers::absent>(order_[n]);
      const auto index = static_cast<std::uint32_t>(script_.absent.size());
      script_.absent.push_back({t.pass, t.chunk, t.merge, t.row, plan_.merges[t.merge].sequence});
      const auto own_at = own_rows_.find({t.gate, stage_});
      if (own_at == own_rows_.end()) {
        placed_.push_back({n, {kind::absent, index}});
        continue;
      }
      for (const auto& [place, one] : placed_)
        if (place == own_at->second && one.what == kind::rows) script_.beside[one.at].push_back(index);
    }
    for (auto& [at, beside] : script_.beside)
      std::sort(beside.begin(), beside.end(), [&](std::uint32_t a, std::uint32_t b) {
        return script_.absent[a].sequence < script_.absent[b].sequence;
      });
  }

  const plan& plan_;
  std::uint32_t replica_;
  std::uint32_t stage_;
  std::span<const simulators::transfer> order_;
  wiring wires_;
  // Of this replica, by pass and pack: where its messages stand, by wire, and where its rows do, by part.
  by_pass<std::vector<std::uint32_t>> message_, rows_;
  std::map<std::tuple<std::uint32_t, std::uint32_t>, std::uint32_t> own_rows_;  // by gate and stage: where they stand
  std::vector<std::uint32_t> away_;                                             // where the transfers of absent rows
                                                                                // stand
  std::set<std::uint32_t> apart_;                                               // gates of rows that are run one by one
  std::vector<std::pair<std::uint32_t, transfer_script::step>> placed_;         // in the order
  transfer_script script_;
};

SLIMPACK_DECL result<transfer_script> transfer_script::of(const plan& p, std::uint32_t replica, std::uint32_t stage) {
  const result<std::vector<simulators::transfer>> order = simulators::transfer_order(p, replica);
  if (!order) return order.error();
  return transfer_script_maker(p, replica, stage, order.value()).made();
}

SLIMPACK_DECL transfer_script transfer_script::idle(const program& code, std::uint32_t replica, std::uint32_t stage,
                                                    const shape& on) {
  transfer_script script;
  script.together = replica;
  const wiring wires(on);
  for (std::uint32_t at = 0; at < code.size(); ++at) {
    const pack_place place = place_of(code[at], stage, on);
    std::uint32_t number = 0;
    for (; number < wires.before(place).size(); ++number) script.steps.push_back({kind::receive, at, number});
    for (number = 0; number < wires.after(place).size(); ++number) script.steps.push_back({kind::send, at, number});
  }
  return script;
}

}  // namespace slimpack::detail

#endif
