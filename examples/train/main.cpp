// slimpack-train: trains a small transformer on documents of very different lengths, over the plans of slimpack.

#include "account.hpp"
#include "ending.hpp"
#include "inputs.hpp"
#include "launch.hpp"
#include "options.hpp"

#include <Eigen/Core>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace train {

int rank_in_job() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  return -1;
}

namespace {

/// Keeps freed memory in the process. Matrices and activations come and go with every pack; given back to the system
/// each time, their pages would have to be cleared again, which takes as long as the model's own work.
void keep_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_ARENA_MAX, 1);  // memory that other arenas free goes back
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 1 << 26);
#endif
}

/// Reads the command line and the files that it names.
reading read(int argc, char** argv) {
  reading own;
  std::variant<options, ending> parsed = parse(argc, argv);
  if (const ending* over = std::get_if<ending>(&parsed)) {
    own.told.ended = *over;
    return own;
  }
  own.typed = std::get<options>(std::move(parsed));
  own.told.facts = own.typed->alike;
  slimpack::result<inputs> in = read_inputs(*own.typed);
  if (!in) {
    own.told.ended = ending::of_input(in.error());
    return own;
  }
  own.in = std::move(in).value();
  for (fact& f : facts_of(*own.in)) own.told.facts.push_back(std::move(f));
  return own;
}

/// The same, where memory may end.
reading read_or_refuse(int argc, char** argv) {
  try {
    return read(argc, argv);
  } catch (const std::exception& e) {
    return {.told = {.ended = ending{2, std::string("gave up: ") + e.what()}}};
  }
}

int run(const reading& own) {
  if (rank_in_job() >= 0 || (own.typed && own.typed->transport == carrier::mpi)) return in_job(own);
  return own.told.ended ? finish(*own.told.ended) : on_threads(*own.typed, *own.in);
}

}  // namespace
}  // namespace train

int main(int argc, char** argv) {
  Eigen::setNbThreads(1);  // a rank is a core
  train::keep_memory();
  try {
    const int status = train::run(train::read_or_refuse(argc, argv));
    std::cout.flush();
    return std::cout || status != 0 ? status : train::complain({2, "standard output cannot be written"});
  } catch (const std::exception& e) {  // memory for absurdly large models, above all
    return train::complain_here({2, std::string("gave up: ") + e.what()});
  }
}
