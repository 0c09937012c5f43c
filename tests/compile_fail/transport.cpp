#include <slimpack/concepts.hpp>

// A transport that cannot wake the ranks that wait for it.
struct never_aborts {
  using handle = int;
  int rank() const;
  int size() const;
  slimpack::result<handle> send(int peer, int channel, std::span<const std::byte> bytes);
  slimpack::result<handle> receive(int peer, int channel, std::span<std::byte> bytes);
  slimpack::result<bool> test(handle& of);
  slimpack::result<void> wait(handle& of);
#ifdef SLIMPACK_REPAIRED
  void abort(std::string_view reason);
#endif
};

template <slimpack::transport Transport>
struct mailbox {};

// expected-diagnostic: a transport offers a type handle, rank(), size(), send(peer, channel, bytes)
using wrong = mailbox<never_aborts>;
