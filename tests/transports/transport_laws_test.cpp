#include "on_ranks.hpp"

#include <slimpack/concepts.hpp>
#include <slimpack/testing/transport_laws.hpp>
#include <slimpack/transports/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::transport_laws_test {
namespace {

constexpr double time_out = 0.5;
constexpr testing::transport_options trial{.seed = 5, .cases = 6, .largest = 20000, .time_out = {time_out}};

enum class fault {
  none,
  drops,            // some messages
  duplicates,       // some messages
  reorders,         // some pairs of messages
  spoils,           // the last byte of some messages
  writes_beside,    // a byte before the buffer
  buffers_little,   // a hundredth send without a wait returns when its receiver has come
  reads_late,       // a send's buffer, after wait
  foresees,         // test says of a new receive that it is through
  aborts_late,      // after the others have run out of time
  keeps_reason,     // abort tells nobody why
  writes_late,      // to a receive's buffer, after abort
  hides_time_outs,  // behind another error
  gathers_turned,   // all_gather begins with the next rank
  adds_its_own_way  // all_reduce adds in another order on every rank
};

/// A rank of transports::threads with one fault.
class faulty {
 public:
  struct handle {
    transports::threads::handle inner;
    std::span<std::byte> in;
    int channel{};
    std::size_t turn{};  // counts sends that are held back
  };

  /// What it copies it keeps in `copies`.
  faulty(transports::threads::port inner, fault f, std::deque<std::vector<std::byte>>& copies)
      : inner_(std::move(inner)), fault_(f), copies_(copies) {}

  [[nodiscard]] int rank() const { return inner_.rank(); }
  [[nodiscard]] int size() const { return inner_.size(); }

  result<handle> send(int peer, int channel, std::span<const std::byte> out) {
    handle h;
    newest_ = nullptr;
    const bool some = channel != 0 && ++sends_ % 40 == 0;
    if (fault_ == fault::writes_late && !old_.empty()) old_[0] ^= std::byte{1}, old_ = {};
    if (fault_ == fault::drops && some) return h;
    if (fault_ == fault::duplicates && some)
      if (result<transports::threads::handle> twice = inner_.send(peer, channel, copy(out)); !twice)
        return std::move(twice).error();
    if (fault_ == fault::reads_late || (fault_ == fault::reorders && some && !held_)) {
      settle();
      held_ = held{peer, channel, out};
      h.turn = ++turns_;
      return h;
    }
    auto sent = inner_.send(peer, channel, out);
    if (!sent) return std::move(sent).error();
    settle();  // the one held back comes after this one
    h.inner = sent.value();
    if (fault_ == fault::buffers_little && ++ahead_ > 100)
      if (result<void> went = inner_.wait(h.inner); !went) return std::move(went).error();
    return h;
  }

  result<handle> receive(int peer, int channel, std::span<std::byte> in) {
    handle h;
    auto posted = inner_.receive(peer, channel, in);
    if (!posted) return std::move(posted).error();
    h.inner = posted.value();
    h.in = in;
    h.channel = channel;
    newest_ = in.data();
    if (channel == 3) last_ = in;
    return h;
  }

  result<bool> test(handle& h) {
    if (h.turn == 0 || h.turn != turns_) settle();
    const std::byte* const newest = std::exchange(newest_, nullptr);
    if (fault_ == fault::foresees && h.channel == 4 && h.in.data() == newest) return true;
    result<bool> through = inner_.test(h.inner);
    if (through && through.value()) spoil(h);
    return through;
  }

  result<void> wait(handle& h) {
    if (h.turn == 0 || h.turn != turns_) settle();
    ahead_ = 0;
    newest_ = nullptr;
    result<void> came = inner_.wait(h.inner);
    if (!came && came.error().code == errc::timed_out && fault_ == fault::hides_time_outs)
      return error{errc::transport_failed, came.error().detail};
    if (came) spoil(h);
    return came;
  }

  void abort(std::string_view reason) {
    held_.reset();
    if (fault_ == fault::aborts_late && reason.find("stops") != reason.npos)
      std::this_thread::sleep_for(std::chrono::duration<double>(1.2 * time_out));
    inner_.abort(fault_ == fault::keeps_reason ? "something" : reason);
    old_ = std::exchange(last_, {});
  }

  result<void> all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    result<void> done = detail::all_gather_over_messages(*this, own, all);
    if (done && fault_ == fault::gathers_turned)
      std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own.size()), all.end());
    return done;
  }

  template <class T>
  result<void> all_reduce(std::span<T> data, std::span<const int> group) {
    if (fault_ != fault::adds_its_own_way) return detail::all_reduce_over_messages(*this, data, group);
    std::vector<transports::threads::handle> posted;
    std::vector<std::vector<T>> from(group.size(), std::vector<T>(data.size()));
    const std::vector<T> own(data.begin(), data.end());
    for (std::size_t i = 0; i < group.size(); ++i) {
      posted.push_back(inner_.send(group[i], 0, std::as_bytes(std::span(own))).value());
      posted.push_back(inner_.receive(group[i], 0, std::as_writable_bytes(std::span(from[i]))).value());
    }
    for (const auto& h : posted)
      if (result<void> done = inner_.wait(h); !done) return done;
    std::fill(data.begin(), data.end(), T{});
    for (std::size_t i = 0; i < group.size(); ++i)  // its own term first
      for (std::size_t k = 0; k < data.size(); ++k)
        data[k] += from[(i + static_cast<std::size_t>(rank())) % group.size()][k];
    return slimpack::success();
  }

 private:
  struct held {
    int peer;
    int channel;
    std::span<const std::byte> out;
  };

  /// Sends what was held back, as it is now.
  void settle() {
    if (!held_) return;
    const held h = *std::exchange(held_, std::nullopt);
    static_cast<void>(inner_.send(h.peer, h.channel, copy(h.out)));
  }

  std::span<const std::byte> copy(std::span<const std::byte> from) {
    return copies_.emplace_back(from.begin(), from.end());
  }

  /// A message has come.
  void spoil(handle& h) {
    if (h.in.data() == last_.data()) last_ = {};
    if (h.in.empty() || h.channel == 0 || ++received_ % 40 != 0) return;
    if (fault_ == fault::spoils) h.in.back() ^= std::byte{1};
    if (fault_ == fault::writes_beside) *(h.in.data() - 1) ^= std::byte{1};
  }

  transports::threads::port inner_;
  fault fault_;
  std::deque<std::vector<std::byte>>& copies_;
  int sends_{};
  int received_{};
  int ahead_{};
  std::size_t turns_{};
  std::optional<held> held_;
  const std::byte* newest_{};  // the receive that the last call has posted
  std::span<std::byte> last_;
  std::span<std::byte> old_;
};
static_assert(transport<faulty>);

struct faulty_world {
  explicit faulty_world(fault f) : inner(ranks, {.time_out = {time_out}}), of(f) {}
  [[nodiscard]] int size() const { return ranks; }
  [[nodiscard]] faulty endpoint(int rank) { return {inner.endpoint(rank), of, copies[static_cast<std::size_t>(rank)]}; }

  static constexpr int ranks = 3;
  transports::threads inner;
  fault of;
  std::array<std::deque<std::vector<std::byte>>, ranks> copies;
};

/// Some rank sees the law broken, in these words.
void expect_broken(fault f, int law, std::string_view sentence) {
  faulty_world world(f);
  std::int64_t found = 0;
  std::string said;
  for (const testing::report& r : laws_on_ranks(world, trial)) {
    for (const testing::failure& x : r.failures()) {
      said += x.line + '\n';
      if (x.law == law && x.line.find(sentence) != std::string::npos) ++found;
    }
  }
  EXPECT_GT(found, 0) << "law " << law << ": " << sentence << "\nfound:\n" << said;
}

TEST(TransportLaws, AcceptALawfulTransport) {
  faulty_world world(fault::none);
  for (const testing::report& r : laws_on_ranks(world, trial)) {
    EXPECT_TRUE(r) << r;
    for (int law = 1; law <= 6; ++law) EXPECT_GT(r.checks(law), 0) << law;
  }
}

TEST(TransportLaws, FindMessagesThatAreDropped) { expect_broken(fault::drops, 1, "messages arrive"); }

TEST(TransportLaws, FindMessagesThatComeTwice) { expect_broken(fault::duplicates, 1, "messages arrive"); }

TEST(TransportLaws, FindMessagesOutOfOrder) { expect_broken(fault::reorders, 1, "messages arrive"); }

TEST(TransportLaws, FindMessagesThatAreNotWhole) { expect_broken(fault::spoils, 1, "messages arrive whole"); }

TEST(TransportLaws, FindBytesWrittenBesideTheBuffer) {
  expect_broken(fault::writes_beside, 1, "messages arrive whole");
}

TEST(TransportLaws, FindSendsThatWaitForTheirReceiver) { expect_broken(fault::buffers_little, 2, "wait for no more"); }

TEST(TransportLaws, FindBuffersReadAfterWait) { expect_broken(fault::reads_late, 3, "buffers may be used"); }

TEST(TransportLaws, FindTestsThatForesee) { expect_broken(fault::foresees, 3, "before it was sent"); }

TEST(TransportLaws, FindAbortsThatWakeNobody) { expect_broken(fault::aborts_late, 4, "abort ends all calls"); }

TEST(TransportLaws, FindAbortsWithoutTheirReason) { expect_broken(fault::keeps_reason, 4, "with its reason"); }

TEST(TransportLaws, FindBuffersInUseAfterAbort) { expect_broken(fault::writes_late, 4, "no buffer is in use"); }

TEST(TransportLaws, FindTimeOutsUnderAnotherName) { expect_broken(fault::hides_time_outs, 5, "ends with timed_out"); }

TEST(TransportLaws, FindPartsInWrongOrder) { expect_broken(fault::gathers_turned, 6, "in order of rank"); }

TEST(TransportLaws, FindSumsThatDiffer) { expect_broken(fault::adds_its_own_way, 6, "the same bits"); }

}  // namespace
}  // namespace slimpack::transport_laws_test
