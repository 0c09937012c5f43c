#include "launch.hpp"

namespace train {

ending on_mpi(const options&, const corpus&) {
  return {2, "this program was built without MPI; use --transport threads, or install MPI and build it again"};
}

}  // namespace train
