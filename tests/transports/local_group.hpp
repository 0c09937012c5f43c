#ifndef SLIMPACK_TESTS_TRANSPORTS_LOCAL_GROUP_HPP
#define SLIMPACK_TESTS_TRANSPORTS_LOCAL_GROUP_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/over.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <utility>

namespace slimpack {

/// Where sends and receives of ranks that are threads meet: a pair moves only while one of its ranks asks, and only
/// after some asks that a seed chooses, so that nothing goes on by itself.
class meeting_place {
 public:
  struct operation {
    int from{}, to{};
    std::span<const std::byte> out;
    std::span<std::byte> in;
    int asks{};  // before it moves
    bool done{};
  };
  using request = std::shared_ptr<operation>;

  explicit meeting_place(int ranks, unsigned seed = 1) : ranks_(ranks), random_(seed) {}

  [[nodiscard]] int size() const noexcept { return ranks_; }

  result<request> post(operation o, bool sends) {
    const std::lock_guard lock(mutex_);
    if (lost_ == o.from || lost_ == o.to) return error{errc::transport_failed, "the cable is out"};
    o.asks = std::uniform_int_distribution(0, 3)(random_);
    auto made = std::make_shared<operation>(o);
    (sends ? lines_[{o.from, o.to}].first : lines_[{o.from, o.to}].second).push_back(made);
    return made;
  }
  result<bool> test(const request& r) {
    const std::lock_guard lock(mutex_);
    if (r->done) return true;
    if (lost_ == r->from || lost_ == r->to) return error{errc::transport_failed, "the cable is out"};
    auto& [sends, receives] = lines_[{r->from, r->to}];
    if (sends.empty() || receives.empty() || --r->asks > 0) return false;
    const request out = sends.front(), in = receives.front();
    if (out->out.size() >= held_) return false;
    EXPECT_EQ(out->out.size(), in->in.size()) << "a receive asks for what one send gives";
    std::memcpy(in->in.data(), out->out.data(), std::min(out->out.size(), in->in.size()));
    out->done = in->done = true;
    sends.pop_front();
    receives.pop_front();
    return r->done;
  }
  /// Of a receive.
  bool cancel(const request& r) {
    const std::lock_guard lock(mutex_);
    if (r->done) return false;
    std::erase(lines_[{r->from, r->to}].second, r);
    ++cancelled_;
    return true;
  }

  /// From now on messages of so many bytes and more do not move.
  void hold(std::size_t size) {
    const std::lock_guard lock(mutex_);
    held_ = size;
  }
  /// From now on a rank cannot be reached.
  void lose(int rank) {
    const std::lock_guard lock(mutex_);
    lost_ = rank;
  }
  [[nodiscard]] int cancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }

 private:
  int ranks_;
  mutable std::mutex mutex_;
  std::mt19937 random_;
  std::map<std::pair<int, int>, std::pair<std::deque<request>, std::deque<request>>> lines_;  // sends and receives that
                                                                                              // have not met
  std::size_t held_ = static_cast<std::size_t>(-1);
  int lost_ = -1;
  int cancelled_{};
};

/// A group as a trainer's library has it.
struct local_group {
  using request = meeting_place::request;
  meeting_place* at;
  int own;

  [[nodiscard]] int rank() const { return own; }
  [[nodiscard]] int size() const { return at->size(); }
  result<request> isend(int peer, std::span<const std::byte> out) {
    return at->post({own, peer, out, {}, 0, false}, true);
  }
  result<request> irecv(int peer, std::span<std::byte> in) { return at->post({peer, own, {}, in, 0, false}, false); }
  result<bool> test(request& r) { return at->test(r); }
};

struct cancelling_group : local_group {
  result<bool> cancel(request& r) { return at->cancel(r); }
};

/// A world of ranks over one of these groups.
template <class Group>
struct group_world {
  explicit group_world(int ranks, double seconds_to_wait = 20, unsigned seed = 1)
      : at(ranks, seed), time_out{seconds_to_wait} {}

  [[nodiscard]] int size() const { return at.size(); }
  [[nodiscard]] auto endpoint(int rank) {
    Group group;
    group.at = &at, group.own = rank;
    return transports::over<Group>(group, {.time_out = time_out});
  }

  meeting_place at;
  seconds time_out;
};

}  // namespace slimpack

#endif
