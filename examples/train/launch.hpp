#ifndef SLIMPACK_EXAMPLES_TRAIN_LAUNCH_HPP
#define SLIMPACK_EXAMPLES_TRAIN_LAUNCH_HPP

#include "account.hpp"
#include "inputs.hpp"
#include "options.hpp"

#include <optional>

namespace train {

/// What a rank has from its command line and its files: both are there unless it has ended.
struct reading {
  std::optional<options> typed{};
  std::optional<inputs> in{};
  account told{};
};

/// Whether an MPI launcher has started this process, and as which of its ranks: -1 when none has.
[[nodiscard]] int rank_in_job();

/// Trains with a thread per rank, all in this process. Returns the exit status; why it is not 0 has been said.
[[nodiscard]] int on_threads(const options& o, const inputs& in);

/// Trains as one rank of an MPI job, if all ranks of it have told the same and none of them refuses; otherwise all end
/// with the same status. launch_mpi.cpp, or launch_without_mpi.cpp where there is no MPI.
[[nodiscard]] int in_job(const reading& own);

}  // namespace train

#endif
