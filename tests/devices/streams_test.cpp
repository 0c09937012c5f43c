#include <slimpack/devices/streams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

/// What is decided at compile time: these tests pass by compiling. What devices do is in host_test.cpp and gpu.
namespace slimpack::streams_test {
namespace {

struct owned {
  std::vector<std::byte> bytes;
  std::unique_ptr<int> handle;  // memory moves, and is not copied
};
[[maybe_unused]] std::span<std::byte> as_span(owned& m) { return m.bytes; }

struct shown {};  // which nobody may write
[[maybe_unused]] std::span<const std::byte> as_span(shown&) { return {}; }
struct nothing {};

struct copied {};
struct moved {
  std::unique_ptr<int> queue;
};

/// A device whose calls answer with these types.
template <class Memory = owned, class Queried = result<bool>, class Elapsed = result<seconds>,
          class Copied = result<void>, class Stream = copied>
struct device {
  using stream = Stream;
  struct event {};
  using memory = Memory;
  result<stream> make_stream();
  result<event> record(const stream&);
  result<void> wait(const stream&, const event&);
  Queried query(const event&);
  Elapsed elapsed(const event&, const event&);
  Copied copy(const stream&, std::span<std::byte>, std::span<const std::byte>);
  result<void> run(const stream&, std::function<void()>);
  result<void> synchronize(const stream&);
  result<memory> allocate(std::size_t);
  result<memory> allocate_pinned(std::size_t);
};

struct without_wait : device<> {
  void wait(const stream&, const event&) = delete;
};
struct without_pinned_memory : device<> {
  result<memory> allocate_pinned(std::size_t) = delete;
};
struct in_one_place : device<> {  // handles of a device are copied freely
  std::unique_ptr<int> context;
};

TEST(Streams, AreOfferedByDevicesWhoseHandlesAreCopied) {
  static_assert(detail::runs_streams<device<>>);
  static_assert(!detail::runs_streams<in_one_place>);
  static_assert(!detail::runs_streams<device<owned, result<bool>, result<seconds>, result<void>, moved>>);
}

TEST(Streams, HaveMemoryThatGivesItsBytes) {
  static_assert(detail::owns_bytes<owned>);
  static_assert(!detail::runs_streams<device<shown>>);
  static_assert(!detail::runs_streams<device<nothing>>);
}

// Each call may fail, and says so.
TEST(Streams, AnswerWithResults) {
  static_assert(!detail::runs_streams<device<owned, bool>>);
  static_assert(!detail::runs_streams<device<owned, result<bool>, result<float>>>);
  static_assert(!detail::runs_streams<device<owned, result<bool>, result<seconds>, void>>);
  static_assert(!detail::runs_streams<without_wait>);
  static_assert(!detail::runs_streams<without_pinned_memory>);
}

}  // namespace
}  // namespace slimpack::streams_test
