// What is written for GPUs, as nvcc and other compilers with CUDA's headers see it: compiled, and not run.
#include <slimpack/devices/cuda.hpp>
#include <slimpack/devices/streams.hpp>
#include <slimpack/transports/cuda.hpp>
#ifdef SLIMPACK_TEST_NCCL
#include <slimpack/transports/communicators/nccl.hpp>
#include <slimpack/transports/nccl.hpp>
#include <slimpack/transports/threads.hpp>
#endif

#include <span>

static_assert(slimpack::streams<slimpack::devices::cuda>);

using port = slimpack::transports::cuda<slimpack::devices::cuda>::port;
static_assert(slimpack::detail::moves_device_memory<port>());
slimpack::result<void> sum(port& p, std::span<double> data, std::span<const int> group) {
  return p.all_reduce(data, group);
}

#ifdef SLIMPACK_TEST_NCCL
using ranks = slimpack::transports::nccl<slimpack::devices::cuda, slimpack::transports::communicators::nccl,
                                         slimpack::transports::threads::port>;
static_assert(slimpack::transport<ranks>);
slimpack::result<void> sum(ranks& r, std::span<float> data, std::span<const int> group) {
  return r.all_reduce(data, group);
}
#endif
