#ifndef SLIMPACK_EXECUTORS_IMPL_CHECKED_TRANSPORT_IPP
#define SLIMPACK_EXECUTORS_IMPL_CHECKED_TRANSPORT_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/executors/detail/messages/checked_transport.hpp>
#include <slimpack/transports/hooks.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace slimpack::detail {

/// What the messages on a channel carry (transports/hooks.hpp, stage_script).
[[nodiscard]] inline const char* content_on(int channel) {
  switch (traffic_on(channel)) {
    case traffic::collectives:
      return "sums of gradients";
    case traffic::forward:
      return "hidden rows";
    case traffic::backward:
      return "gradients of hidden rows";
    case traffic::rows:
      break;
  }
  return channel == shared_rows_channel ? "rows that replicas share"
         : channel == ties_channel      ? "attention of other stages"
                                        : "rows of a spread vocabulary";
}

SLIMPACK_DECL result<any_transport::handle> checked_transport::send(int peer, int channel,
                                                                    std::span<const std::byte> data) {
  const std::size_t at = opened();
  pair& one = pairs_[at];
  one.checksum = checksum_of(data, rank(), peer, channel, sent_[{peer, channel}]++);
  const result<handle> message = under_->send(peer, channel, data);
  if (!message) return message;
  const result<handle> sum = under_->send(peer, channel, std::as_bytes(std::span(&one.checksum, 1)));
  if (!sum) return sum;
  one.data = message.value(), one.sum = sum.value();
  return handle{at};
}

SLIMPACK_DECL result<any_transport::handle> checked_transport::receive(int peer, int channel,
                                                                       std::span<std::byte> data) {
  const std::size_t at = opened();
  pair& one = pairs_[at];
  one.receives = true, one.received = data, one.peer = peer, one.channel = channel,
  one.number = received_[{peer, channel}]++;
  const result<handle> message = under_->receive(peer, channel, data);
  if (!message) return message;
  const result<handle> sum = under_->receive(peer, channel, std::as_writable_bytes(std::span(&one.checksum, 1)));
  if (!sum) return sum;
  one.data = message.value(), one.sum = sum.value();
  return handle{at};
}

SLIMPACK_DECL result<bool> checked_transport::test(handle h) {
  pair& one = pairs_[h.at];
  for (const auto& [part, is_through] : {std::pair(one.data, &one.data_is_through), {one.sum, &one.sum_is_through}}) {
    if (*is_through) continue;
    const result<bool> through = under_->test(part);
    if (!through || !through.value()) return through;
    *is_through = true;
  }
  if (result<void> fine = ended(h.at); !fine) return std::move(fine).error();
  return true;
}

SLIMPACK_DECL result<void> checked_transport::wait(handle h) {
  pair& one = pairs_[h.at];
  for (const auto& [part, is_through] : {std::pair(one.data, &one.data_is_through), {one.sum, &one.sum_is_through}}) {
    if (*is_through) continue;
    if (result<void> through = under_->wait(part); !through) return through;
    *is_through = true;
  }
  return ended(h.at);
}

SLIMPACK_DECL std::size_t checked_transport::opened() {
  if (free_.empty()) {
    pairs_.emplace_back();
    return pairs_.size() - 1;
  }
  const std::size_t at = free_.back();
  free_.pop_back();
  pairs_[at] = {};
  return at;
}

SLIMPACK_DECL std::string checked_transport::name(int rank) const { return "rank " + std::to_string(number_of(rank)); }

SLIMPACK_DECL std::uint64_t checked_transport::checksum_of(std::span<const std::byte> data, int from, int to,
                                                           int channel, std::uint64_t number) {
  const auto began = std::chrono::steady_clock::now();
  const std::uint64_t ends[]{static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to),
                             static_cast<std::uint64_t>(channel), number};
  const std::uint64_t sum = checksum(data, checksum(std::as_bytes(std::span(ends)), 0));
  spent_ += seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()};
  return sum;
}

SLIMPACK_DECL result<void> checked_transport::ended(std::size_t at) {
  const pair& one = pairs_[at];
  free_.push_back(at);
  if (!one.receives) return success();
  const std::uint64_t found = checksum_of(one.received, one.peer, rank(), one.channel, one.number);
  if (found == one.checksum) return success();
  return error{errc::wrong_message,
               "message " + std::to_string(one.number) + " of " + content_on(one.channel) + " from " + name(one.peer) +
                   " to " + name(rank()) + ", " + std::to_string(one.received.size()) +
                   " bytes, came damaged: its checksum is " + hash_text(found) + ", its sender's " +
                   hash_text(one.checksum) +
                   " (packflow::checksums): look for a faulty link or library, and repeat the step"};
}

}  // namespace slimpack::detail

#endif
