#ifndef SLIMPACK_TRANSPORTS_DETAIL_ANY_TRANSPORT_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_ANY_TRANSPORT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/hooks.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// When a program comes to its points: by the host's clock, or, where work runs later than its calls, by that of the
/// device.
template <class Transport>
class program_clock {
 public:
  explicit program_clock(Transport& transport) : transport_(&transport) {}

  void reserve(std::size_t points) { points_.reserve(points); }

  /// Here is the next point.
  result<void> point() {
    if constexpr (marks_time<Transport>()) {
      auto mark = transport_->mark();
      if (!mark) return std::move(mark).error();
      points_.push_back(std::move(mark).value());
    } else {
      points_.push_back(std::chrono::steady_clock::now());
    }
    return success();
  }

  /// The points since the first.        Requires   one point; a transport that has finished
  result<std::vector<seconds>> times() {
    std::vector<seconds> since;
    for (const auto& p : points_) {
      if constexpr (marks_time<Transport>()) {
        const result<seconds> time = transport_->between(points_.front(), p);
        if (!time) return time.error();
        since.push_back(time.value());
      } else {
        since.push_back({std::chrono::duration<double>(p - points_.front()).count()});
      }
    }
    return since;
  }

 private:
  static auto a_point() {
    if constexpr (marks_time<Transport>())
      return typename Transport::time_mark{};
    else
      return std::chrono::steady_clock::time_point{};
  }

  Transport* transport_;
  std::vector<decltype(a_point())> points_;
};

/// A transport behind virtual calls, so that what moves messages is compiled once for all of them; and the points in
/// time of the program that runs over it.
/// Law       every answer is that of the transport, but for the numbers of ranks in errors
class any_transport {
 public:
  /// A transfer on its way. Nobody asks about it again after a test or a wait has said that it is through.
  struct handle {
    std::size_t at{};
  };

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// The trainer's number of a rank, which errors name it by.
  [[nodiscard]] virtual int number_of(int rank) const = 0;
  [[nodiscard]] virtual result<handle> send(int peer, int channel, std::span<const std::byte> data) = 0;
  [[nodiscard]] virtual result<handle> receive(int peer, int channel, std::span<std::byte> data) = 0;
  [[nodiscard]] virtual result<bool> test(handle h) = 0;
  [[nodiscard]] virtual result<void> wait(handle h) = 0;
  virtual void abort(std::string_view reason) = 0;

  /// Those of transports/hooks.hpp.
  [[nodiscard]] virtual result<void> all_gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;
  [[nodiscard]] virtual result<void> finish() = 0;
  [[nodiscard]] virtual bool keeps_plan_order() const noexcept = 0;
  [[nodiscard]] virtual bool moves_device_memory() const noexcept = 0;

  /// Those of program_clock.
  virtual void expect_points(std::size_t count) = 0;
  [[nodiscard]] virtual result<void> point() = 0;
  [[nodiscard]] virtual result<std::vector<seconds>> times() = 0;

 protected:
  any_transport() = default;
  any_transport(const any_transport&) = default;
  any_transport& operator=(const any_transport&) = default;
  ~any_transport() = default;
};

/// That of a trainer. Its errors name ranks by the trainer's numbers.
template <class Transport>
class transport_behind final : public any_transport {
 public:
  /// trainer_rank: the trainer's number of a rank; empty: the transport's            Requires the transport outlives it
  explicit transport_behind(Transport& transport, std::function<int(int)> trainer_rank = {})
      : transport_(transport), trainer_rank_(std::move(trainer_rank)), clock_(transport) {}

  [[nodiscard]] int rank() const override { return transport_.rank(); }
  [[nodiscard]] int size() const override { return transport_.size(); }
  [[nodiscard]] int number_of(int rank) const override { return trainer_rank_ ? trainer_rank_(rank) : rank; }
  [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> data) override {
    return kept(transport_.send(peer, channel, data));
  }
  [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> data) override {
    return kept(transport_.receive(peer, channel, data));
  }
  [[nodiscard]] result<bool> test(handle h) override {
    result<bool> through = transport_.test(*under_way_[h.at]);
    if (through && through.value()) let_go(h);
    return named(std::move(through));
  }
  [[nodiscard]] result<void> wait(handle h) override {
    result<void> through = transport_.wait(*under_way_[h.at]);
    if (through) let_go(h);
    return named(std::move(through));
  }
  void abort(std::string_view reason) override { transport_.abort(reason); }

  [[nodiscard]] result<void> all_gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    return named(slimpack::all_gather(transport_, own, all));
  }
  [[nodiscard]] result<void> finish() override { return named(slimpack::finish(transport_)); }
  [[nodiscard]] bool keeps_plan_order() const noexcept override { return detail::keeps_plan_order<Transport>(); }
  [[nodiscard]] bool moves_device_memory() const noexcept override { return detail::moves_device_memory<Transport>(); }

  void expect_points(std::size_t count) override { clock_.reserve(count); }
  [[nodiscard]] result<void> point() override { return named(clock_.point()); }
  [[nodiscard]] result<std::vector<seconds>> times() override { return named(clock_.times()); }

 private:
  template <class T>
  result<T> named(result<T> done) const {
    if (done) return done;
    return in_trainer_numbers(std::move(done).error(), trainer_rank_);
  }
  result<handle> kept(result<typename Transport::handle> posted) {
    if (!posted) return in_trainer_numbers(std::move(posted).error(), trainer_rank_);
    if (free_.empty()) {
      under_way_.emplace_back(std::move(posted).value());
      return handle{under_way_.size() - 1};
    }
    const handle h{free_.back()};
    free_.pop_back();
    under_way_[h.at].emplace(std::move(posted).value());
    return h;
  }
  void let_go(handle h) {
    under_way_[h.at].reset();
    free_.push_back(h.at);
  }

  Transport& transport_;
  std::function<int(int)> trainer_rank_;
  program_clock<Transport> clock_;
  std::vector<std::optional<typename Transport::handle>> under_way_;
  std::vector<std::size_t> free_;  // places of it
};

}  // namespace slimpack::detail

#endif
