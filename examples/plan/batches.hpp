#ifndef SLIMPACK_EXAMPLES_PLAN_BATCHES_HPP
#define SLIMPACK_EXAMPLES_PLAN_BATCHES_HPP

#include "options.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// The batches to plan, and what was done to the list on the way, a line each.
struct batches {
  std::vector<std::vector<slimpack::tokens>> lengths;
  std::vector<std::optional<slimpack::plan_data>> data;  ///< of each batch; none where the plan file of --from says
                                                         ///< none
  std::vector<std::string> notes;
  std::vector<slimpack::tokens> padding{};  ///< of each batch, as its lengths include it: 0 where nothing is padded
  /// Of each batch, where samples may share beginnings: `lengths` are those of its sequences. Else empty.
  std::vector<slimpack::forest> forests{};

  /// The forest of a batch; null of a list.
  [[nodiscard]] const slimpack::forest* forest_of(std::size_t batch) const {
    return forests.empty() ? nullptr : &forests[batch];
  }
  [[nodiscard]] slimpack::batch_view view_of(std::size_t batch) const {
    return forests.empty() ? slimpack::batch_view(lengths[batch]) : slimpack::batch_view(forests[batch]);
  }
};

/// How many tokens a fork of samples must save to be worth its price, where the longest sample has so many.
using fork_price_of = std::function<slimpack::result<slimpack::tokens>(slimpack::tokens longest)>;

/// More sequences than steps of training usually have; where --batch is not given, such a list is rather a data set.
constexpr std::size_t many_sequences = 2048;

/// Reads the list, applies --over-long and --pad-to, shuffles with --seed, and takes --batches batches of --batch
/// sequences. Where samples may share beginnings, a batch has those that the file says, or that token ids show.
slimpack::result<batches> load(const options& o, const fork_price_of& price);

}  // namespace cli

#endif
