#ifndef SLIMPACK_SOLVERS_SOLUTION_HPP
#define SLIMPACK_SOLVERS_SOLUTION_HPP

#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/program.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace slimpack {

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
  std::optional<forest_cut> cut{};     ///< where replicas compute paths again: the sequences are then those of the cut
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
