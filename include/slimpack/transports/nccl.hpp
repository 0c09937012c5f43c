#ifndef SLIMPACK_TRANSPORTS_NCCL_HPP
#define SLIMPACK_TRANSPORTS_NCCL_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/devices/streams.hpp>
#include <slimpack/transports/communicator.hpp>
#include <slimpack/transports/detail/introduction.hpp>
#include <slimpack/transports/detail/polling.hpp>
#include <slimpack/transports/detail/sentences.hpp>
#include <slimpack/transports/hooks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::transports {

/// GPUs of one process each, by NCCL: memory of devices, on streams that run beside the compute's.
///
///   transports::mpi world{MPI_COMM_WORLD};           // host memory: any transport between the same ranks will do
///   transports::nccl transport{world, devices::cuda{}, transports::communicators::nccl{}};
///   kernel<<<1, 1, 0, transport.stream().get()>>>(...);  // all of a compute's work goes there, once it is made (open)
///
/// Communicators are made between the ranks of the world: for messages forward, for messages back, and for exchanges,
/// at the first message or all_gather, which all ranks of a step begin with; and one for each group that adds up, at
/// its first sum, which waits until all members come. Ranks of other tensor ranks have a world and a transport of their
/// own. The first two are warmed up by a message around the ring of ranks. Where NCCL keeps the order of launches
/// (NCCL_LAUNCH_ORDER_IMPLICIT=1) each has a stream of its own, otherwise all share one. Ranks compare this before
/// their first message, which fails where it differs.
///
/// Every rank issues its transfers in one order (plan_order), so that they cannot wait for each other even if one runs
/// at a time. A message comes after the work that the caller has issued, wait lets later work come after it. The host
/// waits for no device: it asks, in finish and while communicators are made, until the time-out; meanwhile it hears of
/// aborts from the world. Abort: the world is told, communicators are aborted, and made anew by the next call. All
/// ranks call it. Sums are of float or double, in memory of the device, with the same bits on all members.
/// Requires   a world that is used for nothing else while a step runs, and outlives this; transfers between two ranks
///            in one order
/// Errors     timed_out; aborted; transport_failed; disagreement: ranks were told different orders of launches;
///            invalid_input: no such peer; those of device, world and communicators
template <streams Device, communicator_for<Device> Communicators, transport World>
class nccl {
  struct operation {
    std::optional<typename Device::event> done;
    // Of a message to itself:
    std::span<const std::byte> from;
    std::span<std::byte> to;
  };

 public:
  static constexpr bool plan_order = true;
  static constexpr bool device_memory = true;
  static constexpr bool starts_all_reduce = true;

  struct options {
    seconds time_out{60};
  };

  /// A message on its way.
  class handle {
    friend class nccl;
    std::shared_ptr<operation> of_;
    std::uint64_t step_{};
  };

  nccl(World& world, Device device, Communicators communicators)
      : nccl(world, std::move(device), std::move(communicators), options{}) {}
  nccl(World& world, Device device, Communicators communicators, options o)
      : world_(&world), device_(std::move(device)), communicators_(std::move(communicators)), options_(o) {}
  nccl(const nccl&) = delete;
  nccl& operator=(const nccl&) = delete;
  ~nccl() {
    if (!alarm_) return;
    const std::byte end{};  // so that the world is left with no receive that nobody answers
    auto told = world_->send(rank(), alarm_channel, std::span(&end, 1));
    if (told && world_->wait(told.value())) (void)world_->wait(*alarm_);
  }

  [[nodiscard]] int rank() const { return world_->rank(); }
  [[nodiscard]] int size() const { return world_->size(); }
  [[nodiscard]] Device& device() noexcept { return device_; }

  /// Makes the streams.
  result<void> open() {
    const std::size_t needed = communicators_.keeps_launch_order() ? kinds + 1 : 2;
    while (streams_.size() < needed) {
      auto made = device_.make_stream();
      if (!made) return std::move(made).error();
      streams_.push_back(std::move(made).value());
    }
    return success();
  }
  /// Where the compute issues its work.        Requires   open
  [[nodiscard]] const typename Device::stream& stream() const noexcept { return streams_[0]; }

  [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> message) {
    if (peer == rank())
      return to_self(
          channel, [&](operation& o) { o.from = message; }, true);
    return post(peer, channel,
                [&](const auto& over, const auto& on) { return communicators_.send(over, on, peer, message); });
  }
  [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> message) {
    if (peer == rank())
      return to_self(
          channel, [&](operation& o) { o.to = message; }, false);
    return post(peer, channel,
                [&](const auto& over, const auto& on) { return communicators_.receive(over, on, peer, message); });
  }
  [[nodiscard]] result<bool> test(const handle& h) {
    if (result<void> open = status(h); !open) return std::move(open).error();
    if (!h.of_->done) return false;
    const result<bool> through = device_.query(*h.of_->done);
    if (!through || !through.value()) return through;
    if (result<void> heard = hear(); !heard)
      return std::move(heard).error();  // it may have ended because it was
                                        // aborted
    return true;
  }
  [[nodiscard]] result<void> wait(const handle& h) {
    if (result<void> open = status(h); !open) return open;
    // A message to itself whose other side has not been posted, which this thread alone could do.
    if (result<void> met = poll("a message to itself", [&]() -> result<bool> { return h.of_->done.has_value(); }); !met)
      return met;
    return device_.wait(stream(), *h.of_->done);
  }
  /// Until the work of the compute and all messages have ended.
  [[nodiscard]] result<void> finish() {
    if (result<void> open = status(); !open) return open;
    return drain(true);
  }
  /// A point in the compute's work, and the time from one to another that have been reached.
  using time_mark = typename Device::event;
  [[nodiscard]] result<time_mark> mark() { return device_.record(stream()); }
  [[nodiscard]] result<seconds> between(const time_mark& from, const time_mark& to) {
    return device_.elapsed(from, to);
  }

  /// Stops the step on every rank; each calls it.
  void abort(std::string_view reason) {
    world_->abort(reason);
    std::vector<communicator> all = joined_;
    for (const auto& [group, one] : groups_) all.push_back(one);
    communicators_.abort(all);
    (void)drain(false);
    joined_.clear();
    groups_.clear();
    own_.clear();
    alarm_.reset();
    reason_ = reason;
    ++step_;
  }

  /// Of host memory.
  [[nodiscard]] result<void> all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    if (result<void> begun = status(); !begun) return begun;
    if (size() > 1)
      if (result<void> made = join_all(); !made) return made;
    return slimpack::all_gather(*world_, own, all);
  }
  /// Of memory of the device, beside later work of the compute: the sums are there after finish, and nobody touches the
  /// data before.
  template <class T>
  [[nodiscard]] result<void> all_reduce(std::span<T> data, std::span<const int> group) {
    if (result<void> begun = status(); !begun) return begun;
    const result<const communicator*> over = of_group({group.begin(), group.end()});
    if (!over) return over.error();
    const auto issued =
        issue(kinds, *over.value(), [&](const auto& on) { return communicators_.sum(*over.value(), on, data); });
    if (!issued) return issued.error();
    return success();
  }

 private:
  using communicator = typename Communicators::communicator;
  using identity = typename Communicators::identity;
  using event = typename Device::event;

  static constexpr std::size_t kinds = 3;  // of messages, each with a communicator
  using introduction = detail::introduction<identity, kinds>;
  // Of the world:
  static constexpr int alarm_channel = 1;
  static constexpr int identity_channel = 2;

  [[nodiscard]] static std::size_t kind_of(int channel) noexcept {
    const traffic what = traffic_on(channel);
    return what == traffic::forward ? 0 : what == traffic::backward ? 1 : 2;
  }
  [[nodiscard]] const typename Device::stream& stream_of(std::size_t kind) const noexcept {
    return streams_[std::min(kind + 1, streams_.size() - 1)];
  }

  result<void> status(const handle& h) {
    if (h.step_ != step_) return error{errc::aborted, reason_};
    return status();
  }
  /// Whether this rank is in a step that nobody has stopped; the first call of one begins it.
  result<void> status() {
    if (result<void> made = open(); !made) return made;
    if (!alarm_) {
      auto armed = world_->receive(rank(), alarm_channel, std::span(&rung_, 1));
      if (!armed) return std::move(armed).error();
      alarm_.emplace(std::move(armed).value());
    }
    return hear();
  }
  /// The world tells of aborts by a receive that nobody answers.
  result<void> hear() {
    const result<bool> rang = world_->test(*alarm_);
    if (!rang) return rang.error();
    return success();
  }

  /// Communicators tell of what went wrong on them, too.
  result<void> hear_of_all() {
    result<void> heard = hear();
    for (std::size_t kind = 0; heard && kind < joined_.size(); ++kind)
      if (const result<bool> well = communicators_.is_ready(joined_[kind]); !well) heard = well.error();
    return heard;
  }

  /// Asks until the answer is yes.
  template <class Ask>
  result<void> poll(const std::string& what, const Ask& ask) {
    for (detail::polling again(options_.time_out);;) {
      const result<bool> answer = ask();
      if (!answer) return answer.error();
      if (answer.value()) return success();
      if (result<void> heard = hear(); !heard) return heard;
      if (!again.again()) return timed_out(what);
    }
  }
  [[nodiscard]] error timed_out(const std::string& what) const {
    return error_of_ranks(errc::timed_out, "rank ", own_rank{rank()},
                          ' ' + detail::waited_for(options_.time_out) + what);
  }

  result<void> settle(const communicator& over, const char* what) {
    return poll(what, [&] { return communicators_.is_ready(over); });
  }

  /// Makes the communicators of messages, and moves a message around the ring over those that stages use.
  result<void> join_all() {
    if (!joined_.empty()) return success();
    introduction own;
    own.keeps_launch_order = communicators_.keeps_launch_order();
    own.streams = static_cast<std::int64_t>(streams_.size());
    if (rank() == 0)
      for (identity& one : own.identities) {
        const result<identity> made = communicators_.make_identity();
        if (!made) return made.error();
        one = made.value();
      }
    introduced_.resize(static_cast<std::size_t>(size()));
    if (result<void> told = slimpack::all_gather(*world_, std::as_bytes(std::span(&own, 1)),
                                                 std::as_writable_bytes(std::span(introduced_)));
        !told)
      return told;
    if (std::optional<error> differs = introduction::difference(introduced_)) return *std::move(differs);
    std::vector<communicator> made;
    for (const identity& one : introduced_.front().identities) {
      auto joining = communicators_.join(one, rank(), size());
      if (!joining) return std::move(joining).error();
      made.push_back(std::move(joining).value());
      if (result<void> joined = settle(made.back(), "a communicator to be made"); !joined) return joined;
    }
    joined_ = std::move(made);
    return warm_up();
  }

  result<void> warm_up() {
    if (!warm_) {
      auto made = device_.allocate(2);
      if (!made) return std::move(made).error();
      warm_.emplace(std::move(made).value());
    }
    const std::span<std::byte> bytes = as_span(*warm_);
    for (const std::size_t kind : {std::size_t{0}, std::size_t{1}}) {
      const int on = kind == 0 ? 1 : size() - 1;
      const int to = (rank() + on) % size(), from = (rank() + size() - on) % size();
      for (const bool sends : {rank() < from, rank() > from}) {
        const auto done = issue(kind, joined_[kind], [&](const auto& stream) {
          return sends ? communicators_.send(joined_[kind], stream, to, bytes.first(1))
                       : communicators_.receive(joined_[kind], stream, from, bytes.last(1));
        });
        if (!done) return done.error();
      }
    }
    return success();
  }

  /// Issues work of a communicator after the compute's, and gives the event of its end.
  template <class Issue>
  result<event> issue(std::size_t kind, const communicator& over, const Issue& work) {
    const typename Device::stream& on = stream_of(kind);
    const result<event> ready = device_.record(stream());
    if (!ready) return ready.error();
    if (result<void> ordered = device_.wait(on, ready.value()); !ordered) return std::move(ordered).error();
    if (result<void> issued = work(on); !issued) return std::move(issued).error();
    if (result<void> settled = settle(over, "a communicator to take its work"); !settled)
      return std::move(settled).error();
    return device_.record(on);
  }

  template <class Issue>
  result<handle> post(int peer, int channel, const Issue& work) {
    if (!detail::is_rank(peer, size())) return detail::no_such_rank(peer, size());
    if (result<void> begun = status(); !begun) return std::move(begun).error();
    if (result<void> made = join_all(); !made) return std::move(made).error();
    const std::size_t kind = kind_of(channel);
    auto done = issue(kind, joined_[kind], [&](const auto& on) { return work(joined_[kind], on); });
    if (!done) return std::move(done).error();
    handle h;
    h.of_ = std::make_shared<operation>(operation{std::move(done).value(), {}, {}});
    h.step_ = step_;
    return h;
  }

  /// The k-th send to itself on a channel meets the k-th receive: whichever comes second issues the copy.
  template <class Fill>
  result<handle> to_self(int channel, const Fill& fill, bool sends) {
    if (result<void> begun = status(); !begun) return std::move(begun).error();
    auto& [waiting, is_send] = own_[channel];
    handle h;
    h.step_ = step_;
    if (waiting.empty() || is_send == sends) {
      is_send = sends;
      h.of_ = waiting.emplace_back(std::make_shared<operation>());
      fill(*h.of_);
      return h;
    }
    h.of_ = waiting.front();
    waiting.pop_front();
    fill(*h.of_);
    if (h.of_->from.size() != h.of_->to.size())
      return error_of_ranks(errc::wrong_message, "rank ", own_rank{rank()},
                            " sent itself " + std::to_string(h.of_->from.size()) + " bytes on channel " +
                                std::to_string(channel) + " where it expected " + std::to_string(h.of_->to.size()));
    if (result<void> copied = device_.copy(stream(), h.of_->to, h.of_->from); !copied) return std::move(copied).error();
    auto done = device_.record(stream());
    if (!done) return std::move(done).error();
    h.of_->done.emplace(std::move(done).value());
    return h;
  }

  /// The communicator of those that add up, made at its first use: the first of them names it.
  result<const communicator*> of_group(const std::vector<int>& group) {
    if (const auto known = groups_.find(group); known != groups_.end()) return &known->second;
    identity& id = group_identity_;
    if (group.front() == rank()) {
      const result<identity> made = communicators_.make_identity();
      if (!made) return made.error();
      id = made.value();
      for (const int member : std::span(group).subspan(1)) {
        auto told = world_->send(member, identity_channel, std::as_bytes(std::span(&id, 1)));
        if (!told) return std::move(told).error();
        if (result<void> went = world_->wait(told.value()); !went) return std::move(went).error();
      }
    } else {
      auto told = world_->receive(group.front(), identity_channel, std::as_writable_bytes(std::span(&id, 1)));
      if (!told) return std::move(told).error();
      if (result<void> came = world_->wait(told.value()); !came) return std::move(came).error();
    }
    const auto at = std::find(group.begin(), group.end(), rank()) - group.begin();
    auto joining = communicators_.join(id, static_cast<int>(at), static_cast<int>(group.size()));
    if (!joining) return std::move(joining).error();
    if (result<void> joined = settle(joining.value(), "a communicator of sums to be made"); !joined)
      return std::move(joined).error();
    return &groups_.emplace(group, std::move(joining).value()).first->second;
  }

  /// Until all that has been issued has ended.
  result<void> drain(bool hears) {
    std::vector<event> ends;
    for (const auto& one : streams_) {
      auto end = device_.record(one);
      if (!end) return std::move(end).error();
      ends.push_back(std::move(end).value());
    }
    detail::polling again(options_.time_out);
    for (const event& one : ends)
      for (;;) {
        const result<bool> reached = device_.query(one);
        if (!reached) return reached.error();
        if (reached.value()) break;
        if (result<void> well = hears ? hear_of_all() : success(); !well) return well;
        if (!again.again()) return timed_out("the work of its device");
      }
    return hears ? hear_of_all() : success();
  }

  World* world_;
  Device device_;
  Communicators communicators_;
  options options_;
  std::vector<typename Device::stream> streams_;  // of the compute, of each kind of message, of sums; or of the compute
                                                  // and of all others
  // What a call of the world that failed uses until abort:
  std::vector<introduction> introduced_;  // of all ranks
  identity group_identity_{};             // of the communicator of sums that is made
  std::vector<communicator> joined_;      // by kind of message
  std::map<std::vector<int>, communicator> groups_;
  std::map<int, std::pair<std::deque<std::shared_ptr<operation>>, bool>> own_;  // messages to itself, and whether those
                                                                                // that wait are sends
  std::optional<typename Device::memory> warm_;
  std::byte rung_{};
  std::optional<typename World::handle> alarm_;
  std::uint64_t step_{};
  std::string reason_;
};

}  // namespace slimpack::transports

#endif
