#include "ending.hpp"
#include "launch.hpp"
#include "trainer.hpp"

#include <slimpack/transports/mpi.hpp>

#include <string>

namespace train {

int on_mpi(const options& o, const corpus& texts, const corpus* held_out) {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return complain({1, "MPI cannot be initialised"});
  ending e;
  {
    slimpack::transports::mpi transport(MPI_COMM_WORLD, {.time_out = o.time_out});
    if (transport.size() == o.ranks())
      e = train_rank(o, texts, held_out, transport);
    else
      e = {2, "--dp " + std::to_string(o.shape.replicas) + " x --pp " + std::to_string(o.shape.stages) + " takes " +
                  std::to_string(o.ranks()) + " ranks, mpirun started " + std::to_string(transport.size())};
  }
  if (e.status != 0) complain(e);                    // before any rank leaves, since mpirun then ends the others
  if (e.stuck) MPI_Abort(MPI_COMM_WORLD, e.status);  // MPI_Finalize would wait for the rank that does not answer
  MPI_Finalize();
  return e.status;
}

}  // namespace train
