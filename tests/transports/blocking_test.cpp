#include <slimpack/concepts.hpp>
#include <slimpack/testing/transport_laws.hpp>
#include <slimpack/transports/blocking.hpp>
#include <slimpack/transports/detail/mailbox.hpp>

#include "law_limits.hpp"
#include "message_checks.hpp"
#include "socket_link.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::blocking_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// ---- Two links, as a trainer writes them; socket_link is the other.

/// Where each send waits until its bytes have been taken: the least that a link can do.
class handover {
 public:
  bool give(std::span<const std::byte> bytes) {
    std::unique_lock lock(mutex_);
    offered_ = bytes;
    changed_.notify_all();
    changed_.wait(lock, [&] { return offered_.empty() || closed_; });
    return !closed_;
  }
  bool take(std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !offered_.empty() || closed_; });
    if (closed_ || offered_.size() != bytes.size()) return false;
    std::memcpy(bytes.data(), offered_.data(), bytes.size());
    offered_ = {};
    changed_.notify_all();
    return true;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::span<const std::byte> offered_;
  bool closed_{};
};

struct handover_link {
  bool send(int peer, std::span<const std::byte> bytes) { return (*between)[index(rank, peer)].give(bytes); }
  bool receive(int peer, std::span<std::byte> bytes) { return (*between)[index(peer, rank)].take(bytes); }
  [[nodiscard]] std::size_t index(int from, int to) const { return static_cast<std::size_t>(from * size + to); }

  std::shared_ptr<std::vector<handover>> between;
  int rank{};
  int size{};
};

// ---- Worlds of ranks that are threads.

struct over_handovers {
  explicit over_handovers(int n)
      : between(std::make_shared<std::vector<handover>>(static_cast<std::size_t>(n * n))), size(n) {}
  handover_link link(int rank) { return {between, rank, size}; }

  std::shared_ptr<std::vector<handover>> between;
  int size;
};

/// Runs `work(transport)` on each rank, in a thread of its own.
template <class World, class Work>
void on_ranks(World& world, int size, double time_out, Work work) {
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back([&, rank] {
      transports::blocking t(world.link(rank), rank, size, {seconds{time_out}});
      work(t);
    });
  for (std::thread& t : ranks) t.join();
}

std::size_t threads_now() {
  static const bool settled = (std::thread([] {}).join(), true);  // the thread sanitizer adds one of its own to the
                                                                  // first
  (void)settled;
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

/// A thread that was joined may be listed a little longer.
bool threads_become(std::size_t number) {
  for (int i = 0; i < 1000 && threads_now() != number; ++i) std::this_thread::sleep_for(milliseconds(1));
  return threads_now() == number;
}

double since(steady_clock::time_point t) { return std::chrono::duration<double>(steady_clock::now() - t).count(); }

template <class World>
struct BlockingTransport : ::testing::Test {};

struct world_name {
  template <class World>
  static std::string GetName(int) {
    return std::is_same_v<World, over_sockets> ? "OverSockets" : "OverHandovers";
  }
};
using worlds = ::testing::Types<over_sockets, over_handovers>;
TYPED_TEST_SUITE(BlockingTransport, worlds, world_name);

TYPED_TEST(BlockingTransport, ObeysTheLaws) {
  for (const int size : {1, 2, 4}) {
    TypeParam world(size);
    on_ranks(world, size, 2, [&](auto& t) {
      const testing::report laws =
          testing::transport_laws(t, {static_cast<std::uint64_t>(size), law_cases(6), law_largest, {2}});
      EXPECT_TRUE(laws) << laws;
    });
  }
}

TYPED_TEST(BlockingTransport, SendsToAllBeforeAnyReceiveWithoutDeadlock) {
  TypeParam world(4);
  on_ranks(world, 4, 20, [](auto& t) { send_to_all_before_any_receive(t); });
}

TYPED_TEST(BlockingTransport, RefusesAMessageOfAnotherSize) {
  TypeParam world(2);
  on_ranks(world, 2, 20, [](auto& t) { receive_another_size(t); });
}

TYPED_TEST(BlockingTransport, KeepsMessagesOfAStepThatThisRankHasNotComeTo) {
  TypeParam world(2);
  std::barrier aborted(2);
  on_ranks(world, 2, 20, [&](auto& t) { abort_two_steps_ahead(t, aborted); });
}

TEST(Mailbox, DropsWhatComesLateOfAnAbortedStep) {
  detail::mailbox mail;
  mail.end_step("no more");
  const std::byte late{1};
  const std::byte next{2};
  mail.deliver(0, 1, 0, detail::owned_bytes(std::span(&late, 1)));
  mail.deliver(0, 1, 1, detail::owned_bytes(std::span(&next, 1)));
  std::byte in{};
  auto h = mail.post(0, 1, std::span(&in, 1));
  ASSERT_TRUE(h.has_value());
  EXPECT_TRUE(mail.test(h.value()).value());
  EXPECT_EQ(in, next);
}

TYPED_TEST(BlockingTransport, LeavesNoThreadBehind) {
  const std::size_t before = threads_now();
  {
    TypeParam world(4);
    on_ranks(world, 4, 20, [&](auto& t) {
      const std::byte unread[100]{};
      if (t.rank() == 0) {
        ASSERT_TRUE(t.send(3, 1, unread).has_value());  // to a rank that never asks for it
      }
    });
  }
  EXPECT_TRUE(threads_become(before)) << threads_now() << " threads, " << before << " before";
}

TYPED_TEST(BlockingTransport, FailsToReceiveFromARankThatHasLeft) {
  TypeParam world(2);
  on_ranks(world, 2, 20, [&](auto& t) {
    if (t.rank() == 1) return;
    std::byte in[1];
    auto h = t.receive(1, 1, in);
    ASSERT_TRUE(h.has_value());
    const auto begin = steady_clock::now();
    const result<void> r = t.wait(h.value());
    EXPECT_LT(since(begin), 5);
    ASSERT_FALSE(r.has_value());
    EXPECT_EQ(r.error().code, errc::transport_failed);
    EXPECT_EQ(r.error().detail, "rank 1 has left");
  });
}

// The other ranks are processes; one of them is killed in the middle of a step.
TEST(BlockingTransportOverSockets, FailsEveryWaitAtOnceWhenAPeerIsKilled) {
  over_sockets world(3);
  const auto in_child = [&](int rank, auto work) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    for (std::size_t r = 0; r < 3; ++r)
      if (static_cast<int>(r) != rank) world.close(r);
    transports::blocking t(world.link(rank), rank, 3, {seconds{20}});
    work(t);
    std::byte in[1];
    auto h = t.receive(0, 1, in);
    if (h) (void)t.wait(h.value());
    std::_Exit(0);
  };
  const pid_t killed = in_child(1, [](auto&) {
    std::this_thread::sleep_for(milliseconds(100));
    std::raise(SIGKILL);
  });
  const pid_t other = in_child(2, [](auto&) {});
  world.close(1);
  world.close(2);
  const auto begin = steady_clock::now();
  {
    transports::blocking t(world.link(0), 0, 3, {seconds{20}});
    std::byte in[1];
    for (const int peer : {2, 1}) {  // the one that lives, then the one that does not
      auto h = t.receive(peer, 1, in);
      const result<void> r = h ? t.wait(h.value()) : result<void>(h.error());
      ASSERT_FALSE(r.has_value());
      EXPECT_EQ(r.error().code, errc::transport_failed);
    }
  }
  EXPECT_LT(since(begin), 10) << "the time-out is 20 s";
  int status = 0;
  ::waitpid(killed, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  ::waitpid(other, &status, 0);
}

TEST(BlockingTransportOverSockets, ClosesItsLinkWhenPeersDoNotSayGoodBye) {
  const std::size_t before = threads_now();
  over_sockets world(2);
  const auto begin = steady_clock::now();
  { transports::blocking alone(world.link(0), 0, 2, {seconds{0.2}}); }
  EXPECT_GE(since(begin), 0.2);
  EXPECT_LT(since(begin), 5);
  EXPECT_TRUE(threads_become(before)) << threads_now() << " threads, " << before << " before";
}

TEST(BlockingTransportOverHandovers, LetsThreadsGoThatItCannotEnd) {
  const std::size_t before = threads_now();
  over_handovers world(2);
  const auto begin = steady_clock::now();
  { transports::blocking alone(world.link(0), 0, 2, {seconds{0.2}}); }
  EXPECT_GE(since(begin), 0.2);
  EXPECT_LT(since(begin), 5);
  EXPECT_EQ(threads_now(), before + 2) << "one that receives, one that says good-bye";
  for (handover& h : *world.between) h.close();
  EXPECT_TRUE(threads_become(before)) << threads_now() << " threads, " << before << " before";
}

TEST(BlockingTransportOverSockets, RefusesBytesThatAreNoMessage) {
  over_sockets world(2);
  transports::blocking t(world.link(0), 0, 2, {seconds{0.5}});
  std::byte in[24]{};
  ASSERT_TRUE(world.link(1).send(0, in));
  auto h = t.receive(1, 1, in);
  const result<void> r = h ? t.wait(h.value()) : result<void>(h.error());
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().detail, "rank 1 sends bytes that are no message");
}

}  // namespace
}  // namespace slimpack::blocking_test
