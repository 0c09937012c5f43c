#include "ending.hpp"
#include "launch.hpp"
#include "trainer.hpp"

#include <slimpack/transports/threads.hpp>

#include <cstddef>
#include <thread>
#include <vector>

namespace train {

int on_threads(const options& o, const inputs& in) {
  const slimpack::transports::threads world{o.ranks(), {.time_out = o.time_out}};
  std::vector<ending> endings(static_cast<std::size_t>(o.ranks()));
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < o.ranks(); ++rank)
    ranks.emplace_back([&, rank] {
      auto transport = world.endpoint(rank);
      endings[static_cast<std::size_t>(rank)] = train_rank(o, in, transport);
    });
  ranks.clear();  // joins
  for (const ending& e : endings)
    if (e.status != 0) return complain_here(e);  // in a job, too, where each process trains on its own
  return 0;
}

}  // namespace train
