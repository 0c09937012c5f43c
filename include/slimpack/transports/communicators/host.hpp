#ifndef SLIMPACK_TRANSPORTS_COMMUNICATORS_HOST_HPP
#define SLIMPACK_TRANSPORTS_COMMUNICATORS_HOST_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/devices/host.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Communicators, which transports::nccl is made of: nccl where there are GPUs; host between stand-in devices.
namespace slimpack::transports::communicators {

/// Between devices::host: transfers that move only when both sides have come to them, and reports of cycles.
/// It is ready only when it has been asked a few times, as one that does not block its caller.
class host {
 public:
  using identity = std::uint64_t;

  class communicator {
    friend class host;
    std::uint64_t wire_{};
    int rank_{};
    int size_{};
    std::shared_ptr<int> asked_ = std::make_shared<int>(0);
  };

  /// keeps_launch_order: what it answers
  explicit host(devices::host device, bool keeps_launch_order = true)
      : device_(std::move(device)), keeps_launch_order_(keeps_launch_order) {}

  [[nodiscard]] result<identity> make_identity() { return device_.new_wire(); }
  [[nodiscard]] result<communicator> join(identity id, int rank, int size) {
    communicator made;
    made.wire_ = id;
    made.rank_ = rank;
    made.size_ = size;
    return made;
  }
  [[nodiscard]] result<bool> is_ready(const communicator& over) {
    if (std::optional<error> wrong = device_.mismatch(over.wire_)) return *std::move(wrong);
    return ++*over.asked_ % 3 == 0;
  }
  [[nodiscard]] result<void> send(const communicator& over, const devices::host::stream& on, int peer,
                                  std::span<const std::byte> bytes) {
    return device_.move(on, "a send to rank " + std::to_string(peer), {out(over, peer, bytes)});
  }
  [[nodiscard]] result<void> receive(const communicator& over, const devices::host::stream& on, int peer,
                                     std::span<std::byte> bytes) {
    return device_.move(on, "a receive from rank " + std::to_string(peer), {in(over, peer, bytes)});
  }
  /// Adds in order of rank.
  template <class T>
  [[nodiscard]] result<void> sum(const communicator& over, const devices::host::stream& on, std::span<T> data) {
    const auto terms = std::make_shared<std::vector<std::vector<T>>>(static_cast<std::size_t>(over.size_),
                                                                     std::vector<T>(data.size()));
    std::vector<devices::host::transfer> moves;
    for (int r = 0; r < over.size_; ++r) {
      if (r == over.rank_) continue;
      moves.push_back(out(over, r, std::as_bytes(data)));
      moves.push_back(in(over, r, std::as_writable_bytes(std::span((*terms)[static_cast<std::size_t>(r)]))));
    }
    if (result<void> issued = device_.move(on, "a sum", std::move(moves)); !issued) return issued;
    return device_.run(on, [terms, data, own = static_cast<std::size_t>(over.rank_)] {
      (*terms)[own].assign(data.begin(), data.end());
      for (std::size_t i = 0; i < data.size(); ++i) {
        T total{};
        for (const std::vector<T>& term : *terms) total += term[i];
        data[i] = total;
      }
    });
  }
  [[nodiscard]] bool keeps_launch_order() const noexcept { return keeps_launch_order_; }
  void abort(std::span<const communicator> all) {
    for (const communicator& one : all) device_.cut(one.wire_);
  }

 private:
  static devices::host::transfer out(const communicator& over, int peer, std::span<const std::byte> bytes) {
    return {.wire = over.wire_, .from = over.rank_, .to = peer, .sends = true, .source = bytes};
  }
  static devices::host::transfer in(const communicator& over, int peer, std::span<std::byte> bytes) {
    return {.wire = over.wire_, .from = peer, .to = over.rank_, .target = bytes};
  }

  devices::host device_;
  bool keeps_launch_order_;
};

}  // namespace slimpack::transports::communicators

#endif
