#ifndef SLIMPACK_TRANSPORTS_DETAIL_OVER_MESSAGES_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_OVER_MESSAGES_HPP

#include <slimpack/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// Collectives made of a transport's messages. Buffers given to them are in use until they return without an error, or
/// until the transport's abort.
namespace slimpack::detail {

inline constexpr int control_channel = 0;

/// Sends to one rank while it receives from another, and waits for both. Nothing is sent where there is nothing.
template <class Transport>
result<void> send_and_receive(Transport& transport, int to, std::span<const std::byte> out, int from,
                              std::span<std::byte> in) {
  std::optional<typename Transport::handle> receiving;
  std::optional<typename Transport::handle> sending;
  if (!in.empty()) {
    auto posted = transport.receive(from, control_channel, in);
    if (!posted) return std::move(posted).error();
    receiving.emplace(std::move(posted).value());
  }
  if (!out.empty()) {
    auto posted = transport.send(to, control_channel, out);
    if (!posted) return std::move(posted).error();
    sending.emplace(std::move(posted).value());
  }
  if (receiving)
    if (result<void> came = transport.wait(*receiving); !came) return came;
  if (sending) return transport.wait(*sending);
  return success();
}

/// Every rank's bytes to every rank.
/// Source    J. Bruck et al., Efficient algorithms for all-to-all communications in multiport message-passing systems,
///           IEEE TPDS 8(11), 1997: in round k a rank passes on the first 2^k blocks it has, its own first
/// Complexity  ceil(log2 ranks) rounds; works in `all`, which after an error is in use until the transport's abort
template <class Transport>
result<void> all_gather_over_messages(Transport& transport, std::span<const std::byte> own, std::span<std::byte> all) {
  const int ranks = transport.size();
  const int rank = transport.rank();
  const std::size_t size = own.size();
  std::copy(own.begin(), own.end(), all.begin());  // block i of `all` is of rank (rank + i) % ranks for now
  for (int have = 1; have < ranks; have *= 2) {
    const std::size_t amount = static_cast<std::size_t>(std::min(have, ranks - have)) * size;
    const std::span<std::byte> in = all.subspan(static_cast<std::size_t>(have) * size, amount);
    if (result<void> done =
            send_and_receive(transport, (rank - have + ranks) % ranks, all.first(amount), (rank + have) % ranks, in);
        !done)
      return done;
  }
  const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>((ranks - rank) % ranks) * size);
  std::rotate(all.begin(), all.begin() + first, all.end());
  return success();
}

/// Sums over a group in a ring: each member adds up one block while blocks go round, then the sums go round. Each block
/// is added in one order, so every member gets the same bits.
/// Requires   data no larger than members x scratch
/// Complexity  2 (members - 1) rounds, each of 1/members of the data
template <class T, class Transport>
result<void> all_reduce_ring(Transport& transport, std::span<T> data, std::span<const int> group,
                             std::span<T> scratch) {
  const std::size_t members = group.size();
  const auto at = static_cast<std::size_t>(std::find(group.begin(), group.end(), transport.rank()) - group.begin());
  const auto block = [&](std::size_t i) {
    i %= members;
    const std::size_t begin = data.size() * i / members;
    return data.subspan(begin, data.size() * (i + 1) / members - begin);
  };
  const int next = group[(at + 1) % members];
  const int previous = group[(at + members - 1) % members];
  for (std::size_t round = 0; round + 1 < members; ++round) {
    const std::span<T> out = block(at + members - round);
    const std::span<T> sum = block(at + members - round - 1);
    const std::span<T> in = scratch.first(sum.size());
    if (result<void> done = send_and_receive(transport, next, std::as_bytes(out), previous, std::as_writable_bytes(in));
        !done)
      return done;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += in[i];
  }
  for (std::size_t round = 0; round + 1 < members; ++round) {
    const std::span<T> out = block(at + members - round + 1);
    const std::span<T> in = block(at + members - round);
    if (result<void> done = send_and_receive(transport, next, std::as_bytes(out), previous, std::as_writable_bytes(in));
        !done)
      return done;
  }
  return success();
}

/// The ring over one part of the data after the other, so that what comes in stays in a core's cache. It is kept per
/// thread: after an error a peer may still write to it, until the transport's abort.
template <class T, class Transport>
result<void> all_reduce_over_messages(Transport& transport, std::span<T> data, std::span<const int> group) {
  constexpr std::size_t most = (std::size_t{1} << 18) / sizeof(T);
  thread_local std::vector<T> scratch;
  scratch.resize(std::max(scratch.size(), std::min(most, data.size() / group.size() + 1)));
  for (std::size_t begin = 0; begin < data.size(); begin += most * group.size()) {
    const std::span<T> part = data.subspan(begin, std::min(most * group.size(), data.size() - begin));
    if (result<void> done = all_reduce_ring(transport, part, group, std::span(scratch)); !done) return done;
  }
  return success();
}

}  // namespace slimpack::detail

#endif
