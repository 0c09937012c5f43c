#ifndef SLIMPACK_SOLVERS_SOLUTION_HPP
#define SLIMPACK_SOLVERS_SOLUTION_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

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

/// One replica's part of a solver's answer.
struct replica_solution {
  std::vector<sequence_id> sequences;
  slimpack::partition partition;
  std::vector<program> programs;  ///< one per stage
  std::vector<loan> loans{};      ///< attention that its stages lend each other (core/lending/loans_of.hpp)
};

/// A solver's answer: one entry per replica of the shape, and the sequences that some of them share.
struct solution {
  std::vector<replica_solution> replicas;
  std::vector<merge> merges{};
  std::vector<solution> runners_up{};  ///< other answers, of which one may be faster where times are estimates
                                       ///< (problem::estimated)
};

/// The part of an answer that is one group: replicas that share sequences, or one alone.
struct group_solution {
  std::uint64_t division{};             ///< fingerprint of the division of all replicas
  std::vector<std::uint32_t> replicas;  ///< ascending
  std::vector<sequence_id> sequences;   ///< that the group runs
  solution solved;                      ///< of all replicas of the shape; those outside the group are empty
};

}  // namespace slimpack

#endif
