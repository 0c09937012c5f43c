// Run by mpirun: steps of the transformer over MPI give the loss and gradients of uncut sequences, for every planner and
// schedule, every p x dp that makes as many ranks as there are, and both kinds of backward cuts.
#include <slimpack/transports/mpi.hpp>

#include "../laws/cases.hpp"
#include "../train/exact_step.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace slimpack;

constexpr double most = 1e-11;

int run() {
  transports::mpi transport{MPI_COMM_WORLD};
  double worst = 0;
  int steps = 0;
  int uneven = 0;
  int shared = 0;
  const int seeds = tests::cases(2);
  for (int seed = 1; seed <= seeds; ++seed) {
    const tests::exact_batch batch(static_cast<std::uint64_t>(seed));
    std::vector<tests::named_planner> planners = tests::every_planner();
    const std::size_t alone = planners.size();
    for (const tests::named_planner& sharing : tests::sharing_planners()) planners.push_back(sharing);
    for (std::size_t k = 0; k < planners.size(); ++k) {
      const tests::named_planner& planner = planners[k];
      for (int stages = 1; stages <= std::min(transport.size(), 4); ++stages) {
        if (transport.size() % stages != 0 || transport.size() / stages > (k < alone ? 3 : 4)) continue;
        for (const int chunks : {1, 2}) {
          const shape on{.stages = stages, .replicas = transport.size() / stages, .chunks = chunks, .quantum = batch.quantum};
          if (on.parts() > tests::small_model.layers) continue;
          const result<plan> made = planner.make(on, batch.lengths);
          if (chunks > 1 && !made) continue;  // list is for one chunk
          const plan& p = made.value();
          for (const bool whole : {false, true}) {
            const double error = (whole ? batch.error_of<tests::whole_pieces>(p, transport)
                                        : batch.error_of<train::model_stage<double>>(p, transport)).value();
            if (!(error < most))
              std::printf("rank %d: error %g, %s, p %d, v %d, seed %d\n", transport.rank(), error, planner.name, stages, chunks, seed);
            worst = std::max(worst, error);
            uneven += tests::asymmetric(p);
            shared += !p.merges.empty();
            ++steps;
          }
        }
      }
    }
  }
  double all = 0;
  MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (transport.rank() == 0)
    std::printf("%d ranks, %d steps, %d of asymmetric plans, %d shared, largest relative error %.2g, seeds 1 to %d\n",
                transport.size(), steps, uneven, shared, all, seeds);
  return all > 0 && all < most && uneven > steps / 8 && (transport.size() == 1 || shared > 0) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = run();
  MPI_Finalize();
  return status;
}
