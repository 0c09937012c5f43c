#include "ending.hpp"
#include "launch.hpp"
#include "trainer.hpp"

#include <slimpack/transports/mpi.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace train {
namespace {

/// How all ranks end before they train; nothing if they train.
std::optional<ending> agree(const reading& own) {
  slimpack::transports::mpi all{
      MPI_COMM_WORLD};  // with its own time-out, since a rank that refuses may know no --time-out
  slimpack::result<std::vector<account>> accounts = exchanged(all, own.told);
  if (accounts) return verdict(accounts.value());
  complain_here(
      own.told.ended.value_or(ending{1, "rank " + std::to_string(all.rank()) + ": " + accounts.error().detail}));
  MPI_Abort(MPI_COMM_WORLD, 1);  // MPI_Finalize would wait for the rank that does not answer
  return ending{1};
}

ending trained(const options& o, const inputs& in) {
  slimpack::transports::mpi transport(MPI_COMM_WORLD, {.time_out = o.time_out});
  if (transport.size() == o.ranks()) return train_rank(o, in, transport);
  return {2, "--dp " + std::to_string(o.shape.replicas) + " x --pp " + std::to_string(o.shape.stages) + " takes " +
                 std::to_string(o.ranks()) + " ranks, mpirun started " + std::to_string(transport.size())};
}

/// What this rank does in a job whose ranks have agreed. Why the status is not 0 has been said when it returns.
int trained_in_job(const options& o, const inputs& in) {
  if (o.transport == carrier::threads) return on_threads(o, in);
  const ending e = trained(o, in);
  if (e.status != 0) complain(e);                    // before any rank leaves, since mpirun then ends the others
  if (e.stuck) MPI_Abort(MPI_COMM_WORLD, e.status);  // MPI_Finalize would wait for the rank that does not answer
  return e.status;
}

}  // namespace

int in_job(const reading& own) {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return complain({1, "MPI cannot be initialised"});
  std::optional<ending> over = agree(own);
  const int status = over ? finish(*std::move(over)) : trained_in_job(*own.typed, *own.in);
  MPI_Finalize();
  return status;
}

}  // namespace train
