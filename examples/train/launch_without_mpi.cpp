#include "ending.hpp"
#include "launch.hpp"

namespace train {

int on_mpi(const options&, const corpus&, const corpus*) {
  return complain_early(
      {2, "this program was built without MPI; use --transport threads, or install MPI and build it again"});
}

}  // namespace train
