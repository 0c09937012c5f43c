// NCCL between processes, on as many GPUs as there are, or one that they share.
#include "../../../examples/check_device/check.hpp"
#include "processes.hpp"
#include "trained_stage.hpp"

#include <slimpack/devices/cuda.hpp>
#include <slimpack/testing/transport_laws.hpp>
#include <slimpack/transports/blocking.hpp>
#include <slimpack/transports/communicators/nccl.hpp>
#include <slimpack/transports/nccl.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace slimpack::nccl_gpu_test {
namespace {

using hosts = transports::blocking<socket_link>;
using end = transports::nccl<devices::cuda, transports::communicators::nccl, hosts>;

class Nccl : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (gpus_here() <= 0) GTEST_SKIP() << "skipped: no GPU on this machine";
    ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", GetParam() ? "1" : "0", 1);
  }
};

/// of_rank(transport) in a process for each rank.
template <class OfRank>
int failed(int ranks, seconds time_out, const OfRank& of_rank) {
  return failed_processes(ranks, [&](int rank, socket_link link) {
    hosts world(std::move(link), rank, ranks, {time_out});
    end transport(world, devices::cuda{}, transports::communicators::nccl{}, {time_out});
    if (auto made = transport.open(); !made) return made.error().detail;
    return of_rank(transport);
  });
}

TEST_P(Nccl, ObeysTheLawsOfTransports) {
  for (const int ranks : {1, 2, 3})
    EXPECT_EQ(failed(ranks, {6},
                     [](end& t) {
                       const testing::report found =
                           testing::transport_laws(t, {.seed = 5, .cases = 1, .time_out = {6}});
                       std::ostringstream text;
                       if (!found) text << found;
                       return text.str();
                     }),
              0)
        << ranks << " ranks";
}

TEST_P(Nccl, TrainsAndFailsAsOneMachineDoes) {
  for (const gpu_layout& on : {gpu_layout{2, 1, 1}, {2, 2, 1}, {1, 3, 3}, {2, 2, 2}}) {
    const plan p = texts_planned(on.stages, on.replicas, on.sharers);
    EXPECT_EQ(failed(on.stages * on.replicas, {60}, [&](end& t) { return steps_of(p, t, on.stages - 1); }), 0)
        << on.stages << " stages, " << on.replicas << " replicas, " << on.sharers << " sharers";
  }
}

// What slimpack-check-device does once MPI has told who is where.
TEST_P(Nccl, IsCheckedAsOnACluster) {
  EXPECT_EQ(failed(2, {6},
                   [](end& t) -> std::string {
                     const auto table = check_device::check(
                         t, t.rank(), {.gpu = "GPU", .largest = std::size_t{1} << 20, .cases = 1, .time_out = 6},
                         std::cout);
                     return table ? std::string{} : table.error().detail;
                   }),
            0);
}

/// What the host spends on a message, by its own clock: printed, and of this machine.
TEST_P(Nccl, TakesTheHostMicrosecondsForAMessage) {
  EXPECT_EQ(failed(2, {60},
                   [](end& t) -> std::string {
                     constexpr int messages = 200;
                     auto memory = t.device().allocate(1024).value();
                     for (const bool warm_up : {true, false}) {
                       const auto begin = std::chrono::steady_clock::now();
                       for (int i = 0; i < messages; ++i) {
                         auto posted = t.rank() == 0 ? t.send(1, channel_of(traffic::forward, 1), as_span(memory))
                                                     : t.receive(0, channel_of(traffic::forward, 1), as_span(memory));
                         if (!posted) return posted.error().detail;
                         if (auto ordered = t.wait(posted.value()); !ordered) return ordered.error().detail;
                       }
                       const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
                       if (!warm_up)
                         std::printf("rank %d: %.2f us a message\n", t.rank(), 1e6 * took.count() / messages);
                       if (auto ended = t.finish(); !ended) return ended.error().detail;
                     }
                     return {};
                   }),
            0);
}

INSTANTIATE_TEST_SUITE_P(OneStream, Nccl, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(AStreamForEachKind, Nccl, ::testing::Values(true));

}  // namespace
}  // namespace slimpack::nccl_gpu_test
