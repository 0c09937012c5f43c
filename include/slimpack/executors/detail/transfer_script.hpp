#ifndef SLIMPACK_EXECUTORS_DETAIL_TRANSFER_SCRIPT_HPP
#define SLIMPACK_EXECUTORS_DETAIL_TRANSFER_SCRIPT_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/simulators/transfer_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What a rank does with others in a step, in the plan's order of all transfers (simulators/transfer_order.hpp).
struct transfer_script {
  enum class kind : std::uint8_t { receive, rows, send, absent };
  struct step {
    kind what{};
    std::uint32_t at{};  // instruction of the rank's program that reads the message, has the rows, or sends; or of `absent`
    friend bool operator==(const step&, const step&) = default;
  };
  /// Transfers with a row of which this rank has no tokens.
  struct absent_row {
    pass way{};
    std::uint32_t chunk{};
    std::uint32_t merge{};  // of the plan
    std::uint32_t row{};
    sequence_id sequence;
  };

  std::vector<step> steps;
  std::vector<absent_row> absent;
  std::map<std::uint32_t, std::vector<std::uint32_t>> beside{};  // by instruction: those of `absent` that are among its rows
  std::uint64_t hash{};      // of the order of all that run together
  std::uint32_t together{};  // the first replica of these

  /// Requires  a program that is checked            Errors    those of transfer_order
  static result<transfer_script> of(const plan& p, std::uint32_t replica, std::uint32_t stage) {
    const result<std::vector<simulators::transfer>> order = simulators::transfer_order(p, replica);
    if (!order) return order.error();
    constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
    const auto stages = static_cast<std::uint32_t>(p.shape.stages);
    const auto parts = static_cast<std::size_t>(p.shape.parts());
    const replica_plan& own = p.replicas[replica];
    // Of this replica, by pack and part: where its message stands, and where its rows do.
    by_pass<std::vector<std::uint32_t>> message, rows;
    for (const pass way : both_passes) {
      message[way].assign(own.partition.of(way).size() * parts, never);
      rows[way].assign(own.partition.of(way).size() * parts, never);
    }
    std::map<std::tuple<std::uint32_t, std::uint32_t>, std::uint32_t> own_rows;  // by gate and stage: where they stand
    std::vector<std::uint32_t> away;                                            // where the transfers of absent rows stand
    transfer_script script;
    script.together = replica;
    word_hash hash;
    for (std::uint32_t n = 0; n < order.value().size(); ++n) {
      const simulators::transfer& t = order.value()[n];
      hash.add(t.replica), hash.add(t.stage), hash.add(t.what.chunk), hash.add(t.what.pack.value);
      hash.add(std::uint32_t{t.what.pass == pass::forward ? 0u : 1u} + (t.is_rows ? 2u : 0u) + (t.is_absent ? 4u : 0u));
      hash.add(t.merge);
      script.together = std::min(script.together, t.replica);
      if (t.replica != replica) continue;
      if (t.is_absent) {
        if (t.stage == stage) away.push_back(n);
        continue;
      }
      if (t.is_rows) own_rows[{t.gate, t.stage}] = n;
      (t.is_rows ? rows : message)[t.what.pass][t.what.pack.value * parts + t.what.chunk * stages + t.stage] = n;
    }
    script.hash = hash.value();
    std::vector<std::pair<std::uint32_t, step>> placed;  // in the order
    const program& code = own.programs[stage];
    for (std::uint32_t at = 0; at < code.size(); ++at) {
      const instruction& i = code[at];
      if (i.weights_only) continue;
      const std::size_t cell = i.pack.value * parts + i.chunk * stages + stage;
      const bool is_forward = i.pass == pass::forward;
      const std::size_t part = cell % parts;
      if (is_forward ? part > 0 : part + 1 < parts)
        placed.push_back({message[i.pass][is_forward ? cell - 1 : cell + 1], {kind::receive, at}});
      if (rows[i.pass][cell] != never) placed.push_back({rows[i.pass][cell], {kind::rows, at}});
      if (message[i.pass][cell] != never) placed.push_back({message[i.pass][cell], {kind::send, at}});
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

  /// Of a replica that runs one pack of its own through its stages.
  static transfer_script idle(const program& code, std::uint32_t replica, std::uint32_t stage, const shape& on) {
    transfer_script script;
    script.together = replica;
    const auto stages = static_cast<std::uint32_t>(on.stages);
    const auto parts = static_cast<std::size_t>(on.parts());
    for (std::uint32_t at = 0; at < code.size(); ++at) {
      const std::size_t part = code[at].chunk * stages + stage;
      const bool is_forward = code[at].pass == pass::forward;
      if (is_forward ? part > 0 : part + 1 < parts) script.steps.push_back({kind::receive, at});
      if (is_forward ? part + 1 < parts : part > 0) script.steps.push_back({kind::send, at});
    }
    return script;
  }
};

}  // namespace slimpack::detail

#endif
