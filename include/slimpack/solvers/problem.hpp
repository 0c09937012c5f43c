#ifndef SLIMPACK_SOLVERS_PROBLEM_HPP
#define SLIMPACK_SOLVERS_PROBLEM_HPP

#include <slimpack/core/shape.hpp>

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
};

}  // namespace slimpack

#endif
