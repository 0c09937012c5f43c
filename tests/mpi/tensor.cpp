// Run by mpirun on 4 ranks: two tensor ranks of each stage, over communicators that MPI_Comm_split makes: one of each tensor
// rank's stages and replicas, which the plan is run over, and one of each stage's tensor ranks, for the trainer's own all-reduce.
// Gradients are those of undivided layers on whole sequences.
#include <slimpack/transports/mpi.hpp>

#include "../adoption/tensor_ranks.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

using namespace slimpack;

/// The largest error on any rank; a step that fails counts as one.
double error_of(int stages, int replicas, int ranks, const std::vector<tokens>& lengths) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int tensor = rank % ranks, place = rank / ranks;  // place: replica * stages + stage
  MPI_Comm alike = MPI_COMM_NULL, stage_ranks = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, tensor, rank, &alike);
  MPI_Comm_split(MPI_COMM_WORLD, place, rank, &stage_ranks);
  const plan p = planner_for<adopt_tensor::stage>({.stages = stages, .replicas = replicas, .tensor = ranks, .quantum = {4}})(lengths).value();
  adopt_tensor::stage own;
  own.own.own = tests::heads_of(static_cast<std::size_t>(place % stages), static_cast<std::size_t>(tensor), static_cast<std::size_t>(ranks));
  own.sum_up = [&](std::vector<adopt_tensor::row>& rows) {
    MPI_Allreduce(MPI_IN_PLACE, rows.data(), static_cast<int>(rows.size() * adopt_tensor::width), MPI_DOUBLE, MPI_SUM, stage_ranks);
    return true;
  };
  double error = 1;
  {
    transports::mpi transport(alike);
    const executors::packflow<> run{.trainer_rank = [&](int of) { return of * ranks + tensor; }};
    const tests::undivided whole(static_cast<std::size_t>(stages), lengths);
    const result<step_report> done = run.execute(p, own, transport);
    if (!done) std::printf("rank %d: %s\n", rank, done.error().detail.c_str());
    // Gradients of replicas are summed by the trainer; each replica has its own sequences.
    std::vector<double> gradients;
    for (adopt_tensor::head& h : own.own.own) {
      for (auto& matrix : h.din)
        for (adopt_tensor::row& r : matrix) gradients.insert(gradients.end(), r.begin(), r.end());
      for (adopt_tensor::row& r : h.dout) gradients.insert(gradients.end(), r.begin(), r.end());
    }
    MPI_Comm copies = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, place % stages * ranks + tensor, rank, &copies);
    MPI_Allreduce(MPI_IN_PLACE, gradients.data(), static_cast<int>(gradients.size()), MPI_DOUBLE, MPI_SUM, copies);
    MPI_Comm_free(&copies);
    auto next = gradients.begin();
    for (adopt_tensor::head& h : own.own.own) {
      for (auto& matrix : h.din)
        for (adopt_tensor::row& r : matrix) std::copy_n(next, r.size(), r.begin()), next += static_cast<std::ptrdiff_t>(r.size());
      for (adopt_tensor::row& r : h.dout) std::copy_n(next, r.size(), r.begin()), next += static_cast<std::ptrdiff_t>(r.size());
    }
    const std::vector<const adopt_tensor::layer*> one{&own.own};
    if (done && std::abs(done.value().loss_sum - whole.loss) < 1e-12 * whole.loss)
      error = whole.error_of(one, static_cast<std::size_t>(place % stages), static_cast<std::size_t>(tensor), static_cast<std::size_t>(ranks));
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
  for (const auto& [stages, replicas] : {std::pair{2, 1}, {1, 2}})
    if (size == 4) worst = std::max(worst, error_of(stages, replicas, 2, lengths));
  if (rank == 0) std::printf("tensor ranks over %d processes: gradients differ by %.1e at most\n", size, worst);
  MPI_Finalize();
  return worst < 1e-11 ? 0 : 1;
}
