// Run by mpirun: every test runs on all ranks at once, and each rank checks what it sees.
#include <slimpack/concepts.hpp>
#include <slimpack/testing/transport_laws.hpp>
#include <slimpack/transports/hooks.hpp>
#include <slimpack/transports/mpi.hpp>
#include <slimpack/transports/over.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack {
namespace {

using buffer = std::vector<std::byte>;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

static_assert(transport<transports::mpi>);
static_assert(!std::is_copy_constructible_v<transports::mpi>);
static_assert(std::is_nothrow_move_constructible_v<transports::mpi>);

constexpr std::size_t mib = 1024 * 1024;

transports::mpi over_world(double time_out = 20) {
  return transports::mpi{MPI_COMM_WORLD, transports::mpi::options{seconds{time_out}}};
}

/// Bytes that say who sent them, and which message they are.
buffer bytes_of(int sender, int number, std::size_t size) {
  buffer b(size);
  std::uint32_t x = static_cast<std::uint32_t>(sender * 7919 + number * 104729 + 1);
  for (std::byte& one : b) one = static_cast<std::byte>((x = x * 1664525 + 1013904223) >> 24);
  return b;
}

/// Sends to the next rank and receives from the previous one; true when the right bytes came.
template <class Transport>
bool round(Transport& t, int channel, int number, std::size_t size) {
  const int next = (t.rank() + 1) % t.size();
  const int previous = (t.rank() + t.size() - 1) % t.size();
  const buffer out = bytes_of(t.rank(), number, size);
  buffer in(size);
  auto sending = t.send(next, channel, out);
  auto receiving = t.receive(previous, channel, in);
  if (!sending || !receiving || !t.wait(receiving.value()) || !t.wait(sending.value())) return false;
  return in == bytes_of(previous, number, size);
}

errc code_of(const result<void>& r) { return r ? errc{} : r.error().code; }
bool succeeded(const result<void>& r) { return r.has_value(); }
double since(steady_clock::time_point t) { return std::chrono::duration<double>(steady_clock::now() - t).count(); }

TEST(MpiTransport, ObeysTheLaws) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    transports::mpi t = over_world(2);
    const testing::report laws = testing::transport_laws(t, {seed, 10, mib, seconds{2}});
    EXPECT_TRUE(laws) << laws;
  }
}

TEST(MpiTransport, CarriesMessagesOfOneByteTo64MiB) {
  transports::mpi t = over_world();
  int number = 0;
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{4095}, std::size_t{4097},
                                 std::size_t{65537}, mib, 16 * mib + 3, 64 * mib})
    EXPECT_TRUE(round(t, 1, ++number, size)) << size << " bytes";
}

TEST(MpiTransport, SendsEverythingBeforeAnyReceiveIsPosted) {
  transports::mpi t = over_world();
  const buffer out = bytes_of(t.rank(), 0, 8 * mib);
  std::vector<transports::mpi::handle> sending;
  std::vector<transports::mpi::handle> receiving;
  for (int peer = 0; peer < t.size(); ++peer) sending.push_back(t.send(peer, 3, out).value());
  std::vector<buffer> in(static_cast<std::size_t>(t.size()), buffer(out.size()));
  for (int peer = 0; peer < t.size(); ++peer)
    receiving.push_back(t.receive(peer, 3, in[static_cast<std::size_t>(peer)]).value());
  for (auto& h : receiving) EXPECT_TRUE(succeeded(t.wait(h)));
  for (auto& h : sending) EXPECT_TRUE(succeeded(t.wait(h)));
  for (int peer = 0; peer < t.size(); ++peer)
    EXPECT_EQ(in[static_cast<std::size_t>(peer)], bytes_of(peer, 0, 8 * mib)) << "from rank " << peer;
}

// 4 channels of 2000 messages to the next rank; each channel keeps its order, whatever the others do.
TEST(MpiTransport, KeepsTheOrderOfEachChannelOverThousandsOfMessages) {
  transports::mpi t = over_world();
  constexpr int channels = 4;
  constexpr int messages = 2000;
  constexpr std::uint32_t seed = 17;
  const int next = (t.rank() + 1) % t.size();
  const int previous = (t.rank() + t.size() - 1) % t.size();
  struct one {
    int channel;
    int number;
    transports::mpi::handle handle;
  };
  const auto shuffled = [](std::uint32_t with) {  // channels in random order
    std::vector<int> order(channels * messages);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i) % channels;
    std::shuffle(order.begin(), order.end(), std::mt19937(with));
    return order;
  };
  std::vector<std::array<int, 2>> out(channels * messages);
  std::vector<std::array<int, 2>> in(channels * messages);
  std::vector<transports::mpi::handle> sending;
  std::vector<one> receiving;
  std::vector<int> sent(channels);
  std::vector<int> posted(channels);
  const std::vector<int> send_order = shuffled(seed);
  const std::vector<int> receive_order = shuffled(seed + 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int to = send_order[i];
    out[i] = {to, sent[static_cast<std::size_t>(to)]++};
    sending.push_back(t.send(next, to + 1, std::as_bytes(std::span(out[i]))).value());
    const int from = receive_order[i];
    receiving.push_back({from, posted[static_cast<std::size_t>(from)]++,
                         t.receive(previous, from + 1, std::as_writable_bytes(std::span(in[i]))).value()});
  }
  int wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    ASSERT_TRUE(succeeded(t.wait(receiving[i].handle)));
    wrong += in[i] != std::array<int, 2>{receiving[i].channel, receiving[i].number};
  }
  for (auto& h : sending) ASSERT_TRUE(succeeded(t.wait(h)));
  EXPECT_EQ(wrong, 0) << "seed " << seed;
}

// Open MPI 4.1 tells the largest tag of the world communicator and its duplicates only.
TEST(MpiTransport, CarriesMessagesOverACommunicatorThatWasSplit) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half), MPI_SUCCESS);
  {
    transports::mpi t{half, transports::mpi::options{seconds{2}}};
    EXPECT_TRUE(round(t, 0, 1, 100));
    EXPECT_TRUE(round(t, 32765, 2, 100)) << "MPI has tags up to 32767 at least, two of them the transport's own";
    const testing::report laws = testing::transport_laws(t, {1, 10, mib, seconds{2}});
    EXPECT_TRUE(laws) << laws;
  }
  MPI_Comm_free(&half);
}

TEST(MpiTransport, MeetsNoMessagesOfTheTrainers) {
  transports::mpi t = over_world();
  std::byte theirs{};
  MPI_Request any = MPI_REQUEST_NULL;
  MPI_Irecv(&theirs, 1, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any);
  EXPECT_TRUE(round(t, 0, 1, 1));
  int done = 1;
  MPI_Test(&any, &done, MPI_STATUS_IGNORE);
  EXPECT_EQ(done, 0);
  MPI_Cancel(&any);
  MPI_Wait(&any, MPI_STATUS_IGNORE);
}

TEST(MpiTransport, WakesEveryWaitWithTheReasonOfTheAbort) {
  transports::mpi t = over_world();
  if (t.rank() == 0) {
    std::this_thread::sleep_for(milliseconds(50));
    t.abort("stage 0 ran out of patience");
  } else {
    std::byte in[8];
    auto h = t.receive((t.rank() + 1) % t.size(), 1, in).value();
    const auto begin = steady_clock::now();
    const result<void> r = t.wait(h);
    EXPECT_LT(since(begin), 5);
    ASSERT_FALSE(succeeded(r));
    EXPECT_EQ(r.error().code, errc::aborted);
    EXPECT_EQ(r.error().detail, "stage 0 ran out of patience");
    t.abort("not the first");
    EXPECT_EQ(code_of(t.wait(h)), errc::aborted) << "a handle of the step before";
  }
  EXPECT_TRUE(round(t, 1, 2, 100)) << "the next step";
}

TEST(MpiTransport, WakesALoopOfTests) {
  transports::mpi t = over_world();
  if (t.rank() != 0) {
    std::byte in[8];
    auto h = t.receive(0, 1, in).value();
    result<bool> done = false;
    while (done && !done.value()) done = t.test(h);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, errc::aborted);
  }
  t.abort("enough");
  EXPECT_TRUE(round(t, 1, 2, 100));
}

// Messages below and above the eager limit that nobody receives, and receives that nobody answers.
TEST(MpiTransport, LeavesNothingOfAnAbortedStepToTheNext) {
  transports::mpi t = over_world();
  const int next = (t.rank() + 1) % t.size();
  const int previous = (t.rank() + t.size() - 1) % t.size();
  for (int step = 0; step < 6; ++step) {
    buffer small = bytes_of(t.rank(), -1 - step, 100);
    buffer large = bytes_of(t.rank(), -2 - step, 4 * mib);
    buffer never(50);
    const buffer untouched = never;
    ASSERT_TRUE(t.send(next, 1, small).has_value());
    ASSERT_TRUE(t.send(next, 1, large).has_value());
    ASSERT_TRUE(t.receive(previous, 2, never).has_value());
    buffer matched(100);
    if (step % 2 == 0) {
      ASSERT_TRUE(t.receive(previous, 1, matched).has_value());
    }
    if (t.rank() == step % t.size()) std::this_thread::sleep_for(milliseconds(10));
    t.abort("step " + std::to_string(step));
    std::fill(large.begin(), large.end(), std::byte{});
    ASSERT_TRUE(round(t, 1, step, 100)) << "step " << step;
    ASSERT_TRUE(round(t, 2, step, 2 * mib)) << "step " << step;
    EXPECT_EQ(never, untouched);
    MPI_Barrier(MPI_COMM_WORLD);  // what follows belongs to the step that the next abort ends
  }
}

// Random traffic stopped at a random moment by a random rank, often by several at once; then a step must be clean.
template <class Transport>
void abort_at_random_moments(Transport& t) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 shared(seed);
    const int stops = static_cast<int>(shared() % static_cast<std::uint32_t>(t.size()));
    const int after = static_cast<int>(shared() % 40);
    std::mt19937 own(seed * 100 + static_cast<std::uint32_t>(t.rank()));
    std::vector<buffer> kept;
    kept.reserve(400);
    bool stopped = false;
    for (int i = 0; i < 100 && !stopped; ++i) {
      if (t.rank() == stops && i == after) break;
      const int peer = static_cast<int>(own() % static_cast<std::uint32_t>(t.size()));
      const int channel = 1 + static_cast<int>(own() % 3);
      kept.emplace_back(own() % 8 == 0 ? 100000 : 64);
      auto h = own() % 2 == 0 ? t.send(peer, channel, kept.back()) : t.receive(peer, channel, kept.back());
      stopped = !h;
      if (h && own() % 4 == 0) {
        const result<bool> r =
            t.test(h.value());  // messages of two sizes share channels: wrong_message is one way to end
        stopped = !r;
      }
    }
    t.abort("seed " + std::to_string(seed));
    for (buffer& b : kept) std::fill(b.begin(), b.end(), std::byte{0x55});
    for (int channel = 1; channel <= 3; ++channel)
      ASSERT_TRUE(round(t, channel, static_cast<int>(seed), channel == 2 ? 200000 : 64)) << "seed " << seed;
    for (const buffer& b : kept)
      ASSERT_TRUE(std::all_of(b.begin(), b.end(), [](std::byte x) { return x == std::byte{0x55}; })) << "seed " << seed;
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(MpiTransport, SurvivesAbortsAtRandomMoments) {
  transports::mpi t = over_world();
  abort_at_random_moments(t);
}

/// What MPI offers, as a library that slimpack knows nothing of.
struct mpi_group {
  struct request {
    MPI_Request handle = MPI_REQUEST_NULL;
  };
  MPI_Comm communicator = MPI_COMM_NULL;

  [[nodiscard]] int rank() const { return asked(MPI_Comm_rank); }
  [[nodiscard]] int size() const { return asked(MPI_Comm_size); }
  result<request> isend(int peer, std::span<const std::byte> out) {
    request r;
    return told(MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, peer, 0, communicator, &r.handle), r);
  }
  result<request> irecv(int peer, std::span<std::byte> in) {
    request r;
    return told(MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, peer, 0, communicator, &r.handle), r);
  }
  result<bool> test(request& r) {
    int done = 0;
    const int code = MPI_Test(&r.handle, &done, MPI_STATUS_IGNORE);
    return told(code, done != 0);
  }
  result<bool> cancel(request& r) {
    MPI_Status status;
    int cancelled = 0;
    if (int code = MPI_Cancel(&r.handle); code != MPI_SUCCESS) return told(code, false);
    if (int code = MPI_Wait(&r.handle, &status); code != MPI_SUCCESS) return told(code, false);
    const int code = MPI_Test_cancelled(&status, &cancelled);
    return told(code, cancelled != 0);
  }

 private:
  template <class Ask>
  [[nodiscard]] int asked(Ask ask) const {
    int answer = -1;
    ask(communicator, &answer);
    return answer;
  }
  template <class T>
  static result<T> told(int code, T answer) {
    if (code != MPI_SUCCESS) return error{errc::transport_failed, detail::mpi_message(code)};
    return answer;
  }
};

/// Over a communicator of its own, since a group is used by nobody else.
struct MpiGroup : ::testing::Test {
  MpiGroup() { MPI_Comm_dup(MPI_COMM_WORLD, &communicator); }
  ~MpiGroup() override { MPI_Comm_free(&communicator); }
  MPI_Comm communicator = MPI_COMM_NULL;
};

TEST_F(MpiGroup, ObeysTheLaws) {
  transports::over t{mpi_group{communicator}, {seconds{2}}};
  const testing::report laws = testing::transport_laws(t, {1, 3, mib, seconds{2}});
  EXPECT_TRUE(laws) << laws;
}

TEST_F(MpiGroup, SurvivesAbortsAtRandomMoments) {
  transports::over t{mpi_group{communicator}, {seconds{20}}};
  abort_at_random_moments(t);
  EXPECT_TRUE(round(t, 1, 1, 16 * mib + 3));
}

TEST(MpiTransport, EndsAWaitAfterTheTimeOut) {
  transports::mpi t = over_world(1);
  std::byte in[8];
  auto h = t.receive((t.rank() + 1) % t.size(), 1, in).value();
  const auto begin = steady_clock::now();
  const result<void> r = t.wait(h);
  const double waited = since(begin);
  if (code_of(r) == errc::timed_out) {
    EXPECT_GE(waited, 1);
    EXPECT_EQ(r.error().detail,
              "no message from rank " + std::to_string((t.rank() + 1) % t.size()) + " on channel 1 in 1000 ms");
  } else {
    EXPECT_EQ(code_of(r), errc::aborted) << "another rank was first";
  }
  EXPECT_LT(waited, 5);
  t.abort("too late");
  EXPECT_TRUE(round(t, 1, 3, 100));
}

TEST(MpiTransport, RefusesAMessageOfAnotherSize) {
  transports::mpi t = over_world();
  const int next = (t.rank() + 1) % t.size();
  const int previous = (t.rank() + t.size() - 1) % t.size();
  const std::pair<std::size_t, std::size_t> cases[] = {
      {100, 99}, {99, 100}, {4 * mib, 4 * mib - 1}, {4 * mib - 1, 4 * mib}, {4 * mib, 1}};
  for (const auto& [sent, expected] : cases) {
    const buffer out(sent);
    buffer in(expected);
    auto sending = t.send(next, 1, out).value();
    auto receiving = t.receive(previous, 1, in).value();
    const result<void> r = t.wait(receiving);
    EXPECT_TRUE(succeeded(t.wait(sending)));
    ASSERT_EQ(code_of(r), errc::wrong_message) << sent << " for " << expected;
    EXPECT_NE(r.error().detail.find("where " + std::to_string(expected) + " were expected"), std::string::npos)
        << r.error().detail;
    MPI_Barrier(MPI_COMM_WORLD);  // so that no rank is woken from the wait for its own case
    t.abort(r.error().detail);
    ASSERT_TRUE(round(t, 1, 1, 100)) << "after " << sent << " for " << expected;
  }
}

TEST(MpiTransport, IsBrokenForGoodWhenAPeerDoesNotEndAnAbortedStep) {
  transports::mpi t = over_world(0.3);
  if (t.rank() != 0) {
    const auto begin = steady_clock::now();
    t.abort("rank 0 is busy");
    EXPECT_GE(since(begin), 0.3);
    EXPECT_LT(since(begin), 3);
    std::byte in[1];
    const auto r = t.receive(0, 1, in);
    ASSERT_FALSE(r.has_value());
    EXPECT_EQ(r.error().code, errc::transport_failed);
    EXPECT_EQ(r.error().detail, "rank 0 did not end an aborted step in time");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(MpiTransport, RefusesPeersAndChannelsThatAreNotThere) {
  transports::mpi t = over_world();
  std::byte one[1];
  for (const int peer : {-2, -1, t.size()}) {
    ASSERT_FALSE(t.send(peer, 0, one).has_value());
    EXPECT_EQ(t.send(peer, 0, one).error().code, errc::invalid_input);
  }
  EXPECT_EQ(t.receive(0, -1, one).error().code, errc::invalid_input);
  EXPECT_EQ(t.receive(0, std::numeric_limits<int>::max(), one).error().code, errc::invalid_input);
}

TEST(MpiTransport, MovesWithItsMessages) {
  transports::mpi first = over_world();
  const buffer out = bytes_of(first.rank(), 5, 4 * mib);
  buffer in(4 * mib);
  auto sending = first.send(first.rank(), 1, out).value();
  transports::mpi second = std::move(first);
  auto receiving = second.receive(second.rank(), 1, in).value();
  EXPECT_TRUE(succeeded(second.wait(receiving)));
  EXPECT_TRUE(succeeded(second.wait(sending)));
  EXPECT_EQ(in, out);
  first = std::move(second);
  EXPECT_TRUE(round(first, 1, 6, 100));
}

// Rank r holds r + i: the sum of element i over n ranks is n(n-1)/2 + n i.
TEST(MpiTransport, SumsOverAllRanks) {
  transports::mpi t = over_world();
  std::vector<double> data(100003);
  std::iota(data.begin(), data.end(), static_cast<double>(t.rank()));
  std::vector<int> group(static_cast<std::size_t>(t.size()));
  std::iota(group.begin(), group.end(), 0);
  ASSERT_TRUE(succeeded(all_reduce(t, std::span<double>(data), std::span<const int>(group))));
  const int n = t.size();
  for (std::size_t i = 0; i < data.size(); i += 997)
    EXPECT_EQ(data[i], n * (n - 1) / 2 + n * static_cast<double>(i)) << "element " << i;
}

TEST(MpiTransport, CanBeUsedAfterAnAbortInsideASum) {
  transports::mpi t = over_world();
  std::vector<double> data(1000003, 1.0);
  std::vector<int> group(static_cast<std::size_t>(t.size()));
  std::iota(group.begin(), group.end(), 0);
  if (t.rank() != 0) {
    EXPECT_EQ(code_of(all_reduce(t, std::span<double>(data), std::span<const int>(group))), errc::aborted);
  }
  t.abort("no sum today");
  data.assign(data.size(), 1.0);
  ASSERT_TRUE(succeeded(all_reduce(t, std::span<double>(data), std::span<const int>(group))));
  EXPECT_TRUE(std::all_of(data.begin(), data.end(), [&](double x) { return x == t.size(); }));
}

}  // namespace
}  // namespace slimpack

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) ::testing::GTEST_FLAG(brief) = true;  // failures only
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
