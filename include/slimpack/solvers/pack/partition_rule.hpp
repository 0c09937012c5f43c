#ifndef SLIMPACK_SOLVERS_PACK_PARTITION_RULE_HPP
#define SLIMPACK_SOLVERS_PACK_PARTITION_RULE_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/size_ratios.hpp>

namespace slimpack::detail {

/// How a replica's sequences become packs, in a few numbers that serve every batch: what local_search varies.
struct partition_rule {
  by_pass<solvers::size_ratios> sizes{solvers::default_search_options.tuning.forward_ratios(),
                                      solvers::default_search_options.tuning.backward_ratios()};
  /// share of the sequences that run before the longest, shortest first; the others after it
  double front{solvers::default_search_options.front};
  /// a sequence of a greater part of the room leaves others short of it at its turn
  double crowding{solvers::default_search_options.tuning.crowding};
  double alignment{
      solvers::default_search_options.tuning.alignment};  ///< of packs with common cuts, see aligned (align.hpp)
  tokens quantum;                                         ///< sequences are cut at its multiples
};

}  // namespace slimpack::detail

#endif
