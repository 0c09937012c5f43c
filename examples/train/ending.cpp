#include "ending.hpp"

#include "../plan/terminal.hpp"
#include "launch.hpp"

#include <iostream>
#include <utility>

namespace train {

int complain(const ending& e) {
  if (rank_in_job() > 0) return e.status;
  std::cerr << "slimpack-train: " + cli::error_line(e.line) + "\n" << std::flush;  // in one write: what mpirun says may come between
  return e.status;
}

int complain_early(ending e) {
  return rank_in_job() > 0 ? 0 : complain(std::move(e));
}

}  // namespace train
