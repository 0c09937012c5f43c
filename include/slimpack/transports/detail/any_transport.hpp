#ifndef SLIMPACK_TRANSPORTS_DETAIL_ANY_TRANSPORT_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_ANY_TRANSPORT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/program_clock.hpp>
#include <slimpack/transports/hooks.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A transport behind virtual calls, so that what moves messages is compiled once for all of them; and the points in
/// time of the program that runs over it.
/// Law       every answer is that of the transport
class any_transport {
 public:
  /// A transfer on its way. Nobody asks about it again after a test or a wait has said that it is through.
  struct handle {
    std::size_t at{};
  };

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
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

/// That of a trainer.
template <class Transport>
class transport_behind final : public any_transport {
 public:
  /// Requires  the transport outlives it
  explicit transport_behind(Transport& transport) : transport_(transport), clock_(transport) {}

  [[nodiscard]] int rank() const override { return transport_.rank(); }
  [[nodiscard]] int size() const override { return transport_.size(); }
  [[nodiscard]] result<handle> send(int peer, int channel, std::span<const std::byte> data) override {
    return kept(transport_.send(peer, channel, data));
  }
  [[nodiscard]] result<handle> receive(int peer, int channel, std::span<std::byte> data) override {
    return kept(transport_.receive(peer, channel, data));
  }
  [[nodiscard]] result<bool> test(handle h) override {
    result<bool> through = transport_.test(*under_way_[h.at]);
    if (through && through.value()) let_go(h);
    return through;
  }
  [[nodiscard]] result<void> wait(handle h) override {
    result<void> through = transport_.wait(*under_way_[h.at]);
    if (through) let_go(h);
    return through;
  }
  void abort(std::string_view reason) override { transport_.abort(reason); }

  [[nodiscard]] result<void> all_gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    return slimpack::all_gather(transport_, own, all);
  }
  [[nodiscard]] result<void> finish() override { return slimpack::finish(transport_); }
  [[nodiscard]] bool keeps_plan_order() const noexcept override { return detail::keeps_plan_order<Transport>(); }
  [[nodiscard]] bool moves_device_memory() const noexcept override { return detail::moves_device_memory<Transport>(); }

  void expect_points(std::size_t count) override { clock_.reserve(count); }
  [[nodiscard]] result<void> point() override { return clock_.point(); }
  [[nodiscard]] result<std::vector<seconds>> times() override { return clock_.times(); }

 private:
  result<handle> kept(result<typename Transport::handle> posted) {
    if (!posted) return std::move(posted).error();
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
  program_clock<Transport> clock_;
  std::vector<std::optional<typename Transport::handle>> under_way_;
  std::vector<std::size_t> free_;  // places of it
};

}  // namespace slimpack::detail

#endif
