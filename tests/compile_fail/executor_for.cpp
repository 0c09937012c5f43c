#include <slimpack/concepts.hpp>

struct wire {
  using handle = int;
  slimpack::result<handle> send(int peer, int channel, std::span<const std::byte> bytes);
  slimpack::result<handle> receive(int peer, int channel, std::span<std::byte> bytes);
  slimpack::result<void> wait(handle& of);
  void abort(std::string_view reason);
};

struct layers {
  using state = int;
  slimpack::result<state> forward(const slimpack::piece&, std::span<const std::byte> in, std::span<std::byte> out);
  slimpack::result<void> backward(const slimpack::piece&, state, std::span<const std::byte> in,
                                  std::span<std::byte> out);
  void discard(const slimpack::piece&, state);
};

// An executor that runs every stage itself, where each rank should run its own.
struct one_process {
#ifdef SLIMPACK_REPAIRED
  slimpack::result<slimpack::step_report> execute(const slimpack::plan&, int replica, int stage, layers&, wire&);
#else
  slimpack::result<slimpack::step_report> execute(const slimpack::plan&, layers&, wire&);
#endif
};

template <class Executor>
  requires slimpack::executor_for<Executor, layers, wire>
struct trainer {};

// expected-diagnostic: an executor offers result<step_report> execute(const plan&, int replica, int stage
using wrong = trainer<one_process>;
