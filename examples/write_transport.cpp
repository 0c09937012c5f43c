// A transport of one's own, between threads of one process: messages lie in a table behind one mutex until whoever
// receives them asks for them. Checked by the laws on three ranks, beside one with a slip.
#include <slimpack/testing/transport_laws.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

using slimpack::errc, slimpack::error, slimpack::result;

struct post_office {
  int ranks;
  std::mutex mutex{};
  std::condition_variable news{};
  std::map<std::array<int, 4>, std::vector<std::byte>> messages{};  // by sender, receiver, channel and number
  std::map<std::array<int, 4>, int> numbers{};  // of the next to be sent (0) and received (1) on a channel
  int step{}, aborted{};                        // ranks that have left the step
  std::string reason{};                         // of the last abort
};

struct counter {
  struct handle {
    int step{};
    std::array<int, 4> message{};
    std::span<std::byte> into{};
    bool through{};  // a send always is: its message was copied
  };
  post_office& office;
  int own;

  int rank() const { return own; }
  int size() const { return office.ranks; }
  result<handle> send(int peer, int channel, std::span<const std::byte> message) {
    const std::lock_guard lock(office.mutex);
    if (office.aborted > 0) return error{errc::aborted, office.reason};
    const int number = office.numbers[{own, peer, channel, 0}]++;
    office.messages[{own, peer, channel, number}].assign(message.begin(), message.end());
    office.news.notify_all();
    return handle{office.step, {}, {}, true};
  }
  result<handle> receive(int peer, int channel, std::span<std::byte> into) {
    const std::lock_guard lock(office.mutex);
    if (office.aborted > 0) return error{errc::aborted, office.reason};
    return handle{office.step, {peer, own, channel, office.numbers[{peer, own, channel, 1}]++}, into};
  }
  result<bool> test(handle& h) {
    const std::lock_guard lock(office.mutex);
    if (h.step != office.step) return error{errc::aborted, office.reason};
    if (h.through) return true;
    const auto found = office.messages.find(h.message);
    if (found == office.messages.end()) {
      if (office.aborted > 0) return error{errc::aborted, office.reason};
      return false;
    }
    if (found->second.size() != h.into.size()) return error{errc::wrong_message, "a message of another size"};
    std::copy(found->second.begin(), found->second.end(), h.into.begin());
    office.messages.erase(found);
    return h.through = true;
  }
  result<void> wait(handle& h) {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);;) {
      if (result<bool> through = test(h); !through) return std::move(through).error();
      if (h.through) return slimpack::success();
      std::unique_lock lock(office.mutex);
      if (office.messages.contains(h.message) || office.aborted > 0 || h.step != office.step) continue;
      if (office.news.wait_until(lock, end) == std::cv_status::timeout) return error{errc::timed_out, "no message"};
    }
  }
  void abort(std::string_view reason) {  // returns when all ranks have aborted: what comes then is of the next step
    std::unique_lock lock(office.mutex);
    const int left = office.step;
    if (office.aborted++ == 0) office.reason = reason;
    if (office.aborted == office.ranks) {
      office.messages.clear(), office.numbers.clear();
      office.aborted = 0, ++office.step;
    }
    office.news.notify_all();
    office.news.wait(lock, [&] { return office.step != left; });
  }
};

// The same with a slip: other ranks do not hear why a step ended.
struct silent : counter {
  void abort(std::string_view) { counter::abort("aborted"); }
};

template <class Transport>
void try_laws(std::string_view name) {
  post_office office{3};
  std::string found[3];
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&office, &mine = found[rank], rank] {
      Transport transport{office, rank};
      const auto laws = slimpack::testing::transport_laws(transport, {.cases = 5, .time_out = {1}});
      // The report is shown here. In a test, assert it, since it converts to bool: EXPECT_TRUE(laws) << laws.
      mine = laws ? "every law holds" : laws.failures().front().line;
    });
  for (std::thread& t : ranks) t.join();
  for (int rank = 0; rank < 3; ++rank) std::cout << name << ", rank " << rank << ": " << found[rank] << "\n";
}

int main() {
  try_laws<counter>("counter");
  try_laws<silent>("silent");
}
