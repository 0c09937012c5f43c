#ifndef SLIMPACK_TRANSPORTS_DETAIL_OVER_MESSAGES_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_OVER_MESSAGES_HPP

#include <slimpack/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

/// Collectives made of a transport's messages.
namespace slimpack::detail {

inline constexpr int control_channel = 0;

/// Sends to one rank while it receives from another, and waits for both.
template <class Transport>
result<void> exchange(Transport& transport, int to, std::span<const std::byte> out, int from, std::span<std::byte> in) {
  auto receiving = transport.receive(from, control_channel, in);
  if (!receiving) return std::move(receiving).error();
  auto sending = transport.send(to, control_channel, out);
  if (!sending) return std::move(sending).error();
  if (result<void> came = transport.wait(receiving.value()); !came) return came;
  return transport.wait(sending.value());
}

/// Every rank's bytes to every rank.
/// Source    J. Bruck et al., Efficient algorithms for all-to-all communications in multiport message-passing systems,
///           IEEE TPDS 8(11), 1997: in round k a rank passes on the first 2^k blocks it has, its own first
/// Complexity  ceil(log2 ranks) rounds
template <class Transport>
result<void> all_gather_over_messages(Transport& transport, std::span<const std::byte> own, std::span<std::byte> all) {
  const int ranks = transport.size();
  const int rank = transport.rank();
  const std::size_t size = own.size();
  std::vector<std::byte> turned(size * static_cast<std::size_t>(ranks));  // block i is of rank (rank + i) % ranks
  std::copy(own.begin(), own.end(), turned.begin());
  for (int have = 1; have < ranks; have *= 2) {
    const int more = std::min(have, ranks - have);
    const std::size_t amount = static_cast<std::size_t>(more) * size;
    const std::span<std::byte> in = std::span(turned).subspan(static_cast<std::size_t>(have) * size, amount);
    const std::span<const std::byte> out = std::span<const std::byte>(turned).first(amount);
    if (result<void> done = exchange(transport, (rank - have + ranks) % ranks, out, (rank + have) % ranks, in); !done)
      return done;
  }
  for (int i = 0; i < ranks; ++i)
    std::copy_n(turned.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * size), size,
                all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>((rank + i) % ranks) * size));
  return boost::outcome_v2::success();
}

/// Sums over a group in a ring: each member adds up one block while blocks go round, then the sums go round. Each block
/// is added in one order, so every member gets the same bits.
/// Complexity  2 (members - 1) rounds, each of 1/members of the data
template <class T, class Transport>
result<void> all_reduce_over_messages(Transport& transport, std::span<T> data, std::span<const int> group) {
  const std::size_t members = group.size();
  const auto at = static_cast<std::size_t>(std::find(group.begin(), group.end(), transport.rank()) - group.begin());
  const auto block = [&](std::size_t i) {
    i %= members;
    const std::size_t begin = data.size() * i / members;
    return data.subspan(begin, data.size() * (i + 1) / members - begin);
  };
  const int next = group[(at + 1) % members];
  const int previous = group[(at + members - 1) % members];
  std::vector<T> incoming(data.size() / members + 1);
  for (std::size_t round = 0; round + 1 < members; ++round) {
    const std::span<T> out = block(at + members - round);
    const std::span<T> sum = block(at + members - round - 1);
    const std::span<T> in = std::span(incoming).first(sum.size());
    if (result<void> done = exchange(transport, next, std::as_bytes(out), previous, std::as_writable_bytes(in)); !done)
      return done;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += in[i];
  }
  for (std::size_t round = 0; round + 1 < members; ++round) {
    const std::span<T> out = block(at + members - round + 1);
    const std::span<T> in = block(at + members - round);
    if (result<void> done = exchange(transport, next, std::as_bytes(out), previous, std::as_writable_bytes(in)); !done)
      return done;
  }
  return boost::outcome_v2::success();
}

}  // namespace slimpack::detail

#endif
