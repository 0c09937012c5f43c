#include <slimpack/concepts.hpp>

struct wire {
  using handle = int;
  int rank() const;
  int size() const;
  slimpack::result<handle> send(int peer, int channel, std::span<const std::byte> bytes);
  slimpack::result<handle> receive(int peer, int channel, std::span<std::byte> bytes);
  slimpack::result<bool> test(handle& of);
  slimpack::result<void> wait(handle& of);
  void abort(std::string_view reason);
};

struct layers {
  slimpack::message_format format() const;
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  slimpack::result<void> backward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  void discard(const slimpack::piece&);
};

// An executor that tells nothing of the step, where the trainer must know its loss.
struct silent {
#ifdef SLIMPACK_REPAIRED
  slimpack::result<slimpack::step_report> execute(const slimpack::plan&, layers&, wire&);
#else
  slimpack::result<void> execute(const slimpack::plan&, layers&, wire&);
#endif
};

template <class Executor>
requires slimpack::executor_for<Executor, layers, wire>
struct trainer {
};

// own-lines: 21
// expected-diagnostic: an executor offers result<step_report> execute(const plan&, Compute&, Transport&)
using wrong = trainer<silent>;
