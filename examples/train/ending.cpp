#include "ending.hpp"

#include "../plan/terminal.hpp"
#include "launch.hpp"

#include <iostream>

namespace train {

int complain(const ending& e) { return rank_in_job() > 0 ? e.status : complain_here(e); }

int complain_here(const ending& e) {
  std::cerr << "slimpack-train: " + cli::error_line(e.line) + "\n"
            << std::flush;  // in one write: what mpirun says may
                            // come between
  return e.status;
}

int finish(const ending& e) {
  if (e.status != 0) return complain(e);
  if (rank_in_job() <= 0) std::cout << e.line << std::flush;
  return 0;
}

}  // namespace train
