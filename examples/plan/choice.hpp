#ifndef SLIMPACK_EXAMPLES_PLAN_CHOICE_HPP
#define SLIMPACK_EXAMPLES_PLAN_CHOICE_HPP

#include "setting.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/shape_search.hpp>
#include <slimpack/shapes/layout.hpp>
#include <slimpack/shapes/ranking.hpp>
#include <slimpack/shapes/search_progress.hpp>

#include <iosfwd>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace cli {

/// What backward may compute again under a planner, the setting's first: what --recompute says, which binds --planner
/// alone; what --baseline says of a planner that is compared; else each that the trainer can run.
std::vector<slimpack::costs::recompute> recomputes_of(const setting& s, const std::string& planner);

/// The layouts of so many GPUs that a planner may be given under a setting: what its options fix stays.
std::vector<slimpack::shapes::layout> layouts_of(const setting& s, const std::string& planner, int gpus);

/// The same, and each once more with as many layers on each stage as make the busiest least busy, where those are
/// others.
std::vector<slimpack::shapes::layout> with_even_stages(const setting& s, std::vector<slimpack::shapes::layout> layouts,
                                                       std::span<const std::vector<slimpack::tokens>> batches);

/// A layout once for each unequal shares of the words that may shorten its steps.
std::vector<slimpack::shapes::layout> with_unequal_words(const setting& s, const std::string& planner,
                                                         const slimpack::shapes::layout& on,
                                                         std::span<const std::vector<slimpack::tokens>> batches);

/// Ranks layouts by how fast a planner trains these batches on them, or evaluates them under --forward-only; a baseline
/// has its best setting on each.
/// Shapes    forests: one per batch, of samples that share beginnings; else empty
slimpack::result<slimpack::shapes::ranking> ranked(const setting& s, const std::string& planner,
                                                   slimpack::shape_search how,
                                                   std::span<const slimpack::shapes::layout> layouts,
                                                   std::span<const std::vector<slimpack::tokens>> batches,
                                                   std::stop_token stop = {},
                                                   const slimpack::shapes::progress_listener& told = {},
                                                   std::span<const slimpack::forest> forests = {});

/// How far a search is: what it does, layouts left, the best so far.
std::string text_of(const slimpack::shapes::search_progress& far);

/// A layout and how it compares, over these batches: the ten best, and how many others are out for which reason.
void print_ranking(std::ostream& out, const std::string& planner, const slimpack::shapes::ranking& found,
                   const setting& s, std::span<const std::vector<slimpack::tokens>> batches);

/// Why nothing of a ranking was planned. Requires no best, and a candidate
slimpack::error none_of(const slimpack::shapes::ranking& found, const std::string& planner, int gpus);

}  // namespace cli

#endif
