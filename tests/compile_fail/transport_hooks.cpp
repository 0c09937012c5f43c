#include <slimpack/transports/blocking.hpp>
#include <slimpack/transports/hooks.hpp>
#include <slimpack/transports/over.hpp>

// Members that the runtime would pass over in silence, were it not for their names.
using namespace slimpack;

struct plain {
  struct handle {};
  int rank() const;
  int size() const;
  result<handle> send(int, int, std::span<const std::byte>);
  result<handle> receive(int, int, std::span<std::byte>);
  result<bool> test(handle&);
  result<void> wait(handle&);
};

struct socket {
  bool send(int, std::span<const std::byte>);
  bool receive(int, std::span<std::byte>);
#ifdef SLIMPACK_REPAIRED
  void close();
#else
  void close(bool now);
#endif
};

struct cannot_cancel {
  struct request {};
  int rank() const;
  int size() const;
  result<request> isend(int, std::span<const std::byte>);
  result<request> irecv(int, std::span<std::byte>);
  result<bool> test(request&);
#ifdef SLIMPACK_REPAIRED
  result<bool> cancel(request&);
#else
  void cancel(request&);
#endif
};

struct untested {
  struct request {};
  int rank() const;
  int size() const;
  result<request> isend(int, std::span<const std::byte>);
  result<request> irecv(int, std::span<std::byte>);
#ifdef SLIMPACK_REPAIRED
  result<bool> test(request&);
#endif
};

#ifdef SLIMPACK_REPAIRED
struct gathers : plain {
  result<void> all_gather(std::span<const std::byte>, std::span<std::byte>);
};
struct sums : plain {
  template <class T>
  result<void> all_reduce(std::span<T>, std::span<const int>);
};
struct ends : plain {
  result<void> finish();
};
struct waits : plain {
  result<void> allows_threads() const;
};
struct places : plain {
  static constexpr bool plan_order = true;
};
struct lies_apart : plain {
  static constexpr bool device_memory = true;
};
struct issues : plain {
  static constexpr bool starts_all_reduce = true;
};
struct ticks : plain {
  using time_mark = int;
  result<int> mark();
  result<seconds> between(const int&, const int&);
};
#else
struct gathers : plain {
  result<void> all_gather(std::span<std::byte>);
};
struct sums : plain {
  template <class T>
  bool all_reduce(std::span<T>, std::span<const int>);
};
struct ends : plain {
  void finish();
};
struct waits : plain {
  bool allows_threads() const;
};
struct places : plain {
  bool plan_order = true;
};  // no constant
struct lies_apart : plain {
  static constexpr int device_memory = 1;
};  // of another type
struct issues : plain {
  static bool starts_all_reduce();
};  // a function
struct ticks : plain {
  result<int> mark();
  result<seconds> between(int, int);
};  // without its type
#endif

// expected-diagnostic: a group offers a type request, int rank() const, int size() const, result<request> isend(peer,
// span<const byte>)
using nobody_tests = transports::over<untested>;

void ask(gathers& a, sums& b, ends& c, detail::link_behind<socket>& d, waits& e, std::span<const std::byte> out,
         std::span<std::byte> in, std::span<float> data, std::span<const int> group) {
  // expected-diagnostic: a transport's all_gather(span<const byte>, span<byte>) is public and gives result<void>
  (void)all_gather(a, out, in);
  // expected-diagnostic: a transport's all_reduce(span<T>, span<const int>) is public and gives result<void>
  (void)all_reduce(b, data, group);
  // expected-diagnostic: a transport's finish() is public and gives result<void>
  (void)finish(c);
  // expected-diagnostic: a transport's allows_threads() is public, const and gives result<void>
  (void)allows_threads(e);
  // expected-diagnostic: a transport's plan_order is a public static constexpr bool
  (void)detail::keeps_plan_order<places>();
  // expected-diagnostic: a transport's device_memory is a public static constexpr bool
  (void)detail::moves_device_memory<lies_apart>();
  // expected-diagnostic: a transport's starts_all_reduce is a public static constexpr bool
  (void)detail::starts_all_reduce<issues>();
  // expected-diagnostic: a transport's mark() and between(const time_mark&, const time_mark&) are public and give
  (void)detail::marks_time<ticks>();
  // expected-diagnostic: a link's close() is public and takes nothing
  (void)d.close();
  // expected-diagnostic: a group's cancel(request&) is public and gives result<bool>
  (void)detail::cancels_receives<cannot_cancel>();
}
