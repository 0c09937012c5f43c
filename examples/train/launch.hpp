#ifndef SLIMPACK_EXAMPLES_TRAIN_LAUNCH_HPP
#define SLIMPACK_EXAMPLES_TRAIN_LAUNCH_HPP

#include "corpus.hpp"
#include "options.hpp"

namespace train {

/// Whether an MPI launcher has started this process, and as which of its ranks: -1 when none has.
[[nodiscard]] int rank_in_job();

/// Trains with a thread per rank, all in this process. Returns the exit status; why it is not 0 has been said.
/// held_out: what the trained model is evaluated on, or null
[[nodiscard]] int on_threads(const options& o, const corpus& texts, const corpus* held_out);

/// The same as one rank of an MPI job; launch_mpi.cpp, or launch_without_mpi.cpp where there is no MPI.
[[nodiscard]] int on_mpi(const options& o, const corpus& texts, const corpus* held_out);

}  // namespace train

#endif
