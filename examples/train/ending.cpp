#include "ending.hpp"

#include "launch.hpp"

#include <iostream>

namespace train {

int complain(ending e) {
  if (e.status == 0 || rank_in_job() > 0) return e.status;
  for (char& c : e.line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  std::cerr << "slimpack-train: " << e.line << std::endl;
  return e.status;
}

}  // namespace train
