#ifndef SLIMPACK_TESTING_DETAIL_TRANSFERS_IN_ORDER_HPP
#define SLIMPACK_TESTING_DETAIL_TRANSFERS_IN_ORDER_HPP

#include <slimpack/core/detail/flow.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/relays/legs.hpp>
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
#include <vector>

namespace slimpack::testing::detail {

/// Runs an order of transfers one by one, as ranks would over a transport that moves one message at a time: a transfer may
/// stand only where all that it waits for has been.
/// order: of the transfers of `replicas`, which share sequences with no other
/// Requires  programs that run each pack once            Returns   what stands where it may not, or is missing
[[nodiscard]] inline std::optional<std::string> out_of_order(const plan& p, std::span<const std::uint32_t> replicas,
                                                             std::span<const simulators::transfer> order) {
  using rank = std::pair<std::uint32_t, std::uint32_t>;  // replica, stage
  using place = std::tuple<std::uint32_t, slimpack::detail::flow, std::uint32_t, std::uint32_t>;  // replica, flow, where, pack
  const auto stages = static_cast<std::uint32_t>(p.shape.stages);
  const auto parts = static_cast<std::uint32_t>(p.shape.parts());
  const auto flow_place_of = [&](std::uint32_t stage, const instruction& i) { return slimpack::detail::place_of(i, stage, p.shape); };
  const auto named_place = [](std::uint32_t replica, slimpack::detail::flow_place at, pack_id pack) {
    return place{replica, at.flow, at.at, pack.value};
  };
  const auto place_of = [&](std::uint32_t replica, std::uint32_t stage, const instruction& i) {
    return named_place(replica, flow_place_of(stage, i), i.pack);
  };
  std::set<place> rowed;  // that exchange rows
  for (const merge& m : p.merges)
    for (std::size_t k = 0; k < m.replicas.size(); ++k)
      for (const pass way : {pass::forward, pass::backward})
        for (const std::vector<pack_id>& row : m.of(way))
          for (std::uint32_t part = 0; part < parts && row[k] != merge::none; ++part)
            rowed.insert(place_of(m.replicas[k], part % stages, {way, row[k], part / stages}));
  std::set<std::pair<place, std::uint32_t>> moved;  // by receiver
  std::set<place> exchanged;
  std::set<std::tuple<std::uint32_t, pass, std::uint32_t, std::uint32_t, std::uint32_t>> of_absent;  // merge, pass, row, part, replica
  std::set<std::tuple<std::uint32_t, pass, std::uint32_t, std::uint32_t, std::uint32_t>> legs_seen;  // merge, pass, row, part, leg
  std::map<rank, std::size_t> at;  // how far each rank has run its program
  const auto name = [&](std::uint32_t replica, std::uint32_t stage, const instruction& i) {
    return name_of(i, p.shape.chunks) + " of replica " + std::to_string(replica) + ", stage " + std::to_string(stage);
  };
  // Runs a rank on until `i`, if nothing before it waits for a transfer that has not been.
  const auto reaches = [&](std::uint32_t replica, std::uint32_t stage, const instruction& i, bool after_rows) {
    const program& code = p.replicas[replica].programs[stage];
    for (std::size_t& next = at[{replica, stage}]; next < code.size(); ++next) {
      const instruction& own = code[next];
      const bool moves = !own.is_weights();
      const place self = place_of(replica, stage, own);
      bool has_all = true, sent_all = true;
      if (moves) slimpack::detail::each_before(flow_place_of(stage, own), p.shape, [&](slimpack::detail::flow_place from) {
        has_all = has_all && moved.contains({named_place(replica, from, own.pack), stage});
      });
      if (!has_all) return false;
      if (own == i && !after_rows) return true;
      if (moves && rowed.contains(self) && !exchanged.contains(self)) return false;
      if (own == i) return true;
      if (moves) slimpack::detail::each_after(flow_place_of(stage, own), p.shape, [&](slimpack::detail::flow_place to) {
        sent_all = sent_all && moved.contains({self, slimpack::detail::stage_of(to, p.shape)});
      });
      if (!sent_all) return false;
    }
    return false;
  };
  std::size_t messages = 0, expected = 0;
  const simulators::transfer* last = nullptr;
  for (const simulators::transfer& t : order) {
    const simulators::transfer* const before = std::exchange(last, &t);
    if (t.is_leg) {
      if (t.merge >= p.merges.size() || t.what.pack.value >= p.merges[t.merge].of(t.what.pass).size()) return "a leg is of no row";
      const merge& m = p.merges[t.merge];
      const std::vector<leg> legs = legs_in_order(m.relays);
      const std::string leg_name = "leg " + std::to_string(t.leg) + " of merge " + std::to_string(t.merge);
      if (t.leg >= legs.size() || legs[t.leg].from != t.replica || legs[t.leg].to != t.receiver) return leg_name + " has other parties";
      for (const std::uint32_t party : {t.replica, t.receiver}) {
        const auto column = std::find(m.replicas.begin(), m.replicas.end(), party) - m.replicas.begin();
        const instruction own{t.what.pass, m.of(t.what.pass)[t.what.pack.value][static_cast<std::size_t>(column)], t.what.chunk};
        if (!exchanged.contains(place_of(party, t.stage, own))) return leg_name + " stands before the rows of replica " + std::to_string(party);
      }
      const bool follows = t.leg == 0 ? !before->is_leg || before->merge != t.merge || before->what != t.what || before->leg + 1 == legs.size()
                                      : before->is_leg && before->merge == t.merge && before->what == t.what && before->leg + 1 == t.leg;
      if (!follows) return leg_name + " does not follow the leg before it";
      legs_seen.insert({t.merge, t.what.pass, t.what.pack.value, t.what.chunk * stages + t.stage, t.leg});
      continue;
    }
    if (t.is_absent) {
      if (!of_absent.insert({t.merge, t.what.pass, t.what.pack.value, t.what.chunk * stages + t.stage, t.replica}).second)
        return "row " + std::to_string(t.what.pack.value) + " of merge " + std::to_string(t.merge) + " stands twice for replica " +
               std::to_string(t.replica);
      continue;
    }
    const place self = place_of(t.replica, t.stage, t.what);
    if (!std::binary_search(replicas.begin(), replicas.end(), t.replica)) return name(t.replica, t.stage, t.what) + " is of no replica of the group";
    if (t.is_rows ? exchanged.contains(self) : moved.contains({self, t.receiver})) return name(t.replica, t.stage, t.what) + " stands twice";
    if (!reaches(t.replica, t.stage, t.what, !t.is_rows)) return name(t.replica, t.stage, t.what) + " stands before what it waits for";
    if (t.is_rows)
      exchanged.insert(self);
    else
      moved.insert({self, t.receiver});
    messages += !t.is_rows;
  }
  for (const std::uint32_t r : replicas)
    for (std::uint32_t stage = 0; stage < stages; ++stage)
      for (const instruction& i : p.replicas[r].programs[stage]) {
        if (i.is_weights()) continue;
        const place self = place_of(r, stage, i);
        bool sent_all = true;
        slimpack::detail::each_after(flow_place_of(stage, i), p.shape, [&](slimpack::detail::flow_place to) {
          ++expected;
          sent_all = sent_all && moved.contains({self, slimpack::detail::stage_of(to, p.shape)});
        });
        if (!sent_all) return name(r, stage, i) + " sends what has no place";
        if (rowed.contains(self) != exchanged.contains(self)) return name(r, stage, i) + " has rows without a place";
      }
  for (std::uint32_t m = 0; m < p.merges.size(); ++m)
    for (const pass way : {pass::forward, pass::backward})
      for (std::uint32_t row = 0; row < p.merges[m].of(way).size() && std::binary_search(replicas.begin(), replicas.end(), p.merges[m].replicas.front()); ++row)
        for (std::uint32_t part = 0; part < parts; ++part)
          for (std::uint32_t k = 0; k < legs_in_order(p.merges[m].relays).size(); ++k)
            if (!legs_seen.contains({m, way, row, part, k})) return "leg " + std::to_string(k) + " of merge " + std::to_string(m) + " has no place";
  if (messages != expected) return std::to_string(messages) + " messages where the programs send " + std::to_string(expected);
  return std::nullopt;
}

}  // namespace slimpack::testing::detail

#endif
