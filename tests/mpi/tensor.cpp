// Run by mpirun on 4 ranks: two tensor ranks of each stage, over communicators that MPI_Comm_split makes: one of each
// tensor rank's stages and replicas, which the plan is run over, and one of each stage's tensor ranks, for the
// trainer's own all-reduce. Gradients are those of undivided layers on whole sequences.
#include <slimpack/transports/mpi.hpp>

#include "../adoption/tensor_ranks.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

using namespace slimpack;

/// The largest error on any rank; a step that fails counts as one.
double error_of(int stages, int replicas, int chunks, int ranks, const std::vector<tokens>& lengths) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int tensor = rank % ranks, place = rank / ranks;  // place: replica * stages + stage
  MPI_Comm alike = MPI_COMM_NULL, stage_ranks = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, tensor, rank, &alike);
  MPI_Comm_split(MPI_COMM_WORLD, place, rank, &stage_ranks);
  const plan p =
      planner_for<tests::chunks_of_heads>(
          {.stages = stages, .replicas = replicas, .tensor = ranks, .chunks = chunks, .quantum = {4}})(lengths)
          .value();
  const auto sum_up = [&](std::vector<adopt_tensor::row>& rows) {
    MPI_Allreduce(MPI_IN_PLACE, rows.data(), static_cast<int>(rows.size() * adopt_tensor::width), MPI_DOUBLE, MPI_SUM,
                  stage_ranks);
    return true;
  };
  const auto stage_index = static_cast<std::size_t>(place % stages), stage_count = static_cast<std::size_t>(stages);
  tests::chunks_of_heads own(stage_index, stage_count, static_cast<std::size_t>(chunks),
                             static_cast<std::size_t>(tensor), static_cast<std::size_t>(ranks), sum_up);
  double error = 1;
  {
    transports::mpi transport(alike);
    const executors::packflow run{.trainer_rank = [&](int of) { return of * ranks + tensor; }};
    const tests::undivided whole(stage_count * own.parts.size(), lengths);
    const result<step_report> done = run.execute(p, own, transport);
    if (!done) std::printf("rank %d: %s\n", rank, done.error().detail.c_str());
    // Gradients of replicas are summed by the trainer; each replica has its own sequences.
    std::vector<double> gradients;
    const auto each_row = [&](const auto& visit) {
      for (adopt_tensor::stage& part : own.parts)
        for (adopt_tensor::head& h : part.own.own) {
          for (auto& matrix : h.din)
            for (adopt_tensor::row& r : matrix) visit(r);
          for (adopt_tensor::row& r : h.dout) visit(r);
        }
    };
    each_row([&](const adopt_tensor::row& r) { gradients.insert(gradients.end(), r.begin(), r.end()); });
    MPI_Comm copies = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, place % stages * ranks + tensor, rank, &copies);
    MPI_Allreduce(MPI_IN_PLACE, gradients.data(), static_cast<int>(gradients.size()), MPI_DOUBLE, MPI_SUM, copies);
    MPI_Comm_free(&copies);
    auto next = gradients.begin();
    each_row([&](adopt_tensor::row& r) {
      std::copy_n(next, r.size(), r.begin()), next += static_cast<std::ptrdiff_t>(r.size());
    });
    if (done && std::abs(done.value().loss_sum - whole.loss) < 1e-12 * whole.loss) {
      error = 0;
      for (std::size_t chunk = 0; chunk < own.parts.size(); ++chunk)
        error = std::max(error, whole.error_of({&own.parts[chunk].own}, chunk * stage_count + stage_index,
                                               static_cast<std::size_t>(tensor), static_cast<std::size_t>(ranks)));
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Comm_free(&alike);
  MPI_Comm_free(&stage_ranks);
  return error;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::vector<tokens> lengths{{37}, {6}, {90}, {1}, {21}, {16}, {33}};
  double worst = size == 4 ? 0 : 1;
  struct {
    int stages, replicas, chunks;
  } const shapes[]{{2, 1, 1}, {1, 2, 1}, {2, 1, 2}};
  for (const auto& on : shapes)
    if (size == 4) worst = std::max(worst, error_of(on.stages, on.replicas, on.chunks, 2, lengths));
  if (rank == 0) std::printf("tensor ranks over %d processes: gradients differ by %.1e at most\n", size, worst);
  MPI_Finalize();
  return worst < 1e-11 ? 0 : 1;
}
