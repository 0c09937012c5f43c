#ifndef SLIMPACK_SOLVERS_IMPROVE_REORDER_HPP
#define SLIMPACK_SOLVERS_IMPROVE_REORDER_HPP

#include <slimpack/solvers/improve/sites.hpp>

#include <cstddef>
#include <string_view>

namespace slimpack::solvers::improve {

/// A sequence runs earlier or later, in one pass or in both.
/// Source    derived
struct reorder {
  static constexpr std::string_view name = "reorder";
  [[nodiscard]] static constexpr double weight(const search_options&) noexcept { return 1; }

  bool operator()(sequence_site& at) const {
    const sequence_id moved = at.sequences[at.random.below(at.sequences.size())].id;
    const sequence_id before = at.sequences[at.random.below(at.sequences.size())].id;
    const std::size_t passes = at.random.below(3);  // forward, backward, both
    if (passes != 1) at.run_before(pass::forward, moved, before);
    if (passes != 0) at.run_before(pass::backward, moved, before);
    return true;
  }
};

}  // namespace slimpack::solvers::improve

#endif
