#ifndef SLIMPACK_TESTS_TRANSPORTS_SOCKET_LINK_HPP
#define SLIMPACK_TESTS_TRANSPORTS_SOCKET_LINK_HPP

#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

namespace slimpack {

/// Over connected stream sockets, one per peer.
class socket_link {
 public:
  explicit socket_link(std::vector<int> sockets) : sockets_(std::move(sockets)) {}
  bool send(int peer, std::span<const std::byte> data) {
    return all(data, [&](auto rest) { return ::send(of(peer), rest.data(), rest.size(), MSG_NOSIGNAL); });
  }
  bool receive(int peer, std::span<std::byte> data) {
    return all(data, [&](auto rest) { return ::recv(of(peer), rest.data(), rest.size(), 0); });
  }
  void close() {
    for (const int s : sockets_) ::shutdown(s, SHUT_RDWR);
  }

 private:
  template <class Bytes, class Call>
  static bool all(Bytes data, Call call) {
    while (!data.empty()) {
      const auto done = call(data);
      if (done <= 0) return false;
      data = data.subspan(static_cast<std::size_t>(done));
    }
    return true;
  }
  int of(int peer) const { return sockets_[static_cast<std::size_t>(peer)]; }
  std::vector<int> sockets_;
};

/// The sockets of ranks on one machine, by rank and peer.
struct over_sockets {
  explicit over_sockets(int size) : sockets(static_cast<std::size_t>(size)) {
    for (auto& of_rank : sockets) of_rank.assign(sockets.size(), -1);
    for (std::size_t a = 0; a < sockets.size(); ++a)
      for (std::size_t b = a + 1; b < sockets.size(); ++b) {
        int pair[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) std::abort();
        sockets[a][b] = pair[0];
        sockets[b][a] = pair[1];
      }
  }
  over_sockets(const over_sockets&) = delete;
  over_sockets& operator=(const over_sockets&) = delete;
  ~over_sockets() {
    for (std::size_t r = 0; r < sockets.size(); ++r) close(r);
  }
  void close(std::size_t rank) {
    for (int& s : sockets[rank])
      if (s >= 0) ::close(std::exchange(s, -1));
  }
  socket_link link(int rank) { return socket_link(sockets[static_cast<std::size_t>(rank)]); }

  std::vector<std::vector<int>> sockets;
};

}  // namespace slimpack

#endif
