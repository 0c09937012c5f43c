// Run by mpirun on 4 ranks, told to leave survivors alone: two stages of two tensor ranks, of which one rank kills
// itself.
//
//   slimpack-mpi-killed VICTIM CALL WHERE      in its CALL-th call of the compute, before its all-reduce, or "in" it
//
// The trainer's numbers of ranks are others than the job's, and errors have the trainer's alone. Each survivor prints,
// by the job's number, when its step ended and why, and the victim when it dies, in milliseconds of the machine's
// steady clock.
#include <slimpack/executors/job/watchdog.hpp>
#include <slimpack/transports/mpi.hpp>

#include "../adoption/tensor_ranks.hpp"

#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace slimpack;

long long now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The trainer's number of a rank of the job.
int number_of(int rank) {
  constexpr int numbers[]{12, 10, 13, 11};
  return numbers[rank];
}

/// The stage of examples/adopt_tensor.cpp over an all-reduce that another thread can end.
struct mortal : adopt_tensor::stage {
  std::atomic<bool> ended{false};
  int calls_left{-1};
  bool in_all_reduce{};

  void connect(MPI_Comm with) {
    sum_up = [this, with](std::vector<adopt_tensor::row>& rows) {
      if (in_all_reduce) die_at_last();
      auto* reduced = new std::vector<adopt_tensor::row>(rows);  // for ever where it is ended: MPI may still read and
                                                                 // write there
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Iallreduce(MPI_IN_PLACE, reduced->data(), static_cast<int>(reduced->size() * adopt_tensor::width), MPI_DOUBLE,
                     MPI_SUM, with, &request);
      for (int done = 0; !done;) {
        if (ended) return false;
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        std::this_thread::yield();
      }
      rows = *reduced;
      delete reduced;
      return true;
    };
    end_sum = [this] { ended = true; };
  }
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (!in_all_reduce) die_at_last();
    return stage::forward(p, in, out);
  }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (!in_all_reduce) die_at_last();
    return stage::backward(p, in, out);
  }

 private:
  void die_at_last() {
    if (calls_left-- != 0) return;
    std::printf("dies at %lld ms\n", now());
    std::fflush(stdout);
    std::raise(SIGKILL);
  }
};

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE, rank = 0, size = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4 || size != 4 || level < MPI_THREAD_MULTIPLE) return 2;
  constexpr int tensor = 2;
  const seconds time_out{1};
  MPI_Comm alike = MPI_COMM_NULL, stage_ranks = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % tensor, rank, &alike);
  MPI_Comm_split(MPI_COMM_WORLD, rank / tensor, rank, &stage_ranks);
  MPI_Comm_set_errhandler(stage_ranks, MPI_ERRORS_RETURN);
  transports::mpi transport(alike, {.time_out = time_out, .abort_time_out = seconds{.3}});
  executors::watchdog world{transports::mpi(MPI_COMM_WORLD, {.time_out = time_out, .abort_time_out = seconds{.3}}),
                            {.time_out = time_out, .trainer_rank = number_of}};
  mortal own;
  own.own.own =
      tests::heads_of(static_cast<std::size_t>(rank / tensor), static_cast<std::size_t>(rank % tensor), tensor);
  own.connect(stage_ranks);
  if (rank == std::atoi(argv[1]))
    own.calls_left = std::atoi(argv[2]), own.in_all_reduce = argv[3] == std::string_view("in");
  const plan p = planner_for<adopt_tensor::stage>({.stages = 2, .tensor = tensor, .quantum = {4}})(
                     std::vector<tokens>{{9}, {6}, {22}, {1}, {5}})
                     .value();
  const executors::packflow run{.trainer_rank = [=](int of) { return number_of(of * tensor + rank % tensor); },
                                .world = &world};
  MPI_Barrier(MPI_COMM_WORLD);
  const result<step_report> step = run.execute(p, own, transport);
  std::printf("rank %d ended at %lld ms: %s\n", rank, now(), step ? "success" : step.error().detail.c_str());
  std::fflush(stdout);
  _exit(0);  // MPI_Finalize would wait for the dead
}
