#ifndef SLIMPACK_EXECUTORS_IMPL_SHARED_JOINED_ROWS_IPP
#define SLIMPACK_EXECUTORS_IMPL_SHARED_JOINED_ROWS_IPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/executors/detail/shared/joined_rows.hpp>

#include <cstdint>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL joined_rows::joined_rows(const stage_script& script, const node_map& node_of) : script_(&script) {
  for (const pass p : both_passes) {
    joins_[p].assign(script.of(p).ends.size(), 1);
    for (const pack_id pack : script.transfers.apart[p])
      if (pack.value < joins_[p].size()) joins_[p][pack.value] = 0;
  }
  for (const shared_sequence& s : script.shared.all()) {
    std::vector<std::uint8_t>& far = far_.emplace_back();
    const auto node = [&](std::uint32_t replica) {
      return node_of(static_cast<int>(replica) * script.on.stages + script.stage);
    };
    for (const std::uint32_t replica : s.sharers)
      far.push_back(node_of && node(replica) != node(s.sharers[s.self]) ? 1 : 0);
    bool crosses = false;
    for (const std::uint8_t one : far) crosses = crosses || one != 0;
    crosses_.push_back(crosses ? 1 : 0);
    if (!crosses) far.clear();
  }
}

}  // namespace slimpack::detail

#endif
