#include "ending.hpp"
#include "launch.hpp"

#include <string>

namespace train {

int in_job(const reading& own) {
  if (const std::optional<ending>& e = own.told.ended) {
    if (e->status == 0) return finish(*e);
    return complain_here(
        {e->status, (rank_in_job() > 0 ? "rank " + std::to_string(rank_in_job()) + ": " : "") + e->line});
  }
  if (own.typed->transport == carrier::threads) return on_threads(*own.typed, *own.in);
  return complain(
      {2, "this program was built without MPI; use --transport threads, or install MPI and build it again"});
}

}  // namespace train
