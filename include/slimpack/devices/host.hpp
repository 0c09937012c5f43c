#ifndef SLIMPACK_DEVICES_HOST_HPP
#define SLIMPACK_DEVICES_HOST_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/devices/detail/host_machine.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Devices, by the CUDA runtime or made of threads: see the concept `streams` (devices/streams.hpp). cuda where there
/// is a GPU; host to test without one, and to find orders that a GPU would hide.
namespace slimpack::devices {

/// A stand-in for a device, with work that runs later than its call. All streams of a device share one queue, so that
/// its operations run one at a time in the order of issue, as little as CUDA promises of several streams; or each has a
/// queue of its own, so that what no event orders runs in any order.
///
///   std::vector<devices::host> all = devices::host::make(2, {.seed = 7});
///
/// Run a program over both: the first finds transfers that wait for each other, the second events that are missing.
/// The seed chooses delays, and which transfers go first among those that could. A transfer moves only when both sides
/// have come to it. Where operations wait for each other, all calls answer cyclic_schedule with the operations by name,
/// and nothing more moves.
/// Requires   handles of a stream or event go to devices that were made together
/// Errors     cyclic_schedule
class host {
 public:
  struct options {
    std::uint64_t seed{1};
    seconds delay{200e-6};      ///< work, copies and transfers wait for up to as long before they begin, one in eight
    bool in_issue_order{true};  ///< one queue for a device; otherwise one for each of its streams
  };

  class stream {
    friend class host;
    std::size_t queue_{};
  };
  class event {
    friend class host;
    std::shared_ptr<detail::host_machine::mark> mark_;
  };
  class memory {
   public:
    friend std::span<std::byte> as_span(memory& m) noexcept { return {m.bytes_.get(), m.size_}; }

   private:
    friend class host;
    explicit memory(std::size_t size) : bytes_(std::make_unique<std::byte[]>(size)), size_(size) {}
    std::unique_ptr<std::byte[]> bytes_;
    std::size_t size_;
  };

  /// Devices that may wait for each other's events.
  [[nodiscard]] static std::vector<host> make(int devices, options o) {
    const auto machine =
        std::make_shared<detail::host_machine>(static_cast<std::size_t>(devices), o.seed, o.delay, o.in_issue_order);
    std::vector<host> all;
    for (int d = 0; d < devices; ++d) all.push_back(host(machine, static_cast<std::size_t>(d)));
    return all;
  }

  [[nodiscard]] result<stream> make_stream() {
    stream made;
    made.queue_ = machine_->queue_of(device_);
    return made;
  }
  [[nodiscard]] result<event> record(const stream& on) {
    event made;
    made.mark_ = std::make_shared<detail::host_machine::mark>();
    made.mark_->queue = on.queue_;
    if (result<void> issued = issue(on, {.name = "an event", .sets = made.mark_}); !issued)
      return std::move(issued).error();
    return made;
  }
  [[nodiscard]] result<void> wait(const stream& on, const event& at) {
    return issue(on, {.name = "a wait for an event", .waits = at.mark_});
  }
  [[nodiscard]] result<bool> query(const event& at) {
    if (std::optional<error> wrong = machine_->cycle()) return *std::move(wrong);
    return machine_->reached(*at.mark_);
  }
  /// Requires   both are reached
  [[nodiscard]] result<seconds> elapsed(const event& from, const event& to) {
    return seconds{std::chrono::duration<double>(to.mark_->when - from.mark_->when).count()};
  }
  [[nodiscard]] result<void> copy(const stream& on, std::span<std::byte> to, std::span<const std::byte> from) {
    return run(on, [to, from] { std::copy(from.begin(), from.end(), to.begin()); });
  }
  [[nodiscard]] result<void> run(const stream& on, std::function<void()> work) {
    return issue(on, {.name = "work", .work = std::move(work)});
  }
  [[nodiscard]] result<void> synchronize(const stream& on) {
    ++*host_waits_;
    result<event> end = record(on);
    if (!end) return std::move(end).error();
    machine_->await(*end.value().mark_);
    if (std::optional<error> wrong = machine_->cycle()) return *std::move(wrong);
    return success();
  }
  [[nodiscard]] result<memory> allocate(std::size_t size) {
    ++*host_waits_;
    return memory(size);
  }
  [[nodiscard]] result<memory> allocate_pinned(std::size_t size) { return allocate(size); }

  /// How often this device's host has made a call at which it may wait.
  [[nodiscard]] int host_waits() const noexcept { return *host_waits_; }

  /// One side of a transfer to another device, or from it; those of one operation move in any order.
  using transfer = detail::host_machine::transfer;
  [[nodiscard]] result<void> move(const stream& on, std::string name, std::vector<transfer> moves) {
    return issue(on, {.name = std::move(name), .moves = std::move(moves)});
  }
  /// What transfers between devices go over.
  [[nodiscard]] std::uint64_t new_wire() { return machine_->new_wire(); }
  void cut(std::uint64_t wire) { machine_->cut(wire); }
  [[nodiscard]] std::optional<error> mismatch(std::uint64_t wire) { return machine_->mismatch(wire); }

 private:
  host(std::shared_ptr<detail::host_machine> machine, std::size_t device)
      : machine_(std::move(machine)), device_(device) {}

  result<void> issue(const stream& on, detail::host_machine::operation o) {
    if (std::optional<error> wrong = machine_->cycle()) return *std::move(wrong);
    machine_->issue(on.queue_, std::move(o));
    return success();
  }

  std::shared_ptr<detail::host_machine> machine_;
  std::size_t device_;
  std::shared_ptr<std::atomic<int>> host_waits_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace slimpack::devices

#endif
