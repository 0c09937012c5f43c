#ifndef SLIMPACK_EXAMPLES_PLAN_RIVALS_HPP
#define SLIMPACK_EXAMPLES_PLAN_RIVALS_HPP

#include "planners.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace cli {

/// What a baseline may be set to besides its layout, as a user of it would choose.
struct rival_setting {
  slimpack::tokens context{};  ///< of a pack or a row; 0: the baseline has no such length
  int slices{};                ///< of a row of slimpipe; 0 of others
  slimpack::attention_lending lending{slimpack::attention_lending::none};
  bool at_forks{};  ///< parts of trees

  friend bool operator==(const rival_setting&, const rival_setting&) = default;
};

/// "packs of 131072", "rows of 131072 in 8 slices, lending level", "packs of 8192, trees cut at forks"; empty where
/// there is nothing to set.
std::string text_of(const rival_setting& with);

/// A baseline's plan at the setting that is fastest, or why it has none at any.
struct tuned_plan {
  slimpack::result<slimpack::plan> made;
  rival_setting with{};
  bool to_the_end{true};  ///< whether the stop token let it try all settings
};

/// Plans with the baseline asked for at each setting that its user would choose among
/// (slimpack/solvers/baselines/pack_lengths.hpp), those first whose packs take least, until what the next one's packs
/// take at least is no less than the fastest plan. What the request fixes (context, slices, lending) is not tuned.
/// to_beat   a plan that is slower is of no use
/// Errors    not_faster: each setting's packs take longer than `to_beat`; those of the planner, of the setting that
///           comes nearest
/// Requires  the name of a baseline
tuned_plan tuned(const request& asked, std::span<const slimpack::tokens> lengths, const any_cost& cost,
                 slimpack::seconds to_beat = {std::numeric_limits<double>::infinity()});

/// The plan of a baseline, without any limit, at the setting whose fullest stage holds least: what is shown of one that
/// fits nowhere.
tuned_plan smallest(request asked, std::span<const slimpack::tokens> lengths, const any_cost& cost);

/// The fastest plan of the tuned baselines that cut no sequence: slimpack's for trainers that cannot cut one either.
/// Errors    those of the baseline whose error is the last
slimpack::result<slimpack::plan> whole_plan(request asked, std::span<const slimpack::tokens> lengths,
                                            const any_cost& cost);

/// The most memory that any stage of a plan holds, in the unit of its limit.
double peak_of(const slimpack::plan& p);

}  // namespace cli

#endif
