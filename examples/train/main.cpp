// slimpack-train: trains a small transformer on documents of very different lengths, over the plans of slimpack.

#include "corpus.hpp"
#include "ending.hpp"
#include "known_profile.hpp"
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

int run(const options& o) {
  slimpack::result<corpus> texts = corpus::load(o.documents, o.max_context);
  if (!texts) return complain_early(ending::of_input(texts.error()));
  if (o.batch > texts.value().size())
    return complain_early({2, o.documents.string() + " holds " + std::to_string(texts.value().size()) +
                                  " documents, --batch " + std::to_string(o.batch) + " asks for more"});
  std::optional<corpus> held_out;
  if (o.held_out) {
    slimpack::result<corpus> read = corpus::load(*o.held_out, o.max_context);
    if (!read) return complain_early(ending::of_input(read.error()));
    held_out = std::move(read).value();
  }
  if (has_profile(o))
    if (const auto known = known_profile(o); !known) return complain_early(ending::of_input(known.error()));
  const corpus* const evaluated = held_out ? &*held_out : nullptr;
  return o.transport == carrier::mpi ? on_mpi(o, texts.value(), evaluated) : on_threads(o, texts.value(), evaluated);
}

}  // namespace
}  // namespace train

int main(int argc, char** argv) {
  Eigen::setNbThreads(1);  // a rank is a core
  train::keep_memory();
  const std::variant<train::options, int> parsed = train::parse(argc, argv);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  try {
    const int status = train::run(std::get<train::options>(parsed));
    std::cout.flush();
    return std::cout || status != 0 ? status : train::complain({2, "standard output cannot be written"});
  } catch (const std::exception& e) {  // memory for absurdly large models, above all
    return train::complain_early({2, std::string("gave up: ") + e.what()});
  }
}
