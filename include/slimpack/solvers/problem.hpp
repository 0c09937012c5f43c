#ifndef SLIMPACK_SOLVERS_PROBLEM_HPP
#define SLIMPACK_SOLVERS_PROBLEM_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/shape.hpp>

#include <cstddef>
#include <span>
#include <stop_token>

namespace slimpack {

/// One batch to plan: what a solver is asked.
struct problem {
  std::span<const tokens> lengths;  ///< a sequence_id is an index into it
  slimpack::shape shape;
  std::stop_token stop{};  ///< from outside, for wall-clock limits: a search ends early with its best
  bool common_cuts{};  ///< who asks runs both passes in pieces that they have in common (pricing/refine.hpp): a solver
                       ///< that heeds it prices packs so, and answers with such pieces
  bool estimated{};    ///< a plan takes what no search of orders sees: E, V, U and G, sums of gradients
                       ///< on several parts; a solver may give runners-up, and the fastest plan of all is taken
  std::span<const sequence_id> parents{};  ///< of each sequence, no_parent of a root, where samples share beginnings;
                                           ///< else empty. A solver that does not say `plans_prefixes` never gets any
  std::size_t less{};  ///< by how many of its efforts (efforts_of, solvers/hooks.hpp) a solver spends less than its own
  bool lowered{};      ///< its memory limit is below the one asked for; a solver may refuse it whose rules give way to
                       ///< memory, since here they would give way to nothing that was asked for

  [[nodiscard]] constexpr batch_view batch() const noexcept { return {lengths, parents}; }
};

}  // namespace slimpack

#endif
