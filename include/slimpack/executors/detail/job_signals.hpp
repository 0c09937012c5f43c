#ifndef SLIMPACK_EXECUTORS_DETAIL_JOB_SIGNALS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_JOB_SIGNALS_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/executors/detail/inquiry.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What all have said, and whom it names.
struct answers {
  std::vector<rank_sign> signs;
  suspects found;
};

/// What the watchdogs of a job tell each other beside their agreements: at the end of a step that it has ended, and
/// where a rank is late that it is, and what each rank does. A rank tells those that come 1, 2, 4, ... places after it,
/// and these hand on what is new to them. So all ranks hear it after ceil(log2 of the ranks) messages, and also where
/// some ranks are gone. All calls return at once. What has been posted is in use until reset, before which the step is
/// aborted, or has ended with all alarms rung.
template <transport Transport>
class job_signals {
 public:
  /// trainer_rank: the trainer's number of a rank; may be empty
  job_signals(Transport& world, std::function<int(int)> trainer_rank)
      : world_(&world), trainer_rank_(std::move(trainer_rank)) {}

  [[nodiscard]] error named(error e) const { return in_trainer_numbers(std::move(e), trainer_rank_); }
  [[nodiscard]] std::string number(int rank) const {
    return std::to_string(trainer_rank_ ? trainer_rank_(rank) : rank);
  }

  /// Sends what stays as it is until it has left, or the step is aborted.
  result<void> send(int to, int channel, std::span<const std::byte> bytes) {
    result<handle> going = world_->send(to, channel, bytes);
    if (!going) return named(std::move(going).error());
    sends_.push_back(std::move(going).value());
    return success();
  }
  /// Whether all of it has left.
  result<bool> have_left() {
    for (; !sends_.empty(); sends_.pop_front()) {
      result<bool> left = world_->test(sends_.front());
      if (!left) return named(std::move(left).error());
      if (!left.value()) return false;
    }
    return true;
  }

  /// Posts receives that are answered where a rank is late, and otherwise at the end of the step: also where a rank
  /// waits for no other message, they tell of aborts.
  result<void> arm() {
    return each_neighbour([&](int, int from) -> result<void> {
      alarm& one = alarms_.emplace_back();
      result<handle> armed = world_->receive(from, alarm_channel, std::span(&one.rung, 1));
      if (!armed) return named(std::move(armed).error());
      one.on = std::move(armed).value();
      return success();
    });
  }
  /// Answers those of others: the step has ended, or a rank is late.
  result<void> ring(bool is_late) {
    return each_neighbour(
        [&](int to, int) { return send(to, alarm_channel, std::span(is_late ? &rank_is_late : &step_ends, 1)); });
  }
  /// Errors    timed_out, without a word: another rank says that one is late
  result<void> listen() {
    for (alarm& a : alarms_) {
      if (a.has_rung) continue;
      result<bool> rung = world_->test(a.on);
      if (!rung) return named(std::move(rung).error());
      a.has_rung = rung.value();
      if (a.has_rung && a.rung == rank_is_late) return error{errc::timed_out, {}};
    }
    return success();
  }
  [[nodiscard]] bool have_all_rung() const {
    return std::all_of(alarms_.begin(), alarms_.end(), [](const alarm& a) { return a.has_rung; });
  }

  /// A rank is late: tells others, and asks all what they do. Returns when all have answered, two graces after `asked`
  /// at latest; but where another rank is to say what comes of it, its abort is waited for, a grace more at most.
  /// own       gives the sign of this rank, as far as it is known, after a moment; its error is why the step fails
  /// Errors    aborted: another rank has said why the step fails; the transport's
  template <class Own>
  result<answers> ask(std::chrono::steady_clock::time_point asked, std::chrono::steady_clock::duration grace,
                      const Own& own) {
    if (result<void> begun = begin_inquiry(); !begun) return begun.error();
    std::vector<rank_sign> signs(static_cast<std::size_t>(world_->size()));
    rank_sign& mine = signs[static_cast<std::size_t>(world_->rank())];
    for (std::optional<answers> all;;) {
      const result<rank_sign> is = own();
      if (!is) return is.error();
      bool has_news = mine < is.value();
      if (has_news) mine = is.value();
      if (result<void> heard = hear(signs, has_news); !heard) return heard.error();
      if (has_news)
        if (result<void> told = tell(signs); !told) return told.error();
      const auto since = std::chrono::steady_clock::now() - asked;
      const bool is_known =
          std::none_of(signs.begin(), signs.end(), [](const rank_sign& s) { return s.what == rank_sign::silent; });
      if (!all && (is_known || since > 2 * grace)) all = answers{signs, suspects::of(signs)};
      if (all && (all->found.speaker(all->signs) == world_->rank() || since > 3 * grace)) return *std::move(all);
    }
  }

  void reset() {
    alarms_.clear();
    sends_.clear();
    tables_.clear();
    told_.clear();
  }

 private:
  using handle = typename Transport::handle;
  static constexpr int alarm_channel = 2;  // those before are of the beginning and the end of a step
  static constexpr int sign_channel = 3;
  static constexpr std::byte step_ends{0};
  static constexpr std::byte rank_is_late{1};

  struct alarm {
    std::byte rung{};
    handle on;
    bool has_rung{};
  };
  struct table {
    int from{};
    std::vector<rank_sign> of;
    handle on;
  };

  /// Calls what(the rank that many places after this, the one as many before), for each power of 2.
  template <class What>
  result<void> each_neighbour(const What& what) {
    const int size = world_->size(), own = world_->rank();
    for (int distance = 1; distance < size || distance == 1; distance *= 2)
      if (result<void> done = what((own + distance) % size, (own + size - distance % size) % size); !done) return done;
    return success();
  }
  result<void> begin_inquiry() {
    if (result<void> told = ring(true); !told) return told;
    return each_neighbour([&](int, int from) -> result<void> {
      tables_.push_back({from, std::vector<rank_sign>(static_cast<std::size_t>(world_->size())), {}});
      return expect(tables_.back());
    });
  }
  /// Takes in what has come.            more: becomes true where that is news
  result<void> hear(std::vector<rank_sign>& signs, bool& more) {
    for (table& from : tables_) {
      result<bool> came = world_->test(from.on);
      if (!came) return named(std::move(came).error());
      if (!came.value()) continue;
      more = take_in(signs, from.of) || more;
      if (result<void> posted = expect(from); !posted) return posted;
    }
    return success();
  }
  result<void> tell(const std::vector<rank_sign>& signs) {
    const std::vector<rank_sign>& sent = told_.emplace_back(signs);
    return each_neighbour([&](int to, int) { return send(to, sign_channel, std::as_bytes(std::span(sent))); });
  }
  result<void> expect(table& t) {
    result<handle> posted = world_->receive(t.from, sign_channel, std::as_writable_bytes(std::span(t.of)));
    if (!posted) return named(std::move(posted).error());
    t.on = std::move(posted).value();
    return success();
  }

  Transport* world_;
  std::function<int(int)> trainer_rank_;
  std::deque<alarm> alarms_;  // their bytes stay where they are
  std::deque<handle> sends_;
  std::deque<table> tables_;
  std::deque<std::vector<rank_sign>> told_;
};

}  // namespace slimpack::detail

#endif
