#ifndef SLIMPACK_TESTING_TRANSPORT_LAWS_HPP
#define SLIMPACK_TESTING_TRANSPORT_LAWS_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/executors/detail/messages/checked_transport.hpp>
#include <slimpack/testing/detail/collective_trial.hpp>
#include <slimpack/testing/report.hpp>
#include <slimpack/testing/transport_trial.hpp>
#include <slimpack/transports/detail/any_transport.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::testing {

namespace detail {

/// One rank's part in trying a transport. An error that no law expects ends it on this rank, which aborts, so that the
/// others end theirs.
template <transport Transport>
class transport_law_trial : collective_trial<Transport> {
 public:
  transport_law_trial(Transport& t, transport_options o) : base(t, o) {}

  [[nodiscard]] report run() {
    using self = transport_law_trial;
    const bool done = repeat(6, "collectives succeed", &self::collectives) &&
                      once(1, "messages arrive", &self::each_size) &&
                      once(1, "messages with checksums arrive", &self::with_checksums) &&
                      repeat(1, "messages arrive", &self::traffic) &&
                      repeat(2, "sends wait for no more than a posted receive", &self::sends_ahead) &&
                      repeat(3, "test and wait say when a message is through", &self::reuse) &&
                      repeat(4, "an aborted transport serves the next step", &self::abort) &&
                      (o_.time_out <= seconds{} || once(5, "a late message ends a wait", &self::time_out)) &&
                      once(1, "messages arrive", &self::traffic);
    if (!done) t_.abort(stopped_);
    return std::move(report_);
  }

 private:
  using base = collective_trial<Transport>;
  using base::meet, base::forget, base::draw_script, base::rounds, base::channels;
  using base::next, base::previous, base::any_key, base::any_size, base::any_rank, base::large, base::of_rank;
  using base::post_send, base::post_receive, base::post_both, base::complete, base::wait_for_both, base::gather;
  using base::sends_, base::receives_, base::gathered_, base::memory_;
  using base::t_, base::o_, base::rank_, base::size_, base::common_, base::own_, base::report_;
  using typename base::message, typename base::both, typename base::clock, typename base::expected,
      typename base::handle, typename base::sent;
  using attempt = result<void> (transport_law_trial::*)();

  result<void> collectives() {
    return base::collectives();
  }  // clang 14 takes no address of what a using declaration
     // names

  static constexpr std::uint64_t old_key = 5;  // of messages that nobody may receive

  bool once(int law, std::string_view sentence, attempt a) {
    const result<void> r = (this->*a)();
    report_.check(law, r.has_value(), sentence, "rank", rank_, "got:", r ? std::string{} : r.error().detail);
    if (!r) return stopped_ = "transport laws: " + r.error().detail, false;
    forget();
    return true;
  }

  bool repeat(int law, std::string_view sentence, attempt a) {
    for (int i = 0; i < o_.cases; ++i)
      if (!once(law, sentence, a)) return false;
    return true;
  }

  // ---- law 1

  /// Sizes around each power of two, round the ring; receives are posted before the sends and after them.
  result<void> each_size() {
    for (std::size_t power = 1; power <= o_.largest; power *= 2)
      for (const std::size_t size : {power - 1, power, power + 1})
        if (size > 0 && size <= o_.largest && (power < 65536 || size == power))
          for (const bool receive_first : {true, false})
            if (result<void> done = pass_on(size, receive_first); !done) return done;
    return success();
  }

  result<void> pass_on(std::size_t size, bool receive_first) {
    forget();
    const std::uint64_t key = any_key();
    result<both> posted = post_both(1, size, key, receive_first, true);
    if (!posted) return std::move(posted).error();
    if (result<void> done = wait_for_both(posted.value()); !done) return done;
    report_.check(1, posted.value().in->holds(of_rank(key, previous())), "messages arrive whole", "rank", rank_, "from",
                  previous(), "bytes", size, receive_first ? "receive posted first" : "sent first");
    return success();
  }

  /// Messages round the ring, behind each of which goes its checksum (packflow::checksums). Without news where it has
  /// none.
  result<void> with_checksums() {
    if constexpr (slimpack::detail::moves_device_memory<Transport>() || slimpack::detail::keeps_plan_order<Transport>())
      return success();
    for (const std::size_t size : {1u, 8u, 100u, 4096u}) {
      checked_out_.assign(size, static_cast<std::byte>(rank_)), checked_in_.assign(size, std::byte{0xFF});
      const auto in = checked_.receive(previous(), 1, checked_in_);
      if (!in) return in.error();
      const auto out = checked_.send(next(), 1, checked_out_);
      if (!out) return out.error();
      for (const auto& under_way : {in.value(), out.value()})
        if (result<void> through = checked_.wait(under_way); !through) return through;
      report_.check(1, checked_in_ == std::vector<std::byte>(size, static_cast<std::byte>(previous())),
                    "messages with checksums arrive whole", "rank", rank_, "from", previous(), "bytes", size);
    }
    return success();
  }

  /// Messages among all ranks. A round's sends and receives are all posted before the first wait of the round, and a
  /// message is waited for in a round by whose end both sides have posted it: so nobody is stuck if law 2 holds.
  result<void> traffic() {
    const std::vector<message> script = draw_script();
    if constexpr (slimpack::detail::keeps_plan_order<Transport>()) return in_order(script);
    std::map<std::size_t, sent*> sends;
    std::map<std::size_t, expected*> receives;
    for (int round = 0; round < rounds; ++round) {
      for (const auto& [i, receives_it] : posts_of(script, round)) {
        const message& m = script[i];
        if (receives_it) {
          result<expected*> posted = post_receive(m.source, m.channel, m.size);
          if (!posted) return std::move(posted).error();
          receives[i] = posted.value();
        } else {
          result<sent*> posted = post_send(m.destination, m.channel, m.size, m.key);
          if (!posted) return std::move(posted).error();
          sends[i] = posted.value();
        }
      }
      std::vector<handle*> waits;
      for (const auto& [i, s] : sends)
        if (script[i].waited_in[0] == round) waits.push_back(&*s->posted);
      for (const auto& [i, e] : receives)
        if (script[i].waited_in[1] == round) waits.push_back(&*e->posted);
      own_.shuffle(waits);
      for (handle* h : waits)
        if (result<void> done = complete(*h, own_.once_in(3)); !done) return done;
    }
    if (result<void> ended = finish(t_); !ended) return ended;
    for (const auto& [i, e] : receives)
      report_.check(1, e->holds(script[i].key), "messages arrive once, whole and in order", "rank", rank_, "from",
                    script[i].source, "channel", script[i].channel, "bytes", script[i].size);
    return success();
  }

  /// The same messages where all have one order: each rank posts its part of it, and waits at random for what it has
  /// posted.
  result<void> in_order(const std::vector<message>& script) {
    std::vector<std::pair<expected*, std::uint64_t>> receives;
    std::vector<handle*> posted;
    for (const message& m : script) {
      if (m.source == rank_) {
        result<sent*> out = post_send(m.destination, m.channel, m.size, m.key);
        if (!out) return std::move(out).error();
        posted.push_back(&*out.value()->posted);
      }
      if (m.destination == rank_) {
        result<expected*> in = post_receive(m.source, m.channel, m.size);
        if (!in) return std::move(in).error();
        posted.push_back(&*in.value()->posted);
        receives.emplace_back(in.value(), m.key);
      }
      if (posted.empty() || !own_.once_in(4)) continue;
      if (result<void> done = complete(*posted.back(), own_.once_in(3)); !done) return done;
      posted.pop_back();
    }
    for (handle* h : posted)
      if (result<void> done = complete(*h, own_.once_in(3)); !done) return done;
    if (result<void> ended = finish(t_); !ended) return ended;
    for (const auto& [in, key] : receives)
      report_.check(1, in->holds(key), "messages in one order arrive once, whole and in order", "rank", rank_, "bytes",
                    in->bytes().size());
    return success();
  }

  /// What this rank posts in a round, in any order that keeps that of each channel: message, and whether it receives
  /// it.
  std::vector<std::pair<std::size_t, bool>> posts_of(const std::vector<message>& script, int round) {
    std::map<std::array<int, 3>, std::deque<std::pair<std::size_t, bool>>> queues;
    for (std::size_t i = 0; i < script.size(); ++i) {
      const message& m = script[i];
      if (m.source == rank_ && m.sent_in == round) queues[{0, m.destination, m.channel}].push_back({i, false});
      if (m.destination == rank_ && m.posted_in == round) queues[{1, m.source, m.channel}].push_back({i, true});
    }
    std::vector<std::pair<std::size_t, bool>> order;
    while (!queues.empty()) {
      const auto picked = std::next(queues.begin(), own_.between(0, static_cast<std::int64_t>(queues.size()) - 1));
      order.push_back(picked->second.front());
      picked->second.pop_front();
      if (picked->second.empty()) queues.erase(picked);
    }
    return order;
  }

  // ---- law 2

  /// Sends run far ahead of receives, unless they must stand in one order with them. Then each rank waits for its own
  /// sends before it waits for any receive, and for receives in reverse: nothing but posting them may be needed.
  result<void> sends_ahead() {
    constexpr bool ordered = slimpack::detail::keeps_plan_order<Transport>();
    constexpr std::uint64_t many = ordered ? 60 : 300;  // in one order, one at a time
    const std::uint64_t key = any_key();
    const std::size_t size = any_size(512);
    for (std::uint64_t i = 0; i < many; ++i)
      if constexpr (ordered) {
        if (auto posted = post_both(1, size, key + i, false, false); !posted) return std::move(posted).error();
      } else {
        if (auto out = post_send(next(), 1, size, of_rank(key + i, rank_)); !out) return std::move(out).error();
      }
    for (std::uint64_t i = 0; i < many && !ordered; ++i)
      if (auto in = post_receive(previous(), 1, size); !in) return std::move(in).error();
    for (sent& s : sends_)
      if (result<void> went = t_.wait(*s.posted); !went) return went;
    result<both> last = post_both(1, large(), key + many, true, false);
    if (!last) return std::move(last).error();
    if (result<void> went = t_.wait(*last.value().out->posted); !went) return went;
    for (auto e = receives_.rbegin(); e != receives_.rend(); ++e)
      if (result<void> came = t_.wait(*e->posted); !came) return came;
    if (result<void> ended = finish(t_); !ended) return ended;
    for (std::uint64_t i = 0; i <= many; ++i)
      report_.check(1, receives_[i].holds(of_rank(key + i, previous())), "messages sent ahead arrive in order", "rank",
                    rank_, "message", i);
    return success();
  }

  // ---- law 3

  /// A send's buffer is written over, and a receive's read, as soon as they may.
  result<void> reuse() {
    const std::uint64_t key = any_key();
    const std::size_t size = any_size(std::size_t{1} << 18);
    const bool receive_first = common_.once_in(2);
    const bool ask = common_.once_in(2);
    result<both> posted = post_both(channels + 1, size, key, receive_first, receive_first);
    if (!posted) return std::move(posted).error();
    const auto [in, out] = posted.value();
    if (result<void> went = complete(*out->posted, ask); !went) return went;
    if (!ask)
      if (result<void> ended = finish(t_); !ended) return ended;
    fill(out->bytes, key + 1);
    if (result<void> came = complete(*in->posted, ask); !came) return came;
    if (!ask)
      if (result<void> ended = finish(t_); !ended) return ended;
    report_.check(3, in->holds(of_rank(key, previous())),
                  ask ? "buffers may be used once test says so" : "buffers may be used after wait and finish", "rank",
                  rank_, "bytes", size, receive_first ? "receive posted first" : "sent first");
    return finish(t_);
  }

  // ---- laws 4 and 5

  /// Leaves messages that nobody takes, and receives that nobody answers.
  result<void> leave_open() {
    for (int i = 0; i < 3; ++i) {
      auto out = post_send(next(), 2, 100, old_key);
      if (!out) return std::move(out).error();
      auto in = post_receive(previous(), 3, 100);
      if (!in) return std::move(in).error();
    }
    return success();
  }

  enum class waiting { for_receive, for_send, in_a_collective, asking };

  /// Waits for what the culprit does not do.
  result<void> wait_for(int culprit, waiting how) {
    if (result<void> open = leave_open(); !open) return open;
    if (how == waiting::in_a_collective) return meet();
    if (how == waiting::for_send) {  // a transport that buffers lets it pass
      auto out = post_send(culprit, 1, large(), old_key);
      if (!out) return std::move(out).error();
      if (result<void> went = t_.wait(*out.value()->posted); !went) return went;
    }
    auto in = post_receive(culprit, 1, large());
    if (!in) return std::move(in).error();
    if (result<void> came = complete(*in.value()->posted, how == waiting::asking); !came) return came;
    return finish(t_);
  }

  /// One rank aborts while others wait, or are about to; then all do, and go on with new messages. Sometimes the next
  /// step is stopped as well, by a rank that has done nothing in it: so early that others may not have left the first,
  /// and may hear of the second reason before they hear of the first.
  result<void> abort() {
    result<void> stopped = meet();  // the culprit may be through with it before others are
    std::vector<int> culprits;
    std::vector<std::string> reasons;
    for (std::int64_t times = common_.between(1, 2); times > 0; --times) {
      culprits.push_back(any_rank());
      reasons.push_back("rank " + std::to_string(culprits.back()) + " stops for reason " + std::to_string(any_key()));
    }
    for (std::size_t step = 0; step < culprits.size(); ++step) {
      const auto how = static_cast<waiting>(common_.between(0, 3));
      if (own_.once_in(2)) std::this_thread::sleep_for(std::chrono::microseconds(own_.between(0, 2000)));
      if (rank_ == culprits[step]) {
        if (!stopped) return stopped;
        if (own_.once_in(2))
          if (result<void> open = leave_open(); !open) return open;
        t_.abort(reasons[step]);
      } else {
        const std::span<const std::string> told = std::span(reasons).subspan(step);
        if (stopped) stopped = wait_for(culprits[step], how);
        expect_aborted(stopped, told, "a wait");
        expect_aborted(wait_for(culprits[step], waiting::for_receive), told, "the next wait");
        t_.abort("rank " + std::to_string(rank_) + " follows");
      }
      stopped = success();
    }
    return start_again();
  }

  void expect_aborted(const result<void>& r, std::span<const std::string> reasons, std::string_view what) {
    const bool told = !r && r.error().code == errc::aborted &&
                      std::any_of(reasons.begin(), reasons.end(), [&](const std::string& reason) {
                        return r.error().detail.find(reason) != std::string::npos;
                      });
    report_.check(4, told, "abort ends all calls on all ranks with its reason", "rank", rank_, what,
                  r ? "succeeded" : "got:", r ? std::string{} : r.error().detail, "instead of:", reasons.front());
  }

  /// After an abort: old buffers are free, and no old message comes.
  result<void> start_again() {
    std::deque<sent> old_sends = std::exchange(sends_, {});
    std::deque<expected> old_receives = std::exchange(receives_, {});
    const std::uint64_t mark = any_key();
    for (sent& s : old_sends) fill(s.bytes, mark);
    for (expected& e : old_receives) fill(e.bytes(), mark);
    for (int channel = 1; channel <= channels; ++channel) {
      const std::uint64_t key = any_key();
      result<both> posted = post_both(channel, 100, key, true, false);
      if (!posted) return std::move(posted).error();
      if (result<void> done = wait_for_both(posted.value()); !done) return done;
      report_.check(4, posted.value().in->holds(of_rank(key, previous())),
                    "no message of an aborted step comes in the next", "rank", rank_, "channel", channel);
    }
    if (result<void> met = meet(); !met) return met;
    for (expected& e : old_receives)
      report_.check(4, e.holds(mark), "when abort returns, no buffer is in use", "rank", rank_);
    return success();
  }

  /// Every rank waits for a message that never comes: one at least runs out of time, and its abort may be what others
  /// see. The time that a wait takes is checked on both sides.
  result<void> time_out() {
    if (result<void> met = meet(); !met) return met;
    const auto begin = clock::now();
    result<void> waited = wait_for(next(), waiting::for_receive);
    const double took = std::chrono::duration<double>(clock::now() - begin).count();
    const bool timed_out = !waited && waited.error().code == errc::timed_out;
    report_.check(5, timed_out || (!waited && waited.error().code == errc::aborted),
                  "a wait for a message that is never sent ends with timed_out", "rank", rank_,
                  waited ? "succeeded" : "got:", waited ? std::string{} : waited.error().detail);
    report_.check(5, took < 2 * o_.time_out.value + 5 && (!timed_out || took > 0.9 * o_.time_out.value),
                  "a wait lasts as long as the time-out", "rank", rank_, "waited", took, "s, not", o_.time_out, "s");
    t_.abort(waited ? std::string("a wait has succeeded") : waited.error().detail);
    if (result<void> again = start_again(); !again) return again;
    const auto own = static_cast<std::byte>(timed_out);
    if (result<void> told = gather(std::span(&own, 1)); !told) return told;
    report_.check(5, std::find(gathered_.begin(), gathered_.end(), std::byte{1}) != gathered_.end(),
                  "some rank's wait timed out", "rank", rank_);
    return success();
  }

  std::string stopped_;
  // Of with_checksums, where an error leaves all of it in use until the abort:
  std::vector<std::byte> checked_out_, checked_in_;
  slimpack::detail::transport_behind<Transport> port_{t_};
  slimpack::detail::checked_transport checked_{port_};
};

}  // namespace detail

/// Checks the laws of slimpack::transport, and as number 6 the collectives (transports/hooks.hpp). Every rank calls it
/// at the same time with its own end and equal options, from its thread or its process; each gets the report of what it
/// saw itself, and the laws hold where all reports are true. Ends with the transport as new, or aborted where some law
/// left ranks apart.
/// Bytes are looked at after wait and finish, or once test has said that they are there: on a stream wait is an order.
/// Where the transport moves memory of a device, they lie in pinned memory of transport.device().
/// Returns   a report, which converts to bool; a test has to assert it: EXPECT_TRUE(found) << found
///           (testing/report.hpp)
/// Errors    none: a transport's error is a broken law            Complexity  O(cases) rounds; 4 largest bytes per rank
template <transport Transport>
[[nodiscard]] report transport_laws(Transport& t, transport_options o = {}) {
  return detail::transport_law_trial<Transport>(t, o).run();
}

}  // namespace slimpack::testing

#endif
