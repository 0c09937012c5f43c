// Checks the GPUs of a cluster: --help says how. Not a test of this project, but of a machine that is to run it.
#include "check.hpp"
#include "options.hpp"

#include <slimpack/devices/cuda.hpp>
#include <slimpack/transports/communicators/nccl.hpp>
#include <slimpack/transports/mpi.hpp>
#include <slimpack/transports/nccl.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <utility>

namespace {

/// One rank for each GPU of the node; node: the least rank of the world on it.
slimpack::result<int> take_gpu(int world_rank, int gpus) {
  MPI_Comm here{};
  int rank = 0, node = world_rank;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) != MPI_SUCCESS ||
      MPI_Comm_rank(here, &rank) != MPI_SUCCESS || MPI_Bcast(&node, 1, MPI_INT, 0, here) != MPI_SUCCESS ||
      MPI_Comm_free(&here) != MPI_SUCCESS)
    return slimpack::error{slimpack::errc::transport_failed, "MPI does not say which ranks share a node"};
  if (rank >= gpus)
    return slimpack::error{slimpack::errc::invalid_input,
                           "rank " + std::to_string(world_rank) + " is number " + std::to_string(rank + 1) +
                               " on its node, which has " + std::to_string(gpus) + " GPUs: start a rank for each GPU"};
  if (const cudaError_t code = cudaSetDevice(rank); code != cudaSuccess)
    return slimpack::error{slimpack::errc::transport_failed, std::string("CUDA: ") + cudaGetErrorString(code)};
  return node;
}

std::string gpu_name() {
  cudaDeviceProp known{};
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&known, device) != cudaSuccess) return "GPU";
  std::string name = known.name;
  if (name.starts_with("NVIDIA ")) name.erase(0, 7);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == ','; }, '-');
  return name;
}

slimpack::result<void> check_rank(check_device::options o, int gpus) {
  const slimpack::seconds time_out{o.time_out};
  slimpack::transports::mpi world(MPI_COMM_WORLD, {.time_out = time_out});
  const slimpack::result<int> node = take_gpu(world.rank(), gpus);
  if (!node) return node.error();
  if (o.gpu.empty()) o.gpu = gpu_name();
  slimpack::transports::nccl transport(world, slimpack::devices::cuda{}, slimpack::transports::communicators::nccl{},
                                       {time_out});
  if (slimpack::result<void> made = transport.open(); !made) return made;
  const slimpack::result<std::string> table = check_device::check(transport, node.value(), o, std::cout);
  if (!table) return table.error();
  if (transport.rank() != 0) return slimpack::success();
  std::ofstream file(o.out);
  file << table.value();
  if (!file.flush()) return slimpack::error{slimpack::errc::unreadable, o.out + " cannot be written"};
  std::cout << "wrote " << o.out << std::endl;
  return slimpack::success();
}

}  // namespace

int main(int argc, char** argv) {
  const slimpack::result<check_device::options> asked =
      check_device::parse(std::span<const char* const>(argv + 1, static_cast<std::size_t>(argc - 1)));
  if (!asked) {
    std::fprintf(stderr, "slimpack-check-device: %s\n", asked.error().detail.c_str());
    return 2;
  }
  if (asked.value().help) {
    std::fwrite(check_device::help_text.data(), 1, check_device::help_text.size(), stdout);
    return 0;
  }
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::puts("skipped: no GPU on this machine");
    return 77;
  }
  if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS) {
    std::fputs("slimpack-check-device: MPI cannot be initialised\n", stderr);
    return 1;
  }
  if (const slimpack::result<void> done = check_rank(asked.value(), gpus); !done) {
    std::fprintf(stderr, "slimpack-check-device: %s\n", done.error().detail.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);  // other ranks may wait for this one
  }
  MPI_Finalize();
}
