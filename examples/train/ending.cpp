#include "ending.hpp"

#include "launch.hpp"

#include <iostream>
#include <utility>

namespace train {

int complain(ending e) {
  return rank_in_job() > 0 ? e.status : complain_here(std::move(e));
}

int complain_here(ending e) {
  for (char& c : e.line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  std::cerr << "slimpack-train: " + e.line + "\n" << std::flush;  // in one write: what mpirun says may come between
  return e.status;
}

int finish(ending e) {
  if (e.status != 0) return complain(std::move(e));
  if (rank_in_job() <= 0) std::cout << e.line << std::flush;
  return 0;
}

}  // namespace train
