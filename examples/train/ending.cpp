#include "ending.hpp"

#include "launch.hpp"

#include <iostream>
#include <utility>

namespace train {

int complain(ending e) {
  if (rank_in_job() > 0) return e.status;
  for (char& c : e.line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  std::cerr << "slimpack-train: " + e.line + "\n" << std::flush;  // in one write: what mpirun says may come between
  return e.status;
}

int complain_early(ending e) {
  return rank_in_job() > 0 ? 0 : complain(std::move(e));
}

}  // namespace train
