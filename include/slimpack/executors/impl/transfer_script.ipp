#ifndef SLIMPACK_EXECUTORS_IMPL_TRANSFER_SCRIPT_IPP
#define SLIMPACK_EXECUTORS_IMPL_TRANSFER_SCRIPT_IPP

#include <slimpack/executors/detail/script/transfer_script.hpp>
#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/detail/flow.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/simulators/transfer_order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL result<transfer_script> transfer_script::of(const plan& p, std::uint32_t replica, std::uint32_t stage) {
  const result<std::vector<simulators::transfer>> order = simulators::transfer_order(p, replica);
  if (!order) return order.error();
  constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
  const replica_plan& own = p.replicas[replica];
  const bool spread = p.shape.vocabulary == vocabulary::spread;
  // Of this replica, by flow, pack and place: where its messages stand, by receiver, and where its rows do.
  const std::size_t receivers = spread ? static_cast<std::size_t>(p.shape.stages) : 1;
  std::array<std::vector<std::uint32_t>, flows> message, rows;
  for (std::size_t f = 0; f < (spread ? flows : 2); ++f) {
    const auto way = static_cast<flow>(f);
    const std::size_t places = own.partition.of(pass_of(way)).size() * width_of(way, p.shape);
    message[f].assign(places * receivers, never);
    if (is_of_layers(way)) rows[f].assign(places, never);
  }
  const auto rows_of = [&](flow_place place, pack_id pack) -> std::uint32_t& {
    return rows[static_cast<std::size_t>(place.flow)][std::size_t{pack.value} * width_of(place.flow, p.shape) + place.at];
  };
  const auto message_of = [&](flow_place place, pack_id pack, std::uint32_t receiver) -> std::uint32_t& {
    return message[static_cast<std::size_t>(place.flow)]
                  [(std::size_t{pack.value} * width_of(place.flow, p.shape) + place.at) * receivers + (spread ? receiver : 0)];
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t>, std::uint32_t> own_rows;  // by gate and stage: where they stand
  std::vector<std::uint32_t> away;                                            // where the transfers of absent rows stand
  std::set<std::uint32_t> lacking;                                            // gates of rows of which some sharer has no tokens
  transfer_script script;
  script.together = replica;
  word_hash hash;
  for (std::uint32_t n = 0; n < order.value().size(); ++n) {
    const simulators::transfer& t = order.value()[n];
    hash.add(t.replica), hash.add(t.stage), hash.add(t.what.chunk), hash.add(t.what.pack.value);
    hash.add(static_cast<std::uint32_t>(flow_of(t.what)) + (t.is_rows ? 8u : 0u) + (t.is_absent ? 16u : 0u) + (t.is_leg ? 32u : 0u));
    hash.add(t.merge);
    if (t.is_leg) hash.add(t.receiver), hash.add(t.leg);
    if (spread) hash.add(t.receiver);
    script.together = std::min(script.together, t.replica);
    if (t.is_absent && t.stage == stage) lacking.insert(t.gate);
    if (t.replica != replica || t.is_leg) continue;  // the exchange of rows posts its legs
    if (t.is_absent) {
      if (t.stage == stage) away.push_back(n);
      continue;
    }
    const flow_place place = place_of(t.what, t.stage, p.shape);
    if (t.is_rows)
      own_rows[{t.gate, t.stage}] = rows_of(place, t.what.pack) = n;
    else
      message_of(place, t.what.pack, t.receiver) = n;
  }
  script.hash = hash.value();
  std::vector<std::pair<std::uint32_t, step>> placed;  // in the order
  const program& code = own.programs[stage];
  for (std::uint32_t at = 0; at < code.size(); ++at) {
    const instruction& i = code[at];
    if (i.is_weights()) continue;
    const flow_place place = place_of(i, stage, p.shape);
    std::uint32_t number = 0;
    each_before(place, p.shape, [&](flow_place from) {
      placed.push_back({message_of(from, i.pack, stage), {kind::receive, at, number++}});
    });
    if (i.is_pass() && rows_of(place, i.pack) != never) placed.push_back({rows_of(place, i.pack), {kind::rows, at}});
    number = 0;
    each_after(place, p.shape, [&](flow_place to) {
      placed.push_back({message_of(place, i.pack, stage_of(to, p.shape)), {kind::send, at, number++}});
    });
  }
  for (const auto& [place, n] : own_rows) {
    const simulators::transfer& t = order.value()[n];
    if (t.stage == stage && lacking.contains(t.gate)) script.apart[t.what.pass].push_back(t.what.pack);
  }
  for (const std::uint32_t n : away) {
    const simulators::transfer& t = order.value()[n];
    const auto index = static_cast<std::uint32_t>(script.absent.size());
    script.absent.push_back({t.what.pass, t.what.chunk, t.merge, t.what.pack.value, p.merges[t.merge].sequence});
    const auto own_at = own_rows.find({t.gate, stage});
    if (own_at == own_rows.end()) {
      placed.push_back({n, {kind::absent, index}});
      continue;
    }
    for (const auto& [place, one] : placed)
      if (place == own_at->second && one.what == kind::rows) script.beside[one.at].push_back(index);
  }
  for (auto& [at, beside] : script.beside)
    std::sort(beside.begin(), beside.end(), [&](std::uint32_t a, std::uint32_t b) {
      return script.absent[a].sequence < script.absent[b].sequence;
    });
  std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, a.second.at) < std::tuple(b.first, b.second.at);
  });
  for (const auto& [place, one] : placed) script.steps.push_back(one);
  return script;
}

SLIMPACK_DECL transfer_script transfer_script::idle(const program& code, std::uint32_t replica, std::uint32_t stage, const shape& on) {
  transfer_script script;
  script.together = replica;
  for (std::uint32_t at = 0; at < code.size(); ++at) {
    const flow_place place = place_of(code[at], stage, on);
    std::uint32_t number = 0;
    each_before(place, on, [&](flow_place) { script.steps.push_back({kind::receive, at, number++}); });
    number = 0;
    each_after(place, on, [&](flow_place) { script.steps.push_back({kind::send, at, number++}); });
  }
  return script;
}

}  // namespace slimpack::detail

#endif
