#ifndef SLIMPACK_EXAMPLES_PLAN_BASELINE_OPTIONS_HPP
#define SLIMPACK_EXAMPLES_PLAN_BASELINE_OPTIONS_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/shapes/layout.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cli {

/// What --baseline fixes, so that it is not tuned.
struct fixed_settings {
  std::optional<slimpack::tokens> context{};  ///< of packs and rows
  std::optional<slimpack::costs::recompute> recompute{};
};

/// A setting of --baseline, and the one baseline that it is for; empty: all of them.
struct baseline_setting {
  std::string rival;
  fixed_settings fixed;
};

/// "context=8192,megatron:recompute=full". Throws bad_usage: no setting, one that is unknown, a value that it does not
/// take, a planner that is no baseline or is not among those asked for.
std::vector<baseline_setting> baselines_of(const std::string& text, const std::vector<std::string>& asked);

/// What of all these is for one baseline; of two that differ, the one that names it.
fixed_settings fixed_for(const std::string& planner, const std::vector<baseline_setting>& all);

/// "tp8,pp4,dp8", "dp4,pp8,vpp2": degrees that are not named are 1. Throws bad_usage
slimpack::shapes::layout baseline_layout_of(const std::string& text);

}  // namespace cli

#endif
