#ifndef SLIMPACK_TESTS_DEVICES_GPU_PROCESSES_HPP
#define SLIMPACK_TESTS_DEVICES_GPU_PROCESSES_HPP

#include "../../transports/socket_link.hpp"

#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace slimpack {

/// Calls work() in a process of its own, since one that has asked CUDA anything cannot divide itself. What it returns,
/// or -1.
template <class Work>
int in_a_process(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(work());
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

inline int gpus_here() {
  static const int gpus = in_a_process([] {
    int found = 0;
    return cudaGetDeviceCount(&found) == cudaSuccess ? found : 0;
  });
  return gpus;
}

/// Calls of_rank(rank, link) in a process for each rank; it says what is wrong, or nothing. Ranks that share a GPU tell
/// NCCL that they are on machines of their own, as it wants a GPU for each rank of a machine. How many ranks said that
/// something was wrong, or ended otherwise.
template <class OfRank>
int failed_processes(int ranks, const OfRank& of_rank) {
  const int gpus = gpus_here();
  over_sockets sockets(ranks);
  std::vector<pid_t> children;
  for (int r = 0; r < ranks; ++r) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    for (int other = 0; other < ranks; ++other)
      if (other != r) sockets.close(static_cast<std::size_t>(other));
    if (gpus < ranks) ::setenv("NCCL_HOSTID", std::to_string(r).c_str(), 1);
    ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    ::alarm(120);  // one that hangs is ended, and has failed
    std::string wrong = cudaSetDevice(r % gpus) == cudaSuccess ? of_rank(r, sockets.link(r)) : "no GPU";
    if (!wrong.empty()) std::fprintf(stderr, "rank %d: %s\n", r, wrong.c_str());
    std::fflush(nullptr);
    std::_Exit(wrong.empty() ? 0 : 1);
  }
  for (std::size_t r = 0; r < children.size(); ++r) sockets.close(r);
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    failed += ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
  }
  return failed;
}

}  // namespace slimpack

#endif
